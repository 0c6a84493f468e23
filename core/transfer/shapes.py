"""Plain values that readers of chat files return, independent of the database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Any, NamedTuple

from ..scope import Privacy
from ..shapes import Role
from ..stories.rules_running import Version as RecapVersion
from ..stories.table_imported import NOTHING, Beside

Progress = Callable[[str, int, int], None]
"""Called with the current step (`looking`, `storing` or `writing`), the rows done, and the number of rows or 0."""


@dataclass(frozen=True, slots=True)
class Room:
    """A conversation of an export."""

    id: str
    """The export's own id, `chat` or `chat/thread`; the conversation key is `interface/` and this id."""
    title: str = ""
    privacy: Privacy = "direct"
    """direct: one person and the persona; it becomes restricted if several people spoke."""
    server: str = ""
    character: str = ""
    """Name of the assistant who is the persona, if several assistants speak."""


@dataclass(frozen=True, slots=True)
class Speaker:
    id: str
    name: str
    is_bot: bool = False
    is_assistant: bool = False
    """The format marks this speaker as the assistant of the exporting person."""
    handle: str = ""
    """Login name, if it differs from the shown name."""


@dataclass(frozen=True, slots=True)
class Line:
    """One message."""

    place: str
    """File and position, for error messages."""
    room: Room
    text: str
    at: datetime
    speaker: Speaker | None = None
    id: str = ""
    """The export's own id; blank: an id is made from place and content."""
    made_of: str = ""
    """Time as written in the file; makes the id of a line without one independent of --timezone."""
    is_service: bool = False
    edited: datetime | None = None
    reply_to: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    role: Role | None = None
    hidden: bool = False
    excluded: bool = False
    beside: Beside = NOTHING
    """Alternatives, recap and scene of the message. The id of an alternative is in its metadata."""
    row: int = 0
    """Number of its line, where each line of the file is a message."""


@dataclass(frozen=True, slots=True)
class Left:
    """Messages that are left out on purpose."""

    reason: str
    count: int = 1


BLANK = "blank"


class Fault(NamedTuple):
    """A part of the export that cannot be imported. The reason names fields and types, never texts."""

    place: str
    reason: str
    row: int = 0
    """Number of its line, where each line of the file is a message."""


class Note(NamedTuple):
    """A memory of another program, or a text of a project."""

    place: str
    owner: Speaker
    item: Mapping[str, Any]
    """As `import_items` takes it."""


class Ending(NamedTuple):
    """A chat file's data about its whole conversation."""

    room: Room
    header: Mapping[str, Any] | None
    """The first line as it is kept."""
    after: Sequence[str]
    versions: tuple[RecapVersion, ...] = ()
    current: int | None = None
    """Number of the current one of `versions`, None where the file names none."""


Read = Line | Left | Fault | Note | Ending


USER_ID, USER_NAME = "user", "User"
"""The one person in an export of an assistant, where it does not say who that is."""


@dataclass(slots=True)
class Reading:
    """Settings and notes of one reading of an export."""

    zone: tzinfo = UTC
    day_first: bool | None = None
    """Whether 03/04 is 3 April; None finds it out."""
    user: str = ""
    """Id of the one person of an assistant's export; blank is what the export says."""
    private: bool | None = None
    """Whether new conversations are private; None follows the format."""
    notes: Counter[str] = field(default_factory=Counter)
    """What was replaced or guessed, with how often."""
