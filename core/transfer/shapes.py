"""Plain values that readers of chat files return; independent of the database."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Any, NamedTuple

from ..scope import Privacy
from ..shapes import Role
from ..stories.rules_running import Version as RecapVersion
from ..stories.table_imported import NOTHING, Beside


@dataclass(frozen=True, slots=True)
class Room:
    id: str
    """Id in the export, `chat` or `chat/thread`; the conversation key is `interface/` followed by this id."""
    title: str = ""
    privacy: Privacy = "direct"
    """Privacy of the chat; direct (one person and the persona) becomes restricted if several people spoke."""
    server: str = ""
    character: str = ""
    """Name of the assistant who is the persona, if several assistants speak."""


@dataclass(frozen=True, slots=True)
class Speaker:
    id: str
    name: str
    is_bot: bool = False
    is_assistant: bool = False
    """Whether the format marks this speaker as the assistant of the person who exported."""
    handle: str = ""
    """Login name, if it differs from the displayed name."""


@dataclass(frozen=True, slots=True)
class Line:
    place: str
    """File and position, for error messages."""
    room: Room
    text: str
    at: datetime
    speaker: Speaker | None = None
    id: str = ""
    """Id in the export; for "", an id is made from time and content."""
    made_of: str = ""
    """Time as written in the file, from which an id is made, so that the id does not depend on --timezone."""
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
    """Line number, if each line of the file is a message; else 0."""


@dataclass(frozen=True, slots=True)
class Left:
    """Number of messages that a reader left out on purpose, and the reason."""

    reason: str
    count: int = 1


BLANK = "blank"


class Fault(NamedTuple):
    """A part of the export that cannot be imported. The reason names fields and types, never texts."""

    place: str
    reason: str
    row: int = 0
    """Line number, if each line of the file is a message; else 0."""


class Note(NamedTuple):
    """A memory, or a text of a project, found in another application's export."""

    place: str
    owner: Speaker
    item: Mapping[str, Any]
    """Memory item in the form that `import_items` reads."""


class Ending(NamedTuple):
    room: Room
    header: Mapping[str, Any] | None
    """First line of the file, without the texts that columns store."""
    after: Sequence[str]
    versions: tuple[RecapVersion, ...] = ()
    current: int | None = None
    """Number of the current version among `versions`; None if the file names no current version."""


Read = Line | Left | Fault | Note | Ending

USER_ID, USER_NAME = "user", "User"
"""Id and name of the person in an export from an assistant program that does not name the person."""


@dataclass(slots=True)
class Reading:
    zone: tzinfo = UTC
    day_first: bool | None = None
    """Whether 03/04 is 3 April; None decides from the whole file."""
    user: str = ""
    """Id of the person in an export from an assistant program; blank uses the id in the export."""
    private: bool | None = None
    """Whether new conversations are private; None follows the format."""
    notes: Counter[str] = field(default_factory=Counter)
    """Counts of values that were replaced or guessed, by note."""
