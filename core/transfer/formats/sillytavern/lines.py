"""Split a line of a SillyTavern chat into column values and the remaining fields, and build the line again.

The kept line has null in place of each value that is stored in a column (text, alternatives, data of the recap
extension), so editing or forgetting a value leaves no copy here. For an unchanged message these nulls are filled
again. If the digest shows that the message was changed, all stored values are written.
"""

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Any

from ....database.rows import fits_column
from ....errors import MessageError
from ....messages.table_recaps import Alternative, Recap
from ....shapes import Line, Role
from ....stories import rules_recaps
from ....stories.table_imported import Beside, Scene
from ....text.folding import clean
from ...fields import SPEAKER_BYTES, dict_at, list_at, said_without_thoughts
from ...json_values import is_deeper

KEY, DIGEST = "sillytavern", "sillytavern_digest"
BEFORE, AFTER = "sillytavern_before", "sillytavern_after"
"""Keys of a metadata column. KEY: the line of a message, or the header. DIGEST: a digest of the imported message.
BEFORE: the lines of blank messages before the message. AFTER: those after the last message."""
_SEPARATORS = (",", ":")
KEPT_BYTES = 4 * 1024**2
"""Maximum number of bytes of one stored line, without its texts; a server accepts 16 MB in one statement."""
KEPT_DEPTH = 100

_LONE = re.compile("[\ud800-\udfff]")
COMMENT = "comment"
"""`extra.type` of an author's note (`/comment`), which SillyTavern sends to no model while the note is hidden."""
_OWN_TYPES: dict[str, Role] = {"narrator": "narrator", COMMENT: "system"}
"""Roles of messages without a participant, by `extra.type`."""
_PROGRAM = ("System", "SillyTavern System")
"""Names under which SillyTavern itself writes notices."""


def digest(text: str, hidden: bool, excluded: bool, beside: Beside) -> str:
    """Return a hash of the parts of a message that a SillyTavern file can hold: text, flags, recaps, versions."""
    versions = [
        (each.number, each.text, each.is_current, None if each.is_current else _recap_values(each.recap))
        for each in beside.alternatives
    ]
    state = [text, hidden, _values(beside, excluded), versions]
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()[:16]


def read_role(value: Mapping[str, Any]) -> tuple[Role, bool, bool]:
    """Return (role, whether the speaker is the persona, whether the message is hidden)."""
    for name in ("is_user", "is_system"):
        if not isinstance(value.get(name), (bool, int, type(None))):
            raise MessageError(f"{name} is no switch, it must be true or false")
    extra = value.get("extra")
    kind = extra.get("type") if isinstance(extra, dict) else None
    hidden = bool(value.get("is_system"))
    if value.get("is_user"):
        return "user", False, hidden
    if isinstance(kind, str) and kind in _OWN_TYPES:
        return _OWN_TYPES[kind], False, hidden
    if value.get("is_thoughts") is True:
        return "thought", True, hidden
    if hidden and kind:
        return "system", False, hidden
    return "persona", True, hidden


def is_notice(value: Mapping[str, Any], character: str) -> bool:
    """Return whether a hidden line is an author's comment, or a notice by SillyTavern, such as the chat's new name."""
    name, extra = value.get("name"), dict_at(value, "extra")
    kind = extra.get("type")
    is_own = kind == COMMENT or (name in _PROGRAM and name != character and kind not in _OWN_TYPES)
    return is_own and bool(value.get("is_system")) and not value.get("is_user") and not _take_data(extra, _KEYS)[1]


def without_thoughts(text: str, line: Mapping[str, Any]) -> str:
    """Return the text of a line as it is stored: a character's text without its thoughts."""
    return text if line.get("is_user") else said_without_thoughts(text)


# Splitting a line


def split_line(value: Mapping[str, Any], text: str) -> tuple[Beside, bool, dict[str, Any]]:
    """Split a line into (recap, scene and alternatives; whether the message is excluded; the line's other fields)."""
    line = dict(value)
    line["mes"] = _left(value.get("mes"), text)
    extra, data = _take_data(value.get("extra"), _KEYS)
    if data:
        line["extra"] = extra
    recap = _read_recap(data)
    alternatives = tuple(_take_alternatives(line, text, recap))
    if alternatives == (Alternative(0, text, is_current=True),):
        alternatives = ()
    return Beside(recap, alternatives, _read_scene(data)), bool(data.get("exclude")), line


