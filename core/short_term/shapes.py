"""Values of short-term memory: a turn as read, an entry, and the results of the public functions."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict

from ..scope import Scope

ItemRole = Literal["user", "model"]
"""user: said by a person. model: said by a persona."""

TurnReason = Literal["", "stop", "no_messages", "privacy", "no_response", "empty", "unchanged", "error"]
"""stop: the host marked the turn as stopped. no_messages: it has no messages. privacy: the person allows no storage.
no_response: no persona answered. empty: no user, no channel or no text. unchanged: a later turn is stored already.
error: storing failed."""


@dataclass(frozen=True, slots=True)
class Item:
    role: ItemRole
    content: str
    speaker: str = ""
    """Name shown for the speaker; "" if unknown."""
    at: datetime | None = None
    who: str = ""
    """Participant key of the speaker; in stored lines, the digest of the key by `access.rules.mark_participant`."""
    answers: str = ""
    """Participant key, or in stored lines its digest, of the person whom a persona's line answers."""


class Answer(NamedTuple):
    persona: str | None
    """Id of the persona; None if the host names none."""
    lineage: str
    item: Item


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn as the host describes it; None and "" mean unknown."""

    stop: bool = False
    user: Any = None
    user_name: str = ""
    channel: Any = None
    server: Any = None
    interface: str = ""
    server_name: str = ""
    channel_name: str = ""
    parent_channel: Any = None
    is_direct: bool | None = None
    is_private: bool | None = None
    level: str = ""
    """The person's privacy level as the host knows it."""
    messages: tuple[Item | None, ...] = ()
    """Messages, oldest first; None for a blank message, or one that neither a person nor a persona said."""
    answers: tuple[Answer, ...] = ()
    at: datetime | None = None
    """Time of the answer; None means now."""


@dataclass(frozen=True, slots=True)
class NewEntry:
    """One persona's entry of a turn, before it is stored."""

    scope: Scope
    """Channel, server and persona; the scope's participant is the person to whom the entry belongs."""
    server_name: str = ""
    channel_name: str = ""
    parent_channel: str | None = None
    lineage: str = ""
    names: dict[str, str] = field(default_factory=dict)
    """Display name by participant key."""
    items: tuple[Item, ...] = ()
    """Lines whose `who` and `answers` are participant keys."""
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """The stored entry of one person, channel and persona."""

    id: int
    user: str
    channel: str
    updated: datetime | None
    """Time of the last turn or of the summary; None if unreadable."""
    items: tuple[Item, ...] = ()
    """Lines, oldest first."""
    summary: str = ""
    """Summary; "" without a summary, or if it has expired."""
    summary_at: datetime | None = None
    channel_name: str = ""
    turns: int = 0
    """Number of turns since the summary was stored, or since the entry was made if it has no summary."""
    lineage: str = ""
    server: str = ""
    server_name: str = ""


class ShortTermMessage(TypedDict):
    """One line of an entry. JSON keys appear in this order."""

    role: ItemRole
    content: str
    speaker: str
    timestamp: str
    """Time, ISO 8601, UTC; "" without a time."""


class ShortTermEntry(TypedDict):
    """One entry in the result of `get_for_user` and `get_for_server`. JSON keys appear in this order."""

    key: str
    """Person, channel and, unless it is `default`, persona of the entry, as one text."""
    channel: str
    channel_name: str
    server: str
    server_name: str
    persona: str
    lineage: str
    messages: list[ShortTermMessage]
    """Lines, oldest first."""
    summary: str | None
    summary_updated: str | None
    """Time of the summary, ISO 8601, UTC; None without one."""
    last_updated: str
    """Time of the last turn or summary, ISO 8601, UTC."""
    age: str
    """Age in words."""
    turns_since_summary: int
    summary_due: bool
    """Whether the host should ask a model for a new summary."""


class ShortTermSection(TypedDict):
    """The short-term section of one channel. JSON keys appear in this order."""

    channel: str
    age: str
    summary: NotRequired[str]
    lines: NotRequired[list[str]]
    """Lines of the entry; present if there is no summary."""


class ShortTermStats(TypedDict):
    """The result of `get_stats`. JSON keys appear in this order."""

    entries: int | None
    """Number of the persona's entries in the database; None if unreadable."""
    errors: int
    """Number of turns that this process failed to store since the handle was opened."""


class _Counted(NamedTuple):
    stored: int
    reason: TurnReason


class TurnResult(_Counted):
    """The result of `write_turn`: `(stored, reason)`; `stored` is the number of entries written."""

    summary_due: bool
    """Whether the host should ask a model for a new summary of the channel."""
    error: str
    """Class of the error; "" without one."""

    def __new__(cls, stored: int, reason: TurnReason = "", *, summary_due: bool = False, error: str = "") -> TurnResult:
        result = super().__new__(cls, stored, reason)
        result.summary_due, result.error = summary_due, error
        return result
