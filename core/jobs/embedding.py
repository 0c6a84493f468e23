"""When rows are embedded: an operation EMBED is queued as soon as a worker finds rows without vectors."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from ..base import logs
from ..config import Settings
from ..database.engine import Database
from ..errors import ConfigError
from ..index import embeddings_writing
from ..llm import embedder as semantic_embedder
from . import table

OPERATION, PRIORITY = "EMBED", "LOW"
EVERY = timedelta(seconds=5)
"""A persona is looked at no more often than this by one handle."""


def queue_due(db: Database, settings: Settings, personas: Sequence[str] = (), *, now: bool = False) -> int:
    """Queue an operation for each persona that has rows without vectors, and return for how many."""
    embedder = semantic_embedder.resolve(None, settings)
    if embedder is None:
        return 0
    try:
        model = semantic_embedder.check(embedder)
    except ConfigError as error:
        logs.warning("embedder_unusable", flag=error.flag)
        return 0
    looks: dict[str, datetime] = db.caches.setdefault(__name__, {})
    moment, queued = db.clock(), 0
    local = semantic_embedder.is_local(embedder) or settings.prompt_destination == "local"
    for persona in personas or embeddings_writing.personas(db):
        if not now and persona in looks and moment < looks[persona] + EVERY:
            continue
        looks[persona] = moment
        if not embeddings_writing.next_batch(db, persona, model, 1, local=local).rows:
            continue
        job_id = db.transaction(
            lambda c, whose=persona: table.enqueue(c, db, whose, OPERATION, priority=PRIORITY, once=True),  # type: ignore[misc]
            source="memory_jobs",
        )
        queued += job_id is not None
    return queued