def _left(written: Any, stored: str) -> Any:
    """Return None if the text in the file, `written`, equals the stored text; else (if it has thoughts) `written`."""
    return None if isinstance(written, str) and clean(written) == stored else written


def _take_alternatives(line: dict[str, Any], shown: str, shown_recap: Recap | None) -> Iterator[Alternative]:
    """Yield the alternatives (swipes) of a line; set their texts in the line to null."""
    swipes, infos = line.get("swipes"), line.get("swipe_info")
    if not isinstance(swipes, list) or not swipes:
        return
    texts = [_text(swipe, line) for swipe in swipes]
    infos = list(infos) if isinstance(infos, list) else []
    current = _find_current(line.get("swipe_id"), texts, shown)
    for number, text in enumerate(texts):
        if text is None:
            continue
        recap = None
        if number < len(infos) and isinstance(infos[number], dict):
            extra, data = _take_data(infos[number].get("extra"), _OF_RECAP)
            recap = _read_recap(data)
            own = {key: each for key, each in _recap_values(shown_recap).items() if key != "include"}
            if data and (number != current or _recap_values(recap) == own):
                infos[number] = {**infos[number], "extra": extra}
        yield Alternative(number, text, number == current, recap=None if number == current else recap)
    line["swipes"] = [swipe if text is None else _left(swipe, text) for swipe, text in zip(swipes, texts, strict=True)]
    if infos:
        line["swipe_info"] = infos


def _text(swipe: Any, line: Mapping[str, Any]) -> str | None:
    """Return the text of an alternative as it is stored; None if it is blank, too large or not a text."""
    text = without_thoughts(clean(swipe), line) if isinstance(swipe, str) else ""
    return text if text.strip() and fits_column(text) else None


def _find_current(chosen: Any, texts: list[str | None], text: str) -> int | None:
    """Return the number of the current alternative: the `chosen` one, else the first that has the `text`, else None."""
    if isinstance(chosen, int) and not isinstance(chosen, bool) and 0 <= chosen < len(texts):
        return chosen if texts[chosen] is not None else None
    return texts.index(text) if text in texts else None


# Building a line


def build_line(message: Line, beside: Beside) -> dict[str, Any]:
    line = kept(message.metadata)
    state = digest(message.text, message.hidden, message.excluded, beside)
    is_changed = line is None or message.metadata.get(DIGEST) != state
    if line is None:
        line = _new(message)
    elif read_role(line)[2] != message.hidden:
        line["is_system"] = message.hidden
    line["mes"] = _fill(line.get("mes"), message.text, line)
    extra = _put_data(line.get("extra"), _values(beside, message.excluded), is_changed)
    if extra is not None or "extra" in line:
        line["extra"] = extra
    _put_alternatives(line, message.text, beside, is_changed)
    return line


def _fill(left: Any, stored: str, line: Mapping[str, Any]) -> str:
    """Return a stored text with the thoughts that the file had; without them if the text was edited since."""
    is_same = isinstance(left, str) and without_thoughts(clean(left), line) == stored
    return str(left) if is_same else stored


def _new(message: Line) -> dict[str, Any]:
    kind = next((kind for kind, role in _OWN_TYPES.items() if role == message.role), None)
    if kind == COMMENT and message.hidden:  # a hidden comment would not be imported again
        kind = "generic"
    line: dict[str, Any] = {
        "name": message.sender_name.encode("utf-8")[:SPEAKER_BYTES].decode("utf-8", "ignore"),
        "is_user": message.role == "user",
        "is_system": message.hidden,
        "send_date": iso(message.at),
        "mes": message.text,
        "extra": {} if kind is None else {"type": kind},
    }
    return line | ({"is_thoughts": True} if message.role == "thought" else {})


