"""What a handler of an operation gets and gives: `handle(operation, tools) -> Effect | None`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from ..calls.call import Call
from ..config import Settings
from ..database.engine import Connection, Database
from ..scope import Scope
from ..shapes import Operation

Effect: TypeAlias = Callable[[Connection], None]
"""What is to be written, on this connection and nowhere else: it runs in the transaction that marks the operation
completed, and may be run again when that transaction is. Raising undoes all of it."""


@dataclass(frozen=True, slots=True)
class Tools:
    """What a handler works with."""

    db: Database
    settings: Settings
    model: Any
    """The model to ask by `llm.ask`; None where there is none."""
    now: datetime
    """When the try began, by the clock of the database."""


Handler: TypeAlias = Callable[[Operation, Tools], Effect | None]
"""Reads, asks the model, and returns what is to be written; None when there is nothing to write. It writes nothing
itself: what it does before its effect runs may be done again by another worker."""


def operation_scope(operation: Operation) -> Scope:
    """Return the scope an operation acts in: that of the conversation it was queued for, whatever is open now.

    It raises nothing.

    Args:
        operation: as a handler gets it.

    Returns:
        A scope with persona, conversation and participant; no server, no destination.

    >>> operation_scope(Operation(1, "RECAP", "default", "tg/42")).conversation
    'tg/42'
    """
    return Scope(operation.persona, operation.conversation, operation.participant)


def operation_call(operation: Operation, tools: Tools) -> Call:
    """Return the call that the handler of an operation works with: in the operation's own scope."""
    return Call(tools.db, tools.settings, operation_scope(operation))
