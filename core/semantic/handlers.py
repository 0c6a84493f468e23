"""Making vectors of rows, batch after batch: read, embedded outside of any transaction, written in one.

`embed` is what a worker does for the operation EMBED, one batch each (docs/embeddings.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..base.vectors import pack_vector, split_batches, split_pieces
from ..calls.call import Call
from ..config import Settings
from ..database.engine import Connection
from ..index import embeddings_writing
from ..index.embeddings_writing import Batch
from ..jobs import table as jobs_table
from ..jobs.handlers import EMBED, Effect, Tools, operation_call
from ..llm import embedder as client
from ..shapes import Operation

ROWS = 128
"""Rows of a batch, written in one transaction."""
TEXTS = 64
"""Texts an embedder gets at once."""


def read_next(call: Call, embedder: Any, after: Batch | None = None) -> Batch:
    """Return the next rows of the call's persona without vectors."""
    local = client.is_local(embedder) or call.settings.prompt_destination == "local"
    return embeddings_writing.next_batch(call.db, call.persona, embedder.name, ROWS, local=local, after=after)


def make_vectors(embedder: Any, batch: Batch, settings: Settings) -> Mapping[tuple[int, int], Sequence[bytes]]:
    """Return the vectors of the pieces of each row; a row without any text, or whose vector is all nought, has none."""
    texts: list[str] = []
    whose: list[tuple[int, int]] = []
    for row in batch.rows:
        for piece in split_pieces(row.text, row.speaker):
            texts.append(piece)
            whose.append((row.source, row.id))
    vectors: dict[tuple[int, int], list[bytes]] = {}
    at = 0
    for some in split_batches(texts, TEXTS):
        for vector in client.ask(embedder, some, settings.llm_timeout_seconds):
            kept = pack_vector(vector)
            if kept is not None:
                vectors.setdefault(whose[at], []).append(kept)
            at += 1
    return vectors


def store(call: Call, model: str, batch: Batch, vectors: Mapping[tuple[int, int], Any]) -> tuple[int, Batch]:
    """Store the vectors of a batch in one transaction; return (rows written, batch with the new marks)."""
    # Written twice, nothing changes: where the commit's answer was lost it is simply done again.
    return call.db.idempotent_transaction(
        lambda connection: embeddings_writing.write(connection, call.db, call.persona, model, batch, vectors),
        source="search_vector",
    )


def embed(operation: Operation, tools: Tools) -> Effect | None:
    """Return what stores the vectors of a batch of a persona's rows, and queues the next one where there are more."""
    call = operation_call(operation, tools)
    embedder = client.resolve(None, call.settings)
    if embedder is None:
        return None
    batch = read_next(call, embedder)
    vectors = make_vectors(embedder, batch, call.settings)

    def effect(connection: Connection) -> None:
        embeddings_writing.write(connection, call.db, call.persona, embedder.name, batch, vectors)
        if not batch.done:
            jobs_table.enqueue(connection, call.db, call.persona, EMBED, priority="LOW")

    return effect