def iso(at: datetime | None) -> str:
    """Format a time as SillyTavern does, with microseconds if they are not 0; None becomes ""."""
    if at is None:
        return ""
    kind = "milliseconds" if at.microsecond % 1000 == 0 else "microseconds"
    return at.replace(tzinfo=None).isoformat(timespec=kind) + "Z"


def _put_alternatives(line: dict[str, Any], text: str, beside: Beside, is_changed: bool) -> None:
    swipes, infos = list_at(line, "swipes"), list_at(line, "swipe_info")
    alternatives = {each.number: each for each in beside.alternatives}
    if not alternatives and swipes in ([None], [text]):  # a single alternative is the message itself
        alternatives = {0: Alternative(0, text, is_current=True)}
    if not alternatives:
        return
    length = max(len(swipes), max(alternatives) + 1)
    swipes = swipes + [""] * (length - len(swipes))
    if is_changed and beside.alternatives:
        infos = [*infos, *({"send_date": line.get("send_date"), "extra": {}} for _ in range(length - len(infos)))]
    line["swipes"], new_infos = list(swipes), list(infos)
    for number, each in alternatives.items():
        line["swipes"][number] = _fill(swipes[number], each.text, line)
        if each.is_current and beside.alternatives:
            line["swipe_id"] = number
        if number < len(infos) and isinstance(infos[number], dict):
            values = _recap_values(beside.recap if each.is_current else each.recap)
            extra = infos[number].get("extra")
            if (filled := _put_data(extra, {**values, "include": None}, is_changed)) is not None:
                new_infos[number] = {**infos[number], "extra": filled}
    if new_infos:
        line["swipe_info"] = new_infos


# Data of the recap extension

_NAMESPACES = ("auto_recap", "auto_recap_memory")
"""Keys of the extension's data in `extra`, one for each extension version; new data is stored under the first key."""
_OF_RECAP = ("memory", "edited", "stale", *rules_recaps.IN_DATA)
"""Keys of recap data that each alternative of a message can have; `stale` is a key of this package."""
_KEYS = (*rules_recaps.KINDS, "stale")
_MOST_CHARS = {"include": 40, "scene_break_name": 200}


def _namespace(extra: Any) -> str | None:
    if not isinstance(extra, dict):
        return None
    return next((name for name in _NAMESPACES if isinstance(extra.get(name), dict)), None)


def _take_data(extra: Any, keys: Collection[str]) -> tuple[Any, dict[str, Any]]:
    """Return (a copy of `extra` with null at these keys, their values); invalid values stay in the copy."""
    name = _namespace(extra)
    if name is None:
        return extra, {}
    fields = extra[name]
    try:
        data = {key: value for key in fields if key in keys and (value := _read(key, fields[key])) is not None}
    except MessageError:
        return extra, {}
    if not data.get("scene_break"):
        data = {key: value for key, value in data.items() if key not in rules_recaps.SCENE}
    left = {key: None if key in data else value for key, value in fields.items()}
    return ({**extra, name: left}, data) if data else (extra, {})


def _read(key: str, value: Any) -> Any:
    """Convert a value to its stored form; None for an empty value."""
    if key == "scene_break_visible":
        return value if isinstance(value, bool) else None
    if key == "stale":
        return True if value is True else None
    stored = rules_recaps.read_value(key, value)
    if isinstance(stored, str):
        text = clean(stored)
        if not fits_column(text) or len(text) > _MOST_CHARS.get(key, len(text)):
            raise MessageError(f"{key} is too long.", fields=(key,))
        return text if text.strip() else None
    if key == "scene_recap_versions" and stored is not None:
        return [clean(text) for text in stored] or None
    if isinstance(stored, dict) and keep(stored) is None:
        raise MessageError(f"{key} is too large.", fields=(key,))
    return None if stored == {} else stored


def _put_data(extra: Any, values: Mapping[str, Any], add: bool) -> Any:
    """Fill the nulls of `extra` from `values`; with `add`, also set all values that are not None."""
    name = _namespace(extra)
    fields = dict(extra[name]) if name else {}
    for key in _KEYS:
        value = values.get(key)
        if (add and value is not None) or (key in fields and fields[key] is None):
            fields[key] = value
    if not fields and not name:
        return extra
    return {**(extra if isinstance(extra, dict) else {}), name or _NAMESPACES[0]: fields}


