"""Values that several modules share.

Frozen dataclasses are internal values; TypedDicts are JSON results, whose order of keys is part of the contract.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, NotRequired, Self

from typing_extensions import TypedDict  # pydantic reads this one on every Python

Source = Literal["memories", "ai_diary", "chat_history"]
"""memories: memory items. ai_diary: the persona's diary. chat_history: messages (table chat_history_cache)."""

SOURCES: tuple[Source, ...] = ("memories", "ai_diary", "chat_history")
"""Sources in the order that breaks ties between their hits."""

Ranking = Literal["relevance", "recency"]
"""relevance: the rows with the best scores. recency: rows that match both a tag and a word, then the newest matches."""

Role = Literal["user", "persona", "system", "narrator", "thought"]

Progress = Callable[[str, int, int], None]
"""Called with (step, amount done, total or 0 if unknown); a transfer's steps are `looking`, `storing`, `writing`."""

PERSONA_SENDER = "self"
"""Sender id of the persona's own lines."""

WriteReason = Literal[
    "", "duplicate", "empty", "disabled", "privacy", "not_explicit", "explicit", "too_long", "limit", "refused",
    "unchanged", "not_found",
]  # fmt: skip
"""Reason why nothing new was stored; "" if a row was stored. not_found: the scope sees no such message."""


class Hit(TypedDict):
    """One row found by a search. JSON keys appear in this order."""

    source: Source
    id: int
    timestamp: str
    """Time, ISO 8601, UTC; "" if unreadable."""
    snippet: str
    tags: list[str]
    speaker: NotRequired[str]
    """The speaker's name, or the persona's for its own lines, as in lines of the history. Absent if unknown."""
    reply: NotRequired[str]
    """In a prompt, if the message is a reply: `[replied to Ann: "..."]`, as in lines of the history."""


StatementKind = Literal["fact", "taste", "instruction"]
"""fact, taste: about the person. instruction: how the person wants to be answered."""


class ProfileStatement(TypedDict):
    """Something that a person said about themselves. JSON keys appear in this order."""

    source: Source
    """Where the statement is stored. memories: as an item. chat_history: as a message in its original words."""
    id: int
    """Id of the row."""
    text: str
    about: list[StatementKind]
    """Kinds of statement recognised by phrases in its text; [] for an item without such phrases."""
    timestamp: str
    """Time of the statement, ISO 8601, UTC; "" if unreadable."""
    conversation: str
    """Key of the row's conversation; "" if the row has none."""
    seen_by: Literal["persona", "server", "direct", "saved", "conversation"]
    """Where the statement is shown. persona: everywhere. server: public conversations of its server. direct: direct
    messages with the person. saved: the person's private conversations. conversation: its own, and threads there."""


class SimilarMemory(TypedDict):
    """An older saved memory about the same subject. JSON keys appear in this order."""

    id: int
    text: str
    day: str
    """Day on which the memory was saved, `YYYY-MM-DD`; "" if unreadable."""


class Citation(TypedDict):
    """The stored row that a memory line of a prompt shows. JSON keys appear in this order."""

    source: Source
    id: int
    conversation: str
    """Key of the row's conversation; "" if the row has none."""
    speaker: str
    timestamp: str


class _Written(NamedTuple):
    stored: bool
    id: int | None
    reason: WriteReason


