"""What a reader of a chat file gives: plain values, which know nothing of the database."""

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
"""Called with what is being done (`looking`, `storing` or `writing`), the rows done, and how many there are; 0 for not
known."""


@dataclass(frozen=True, slots=True)
class Room:
    """Where something was said."""

    id: str
    """The export's own id, `chat` or `chat/thread`; the conversation's key is the interface and this."""
    title: str = ""
    privacy: Privacy = "direct"
    """direct: one person and the persona. Where several people spoke it is kept as restricted."""
    server: str = ""
    character: str = ""
    """Where several assistants speak, the name of the one who is the persona."""


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who said something."""

    id: str
    name: str
    is_bot: bool = False
    is_assistant: bool = False
    """Whether the format itself says that this is the assistant of the one who exports."""
    handle: str = ""
    """The name they log in with, where the format has another one than that which is shown."""


@dataclass(frozen=True, slots=True)
class Line:
    """One message."""

    place: str
    """Where it stands, for people: file and position."""
    room: Room
    text: str
    at: datetime
    speaker: Speaker | None = None
    id: str = ""
    """The export's own id; blank makes one of place and content."""
    made_of: str = ""
    """For a line without an id: what its time is written as, so that another --timezone does not double it."""
    is_service: bool = False
    edited: datetime | None = None
    reply_to: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    role: Role | None = None
    hidden: bool = False
    excluded: bool = False
    beside: Beside = NOTHING
    """Alternatives of the message, recap and scene. Alternatives with an id have it in their metadata."""
    row: int = 0
    """Number of its line, where each line of the file is a message."""


@dataclass(frozen=True, slots=True)
class Left:
    """Something that is not taken on purpose."""

    reason: str
    count: int = 1


BLANK = "blank"


class Fault(NamedTuple):
    """Something that cannot be taken. The reason names fields and types, never what was said."""

    place: str
    reason: str
    row: int = 0
    """Number of its line, where each line of the file is a message."""


class Note(NamedTuple):
    """Something to keep that is no message: what another program remembered, or a text of a project."""

    place: str
    owner: Speaker
    item: Mapping[str, Any]
    """As `import_items` takes it."""


class Ending(NamedTuple):
    """What a chat file that is kept as it is says of its conversation as a whole."""

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
    """What counts for one reading of an export."""

    zone: tzinfo = UTC
    day_first: bool | None = None
    """Whether 03/04 is 3 April; None finds it out."""
    user: str = ""
    """Id of the one person of an assistant's export; blank is what the export says."""
    private: bool | None = None
    """Whether new conversations are private; None follows the format."""
    notes: Counter[str] = field(default_factory=Counter)
    """What was replaced or guessed, with how often."""
