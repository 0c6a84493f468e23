"""Embedders: foreign code, called in a thread with a time limit (docs/embeddings.md).

`search.read` sends the text of a search, `semantic.handlers` the texts of rows. An exception becomes an
`EmbedderError` that names the exception's class without its text. EMBEDDER is the address of a server in the OpenAI
dialect: `POST {EMBEDDER}/embeddings`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from ..base.vectors import MOST_DIMENSIONS
from ..calls import defaults
from ..config import Settings
from ..database.compiled import chunks
from ..errors import ConfigError, CoreError, ModelError
from .client import ask_server, call_timed, read_endpoint

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


class EmbedderError(CoreError):
    """An embedder gave no usable vectors. `reason` is timeout, auth, config, error, count or vector."""

    def __init__(self, reason: str, *, error: str = "", message: str = "") -> None:
        super().__init__((message or _REASONS[reason]) + (f" [{error}]" if error else ""))
        self.reason = reason
        self.error = error


@runtime_checkable
class Embedder(Protocol):
    """An object that makes vectors of texts, sync or async. `is_local = True` means that texts stay on this machine."""

    name: str
    """Name of the model, 1 to 100 bytes; vectors of different names are never compared."""

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return one vector for each text, all of the same length."""


def resolve(embedder: Any = None, settings: Settings | None = None) -> Any:
    """Return the embedder to ask: `embedder`, else the embedder of `configure`, else the server of EMBEDDER."""
    if embedder is not None:
        defaults.check_embedder(embedder)
        return embedder
    own = defaults.process.embedder
    if own is not None or settings is None or not settings.embedder:
        return own
    return EndpointEmbedder(settings.embedder, settings.embedder_model, settings.embedder_api_key)


def check(embedder: Any) -> str:
    """Return an embedder's name; raise ConfigError if its URL, from EMBEDDER, is invalid."""
    if isinstance(embedder, EndpointEmbedder):
        embedder.check()
    return str(embedder.name)


def is_local(embedder: Any) -> bool:
    """Return whether an embedder may get local_only rows: its `is_local` says that texts stay on this machine."""
    return getattr(embedder, "is_local", False) is True


def ask(embedder: Any, texts: Sequence[str], timeout_seconds: float) -> list[list[float]]:
    failed: EmbedderError
    try:
        return _read_vectors(call_timed(embedder.embed, "texts", {"texts": list(texts)}, timeout_seconds), len(texts))
    except EmbedderError as error:
        failed = error
    except ConfigError as error:  # an error about the flag: its text says how to repair it
        failed = EmbedderError("config", message=str(error))
    except ModelError as error:
        reason = error.reason if error.reason in ("auth", "timeout") else "error"
        failed = EmbedderError(reason, error=error.error or f"status {error.status}")
    except Exception as error:  # noqa: BLE001 - an embedder is foreign code and raises what it likes
        failed = EmbedderError("timeout" if isinstance(error, TimeoutError) else "error", error=type(error).__name__)
    # Raised outside the except block: the foreign exception and its text are not its context.
    raise failed


def _read_vectors(value: Any, count: int) -> list[list[float]]:
    plain = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(plain, Iterable) or isinstance(plain, (str, bytes)):
        raise EmbedderError("count", error=type(value).__name__)
    vectors = list(plain)
    if len(vectors) != count:
        raise EmbedderError("count", error=f"{len(vectors)} for {count}")
    numbers: list[list[float]] = [[]]  # NaN is refused below: the exception would quote the answer
    with suppress(TypeError, ValueError, OverflowError):
        numbers = [[float(number) for number in vector] for vector in vectors]
    sizes = {len(vector) for vector in numbers}
    is_sized = len(sizes) <= 1 and all(0 < size <= MOST_DIMENSIONS for size in sizes)
    if not is_sized or not all(math.isfinite(sum(vector)) for vector in numbers):
        raise EmbedderError("vector")
    return numbers


# A server


@dataclass(frozen=True)
class EndpointEmbedder:
    """An embedder on a server, named after its model."""

    url: str
    """Base URL of the server; the route `/embeddings` is added if it is missing."""
    model: str = ""
    """Model name sent to the server; blank lets the server choose."""
    api_key: str = field(default="", repr=False)
    timeout_seconds: float = 30.0
    """Longest wait for one answer; a slow machine needs some seconds for a batch."""
    batch: int = 64
    """Maximum number of texts in one request; known servers accept this many."""

    is_local = False  # an address does not prove where texts are processed

    @property
    def name(self) -> str:
        return self.model.strip() or "http"

    def check(self) -> str:
        return read_endpoint(self.url, "/embeddings", "EMBEDDER", "remove EMBEDDER to work by words alone")

    def embed(self, texts: Sequence[str]) -> list[Any]:
        url, vectors = self.check(), list[Any]()
        for some in chunks(texts, self.batch):
            body: dict[str, Any] = {"input": list(some), "encoding_format": "float"}
            if self.model.strip():
                body["model"] = self.model.strip()
            answer = ask_server(url, body, self.api_key.strip(), self.timeout_seconds)
            vectors += _read_data(answer.get("data"), len(some))
        return vectors


def _read_data(data: Any, count: int) -> list[Any]:
    if not isinstance(data, list):
        raise EmbedderError("error", error="no list of embeddings in the answer")
    if not all(isinstance(each, Mapping) for each in data):
        raise EmbedderError("vector")
    by_index = {each.get("index", number): each.get("embedding") for number, each in enumerate(data)}
    if len(data) != count or set(by_index) != set(range(count)):
        raise EmbedderError("count", error=f"{len(data)} for {count}, or an index twice")
    return [by_index[number] for number in range(count)]
