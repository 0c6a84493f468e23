"""SillyTavern chats (from its folder `chats`): one JSON object per line; the first line is a header.

The first line holds {user_name, character_name, create_date, chat_metadata}, the others {name, is_user, is_system,
send_date, mes, extra, swipes, swipe_id, swipe_info}. One file is one conversation.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from ....database.dialects import microseconds
from ....database.rows import fits_column
from ....errors import MessageError
from ....stories.rules_running import Version
from ....text.folding import clean
from ...fields import SPEAKER_BYTES, dict_at, key_of, read_time, text_of
from ...files import Member
from ...json_values import read_objects
from ...shapes import BLANK, Ending, Left, Line, Read, Reading, Room, Speaker
from . import lines

_HEADER = frozenset({"user_name", "character_name", "create_date", "chat_metadata"})
_NO_TIME = "messages without send_date, given the time of the message before"
_MOVED = "messages whose send_date does not fit their place, given the time of the message before"
_TOO_MUCH = "lines with over 4 MiB beside the texts, or nested over 100 deep: what has no column here was left out"
_FURTHER = "further headers, left out"

RUNNING = "auto_recap_running_scene_recaps"
"""Key of `chat_metadata` under which the recap extension stores the running recap."""
_COUNTS = ("scene_count", "excluded_count", "prev_scene_index", "new_scene_index")
_INDEXES = ("prev_scene_index", "new_scene_index")
_MOST = 2**31 - 2


def fits(value: dict[str, Any]) -> bool:
    return "mes" in value or bool(value.keys() & _HEADER)


def read(members: Sequence[Member], reading: Reading) -> Iterator[Read]:
    for member in members:
        yield from _Chat(member, reading).read()


class _Chat:
    def __init__(self, member: Member, reading: Reading) -> None:
        self._member = member
        self._reading = reading
        self._room = Room(member.stem, privacy="public" if reading.private is False else "direct")
        self._header: dict[str, Any] | None = None
        self._versions: tuple[Version, ...] = ()
        self._current: int | None = None
        self._indexes: list[int] = []
        """Positions of the messages in the file, from 0; blank lines are counted, headers are not."""
        self._created: datetime | None = None
        self._time: datetime | None = None
        self._written = ""
        self._names = {"user": "User", "persona": "Character"}
        self._headers = 0
        self._before: list[str] = []

    def read(self) -> Iterator[Read]:
        yield from read_objects(self._member, self._read_line)
        versions = tuple(
            replace(version, prev_scene_index=self._own_index(version.prev_scene_index),
                    new_scene_index=self._own_index(version.new_scene_index))
            for version in self._versions
        )  # fmt: skip
        yield Ending(self._room, self._header, list(self._before), versions, self._current)

    def _read_line(self, row: int, value: dict[str, Any]) -> Read | None:
        if "mes" not in value and value.keys() & _HEADER:
            self._read_header(value)
            return None
        read = self._read_message(row, value)
        if isinstance(read, Line):
            self._indexes.append(row - 1 - self._headers)
        return read

    def _own_index(self, index: int) -> int:
        """Return the index of the last imported message at or before a position in the file; -1 if there is none."""
        return bisect_right(self._indexes, index) - 1

    def _read_header(self, value: dict[str, Any]) -> None:
        self._headers += 1
        if self._header is not None:
            self._reading.notes[_FURTHER] += 1
            return
        self._header, self._versions, self._current = read_header(value)
        if lines.keep(self._header) is None:
            self._reading.notes[_TOO_MUCH] += 1
        self._created = read_time(value.get("create_date"), self._reading.zone)
        for role, name in (("user", "user_name"), ("persona", "character_name")):
            shown = value.get(name)
            if isinstance(shown, str) and shown.strip() and shown != "unused":  # later versions write `unused`
                self._names[role] = shown
                if role == "persona":
                    self._room = replace(self._room, character=shown)

    def _read_message(self, row: int, value: dict[str, Any]) -> Read:
        text = self._text(value)
        is_notice = lines.is_notice(value, self._names["persona"])
        if is_notice or not text.strip():
            line = lines.keep(value)
            if line is None or len(line) > lines.KEPT_BYTES - sum(map(len, self._before)):
                self._reading.notes[_TOO_MUCH] += 1
            else:
                self._before.append(line)
            return Left("notices and comments of SillyTavern" if is_notice else BLANK)
        role, is_persona, hidden = lines.read_role(value)
        name = key_of(value.get("name"), "name", SPEAKER_BYTES) or self._names["user" if role == "user" else "persona"]
        written, time = self._read_time(value.get("send_date"))
        beside, excluded, kept = lines.split_line(value, text)
        return Line(
            place=self._member.name, room=self._room, text=text, at=time, role=role, hidden=hidden,
            speaker=Speaker(name, name, is_assistant=is_persona), excluded=excluded, beside=beside,
            metadata=self._metadata(kept, lines.digest(text, hidden, excluded, beside)), row=row, made_of=written,
        )  # fmt: skip

    def _text(self, value: dict[str, Any]) -> str:
        text, swipes, chosen = value.get("mes"), value.get("swipes"), value.get("swipe_id")
        if text is None and isinstance(swipes, list) and isinstance(chosen, int) and 0 <= chosen < len(swipes):
            text = swipes[chosen]
        return lines.without_thoughts(text_of(text, "mes"), value)

    def _metadata(self, kept: dict[str, Any], digest: str) -> dict[str, Any]:
        line, before = lines.keep(kept), self._before
        self._before = []
        if line is None:
            self._reading.notes[_TOO_MUCH] += 1
        fields = {lines.KEY: line, lines.DIGEST: line and digest, lines.BEFORE: before}
        return {name: value for name, value in fields.items() if value}

    def _read_time(self, value: Any) -> tuple[str, datetime]:
        """Parse a time; return (the text in the file, the time to store: never before the preceding message's time)."""
        before = self._time or self._created
        time = read_time(value, self._reading.zone)
        if time is None and value not in (None, ""):
            raise MessageError("send_date cannot be read")
        if time is not None:
            self._written = time.isoformat()
            if time.year <= datetime.now(UTC).year + 1 and (self._time is None or time >= self._time):
                self._time = time
                return self._written, time
        if before is None:
            raise MessageError("send_date is missing, and no row before it has a time")
        self._reading.notes[_NO_TIME if time is None else _MOVED] += 1
        return self._written, before


# The header line, with the running recap


def read_header(value: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[Version, ...], int | None]:
    """Return (header with null for the recap texts, versions of the running recap, number of the current version)."""
    line = dict(value)
    metadata = line.get("chat_metadata")
    storage = metadata.get(RUNNING) if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(storage, dict) or not isinstance(storage.get("versions"), list):
        return line, (), None
    versions: dict[int, Version] = {}
    left = []
    for entry in storage["versions"]:
        version = _version(entry)
        if version is None or version.number in versions:
            left.append(entry)
            continue
        versions[version.number] = version
        left.append({**entry, "content": None})
    current = storage.get("current_version")
    is_known = isinstance(current, int) and not isinstance(current, bool) and current in versions
    line["chat_metadata"] = {**metadata, RUNNING: {**storage, "versions": left}}
    return line, tuple(versions[number] for number in sorted(versions)), current if is_known else None


def _version(entry: Any) -> Version | None:
    if not isinstance(entry, dict):
        return None
    number, content = _whole(entry.get("version")), entry.get("content")
    if number is None or number < 0 or not isinstance(content, str):
        return None
    text = clean(content)
    if not text.strip() or not fits_column(text):
        return None
    scenes, excluded, before, newest = (_whole(entry.get(name)) or 0 for name in _COUNTS)
    return Version(
        text, scenes, excluded, before, newest, "import", number=number, created_at=read_time(entry.get("timestamp"))
    )


def _whole(value: Any) -> int | None:
    is_whole = isinstance(value, int) and not isinstance(value, bool) and -_MOST <= value <= _MOST
    return int(value) if is_whole else None


def write_header(
    line: Mapping[str, Any], versions: Sequence[Version], current: int | None, chat_id: str, indexes: Sequence[int]
) -> dict[str, Any]:
    """Build the header line with the running recap; `indexes` are the messages' positions in the new file."""
    metadata = dict_at(line, "chat_metadata")
    storage = metadata.get(RUNNING)
    entries = storage.get("versions") if isinstance(storage, dict) else None
    if not isinstance(entries, list):
        if not versions:
            return dict(line)
        storage, entries = {"chat_id": chat_id, "current_version": current or 0, "versions": []}, []
    assert isinstance(storage, dict)
    left = {version.number: version for version in versions}
    shown: list[Any] = []
    for entry in entries:
        is_taken = isinstance(entry, dict) and entry.get("content", "") is None
        number = _whole(entry["version"]) if is_taken and "version" in entry else None
        if not is_taken or number is None:
            shown.append(entry)
        elif number in left:
            new = _new(left.pop(number), indexes)
            kept = ("content", *(name for name in _INDEXES if _whole(entry.get(name)) is not None))
            shown.append(entry | {name: new[name] for name in kept})
    shown += [_new(version, indexes) for _, version in sorted(left.items())]
    filled = {**storage, "versions": shown}
    outside = [each.get("version") for each in entries if isinstance(each, dict) and each.get("content", "") is None]
    if current is not None or (storage.get("current_version") in outside and not versions):
        filled["current_version"] = current or 0
    return {**line, "chat_metadata": {**metadata, RUNNING: filled}}


def _new(version: Version, indexes: Sequence[int]) -> dict[str, Any]:
    return {
        "version": version.number,
        "timestamp": microseconds(version.created_at) // 1000 if version.created_at is not None else 0,
        "content": version.content,
        "scene_count": version.scene_count,
        "excluded_count": version.excluded_count,
        "prev_scene_index": _in_file(version.prev_scene_index, indexes),
        "new_scene_index": _in_file(version.new_scene_index, indexes),
    }


def _in_file(index: int, indexes: Sequence[int]) -> int:
    """Return the file position of the message with this index; past the last message, each index adds one position."""
    at = min(index, len(indexes) - 1)
    return index if at < 0 else indexes[at] + index - at
