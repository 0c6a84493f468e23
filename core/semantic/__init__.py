"""Embeddings, for hosts with an embedder: make, count and delete the vectors of rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Unpack

from ..base.hints import shown
from ..base.wire_ids import find_whole
from ..calls.call import CallOptions, open_call
from ..errors import ConfigError
from ..index import embeddings
from ..llm.embedder import Embedder, EmbedderError, check, resolve
from . import handlers

__all__ = ["EmbedReport", "Embedder", "EmbedderError", "count_vectors", "drop_vectors", "embed_rows"]


@dataclass(frozen=True, slots=True)
class EmbedReport:
    """Result of `embed_rows`."""

    model: str
    """Name of the embedder."""
    rows: int
    """Number of rows that got vectors."""
    done: bool
    """Whether no row is left that needs vectors of this embedder."""


def embed_rows(limit: int | None = None, *, embedder: Any = None, **options: Unpack[CallOptions]) -> EmbedReport:
    """Make the missing vectors of rows of the scope's persona, the newest rows first, and return what was made.

    For hosts without a worker: a worker does this by itself. Finished batches stay stored if the call fails.

    Args:
        limit: number of rows after which to stop, rounded up to whole batches of 128; None for all.
        embedder: the embedder to use; None for the embedder of `configure`, else for the embedder that EMBEDDER names.

    Raises:
        ConfigError: there is no embedder, or EMBEDDER names an embedder that cannot be used.
        EmbedderError, StoreError: the embedder or the database failed.
        TypeError, ValueError: the embedder has no `embed` or no `name`; the limit is not a whole number of at least 1.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.lifelong import add_facts_with_meta
    >>> from prompt_engine.semantic import embed_rows
    >>> db = open_database("sqlite://")
    >>> added = add_facts_with_meta(["Ann likes tea"], db=db)
    >>> class Letters:  # yours asks a model
    ...     name, is_local = "letters", True
    ...     def embed(self, texts):
    ...         return [[float(text.count(letter)) for letter in "aeiou"] for text in texts]
    >>> embed_rows(embedder=Letters(), db=db)
    EmbedReport(model='letters', rows=1, done=True)
    """
    if limit is not None and ((count := find_whole(limit)) is None or count < 1):
        raise ValueError(f"limit is {shown(limit)}. It must be a whole number of rows, 1 or more, or None.")
    call = open_call(**options)
    known_embedder = resolve(embedder, call.settings)
    if known_embedder is None:
        raise ConfigError(
            "There is no embedder. Set EMBEDDER, pass one, or call prompt_engine.db.configure(embedder=...)."
        )
    model, rows, batch = check(known_embedder), 0, None
    while limit is None or rows < limit:
        batch = handlers.read_next(call, known_embedder, batch)
        vectors = handlers.make_vectors(known_embedder, batch, call.settings)
        write = partial(embeddings.write, db=call.db, persona=call.persona, model=model, batch=batch, vectors=vectors)
        # Idempotent: if the answer to the commit was lost, the transaction runs again and changes nothing.
        written, batch = call.db.idempotent_transaction(write, source="search_vector")
        rows += written
        if batch.done:
            return EmbedReport(model, rows, True)
    return EmbedReport(model, rows, False)


def count_vectors(**options: Unpack[CallOptions]) -> dict[str, int]:
    """Return the number of vectors of the persona's rows by model name.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.semantic import count_vectors
    >>> count_vectors(db=open_database("sqlite://"))
    {}
    """
    call = open_call(**options)
    return embeddings.counts(call.db, call.persona)


def drop_vectors(model: str, **options: Unpack[CallOptions]) -> int:
    """Delete the vectors that a model made of the persona's rows, and return their number. `embed_rows` makes new ones.

    Args:
        model: name of the embedder, as in the result of `count_vectors`.

    Raises:
        StoreWriteError: some vectors may be left; call it again to delete the rest.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.semantic import drop_vectors
    >>> drop_vectors("a model nobody used", db=open_database("sqlite://"))
    0
    """
    if not isinstance(model, str):
        raise TypeError(f"model is of type {type(model).__name__}. Give the name of an embedder.")
    call = open_call(**options)
    return embeddings.drop_model(call.db, call.persona, model)
