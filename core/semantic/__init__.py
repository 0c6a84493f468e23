"""Door: embeddings, where a host has an embedder: making the vectors of rows, counting and dropping them.

| name | for |
|---|---|
| embed_rows | making the vectors that are missing, here and now |
| count_vectors, drop_vectors | which models made how many; removing those of a model |
| Embedder, EmbedderError, EmbedReport | what an embedder is; how it fails; what was made |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..calls.defaults import handle, scope_for, settings_for
from ..config import Settings
from ..database.engine import Database
from ..errors import ConfigError
from ..index import embeddings
from ..index import embeddings_writing as writing
from ..llm.embedder import Embedder, EmbedderError, resolve
from ..scope import Scope
from . import batches as semantic_work

__all__ = ["EmbedReport", "Embedder", "EmbedderError", "count_vectors", "drop_vectors", "embed_rows"]


@dataclass(frozen=True, slots=True)
class EmbedReport:
    """What `embed_rows` made."""

    model: str
    """Name of the embedder."""
    rows: int
    """Rows that got vectors."""
    done: bool
    """There are no others without."""


def embed_rows(
    limit: int | None = None,
    *,
    embedder: Any = None,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> EmbedReport:
    """Make the vectors that rows of the scope's persona lack, the newest rows first, and return what was made.

    For hosts without a worker, after a turn or now and then; a worker does the same by itself. Others may write
    meanwhile; interrupted, it goes on where it was when it is called again.

    Args:
        limit: most rows, in batches of 128; None for all.
        embedder: the embedder to ask; without one that of `configure`.

    Raises:
        ConfigError: there is no embedder, or the extra `semantic` is not installed.
        EmbedderError: the embedder failed; what was made before is stored.
        TypeError: the embedder has no `embed` or no `name`.
        ValueError: limit is no whole number of at least 1.
        StoreError: the database did not answer; likewise.

    Source: docs/embeddings.md.
    """
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise ValueError(f"limit is {str(limit)[:40]!r}. It must be a whole number of rows, 1 or more, or None.")
    asked = resolve(embedder)
    if asked is None:
        raise ConfigError("There is no embedder. Pass one, or set it: core.db.configure(embedder=...).")
    db = handle(db)
    settings = settings_for(settings, db)
    persona = scope_for(scope, settings).persona
    rows, batch = 0, None
    while limit is None or rows < limit:
        batch = semantic_work.next_batch(db, persona, asked, settings, batch)
        vectors = semantic_work.embed(asked, batch, settings)
        written, batch = _written(db, persona, asked.name, batch, vectors)
        rows += written
        if batch.done:
            return EmbedReport(asked.name, rows, True)
    return EmbedReport(asked.name, rows, False)


def _written(
    db: Database, persona: str, model: str, batch: writing.Batch, vectors: Mapping[tuple[int, int], Any]
) -> tuple[int, writing.Batch]:
    # Written twice, nothing changes: where the commit's answer was lost it is simply done again.
    return db.transaction(
        lambda connection: writing.write(connection, db, persona, model, batch, vectors),
        source="search_vector",
        confirm=lambda _: None,
    )


def count_vectors(
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> dict[str, int]:
    """Return the name of each model that made vectors of the persona's rows, with how many, by name.

    Raises:
        StoreReadError: nothing could be read.
    """
    db = handle(db)
    settings = settings_for(settings, db)
    return embeddings.counts(db, scope_for(scope, settings).persona)


def drop_vectors(
    model: str,
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> int:
    """Remove the vectors of the persona's rows that a model made, and return how many; it may begin again at once.

    Raises:
        StoreWriteError: some may be left; calling it again does the rest.
    """
    db = handle(db)
    settings = settings_for(settings, db)
    persona = scope_for(scope, settings).persona
    gone = embeddings.drop_model(db, persona, model)
    writing.forget_reach(db, persona, model)
    return gone
