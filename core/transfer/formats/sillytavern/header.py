"""Header line of a SillyTavern chat, with the running recap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from ....database.dialects import EPOCH, microseconds
from ....stories.rules_running import Version
from ....text.folding import clean
from ...fields import dict_at, fits_column

RUNNING = "auto_recap_running_scene_recaps"
"""Key of `chat_metadata` under which the recap extension stores the running recap."""
_COUNTS = ("scene_count", "excluded_count", "prev_scene_index", "new_scene_index")
_INDEXES = ("prev_scene_index", "new_scene_index")
_MOST = 2**31 - 2
_LATEST_MS = 253_370_764_800_000
"""Beginning of the year 9999 in milliseconds; later times are refused."""


def read(value: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[Version, ...], int | None]:
    """Return the header with null for each running recap's text, the recap's versions, and the current one's number."""
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
        text, scenes, excluded, before, newest, "import", number=number, created_at=_time(entry.get("timestamp"))
    )


def _whole(value: Any) -> int | None:
    is_whole = isinstance(value, int) and not isinstance(value, bool) and -_MOST <= value <= _MOST
    return int(value) if is_whole else None


def _time(value: Any) -> datetime | None:
    is_time = isinstance(value, int) and not isinstance(value, bool) and 0 < value < _LATEST_MS
    return EPOCH + timedelta(milliseconds=value) if is_time else None


def write(
    line: Mapping[str, Any], versions: Sequence[Version], current: int | None, chat_id: str, indexes: Sequence[int]
) -> dict[str, Any]:
    """Return the header with the running recap; `indexes` are the positions of the messages in the new file."""
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
            shown.append(_filled(entry, left.pop(number), indexes))
    shown += [_new(version, indexes) for _, version in sorted(left.items())]
    filled = {**storage, "versions": shown}
    outside = [each.get("version") for each in entries if isinstance(each, dict) and each.get("content", "") is None]
    if current is not None or (storage.get("current_version") in outside and not versions):
        filled["current_version"] = current or 0
    return {**line, "chat_metadata": {**metadata, RUNNING: filled}}


def _filled(entry: Mapping[str, Any], version: Version, indexes: Sequence[int]) -> dict[str, Any]:
    """Return an entry of the file with its text and with indexes of the new file."""
    new = _new(version, indexes)
    return {**entry, "content": version.content} | {n: new[n] for n in _INDEXES if _whole(entry.get(n)) is not None}


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
    """Return the position of a message in the file; an index beyond the last message keeps its distance from it."""
    at = min(index, len(indexes) - 1)
    return index if at < 0 else indexes[at] + index - at