class WriteResult(_Written):
    """The result of a write: `(stored, id, reason)`. `notes` and `dropped_tags` say what was left out of the row,
    `similar` is an older memory that the new one may contradict.

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
    """One row of `load_chat_history`. JSON keys appear in this order."""

    sender_name: str
    sender_id: str
    text: str
    timestamp: str
    """Time, ISO 8601, UTC."""
    interface_path: str
    role: str
    metadata: NotRequired[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Sender:
    """The sender of a message; "" for unknown values."""

    id: str = ""
    name: str = ""
    """Display name."""
    username: str = ""

    @property
    def identity(self) -> str:
        """The id, else the name or username."""
        return self.id or self.name or self.username


@dataclass(frozen=True, slots=True)
class ReplyNote:
    """The message that a line replies to: name of its speaker, and quoted text."""

    name: str
    text: str
    is_persona: bool = False
    """Whether the persona wrote the quoted message, whatever the name."""
    sender_id: str = ""


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
    """Time in UTC, aware; None if missing or unreadable."""
    shown_time: str = ""
    """Unreadable time, as the host gave it."""
    row_id: int | None = None
    """Row of chat_history_cache; None for a live entry."""
    role: Role = "user"
    reply: ReplyNote | None = None
    title: str = ""
    """Title of the conversation, shown in place of its key."""
    hidden: int = 0
    """0: shown. 1: hidden by its scene. 2: hidden since it was saved. 3: an answer made with forgotten data."""
    excluded: bool = False
    order: int = 0
    """Position among the entries passed in; the last tie-breaker."""
    compared: list[str] = field(default_factory=list, init=False, repr=False, compare=False)
    """Cached result of `text.hits.compared_text`."""


@dataclass(frozen=True, slots=True)
class Line:
    """One message of a conversation, as stored; or as the host passes it in for a summary."""

    row_id: int = 0
    """Row id in chat_history_cache; 0 if the message is not stored."""
    conversation: str = ""
    message_id: str | None = None
    audience_id: int = 0
    at: datetime | None = None
    edited_at: datetime | None = None
    role: str = "user"
    sender_id: str = ""
    sender_name: str = ""
    participant: str | None = None
    """Speaker's key; None for the persona and unknown speakers."""
    triggered_by: str | None = None
    """Participant whose turn a persona's line answers."""
    hidden: bool = False
    excluded: bool = False
    metadata: dict[str, Any] = field(default_factory=dict)
    digest: bytes = b""
    text: str = ""
    """Text; blank if the message was read without it."""
    is_withdrawn: bool = False
    """Whether the message is an answer made with a forgotten row; no list shows such answers."""

    @property
    def is_persona(self) -> bool:
        return self.role == "persona"

    @property
    def is_anonymous(self) -> bool:
        return self.role == "user" and not self.participant


@dataclass(frozen=True, slots=True)
class DiaryEntry:
    """A row of ai_diary."""

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
    """An item left out of the prompt, and the reason. It never contains the item's text."""

    section: str
    reason: str
    """One of the reasons on the page `docs/prompt.md`, such as `duplicate`, `visible`, `private`, `limit` or `cut`."""
    id: str = ""


def now_utc() -> datetime:
    """Return the operating system's time, aware. Only the default clock of a database calls it."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """The tag vocabulary of one persona, for `extract_tags` and `expand_tags`; compared by identity."""

    tags: Mapping[str, int] = field(default_factory=dict)
    """Number of uses of each tag."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Tag of each alias."""
    links: Mapping[str, tuple[tuple[str, float], ...]] = field(default_factory=dict)
    """Linked tags of each tag, as (tag, weight), in both directions."""


OperationState = Literal["pending", "in_progress", "retrying", "completed", "failed", "cancelled"]
"""pending: waits. in_progress: a worker runs it. retrying: a try failed, another follows. completed: done. failed:
given up, with a reason. cancelled: no longer wanted."""

OPEN_STATES: tuple[OperationState, ...] = ("pending", "retrying", "in_progress")
"""States of operations that have not ended."""

RunState = Literal["completed", "retrying", "failed", "dropped"]
"""Result of one try. dropped: nothing was stored, since another process cancelled, deleted or claimed the operation."""

