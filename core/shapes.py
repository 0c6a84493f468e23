"""Every value that crosses a module border, in one place.

Frozen dataclasses are what this package builds; TypedDicts are JSON that is handed out, with the key order that is part
of the contract written next to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, NotRequired, Self, TypedDict

Source = Literal["memories", "ai_diary", "chat_history"]
"""memories: memory items. ai_diary: the persona's diary. chat_history: what was said (table chat_history_cache)."""

SOURCES: tuple[Source, ...] = ("memories", "ai_diary", "chat_history")
"""The order that breaks ties between sources."""

Ranking = Literal["relevance", "recency"]
"""relevance: best score survives the cut. recency: tier, then newest."""

Role = Literal["user", "persona", "system", "narrator", "thought"]

PERSONA_SENDER = "self"
"""Sender id of the persona's own lines."""

WriteReason = Literal[
    "", "duplicate", "empty", "disabled", "privacy", "not_explicit", "explicit", "too_long", "limit", "refused",
    "unchanged",
]  # fmt: skip
"""Why nothing new was stored; blank when it was."""


class Hit(TypedDict):
    """One found row in normal form. Keys stand in this order."""

    source: Source
    id: int
    timestamp: str
    """ISO 8601, UTC. Blank when the stored time cannot be read."""
    snippet: str
    tags: list[str]
    speaker: NotRequired[str]
    """Who said it: the name shown in lines of the history, the persona's own for its own. Absent where nobody knows."""


StatementKind = Literal["fact", "taste", "instruction"]
"""fact, taste: about the person. instruction: how the person wants to be answered."""


class ProfileStatement(TypedDict):
    """Something a person told of themselves. Keys stand in this order."""

    source: Source
    """memories: an item that is kept. chat_history: a line as it was said."""
    id: int
    """Of the row."""
    text: str
    about: list[StatementKind]
    """What its phrases state; [] for an item that holds none of them."""
    timestamp: str
    """When it was said, ISO 8601, UTC; blank when it cannot be read."""
    conversation: str
    """Key of the conversation it was said in; blank where the row has none."""
    seen_by: Literal["persona", "server", "direct", "saved", "conversation"]
    """persona: every conversation of the persona. server: public conversations of its server. direct: direct messages
    with the person. saved: the person's conversations. conversation: this one and its threads."""


class SimilarMemory(TypedDict):
    """An older saved memory about the same subject. Keys stand in this order."""

    id: int
    text: str
    day: str
    """When it was saved, `YYYY-MM-DD`; blank when it cannot be read."""


class Citation(TypedDict):
    """The row that a memory line shows. Keys stand in this order."""

    source: Source
    id: int
    conversation: str
    """Key of the conversation it was said in; blank where the row has none."""
    speaker: str
    timestamp: str


class _Written(NamedTuple):
    stored: bool
    id: int | None
    reason: WriteReason


class WriteResult(_Written):
    """What a write did: `(stored, id, reason)`, and beside the three what was left out of the row, and as `similar` an
    older memory that the new one may contradict.

    >>> result = WriteResult(False, None, "empty")
    >>> result == (False, None, "empty"), result.dropped_tags
    (True, 0)
    """

    dropped_tags: int
    notes: tuple[str, ...]
    similar: SimilarMemory | None

    def __new__(
        cls,
        stored: bool,
        id: int | None,  # noqa: A002 - the field's name
        reason: WriteReason = "",
        *,
        dropped_tags: int = 0,
        notes: tuple[str, ...] = (),
        similar: SimilarMemory | None = None,
    ) -> Self:
        made = super().__new__(cls, stored, id, reason)
        made.dropped_tags = dropped_tags
        made.notes = notes
        made.similar = similar
        return made


