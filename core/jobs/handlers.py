"""The interface of operation handlers, and the handler of each type, imported when its first operation runs."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from importlib import import_module
from typing import Any, TypeAlias

from ..calls.call import Call
from ..config import Settings
from ..database.engine import Connection, Database
from ..scope import Scope
from ..shapes import Operation

Effect: TypeAlias = Callable[[Connection], None]
"""Function that writes the result on the given connection and nowhere else. It runs in the transaction that completes
the operation, and again if that transaction is repeated. An exception undoes all its writes."""


@dataclass(frozen=True, slots=True)
class Tools:
    db: Database
    settings: Settings
    model: Any
    """The model for `llm.ask`, or None."""
    now: datetime
    """Start of the try, by the database's clock."""
    notes: list[str] = field(default_factory=list)
    """Reasons why the result is worse than it could be, in the form of `rules.error_text`; stored as `error`."""
    results: list[Any] = field(default_factory=list)
    """Results for a caller that waits for the operation."""


Handler: TypeAlias = Callable[[Operation, Tools], Effect | None]
"""Function that reads, asks the model, and returns the effect, or None if there is nothing to write. It writes nothing
itself: another worker may repeat its work before the effect."""

EMBED = "EMBED"
_PACKAGE = __package__.partition(".")[0]

HANDLERS: dict[str, str | Handler] = {
    "RECAP": f"{_PACKAGE}.stories.handlers:recap",
    "SCENE_DETECTION": f"{_PACKAGE}.stories.handlers:scene_detection",
    "SCENE_RECAP": f"{_PACKAGE}.stories.handlers:scene_recap",
    "RUNNING_SCENE_RECAP": f"{_PACKAGE}.stories.handlers:running_scene_recap",
    "CONVERSATION_SUMMARY": f"{_PACKAGE}.conversations.recent:summary",
    "CONSOLIDATION": f"{_PACKAGE}.lifelong.cycles:handle_consolidation",
    "DEEP_CONSOLIDATION": f"{_PACKAGE}.lifelong.cycles:handle_deep_consolidation",
    EMBED: f"{_PACKAGE}.semantic.handlers:embed",
}
ASKING = frozenset(HANDLERS) - {EMBED}
"""Types of this package whose handlers ask a model, if a model is set."""
AFTER = {"CONVERSATION_SUMMARY": f"{_PACKAGE}.conversations.recent:follow_summary"}
"""Functions by type that run after the effect is stored, and write outside the database."""
FOLLOW_SETTINGS = f"{_PACKAGE}.stories.refresh:follow_settings"
QUEUE_DUE = f"{_PACKAGE}.lifelong.cycles:queue_due"


def operation_scope(operation: Operation) -> Scope:
    """Return the scope of an operation: its persona, conversation and participant, without a server."""
    return Scope(operation.persona, operation.conversation, operation.participant)


def operation_call(operation: Operation, tools: Tools) -> Call:
    return Call(tools.db, tools.settings, operation_scope(operation))


def list_types(settings: Settings | None = None) -> tuple[str, ...]:
    """Return the operation types that this process can run: EMBED only if there is an embedder."""
    from ..llm import embedder  # noqa: PLC0415 - a process that only queues does without

    embeds = embedder.resolve(None, settings) is not None
    return tuple(each for each in HANDLERS if each != EMBED or embeds)


def load(text: str | Callable[..., Any]) -> Callable[..., Any]:
    """Import the function named by `module:function`; a function is returned unchanged."""
    if not isinstance(text, str):
        return text
    module, _, name = text.partition(":")
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function
