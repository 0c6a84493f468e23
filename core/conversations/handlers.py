"""What a worker does with the end of a conversation: the operation CONVERSATION_SUMMARY."""

from __future__ import annotations

from ..database.engine import Connection
from ..errors import ModelError
from ..jobs.tools import Effect, Tools, operation_call
from ..shapes import Operation
from . import memory_files, summaries
from .rules_summaries import build_substitute

MODEL_TRIES = 3
"""Tries in which a model that fails is asked again later; after these the extract is stored."""


def summary(operation: Operation, tools: Tools) -> Effect | None:
    """Return what stores title and summary of a conversation that ended; None where nothing is left to summarise."""
    call = operation_call(operation, tools)
    end = summaries.read_end(operation.payload, tools.now)
    if end is None or not call.settings.enable_recent_conversations:
        return None
    lines = summaries.gather_lines(call, end)
    if not lines:
        return None
    given = summaries.find_model(call.db, end.id)
    model = summaries.choose_model(call, given if given is not None else tools.model)
    try:
        text = summaries.make_summary(call.settings, lines, model, or_raise=True)
    except ModelError as error:
        if error.reason != "auth" and operation.tries < MODEL_TRIES:
            raise
        text = summaries.screen_summary(lines, build_substitute(lines))

    def effect(connection: Connection) -> None:
        summaries.store_summary(connection, call, end, lines, text)
        summaries.find_model(call.db, end.id, forget=True)

    return effect


def follow_summary(operation: Operation, tools: Tools) -> None:
    """Write the Markdown files after a summary that a worker has stored."""
    memory_files.write_files(operation_call(operation, tools))
