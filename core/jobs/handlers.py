"""What a handler of an operation gets and gives, and which function does which type.

A handler is `handle(operation, tools) -> Effect | None`, known as `module:function` and imported when the first
operation of its type runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from importlib import import_module
from typing import Any, TypeAlias

from ..calls.call import Call
from ..config import Settings
from ..database.engine import Connection, Database
from ..scope import Scope, key_text
from ..shapes import Operation
from .rules import TYPE_BYTES

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
    notes: list[str] = field(default_factory=list)
    """What made the result poorer than it could be, as `rules.error_text` writes it: the `error` of a completed one."""
    results: list[Any] = field(default_factory=list)
    """What was done, for who waits for the operation."""


Handler: TypeAlias = Callable[[Operation, Tools], Effect | None]
"""Reads, asks the model, and returns what is to be written; None when there is nothing to write. It writes nothing
itself: what it does before its effect runs may be done again by another worker."""

EMBED = "EMBED"
_PACKAGE = __package__.partition(".")[0]

_handlers: dict[str, str | Handler] = {
    "RECAP": f"{_PACKAGE}.stories.handlers:recap",
    "SCENE_DETECTION": f"{_PACKAGE}.stories.handlers:scene_detection",
    "SCENE_RECAP": f"{_PACKAGE}.stories.handlers:scene_recap",
    "RUNNING_SCENE_RECAP": f"{_PACKAGE}.stories.handlers:running_scene_recap",
    "CONVERSATION_SUMMARY": f"{_PACKAGE}.conversations.recent:summary",
    "CONSOLIDATION": f"{_PACKAGE}.lifelong.cycles:handle_consolidation",
    "DEEP_CONSOLIDATION": f"{_PACKAGE}.lifelong.cycles:handle_deep_consolidation",
    EMBED: f"{_PACKAGE}.semantic.handlers:embed",
}
ASKING = frozenset(_handlers) - {EMBED}
"""Types of the package that ask a model where there is one."""
AFTER = {"CONVERSATION_SUMMARY": f"{_PACKAGE}.conversations.recent:follow_summary"}
"""Type to what is done once the effect of such an operation is stored; what it writes is outside the database."""
FOLLOW_SETTINGS = f"{_PACKAGE}.stories.refresh:follow_settings"
"""Brings the stories of a persona in line with the settings."""
QUEUE_DUE = f"{_PACKAGE}.lifelong.schedule:queue_due"
"""Queues the consolidations of a persona that are due."""


def operation_scope(operation: Operation) -> Scope:
    """Return the scope an operation acts in: that of the conversation it was queued for, without a server.

    >>> operation_scope(Operation(1, "RECAP", "default", "tg/42")).conversation
    'tg/42'
    """
    return Scope(operation.persona, operation.conversation, operation.participant)


def operation_call(operation: Operation, tools: Tools) -> Call:
    """Return the call that the handler of an operation works with: in the operation's own scope."""
    return Call(tools.db, tools.settings, operation_scope(operation))


def register_handler(type: str, handler: str | Handler | None) -> None:  # noqa: A002 - the column's name
    """Let operations of a type be done by `handler` in this process; None takes the type away again.

    `handler` is `handle(operation, tools) -> Effect | None`, or where to find it as `module:function`; a type has at
    most 32 bytes. Raises MessageError for a type that is blank or too long, ValueError for another kind of handler.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.jobs import enqueue_operation, register_handler, run_pending
    >>> db, done = open_database("sqlite://"), []
    >>> register_handler("GREETING", lambda operation, tools: done.append(operation.payload["name"]))
    >>> job = enqueue_operation("GREETING", metadata={"name": "Ann"}, db=db)
    >>> [run.state for run in run_pending(db=db)], done
    (['completed'], ['Ann'])
    >>> register_handler("GREETING", None)
    """
    name = key_text(type, "type", TYPE_BYTES, required=True)
    if handler is not None and not callable(handler) and (not isinstance(handler, str) or ":" not in handler):
        raise ValueError(f"handler of {name!r} is no function and no text 'module:function'.")
    if handler is None:
        _handlers.pop(name, None)
    else:
        _handlers[name] = handler


def list_types(settings: Settings | None = None) -> tuple[str, ...]:
    """Return the types that can be done in this process: EMBED only where there is an embedder."""
    from ..llm import embedder  # noqa: PLC0415 - a process that only queues does without

    embeds = embedder.resolve(None, settings) is not None
    return tuple(each for each in list_all_types() if each != EMBED or embeds)


def list_all_types() -> tuple[str, ...]:
    """Return the types that have a handler here."""
    return tuple(_handlers)


def find(type: str) -> Handler:  # noqa: A002 - as above
    """Return the function that does operations of a type."""
    handler = _handlers[type]
    return load(handler) if isinstance(handler, str) else handler


def load(text: str) -> Callable[..., Any]:
    """Return the function that `module:function` names."""
    module, _, name = text.partition(":")
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function
