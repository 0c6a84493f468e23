"""Asking an embedder: foreign code, called in a thread of its own within a limit of time (docs/embeddings.md).

| who | for | waits at most |
|---|---|---|
| `search.meaning` | the text of a search | HOOK_TIMEOUT_SECONDS |
| `semantic.batches` | the texts of rows | LLM_TIMEOUT_SECONDS a batch |

What it raises becomes an `EmbedderError` that names the class of the error and none of its text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

from ..base import hooks
from ..base.vectors import MOST_DIMENSIONS
from ..calls import defaults
from ..errors import CoreError


@runtime_checkable
class Embedder(Protocol):
    """Makes vectors of texts, sync or async. It may tell `is_local = True` where texts stay on the machine."""

    name: str
    """Name of the model, 1 to 100 bytes; another name is another model, and its vectors are never mixed with others."""

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return one vector for each text, all of one length."""


class EmbedderError(CoreError):
    """An embedder gave no vectors that can be used. `reason` is timeout, error, count or vector."""

    def __init__(self, reason: str, *, error: str = "") -> None:
        super().__init__(_REASONS[reason] + (f" [{error}]" if error else ""))
        self.reason = reason
        self.error = error


_REASONS = {
    "timeout": "The embedder gave no answer in time. Make it faster, or raise HOOK_TIMEOUT_SECONDS (for searches) or "
    "LLM_TIMEOUT_SECONDS (for rows).",
    "error": "The embedder failed. Look at what serves it.",
    "count": "The embedder did not return one vector for each text. It must return as many vectors as it gets texts.",
    "vector": f"The embedder returned something that is no vector. It must return 1 to {MOST_DIMENSIONS} finite "
    "numbers for each text, the same number for all.",
}


def resolve(embedder: Any = None) -> Any:
    """Return the embedder to ask: the one passed, else that of the process; None where there is neither.

    Raises:
        TypeError: the one passed has no `embed` or no `name`.
        ConfigError: the extra `semantic` is not installed.
    """
    if embedder is None:
        return defaults.default_embedder()
    defaults.check_embedder(embedder)
    return embedder


def is_local(embedder: Any) -> bool:
    """Return whether an embedder may be shown rows marked local_only: it says that texts stay on the machine."""
    return getattr(embedder, "is_local", False) is True


def ask(embedder: Any, texts: Sequence[str], timeout_seconds: float) -> list[list[float]]:
    """Return one vector for each text.

    Raises:
        EmbedderError: it failed, was too slow, or returned something else.
    """
    failed: EmbedderError
    try:
        made = hooks.call(
            embedder.embed, {"texts": list(texts)}, timeout_seconds=timeout_seconds, name="embedder", group="embedder"
        )
        return _read(made, len(texts))
    except EmbedderError as error:
        failed = error
    except Exception as error:  # noqa: BLE001 - an embedder is foreign code and raises what it likes
        name = error.error if isinstance(error, hooks.HookAborted) else type(error).__name__
        slow = isinstance(error, (hooks.HookTimeout, TimeoutError))
        failed = EmbedderError("timeout" if slow else "error", error=name)
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
