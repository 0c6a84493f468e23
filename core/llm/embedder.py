"""Asking an embedder: foreign code, called in a thread of its own within a limit of time (docs/embeddings.md).

| who | for | waits at most |
|---|---|---|
| `search.meaning` | the text of a search | SEARCH_SECONDS |
| `semantic.batches` | the texts of rows | LLM_TIMEOUT_SECONDS a batch |

What it raises becomes an `EmbedderError` that names the class of the error and none of its text. What the flag
EMBEDDER names, a server, is made here too (`llm.embedder_http`).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

from ..base.vectors import MOST_DIMENSIONS
from ..calls import defaults
from ..config import Settings
from ..errors import ConfigError
from .embedder_http import EmbedderError, Endpoint, EndpointEmbedder
from .timed import AbortedError, call_timed

__all__ = ["Embedder", "EmbedderError", "ask", "check", "is_local", "resolve"]


@runtime_checkable
class Embedder(Protocol):
    """Makes vectors of texts, sync or async. It may tell `is_local = True` where texts stay on the machine."""

    name: str
    """Name of the model, 1 to 100 bytes; another name is another model, and its vectors are never mixed with others."""

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return one vector for each text, all of one length."""


MOST_KEPT = 8
"""Embedders that flags named, kept for the next call."""
_kept: dict[Endpoint, Any] = {}
_keeping = threading.Lock()


def resolve(embedder: Any = None, settings: Settings | None = None) -> Any:
    """Return the embedder to ask: the one passed, else that of the process, else that of the flag EMBEDDER."""
    if embedder is not None:
        defaults.check_embedder(embedder)
        return embedder
    own = defaults.default_embedder()
    if own is not None or settings is None or not settings.embedder:
        return own
    named = Endpoint(settings.embedder, settings.embedder_model, settings.embedder_api_key)
    with _keeping:
        if named not in _kept:
            while len(_kept) >= MOST_KEPT:
                _kept.pop(next(iter(_kept)))
            _kept[named] = EndpointEmbedder(named)
        return _kept[named]


def check(embedder: Any) -> str:
    """Return the name of an embedder that could be asked; the address of one that a flag names is checked."""
    if isinstance(embedder, EndpointEmbedder):
        embedder.check()
    return str(embedder.name)


def is_local(embedder: Any) -> bool:
    """Return whether an embedder may be shown rows marked local_only: it says that texts stay on the machine."""
    return getattr(embedder, "is_local", False) is True


def ask(embedder: Any, texts: Sequence[str], timeout_seconds: float) -> list[list[float]]:
    """Return one vector for each text."""
    failed: EmbedderError
    try:
        made = call_timed(embedder.embed, "texts", {"texts": list(texts)}, timeout_seconds)
        return _read(made, len(texts))
    except EmbedderError as error:
        failed = error
    except ConfigError as error:  # of a flag, which says what to do
        failed = EmbedderError("config", told=str(error))
    except Exception as error:  # noqa: BLE001 - an embedder is foreign code and raises what it likes
        name = error.error if isinstance(error, AbortedError) else type(error).__name__
        failed = EmbedderError("timeout" if isinstance(error, TimeoutError) else "error", error=name)
    # Raised out here, so that the foreign exception and its text do not hang on to this one.
    raise failed


def _read(made: Any, count: int) -> list[list[float]]:
    plain = made.tolist() if hasattr(made, "tolist") else made
    if not isinstance(plain, Iterable) or isinstance(plain, (str, bytes)):
        raise EmbedderError("count", error=type(made).__name__)
    vectors = list(plain)
    if len(vectors) != count:
        raise EmbedderError("count", error=f"{len(vectors)} for {count}")
    try:
        read = [[float(number) for number in vector] for vector in vectors]
    except (TypeError, ValueError):
        raise EmbedderError("vector") from None
    sizes = {len(vector) for vector in read}
    if len(sizes) > 1 or not all(0 < size <= MOST_DIMENSIONS for size in sizes):
        raise EmbedderError("vector")
    if not all(math.isfinite(sum(vector)) for vector in read):
        raise EmbedderError("vector")
    return read
