"""What the stages of a prompt work with: the call, made once at the door, and what its first round trip saw."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING, Any

from ..access.table_conversations import resolve_scope
from ..access.view import Recent, Viewer
from ..calls import defaults
from ..calls.call import Call
from ..config import Settings
from ..context import context as context_rules
from ..context.history import skips_history
from ..context.incoming import IncomingMessage, read_message_id
from ..context.lines import NameLabels
from ..context.live import LiveHistory, read_context_memory
from ..database.engine import Database
from ..scope import Scope
from ..shapes import Hit
from ..text import times
from .report import Guard, Report

if TYPE_CHECKING:
    from ..index.state import IndexState
    from ..search.choice import Chosen

MOST_ASKED_CHARS = 16_000
"""Most characters of a message that are searched for; to look through a megabyte took 5 to 20 s."""


@dataclass(frozen=True, slots=True)
class PromptRequest:
    """The arguments of `build_json_prompt`, as they were given."""

    message: Any
    context_memory: Any = None
    interface_name: str | None = None
    image_data: Any = None
    attachments: Any = None
    max_chars: int | None = None
    limit_tokens: int | None = None
    counter: Callable[[str], int] | None = None
    destination: str | None = None
    db: Database | None = None
    settings: Settings | Mapping[str, Any] | None = None
    scope: Scope | None = None
    replacing: str | int | None = None
    replaced_rows: frozenset[int] = frozenset()
    """Stored messages that the caller's own list replaces, by row id."""


