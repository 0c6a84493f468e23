"""What every reader gives: one message of a file in plain form, or why a row is not taken."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from ..errors import MessageError
from ..scope import key_text
from ..shapes import Role
from ..stories.running.rules import Version
from ..stories.table_imported import NOTHING, Beside
from ..text.folding import clean
from ..text.thoughts import strip_thoughts

MESSAGE_ID_BYTES = 191
SPEAKER_BYTES = 191
"""A participant's key is `interface/speaker` in 255 bytes; this leaves room for every interface name (64 bytes)."""
TEXT_BYTES = 16_777_215
"""Most UTF-8 bytes of a text that is stored."""


class Problem(NamedTuple):
    """A row that is not taken. The reason names fields and types, never what was said."""

    row: int
    reason: str
    place: str = ""
    """Where in an export of several files it stands; blank where the row says it."""


class Skipped(NamedTuple):
    """A row that holds no message on purpose: a header, or a blank text."""

    row: int
    reason: str
    """`header` or `empty`."""


@dataclass(frozen=True, slots=True)
class Record:
    """One message of a file."""

    row: int
    conversation: str
    """As the file names it; blank where it names none."""
    speaker: str
    text: str
    time: datetime
    """Aware, UTC."""
    message_id: str
    role: Role = "user"
    is_persona: bool = False
    """Whether the file itself says that the persona spoke."""
    hidden: bool = False
    excluded: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)
    beside: Beside = NOTHING
    """Alternatives, recap and scene of the message."""
    index: int = 0
    """Position in the file, from 0; lines that hold no message count too, headers do not."""


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says of its conversation as a whole."""

    line: dict[str, Any]
    """The first line as it is kept."""
    versions: tuple[Version, ...] = ()
    """Of the running recap, by number."""
    current: int | None = None
    """Number of the current one of `versions`, None where the file names none."""
    style: int = 0
    """How the line is written, a place in `sillytavern.json_text.STYLES`."""


Read = Record | Problem | Skipped


class Reader(Protocol):
    """Turns the objects of one format into records, row by row, in the order of the file."""

    format: str
    keeps_order: bool
    """Whether the messages are to stay in the order of the file, whatever times they have."""
    notes: dict[str, int]
    """What was replaced or left out beside whole rows, with how often."""
    header: Header | None
    """What the file says of its one conversation as a whole; None until it was read, and where it says nothing."""

    text: str
    """The row to be read as it is written; blank where that is not known."""

    def read(self, row: int, value: dict[str, Any]) -> Read:
        """Return the record of a row, or why there is none."""

    def after(self) -> list[str]:
        """Return the lines behind the last message that hold none, as they are kept."""


def said_without_thoughts(text: str) -> str:
    """Return a text of the persona without its thoughts; one without any as it is, white space around it too."""
    said = strip_thoughts(text)
    return text if said == text.strip() else said


class Ids:
    """Makes message ids for files that have none: the same row of the same file gets the same id every time."""

    def __init__(self, *, anywhere: bool = False) -> None:
        self._anywhere = anywhere
        self._time: object = None
        self._seen: dict[str, int] = {}

    def make(self, time: datetime, *parts: str) -> str:
        """Return the id of a message said at `time`; `parts` are what it is known by."""
        if time != self._time and not self._anywhere:
            self._time, self._seen = time, {}
        text = "\x1f".join((time.isoformat(), *parts))
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        count = self._seen[digest] = self._seen.get(digest, 0) + 1
        return f"row-{digest}" if count == 1 else f"row-{digest}-{count}"


class RefusedError(ValueError):
    """A field cannot be used; its text is the reason."""


def text_of(value: Any, name: str) -> str:
    """Return a message's text."""
    if not isinstance(value, str):
        raise RefusedError(f"{name} is {said_type(value)}, it must be a text")
    made = clean(value)
    if len(made) * 4 > TEXT_BYTES and len(made.encode("utf-8")) > TEXT_BYTES:
        raise RefusedError(f"{name} is larger than {TEXT_BYTES} bytes")
    return made


def key_of(value: Any, name: str, limit_bytes: int) -> str:
    """Return an id or a name as it stands in the file; None is blank, a number is written in decimal."""
    if value is None:
        value = ""
    try:
        return key_text(value, name, limit_bytes)
    except MessageError as error:
        raise RefusedError(str(error).rstrip(".")) from None


def said_type(value: Any) -> str:
    """Return the JSON name of a value's type, for people."""
    names = {
        bool: "true or false",
        int: "a number",
        float: "a number",
        str: "a text",
        list: "a list",
        dict: "an object",
    }
    return "missing" if value is None else names.get(type(value), type(value).__name__)
