"""The values of short-term memory: a turn as it is read, an entry, and what the public functions return."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict

from ..scope import Scope

ItemRole = Literal["user", "model"]
"""user: a person said it. model: a persona did."""

TurnReason = Literal["", "stop", "no_messages", "privacy", "no_response", "empty", "unchanged", "error"]
"""stop: the turn was a stop response. no_messages: none was built. privacy: the person keeps nothing. no_response: no
persona said anything. empty: no user, no channel or no text. unchanged: a later turn is stored already. error: it could
not be stored."""


@dataclass(frozen=True, slots=True)
class Item:
    """One line of an entry."""

    role: ItemRole
    content: str
    speaker: str = ""
    """Name shown for who said it; blank when unknown."""
    at: datetime | None = None
    who: str = ""
    """Participant key of the speaker; `rules.mark_participant` of it once stored."""
    answers: str = ""
    """The same for the person whom a persona's line answers."""


class Answer(NamedTuple):
    """What one persona said in a turn."""

    persona: str | None
    """Its id; None if the host names none."""
    lineage: str
    item: Item


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn as the host hands it in; None and blank are what it does not say."""

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
    """Privacy level of the person as the host knows it."""
    messages: tuple[Item | None, ...] = ()
    """Oldest first; None in the place of a blank message or one that no person or persona said."""
    answers: tuple[Answer, ...] = ()
    at: datetime | None = None
    """When the answer was given; None for now."""


@dataclass(frozen=True, slots=True)
class NewEntry:
    """What one persona keeps of a turn."""

    scope: Scope
    """Channel, server and persona; the participant is who spoke."""
    server_name: str = ""
    channel_name: str = ""
    parent_channel: str | None = None
    lineage: str = ""
    names: dict[str, str] = field(default_factory=dict)
    """Participant key to display name."""
    items: tuple[Item, ...] = ()
    """Their `who` and `answers` are participant keys."""
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """What is kept of one person, channel and persona."""

    id: int
    user: str
    channel: str
    updated: datetime | None
    """When the last turn was kept or the summary was written; None when it cannot be read."""
    items: tuple[Item, ...] = ()
    """Oldest first."""
    summary: str = ""
    """Blank when there is none, or it has expired."""
    summary_at: datetime | None = None
    channel_name: str = ""
    turns: int = 0
    """Turns since the summary was written, or since the entry was made."""
    lineage: str = ""
    server: str = ""
    server_name: str = ""


# What the public functions return


class ShortTermMessage(TypedDict):
    """One line of an entry. Keys stand in this order."""

    role: ItemRole
    content: str
    speaker: str
    timestamp: str
    """ISO 8601, UTC; blank when there is none."""


class ShortTermEntry(TypedDict):
    """One entry as `get_for_user` and `get_for_server` give it. Keys stand in this order."""

    key: str
    """Whose entry it is and of which channel, as one text."""
    channel: str
    channel_name: str
    server: str
    server_name: str
    persona: str
    lineage: str
    messages: list[ShortTermMessage]
    """Oldest first."""
    summary: str | None
    summary_updated: str | None
    """ISO 8601, UTC."""
    last_updated: str
    """ISO 8601, UTC."""
    age: str
    """In words."""
    turns_since_summary: int
    summary_due: bool
    """Whether a new summary is to be asked for."""


class ShortTermSection(TypedDict):
    """What a context shows of one channel. Keys stand in this order."""

    channel: str
    age: str
    summary: NotRequired[str]
    lines: NotRequired[list[str]]
    """Where there is no summary."""


class ShortTermStats(TypedDict):
    """What `get_stats` returns. Keys stand in this order."""

    entries: int | None
    """Entries of the persona in the database now; None when it cannot be read."""
    errors: int
    """Turns that this process could not keep since the handle was opened."""


class _Counted(NamedTuple):
    stored: int
    reason: TurnReason


class TurnResult(_Counted):
    """What `write_turn` did: `(stored, reason)`, the number of entries written."""

    summary_due: bool
    """Whether a new summary of the channel is to be asked for."""
    error: str
    """Class of what went wrong; blank when nothing did."""

    def __new__(cls, stored: int, reason: TurnReason = "", *, summary_due: bool = False, error: str = "") -> TurnResult:
        result = super().__new__(cls, stored, reason)
        result.summary_due, result.error = summary_due, error
        return result