OperationPriority = Literal["HIGH", "NORMAL", "LOW"]
"""Priorities, in order of execution."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One piece of background work, as its handler gets it."""

    id: int
    type: str
    """Type of the work: RECAP, SCENE_DETECTION and so on."""
    persona: str
    conversation: str | None = None
    """Conversation key; the operation changes no other conversation."""
    participant: str | None = None
    """Key of the participant that the operation is about."""
    priority: OperationPriority = "NORMAL"
    payload: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the operation: ids, and texts only under the key `texts`, emptied when the operation ends."""
    tries: int = 1
    """Number of tries begun, including the current try."""
    created_at: datetime | None = None
    """Time in UTC, aware."""


@dataclass(frozen=True, slots=True)
class OperationRun:
    """The result of one try of an operation, as `run_pending` and workers report it."""

    id: int
    type: str
    persona: str
    conversation: str | None
    state: RunState
    seconds: float
    error: str = ""
    """Class and reason of a failure, or why the result is worse than it could be; never the text of a message."""
    wait_seconds: float = 0.0
    """Pause before the next try, if the state is retrying."""


class ListedOperation(TypedDict):
    """One operation in the result of `list_operations`. JSON keys appear in this order."""

    id: int
    type: str
    state: OperationState
    priority: OperationPriority
    conversation: str | None
    server: str
    """Server of the conversation; "" without a server."""
    participant: str | None
    tries: int
    error: str
    """Why the operation failed, is retried, or has a result worse than it could be; else ""."""
    depends_on: list[int]
    created_at: str
    """Time of queuing, ISO 8601, UTC; "" if unreadable. The three following fields have the same form."""
    updated_at: str
    available_at: str
    """Time from which the next try may begin; "" if it may begin at once."""
    lease_until: str
    """Time until which a worker has claimed the operation; "" if no worker has claimed it."""


ToolForm = Literal["openai", "anthropic", "xml"]
"""openai, anthropic: native tool calls. xml: a call written into the reply."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of the memory tool by a model."""

    name: str
    content: str
    """The text to remember; "" if the call is broken."""
    form: ToolForm = "xml"
    call_id: str = ""
    """Id of a native call, which its answer repeats."""
    error: str = ""
    """Reason why the call is unreadable; "" for a valid call."""


class ToolAnswer(TypedDict):
    """The result of `run_tool_call`. JSON keys appear in this order."""

    success: bool
    message: str
    """Text that may be shown; on failure it begins with the reason."""
    id: int | None
    """Id of the saved memory, or of the stored memory with the same text; None without either."""
    reply: Any
    """Success and message in the form of the call: a text for XML, else a message or content block."""


class RecentConversation(TypedDict):
    """One ended conversation. JSON keys appear in this order."""

    id: int
    title: str
    """Title, one line."""
    time: str
    """Time of the conversation's last message, `YYYY-MM-DD HH:MM` in TIMEZONE; "" if unreadable."""
    summary: str
    """Summary, one line."""
    conversation: str
    """Conversation key; "" if the host named no conversation."""
    provenance: str
    """Origin of the summary: model, extract or import."""


class SavedMemory(TypedDict):
    """One saved memory. JSON keys appear in this order."""

    id: int
    text: str
    """Text, one line."""
    saved_at: str
    """Time of saving, ISO 8601, UTC; "" if unreadable."""
    source: str
    """Origin: `user`, `file` for a memory from the Markdown file, `chat` or `host` for an instruction."""


class LoadedMemory(TypedDict):
    """The result of `load_memory`."""

    recent: list[RecentConversation]
    saved: list[SavedMemory]


Severity = Literal["error", "warning", "note"]
"""error: something fails or will fail. warning: it works, but worse or not for long. note: worth knowing."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem, or a fact that may interest an operator."""

    severity: Severity
    what: str
    """What was found: a sentence without its full stop."""
    where: str
    """Table or `table.column`; "" if the finding is about the server."""
    remedy: str
    """Statement or command that repairs it; "" if no repair is needed."""

    def __str__(self) -> str:
        place = f" {self.where}" if self.where else ""
        return f"{self.severity}:{place} {self.what}. {self.remedy}".rstrip()
