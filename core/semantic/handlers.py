"""What a worker does for embeddings: the operation EMBED, one batch of rows each (docs/embeddings.md)."""

from __future__ import annotations

from ..database.engine import Connection
from ..index import embeddings_writing
from ..jobs import table as jobs_table
from ..jobs.handlers import EMBED, Effect, Tools, operation_call
from ..llm.embedder import resolve
from ..shapes import Operation
from . import batches


def embed(operation: Operation, tools: Tools) -> Effect | None:
    """Return what stores the vectors of a batch of a persona's rows, and queues the next one where there are more."""
    call = operation_call(operation, tools)
    embedder = resolve(None, call.settings)
    if embedder is None:
        return None
    batch = batches.read_next(call, embedder)
    vectors = batches.embed(embedder, batch, call.settings)

    def effect(connection: Connection) -> None:
        embeddings_writing.write(connection, call.db, call.persona, embedder.name, batch, vectors)
        if not batch.done:
            jobs_table.enqueue(connection, call.db, call.persona, EMBED, priority="LOW")

    return effect
