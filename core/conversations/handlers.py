"""What a worker does with the end of a conversation: the operation CONVERSATION_SUMMARY.

`jobs` finds `summary` by name and imports it when the first such operation is run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import ModelError
from ..jobs.tools import Effect, Tools, operation_scope
from ..shapes import Operation
from . import summaries as summarising
from .rules_summaries import without_answer

if TYPE_CHECKING:
    from sqlalchemy import Connection

MODEL_TRIES = 3
"""Tries in which a model that fails is asked again later; after these the extract is stored."""


def summary(operation: Operation, tools: Tools) -> Effect | None:
    """Return what stores title and summary of a conversation that ended; None where nothing is left to summarise.

    Raises:
        ModelError: the model failed, and is asked again later.
        StoreReadError: the messages could not be read.
    """
    db, settings, scope = tools.db, tools.settings, operation_scope(operation)
    end = summarising.end_of(operation.payload, tools.now)
    if end is None or not settings.enable_recent_conversations:
        return None
    lines = summarising.gather(db, settings, scope, end)
    if not lines:
        return None
    given = summarising.model_of(db, end.id)
    model = summarising.ask_whom(db, settings, scope, given if given is not None else tools.model)
    try:
        made = summarising.make(settings, lines, model, or_raise=True)
    except ModelError as error:
        if error.reason != "auth" and operation.tries < MODEL_TRIES:
            raise
        made = summarising.screened(settings, lines, without_answer(lines))

    def effect(connection: Connection) -> None:
        summarising.store(connection, db, settings, scope, end, lines, made)
        summarising.model_of(db, end.id, forget=True)

    return effect