def _values(beside: Beside, excluded: bool) -> dict[str, Any]:
    """Return a message's recap, scene and exclusion, by the keys of the recap extension."""
    exclude = {"exclude": True} if excluded else {}
    return {**_recap_values(beside.recap), **_scene_values(beside.scene), **exclude}


def _read_recap(data: Mapping[str, Any]) -> Recap | None:
    if not any(key in data for key in (*_OF_RECAP, "include")):
        return None
    more = {key: data[key] for key in rules_recaps.IN_DATA if key in data}
    return Recap(data.get("memory"), data.get("include"), bool(data.get("edited")), bool(data.get("stale")), more)


def _recap_values(recap: Recap | None) -> dict[str, Any]:
    if recap is None:
        return {}
    flags = {"edited": recap.edited or None, "stale": recap.stale or None}
    values = {"memory": recap.memory, "include": recap.include, **flags, **recap.data}
    return {key: value for key, value in values.items() if value is not None}


def _read_scene(data: Mapping[str, Any]) -> Scene | None:
    if not data.get("scene_break"):
        return None
    versions = list(data.get("scene_recap_versions", ()))
    text, number = data.get("scene_recap_memory"), data.get("scene_recap_current_index", len(versions) - 1)
    if text is not None and (not 0 <= number < len(versions) or versions[number] != text):
        if text not in versions:
            versions.append(text)
        number = len(versions) - 1 - versions[::-1].index(text)
    current = min(number, len(versions) - 1) if versions else None
    metadata = data.get("scene_recap_metadata") if current is not None else None
    return Scene(data.get("scene_break_name", ""), data.get("scene_break_visible", True), tuple(versions), current,
                 metadata)  # fmt: skip


def _scene_values(scene: Scene | None) -> dict[str, Any]:
    if scene is None:
        return {}
    values = {
        "scene_break": True,
        "scene_break_visible": scene.visible,
        "scene_break_name": scene.name or None,
        "scene_recap_memory": None if scene.current is None else scene.versions[scene.current],
        "scene_recap_versions": list(scene.versions) or None,
        "scene_recap_current_index": scene.current,
        # sorted, because servers do not keep the order of keys
        "scene_recap_metadata": json.loads(json.dumps(scene.metadata or None, sort_keys=True)),
    }
    return {key: value for key, value in values.items() if value is not None}


# JSON text as SillyTavern writes it, stored in metadata columns


def write_json(value: Any) -> str:
    """Format a value as one line of JSON, with lone surrogates escaped and NaN as null."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=_SEPARATORS, allow_nan=False)
    except ValueError:
        finite = json.loads(json.dumps(value), parse_constant=lambda _: None)
        text = json.dumps(finite, ensure_ascii=False, separators=_SEPARATORS)
    return text if text.isascii() else _LONE.sub(lambda lone: f"\\u{ord(lone[0]):04x}", text)


def keep(value: Any) -> str | None:
    """Format a value as JSON text for the metadata; None if it exceeds KEPT_BYTES or KEPT_DEPTH."""
    try:
        text = write_json(value)
    except RecursionError:
        return None
    if len(text) * 4 > KEPT_BYTES and len(text.encode("utf-8")) > KEPT_BYTES:
        return None
    is_flat = text.count("[") + text.count("{") <= KEPT_DEPTH
    return text if is_flat or not is_deeper(value, KEPT_DEPTH) else None


def kept(metadata: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the object stored under KEY in a metadata column; None if KEY is missing."""
    text = (metadata or {}).get(KEY)
    if not isinstance(text, str):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def kept_lines(metadata: Mapping[str, Any] | None, key: str) -> list[str]:
    """Return the lines of blank messages that the metadata keeps under `key`, BEFORE or AFTER."""
    lines = (metadata or {}).get(key)
    return [line for line in lines if isinstance(line, str)] if isinstance(lines, list) else []
