"""Make vectors of rows in batches: read rows, embed them outside of transactions, write the vectors in a transaction.

A worker calls `embed` for the operation EMBED, once for each batch (docs/embeddings.md).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..base.vectors import pack_vector, split_pieces
from ..calls.call import Call
from ..config import Settings
from ..database.compiled import chunks
from ..database.engine import Connection
from ..index import embeddings
from ..index.embeddings import Batch
from ..jobs import table as jobs_table
from ..jobs.handlers import EMBED, Effect, Tools, operation_call
from ..llm import embedder as client
from ..shapes import Operation

ROWS = 128
"""Number of rows in a batch; the vectors of a batch are written in one transaction."""
TEXTS = 64
"""Number of texts sent to an embedder in one call."""


def read_next(call: Call, embedder: Any, after: Batch | None = None) -> Batch:
    local = client.is_local(embedder) or call.settings.prompt_destination == "local"
    return embeddings.next_batch(call.db, call.persona, embedder.name, ROWS, local=local, after=after)


def make_vectors(embedder: Any, batch: Batch, settings: Settings) -> Mapping[tuple[int, int], Sequence[bytes]]:
    """Return the vectors of each row, one for each piece of its text; zero vectors are left out."""
    pieces = [((row.source, row.id), piece) for row in batch.rows for piece in split_pieces(row.text, row.speaker)]
    vectors: dict[tuple[int, int], list[bytes]] = {}
    for some in chunks(pieces, TEXTS):
        made = client.ask(embedder, [piece for _, piece in some], settings.llm_timeout_seconds)
        for (row_id, _), vector in zip(some, made, strict=True):
            packed = pack_vector(vector)
            if packed is not None:
                vectors.setdefault(row_id, []).append(packed)
    return vectors


def embed(operation: Operation, tools: Tools) -> Effect | None:
    """Return the effect that stores the vectors of one batch and, if rows are left, queues the next batch."""
    call = operation_call(operation, tools)
    embedder = client.resolve(None, call.settings)
    if embedder is None:
        return None
    batch = read_next(call, embedder)
    vectors = make_vectors(embedder, batch, call.settings)

    def effect(connection: Connection) -> None:
        embeddings.write(connection, call.db, call.persona, embedder.name, batch, vectors)
        if not batch.done:
            jobs_table.enqueue(connection, call.db, call.persona, EMBED, priority="LOW")

    return effect
