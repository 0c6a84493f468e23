"""A server of embeddings in the OpenAI dialect as an embedder: `POST {EMBEDDER}/embeddings`
(docs/embeddings.md).
"""

from __future__ import annotations

import base64
import binascii
import json
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from ..base.vectors import MOST_DIMENSIONS, split_batches
from ..errors import ConfigError, CoreError, ModelError
from ..text.folding import clean
from .client import AUTH_STATUSES, post_json, read_endpoint

ROUTE = "/embeddings"


class EmbedderError(CoreError):
    """An embedder gave no vectors that can be used. `reason` is timeout, auth, config, error, count or vector."""

    def __init__(self, reason: str, *, error: str = "", told: str = "") -> None:
        super().__init__((told or _REASONS[reason]) + (f" [{error}]" if error else ""))
        self.reason = reason
        self.error = error


_REASONS = {
    "timeout": "The embedder gave no answer in time. Make it faster, or raise LLM_TIMEOUT_SECONDS (for rows).",
    "auth": "The server of EMBEDDER refuses the key. Set EMBEDDER_API_KEY, or EMBEDDER_API_KEY_FILE to the path of "
    "a file that holds it.",
    "config": "The embedder is configured wrongly. Run prompt-engine config check.",
    "error": "The embedder failed. Look at what serves it.",
    "count": "The embedder did not return one vector for each text. It must return as many vectors as it gets texts.",
    "vector": f"The embedder returned something that is no vector. It must return 1 to {MOST_DIMENSIONS} finite "
    "numbers for each text, the same number for all.",
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where vectors are asked for, and how."""

    url: str
    """Address of the server; the route is added where it is not there."""
    model: str = ""
    """Sent as `model`; blank leaves the choice to the server."""
    api_key: str = field(default="", repr=False)
    timeout_seconds: float = 30.0
    """Of one answer as a whole: a server on a slow machine takes some seconds for a batch."""
    batch: int = 64
    """Most texts of one request: the servers known take as many."""


class EndpointEmbedder:
    """An embedder that asks a server. Its name is the model's."""

    is_local = False  # an address tells nothing about where texts go from there

    def __init__(self, endpoint: Endpoint) -> None:
        self._at = endpoint
        self.name: str = endpoint.model.strip() or "http"

    def __repr__(self) -> str:
        return f"EndpointEmbedder({self._at!r})"

    def check(self) -> str:
        """Return the address to post to."""
        url = read_endpoint(self._at.url, ROUTE, "EMBEDDER", "remove EMBEDDER to work by words alone")
        if find_spec("httpx2") is None:
            raise ConfigError(
                "EMBEDDER names a server, and the package httpx2 that asks it is not installed. "
                "Run `pip install 'prompt-engine[llm]'`, or remove EMBEDDER to work by words alone.",
                flag="EMBEDDER",
            )
        return url

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector for each text, asking for some at once."""
        url = self.check()
        made: list[list[float]] = []
        for some in split_batches(texts, self._at.batch):
            made += self._ask(url, some)
        return made

    def _ask(self, url: str, texts: Sequence[str]) -> list[list[float]]:
        at = self._at
        body: dict[str, Any] = {"input": list(texts), "encoding_format": "float"}
        if at.model.strip():
            body["model"] = at.model.strip()
        sent = clean(json.dumps(body, ensure_ascii=False)).encode()
        try:
            status, _, content = post_json(url, sent, at.api_key.strip(), at.timeout_seconds)
        except ModelError as error:
            failed = EmbedderError("timeout" if error.reason == "timeout" else "error", error=error.error)
        else:
            if status in AUTH_STATUSES:
                failed = EmbedderError("auth", error=f"status {status}")
            elif not 200 <= status < 300:
                failed = EmbedderError("error", error=f"status {status}")
            else:
                return read_vectors(content, len(texts))
        raise failed  # out here, so that the exception underneath does not hang on to it


def read_vectors(content: bytes, count: int) -> list[list[float]]:
    """Return the vectors of an answer in the order of the texts: lists of numbers, or base64 of 32-bit numbers."""
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        answer = None
    if isinstance(answer, Mapping) and answer.get("error"):  # some servers send it with status 200
        said = answer["error"]
        code = str(said.get("code")) if isinstance(said, Mapping) else ""
        raise EmbedderError("auth" if code in map(str, AUTH_STATUSES) else "error", error="ErrorObject")
    data = answer.get("data") if isinstance(answer, Mapping) else None
    if not isinstance(data, list):
        raise EmbedderError("error", error="no list of embeddings in the answer")
    if len(data) != count:
        raise EmbedderError("count", error=f"{len(data)} for {count}")
    if not all(isinstance(one, Mapping) for one in data):
        raise EmbedderError("vector")
    places = [one.get("index", n) for n, one in enumerate(data)]
    if sorted(place for place in places if isinstance(place, int)) != list(range(count)):
        raise EmbedderError("count", error="an index is missing or there twice")
    by_place = dict(zip(places, data, strict=True))
    return [_read_vector(by_place[n].get("embedding")) for n in range(count)]


def _read_vector(said: Any) -> list[float]:
    try:
        if isinstance(said, str):
            numbers = array("f", base64.b64decode(said, validate=True))
            if array("H", [1]).tobytes()[0] != 1:  # the answer's are little-endian
                numbers.byteswap()
            return numbers.tolist()
        return [float(number) for number in said]
    except (TypeError, ValueError, OverflowError, binascii.Error):
        pass
    raise EmbedderError("vector")