@dataclass(frozen=True, slots=True)
class PromptCall:
    """One call for a prompt, or for its context alone."""

    request: PromptRequest
    message: IncomingMessage
    live: LiveHistory
    settings: Settings
    scope: Scope
    db: Database | None
    """None when it could not be opened: the prompt is made of what is live."""
    guard: Guard
    replacing: str | None = None
    """Id of the stored message that the message takes the place of."""
    most_memories: int | None = None
    """Hits that are looked for where MEMORY_ITEMS says nothing; None for CONTEXT_VERBOSITY."""

    @property
    def report(self) -> Report:
        """Return the account of this call."""
        return self.guard.report

    @property
    def is_down(self) -> bool:
        """Return whether the database did not answer; nothing stored is asked for again in this call."""
        return self.guard.down

    @property
    def caps(self) -> context_rules.Caps:
        """Return how many items of each kind the context holds."""
        s = self.settings
        return context_rules.caps(
            s.context_verbosity, s.prompt_lite_mode, history=s.history_lines, memories=self._asked_memories
        )

    @property
    def asked_text(self) -> str:
        """Return the part of the message that is searched for: all of it, or of a very long one beginning and end."""
        text = self.message.text
        if len(text) <= MOST_ASKED_CHARS:
            return text
        return f"{text[: MOST_ASKED_CHARS // 2]} {text[-MOST_ASKED_CHARS // 2 :]}"

    @property
    def zone(self) -> tzinfo:
        """Return the zone times are shown in."""
        return times.zone(self.settings.timezone) or UTC

    @property
    def hits_wanted(self) -> int:
        """Return how many hits the search is asked for; lite mode shows fewer of them."""
        most = self._asked_memories
        return max(1, self.settings.context_verbosity if most is None else most)

    @property
    def _asked_memories(self) -> int | None:
        return self.most_memories if self.settings.memory_items is None else self.settings.memory_items

    @property
    def skips_history(self) -> bool:
        """Return whether the host asked for empty lists."""
        return skips_history(self.live.metadata)

    @property
    def reads_diary(self) -> bool:
        """Return whether diary entries are needed at all."""
        s = self.settings
        return bool(s.enable_ai_diary and (s.ai_diary_full or (s.enable_thoughts and not self.skips_history)))

    def for_database(self, db: Database) -> Call:
        """Return the call as doors below know it."""
        destination: Any = self.request.destination or self.scope.destination or self.settings.prompt_destination
        return Call(db, self.settings, replace(self.scope, destination=destination))

    def one_connection(self) -> AbstractContextManager[Any]:
        """Return what keeps one connection for all reading of the call."""
        return self.db.request_connection(snapshot=True) if isinstance(self.db, Database) else nullcontext()

    def ask_hook(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        """Return what a hook gives that takes the place of one of our functions."""
        common = {"db": self.db, "settings": self.settings, "scope": self.scope}
        return self.guard.call(function, {**arguments, **common})


def open_call(request: PromptRequest) -> PromptCall:
    """Read message, settings and scope; a database that cannot be opened leaves a prompt of what is live."""
    if request.db is not None:
        defaults.check_handle(request.db)
    if request.destination not in (None, "remote", "local"):
        raise ValueError(f"destination is {str(request.destination)[:40]!r}. It must be 'remote' or 'local'.")
    settings = defaults.settings_for(request.settings)
    now = request.db.clock if isinstance(request.db, Database) else defaults.clock()
    message = IncomingMessage.read(
        request.message, context_memory=request.context_memory, interface_name=request.interface_name, now=now()
    )
    live = read_context_memory(request.context_memory)
    given = defaults.scope_of(message, request.scope, settings)
    report = Report()
    report.note(*message.notes, *live.notes)
    if live.skipped:
        report.note(f"context_memory: {live.skipped} things are no message and are left out")
    guard = Guard(report)
    db = guard.open(request.db)
    scope = guard("database", lambda: resolve_scope(db, given), given)
    message, live = put_under_key(message, live, scope.conversation)
    replacing = read_message_id(request.replacing, "replacing")
    return PromptCall(request, message, live, settings, scope, db, guard, replacing)


def in_zone_of_asker(call: PromptCall) -> PromptCall:
    """Return the call with the time zone of who is asking as TIMEZONE."""
    s, zone = call.settings, call.message.time_zone
    if zone and zone != s.timezone and times.zone(zone):
        return replace(call, settings=replace(s, timezone=zone))
    return call


def put_under_key(message: IncomingMessage, live: LiveHistory, key: str | None) -> tuple[IncomingMessage, LiveHistory]:
    """Return message and live messages with the key that their conversation is stored under."""
    path = message.interface_path
    if path is None or key is None or path == key:
        return message, live
    chats = {
        (key if name == path else name): [
            replace(entry, conversation=key) if entry.conversation == path else entry for entry in entries
        ]
        for name, entries in live.chats.items()
    }
    return replace(message, interface_path=key), replace(live, chats=chats)


@dataclass(frozen=True, slots=True)
class VisibleContext:
    """What the first round trip showed: who sees what, and which words and tags the message asks for."""

    viewer: Viewer | None = None
    """None when nothing stored can be read."""
    chats: Sequence[Recent] = ()
    """Other conversations that may be seen, newest first."""
    named_tags: Sequence[str] = ()
    """Tags that stand in the message."""
    tags: Sequence[str] = ()
    """With those that are linked to them."""
    keywords: Sequence[str] = ()
    index: IndexState | None = None
    """What the index holds of what may be seen; None where nothing is searched, or it cannot be read."""

    @property
    def words(self) -> tuple[str, ...]:
        """Return what the message asks for."""
        return (*self.keywords, *self.tags)


@dataclass(frozen=True, slots=True)
class Recalled:
    """What the search of a prompt found."""

    hits: Sequence[Hit] = ()
    chosen: Sequence[Chosen] = ()
    """The same hits with their rank and row; empty where a host's own search gave them."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """Everything a prompt is made of."""

    context: dict[str, Any] = field(default_factory=lambda: context_rules.order_context({}))
    persona: str = ""
    """The persona's own text."""
    recalled: Recalled = field(default_factory=Recalled)
    names: NameLabels = field(default_factory=NameLabels)
    ids: Mapping[str, list[str]] = field(default_factory=dict)
    """Section to the ids of its items."""
    words: Sequence[str] = ()
    """What the message asks for."""

    @property
    def rank(self) -> list[tuple[str, int]]:
        """Return source and id of the memories, best first."""
        ranked = sorted(self.recalled.chosen, key=lambda one: one.rank)
        return [(one.hit["source"], one.hit["id"]) for one in ranked]
