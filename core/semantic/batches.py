"""Making vectors of rows, batch after batch: read, embedded outside of any transaction, written in one.

Called by `semantic`, and by `semantic.handlers` in the background.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..base.vectors import pack_vector, split_batches, split_pieces
from ..config import Settings
from ..database.engine import Database
from ..index import embeddings_writing as writing
from ..index.embeddings_writing import Batch
from ..llm import embedder as semantic_embedder

ROWS = 128
"""Rows of a batch: what is written in one transaction."""
TEXTS = 64
"""Texts an embedder gets at once."""


def next_batch(db: Database, persona: str, embedder: Any, settings: Settings, after: Batch | None = None) -> Batch:
    """Return the next rows without vectors.

    Rows marked local_only are shown to an embedder only where texts stay on the machine, or go no further than it does
    anyway.

    Raises:
        StoreReadError: nothing could be read.
    """
    local = semantic_embedder.is_local(embedder) or settings.prompt_destination == "local"
    return writing.next_batch(db, persona, embedder.name, ROWS, local=local, after=after)


def embed(embedder: Any, batch: Batch, settings: Settings) -> Mapping[tuple[int, int], Sequence[bytes]]:
    """Return the vectors of the pieces of each row; a row without any text, or whose vector is all nought, has none.

    Raises:
        EmbedderError: the embedder failed.
    """
    texts: list[str] = []
    whose: list[tuple[int, int]] = []
    for row in batch.rows:
        for piece in split_pieces(row.text, row.speaker):
            texts.append(piece)
            whose.append((row.source, row.id))
    made: dict[tuple[int, int], list[bytes]] = {}
    at = 0
    for some in split_batches(texts, TEXTS):
        for vector in semantic_embedder.ask(embedder, some, settings.llm_timeout_seconds):
            kept = pack_vector(vector)
            if kept is not None:
                made.setdefault(whose[at], []).append(kept)
            at += 1
    return made