class ChatLine(TypedDict):
    """One row of `load_chat_history`. Keys stand in this order."""

    sender_name: str
    sender_id: str
    text: str
    timestamp: str
    """ISO 8601, UTC."""
    interface_path: str
    role: str
    metadata: NotRequired[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sent a message; blank texts where the host says nothing."""

    id: str = ""
    name: str = ""
    """Full name for people."""
    username: str = ""

    @property
    def identity(self) -> str:
        """The id, or the name where there is no id."""
        return self.id or self.name or self.username


@dataclass(frozen=True, slots=True)
class ReplyNote:
    """What a line replies to: name and quote."""

    name: str
    text: str
    is_persona: bool = False
    """The persona said it, whatever name is told."""


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One message in a history list, stored or live."""

    conversation: str
    """Conversation key."""
    text: str
    sender_id: str = ""
    sender_name: str = ""
    username: str = ""
    message_id: str | None = None
    time: datetime | None = None
    """Aware, UTC; None when there is none or it cannot be read."""
    shown_time: str = ""
    """The time as it was given, where it cannot be read."""
    row_id: int | None = None
    """Row of chat_history_cache; None for a live entry."""
    role: Role = "user"
    reply: ReplyNote | None = None
    title: str = ""
    """Title of the conversation, shown instead of its key."""
    hidden: bool = False
    excluded: bool = False
    order: int = 0
    """Position among the entries handed in; the last tie-breaker."""
    compared: list[str] = field(default_factory=list, init=False, repr=False, compare=False)
    """What its text is compared by, once that was worked out: `text.hits.compared_text`."""


@dataclass(frozen=True, slots=True)
class DiaryEntry:
    """A row of ai_diary as it is read."""

    id: int
    timestamp: datetime | None
    content: str
    personal_thought: str = ""
    interaction_summary: str = ""
    user_message: str = ""
    emotions: tuple[Any, ...] = ()
    context_tags: tuple[str, ...] = ()
    involved_users: tuple[str, ...] = ()
    interface: str = "unknown"
    chat_id: str = ""
    thread_id: str = ""
    local_only: bool = False


@dataclass(frozen=True, slots=True)
class LeftOut:
    """One item that is not in the prompt and why; never its text."""

    section: str
    reason: str
    """duplicate, visible, echo, private, privacy, expired, destination, limit, blank, hidden, noise, invalid or cut."""
    id: str = ""


def now_utc() -> datetime:
    """Return the operating system's time, aware. Only the default clock of a database calls it."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """The tag vocabulary of one persona, as `extract_tags` and `expand_tags` use it; equal to itself alone."""

    tags: Mapping[str, int] = field(default_factory=dict)
    """Tag to number of uses."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Alias to tag."""
    links: Mapping[str, tuple[tuple[str, float], ...]] = field(default_factory=dict)
    """Tag to (linked tag, weight), both directions."""


OperationState = Literal["pending", "in_progress", "retrying", "completed", "failed", "cancelled"]
"""pending: waits for its turn. in_progress: a worker has it. retrying: a try failed, another comes. completed: done,
once. failed: given up, with a reason. cancelled: not wanted any more."""

OPEN_STATES: tuple[OperationState, ...] = ("pending", "retrying", "in_progress")
"""States of an operation that has not ended."""

RunState = Literal["completed", "retrying", "failed", "dropped"]
"""What one try came to. dropped: cancelled, cleared or taken over meanwhile, so nothing of it was stored."""

OperationPriority = Literal["HIGH", "NORMAL", "LOW"]
"""In the order of their turns."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One piece of background work as its handler gets it."""

    id: int
    type: str
    """RECAP, SCENE_DETECTION and so on."""
    persona: str
    conversation: str | None = None
    """Conversation key it was queued for; it acts on no other."""
    participant: str | None = None
    """Participant key it is about."""
    priority: OperationPriority = "NORMAL"
    payload: Mapping[str, Any] = field(default_factory=dict)
    """What it works on: ids, and under the key `texts` alone whatever was said. `texts` is emptied when it ends."""
    tries: int = 1
    """Tries begun, this one included."""
    created_at: datetime | None = None
    """Aware, UTC."""


@dataclass(frozen=True, slots=True)
class OperationRun:
    """What became of one try of an operation: the report of `run_pending` and of a worker."""

    id: int
    type: str
    persona: str
    conversation: str | None
    state: RunState
    seconds: float
    error: str = ""
    """Class and reason of what went wrong, of a completed one of what made its result poorer; never a said text."""


class ListedOperation(TypedDict):
    """One operation of the queue as `list_operations` shows it. Keys stand in this order."""

    id: int
    type: str
    state: OperationState
    priority: OperationPriority
    conversation: str | None
    participant: str | None
    tries: int
    error: str
    """Why it failed or is tried again, or why the result of a completed one is poorer; blank otherwise."""
    depends_on: list[int]
    created_at: str
    """ISO 8601, UTC; blank when it cannot be read, as the three below."""
    updated_at: str
    available_at: str
    """When the next try may begin; blank for at once."""
    lease_until: str
    """Up to when a worker has it; blank when none has."""


ToolForm = Literal["openai", "anthropic", "xml"]
"""openai, anthropic: native tool calling. xml: a call written into the reply."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of the memory tool as a model made it."""

    name: str
    content: str
    """What to remember; blank where the call is broken."""
    form: ToolForm = "xml"
    call_id: str = ""
    """The id a native call has, for its answer."""
    error: str = ""
    """Why the call cannot be read; blank for a good one."""


class ToolAnswer(TypedDict):
    """What `run_tool_call` gives. Keys stand in this order."""

    success: bool
    message: str
    """What may be shown; on failure it begins with the reason."""
    id: int | None
    """Of the saved memory, or of the one that says the same."""
    reply: Any
    """Success and message in the form the call came in: a text for XML, a message or content block otherwise."""


class RecentConversation(TypedDict):
    """One conversation that ended. Keys stand in this order."""

    id: int
    title: str
    """One line."""
    time: str
    """When its last message was said, `YYYY-MM-DD HH:MM` in TIMEZONE; blank when it cannot be read."""
    summary: str
    """One line."""
    conversation: str
    """Its key; blank where the host named none."""
    provenance: str
    """model, extract, manual or import."""


class SavedMemory(TypedDict):
    """One saved memory. Keys stand in this order."""

    id: int
    text: str
    """One line."""
    saved_at: str
    """ISO 8601, UTC; blank when it cannot be read."""
    source: str
    """`user`, or `file` for one that was written into the Markdown file."""
    archived: bool
    """It was deleted or replaced, and can be restored."""
    replaced_by: int | None
    """Id of the memory in its place."""


class LoadedMemory(TypedDict):
    """What `load_memory` gives."""

    recent: list[RecentConversation]
    saved: list[SavedMemory]


Severity = Literal["error", "warning", "note"]
"""error: something does not work or will fail. warning: it works, poorer or not for long. note: worth knowing."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be, or that an operator wants to know."""

    severity: Severity
    what: str
    """A sentence without its full stop."""
    where: str
    """Table or `table.column`; blank for the server."""
    remedy: str
    """The statement or command that repairs it; blank if nothing is to be done."""

    def __str__(self) -> str:
        place = f" {self.where}" if self.where else ""
        return f"{self.severity}:{place} {self.what}. {self.remedy}".rstrip()
