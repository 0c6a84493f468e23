"""A message's line in a chat of SillyTavern: what is taken from it and what is kept, and the line made of
them again; likewise the data of the recap extension in it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ....errors import MessageError
from ....shapes import Role
from ....stories import rules_recaps
from ....stories.table_imported import NOTHING, Alternative, Beside, Recap, Scene
from ....text.folding import clean
from ....text.strict_json import make_strict
from ...fields import SPEAKER_BYTES, RefusedError, fits_column, said_without_thoughts
from .json_text import keep, kept

_OWN_TYPES: dict[str, Role] = {"narrator": "narrator", "comment": "system"}
"""`extra.type` of messages that no participant said."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What a line comes to."""

    kept: dict[str, Any]
    """The line without what was taken out of it."""
    beside: Beside
    excluded: bool


@dataclass(frozen=True, slots=True)
class Said:
    """A stored message."""

    text: str
    role: str
    name: str
    at: datetime | None
    hidden: bool
    excluded: bool
    metadata: Mapping[str, Any] | None
    beside: Beside = NOTHING


def read_role(value: Mapping[str, Any]) -> tuple[Role, bool, bool]:
    """Return `(role, whether it is the persona, whether it is hidden)`."""
    for name in ("is_user", "is_system"):
        if not isinstance(value.get(name), (bool, int, type(None))):
            raise RefusedError(f"{name} is no switch, it must be true or false")
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


# Out of a line


def split_line(value: Mapping[str, Any], text: str) -> Taken:
    is_whole = isinstance(value.get("mes"), str) and clean(value["mes"]) == text
    line = {**value, "mes": None} if is_whole else dict(value)
    extra, own = _split_extra(value.get("extra"), _OF_MESSAGE)
    if own:
        line["extra"] = extra
    recap = _read_recap(own)
    scene = _read_scene(own)
    alternatives = _take_alternatives(line, text, recap)
    return Taken(line, Beside(recap, alternatives, scene), bool(own.get("exclude")))


def _take_alternatives(line: dict[str, Any], text: str, own: Recap | None) -> tuple[Alternative, ...]:
    """Return the alternatives of a line that is about to be kept, and take them out of it."""
    swipes = line.get("swipes")
    if not isinstance(swipes, list) or not swipes:
        return ()
    texts = [_text(swipe, line) for swipe in swipes]
    line["swipes"] = [None if shown is not None and shown == clean(swipe) else swipe
                      for swipe, shown in zip(swipes, texts, strict=True)]  # fmt: skip
    infos = line.get("swipe_info")
    infos = list(infos) if isinstance(infos, list) else []
    current = _current(line.get("swipe_id"), texts, text)
    is_alone = texts == [text]
    alternatives = []
    for number, shown in enumerate(texts):
        if shown is None:
            continue
        info = infos[number] if number < len(infos) else None
        recap = None
        if isinstance(info, dict) and (number != current or own is not None):
            extra, taken = _split_extra(info.get("extra"), _OF_RECAP)
            recap = _read_recap(taken)
            infos[number] = {**info, "extra": extra} if taken else info
        alternatives.append(Alternative(number, shown, number == current, recap=recap))
    if infos:
        line["swipe_info"] = infos
    return () if is_alone else tuple(alternatives)


def without_thoughts(text: str, line: Mapping[str, Any]) -> str:
    """Return the text of a line as it is stored: a character's without its thoughts."""
    return text if line.get("is_user") else said_without_thoughts(text)


def _text(swipe: Any, line: Mapping[str, Any]) -> str | None:
    """Return an alternative's text as it is stored; None for one that cannot be: no text, blank, too large."""
    text = without_thoughts(clean(swipe), line) if isinstance(swipe, str) else ""
    return text if text.strip() and fits_column(text) else None


def _current(chosen: Any, texts: list[str | None], text: str) -> int | None:
    """Return the number of the current alternative; where the line names none, of the one that says the text."""
    if isinstance(chosen, int) and not isinstance(chosen, bool) and 0 <= chosen < len(texts):
        return chosen if texts[chosen] is not None else None
    return texts.index(text) if text in texts else None


# Into a line


def build_line(message: Said) -> dict[str, Any]:
    line_kept = kept(message.metadata)
    line = _new(message) if line_kept is None else line_kept
    line["mes"] = _shown(line.get("mes"), message.text, line)
    if line_kept is not None and read_role(line)[2] != message.hidden:
        line["is_system"] = message.hidden
    beside = message.beside
    own = _recap_values(beside.recap) | _scene_values(beside.scene)
    extra = _merge_extra(line.get("extra"), own | ({"exclude": True} if message.excluded else {}))
    if extra is not None or "extra" in line:
        line["extra"] = extra
    _put_alternatives(line, message, is_new=line_kept is None)
    return line


def _shown(written: Any, text: str, line: Mapping[str, Any]) -> str:
    """Return a stored text, with the thoughts it had in the file where it was not changed."""
    is_same = isinstance(written, str) and without_thoughts(clean(written), line) == text
    return str(written) if is_same else text


def _new(message: Said) -> dict[str, Any]:
    kind = next((kind for kind, role in _OWN_TYPES.items() if role == message.role), None)
    line: dict[str, Any] = {
        "name": message.name.encode("utf-8")[:SPEAKER_BYTES].decode("utf-8", "ignore"),
        "is_user": message.role == "user",
        "is_system": message.hidden,
        "send_date": iso(message.at),
        "mes": message.text,
        "extra": {} if kind is None else {"type": kind},
    }
    if message.role == "thought":
        line["is_thoughts"] = True
    return line


def iso(at: datetime | None) -> str:
    """Return a time as SillyTavern writes it, with microseconds where it has them; blank for none."""
    if at is None:
        return ""
    kind = "milliseconds" if at.microsecond % 1000 == 0 else "microseconds"
    return at.replace(tzinfo=None).isoformat(timespec=kind) + "Z"


def _put_alternatives(line: dict[str, Any], message: Said, *, is_new: bool) -> None:
    alternatives = {each.number: each for each in message.beside.alternatives}
    swipes = line.get("swipes")
    swipes = swipes if isinstance(swipes, list) else []
    if not alternatives:
        if swipes == [None]:
            line["swipes"] = [message.text]
            _put_infos(line, {0: Alternative(0, message.text, is_current=True)}, message, 1, is_new=False)
        return
    length = max(len(swipes), max(alternatives) + 1)
    swipes = swipes + [""] * (length - len(swipes))
    line["swipes"] = [
        _shown(swipe, alternatives[n].text, line) if n in alternatives else swipe for n, swipe in enumerate(swipes)
    ]
    current = next((n for n, each in alternatives.items() if each.is_current), None)
    if current is not None:
        line["swipe_id"] = current
    _put_infos(line, alternatives, message, length, is_new=is_new)


def _put_infos(
    line: dict[str, Any], alternatives: Mapping[int, Alternative], message: Said, length: int, *, is_new: bool
) -> None:
    """Write `swipe_info`: what is kept of each alternative, with its recap."""
    old = line.get("swipe_info")
    infos = old if isinstance(old, list) else []
    new_infos: list[Any] = []
    for number in range(max(length, len(infos))):
        each = alternatives.get(number)
        info = infos[number] if number < len(infos) else None
        if each is None:
            new_infos.append(info)
            continue
        values = {**_recap_values(message.beside.recap if each.is_current else each.recap), "include": None}
        has_recap = any(value is not None for value in values.values())
        if not isinstance(info, dict) and (is_new or (has_recap and not each.is_current)):
            info = {"send_date": line.get("send_date"), "extra": {}}
        if isinstance(info, dict) and has_recap and (is_new or not each.is_current or _has_place(info)):
            info = {**info, "extra": _merge_extra(info.get("extra"), values)}
        new_infos.append(info)
    while len(new_infos) > len(infos) and new_infos[-1] is None:
        new_infos.pop()
    if new_infos:
        line["swipe_info"] = new_infos


# Data of the recap extension

_NAMESPACES = ("auto_recap", "auto_recap_memory")
"""Names under which versions of the extension keep their data in `extra`; new data is put under the first."""
_OF_RECAP = ("memory", "edited", "stale", *rules_recaps.IN_DATA)
"""Keys of the recap that every alternative has of its own; `stale` is known to us alone."""
_OF_MESSAGE = (*_OF_RECAP, "include", "exclude", *sorted(rules_recaps.SCENE))
_ORDER = (*rules_recaps.KINDS, "stale")
_OF_VERSIONS = ("scene_recap_versions", "scene_recap_current_index", "scene_recap_metadata")
_LONG_NUMBER = re.compile(r"[:\[,]-?\d{19}")
"""A whole number that servers may round."""
_MOST_CHARS = {"include": 40, "scene_break_name": 200}


def _split_extra(extra: Any, keys: Collection[str]) -> tuple[Any, dict[str, Any]]:
    """Return `extra` without the values of those keys that are recognised, and the values."""
    name = _namespace(extra)
    if name is None:
        return extra, {}
    fields = extra[name]
    read = {key: _read(key, fields[key]) for key in fields if key in keys}
    taken = {key: value for key, value in read.items() if value is not None and key in _allowed(read)}
    if not taken:
        return extra, {}
    left = {key: None if key in taken else value for key, value in fields.items()}
    return {**extra, name: left}, taken


def _namespace(extra: Any) -> str | None:
    if not isinstance(extra, dict):
        return None
    return next((name for name in _NAMESPACES if isinstance(extra.get(name), dict)), None)


def _has_place(info: Mapping[str, Any]) -> bool:
    """Return whether the extension has data beside an alternative."""
    return _namespace(info.get("extra")) is not None


def _read(key: str, value: Any) -> Any:
    """Return a value as it is stored, None where it is none of its key's."""
    if key == "scene_break_visible":
        return value if isinstance(value, bool) else None
    if key == "stale" or rules_recaps.KINDS[key] == "switch":
        return True if value is True else None
    try:
        stored = rules_recaps.read_value(key, value)
    except MessageError:
        return None
    if isinstance(stored, str):
        text = clean(stored)
        fits = len(text) <= _MOST_CHARS.get(key, len(text)) and fits_column(text)
        return text if fits and text.strip() else None
    if key == "scene_recap_versions":
        return [clean(text) for text in stored] if stored else None
    if isinstance(stored, dict):
        return make_strict(stored)[0] if _is_exact(stored) else None
    return stored


def _is_exact(value: dict[str, Any]) -> bool:
    """Return whether an object that is not empty comes back from every server as it was."""
    text = keep(value)
    if not value or text is None or make_strict(value)[1]:
        return False
    return not _LONG_NUMBER.search(text)


def _allowed(read: Mapping[str, Any]) -> Collection[str]:
    """Return the keys that may be taken: those of a scene where there is a break, of its versions where there are."""
    allowed = {key for key in read if key not in rules_recaps.SCENE}
    if read.get("memory") is None:
        allowed.discard("stale")
    if not read.get("scene_break"):
        return allowed
    allowed |= {"scene_break", "scene_break_visible", "scene_break_name", "scene_recap_memory"} & read.keys()
    if "scene_recap_versions" in read and read["scene_recap_versions"] is None:
        return allowed  # versions of another shape: what belongs to them stays with them
    has_text = read.get("scene_recap_versions") is not None or read.get("scene_recap_memory") is not None
    return allowed | set(_OF_VERSIONS) if has_text else allowed


def _merge_extra(extra: Any, values: Mapping[str, Any]) -> Any:
    """Return `extra` with values of the extension in their places; those without one stand in the extension's order."""
    new = {key: values[key] for key in _ORDER if values.get(key) is not None}
    if not new:
        return extra
    name = _namespace(extra) or _NAMESPACES[0]
    old = extra[name] if _namespace(extra) else {}
    if old.get("scene_recap_versions") is not None:
        new = {key: value for key, value in new.items() if key not in _OF_VERSIONS}
    if "scene_recap_memory" in old and "scene_recap_versions" not in old and len(new.get(_OF_VERSIONS[0], ())) == 1:
        new = {key: value for key, value in new.items() if key not in _OF_VERSIONS[:2]}  # the text says it all
    if new.get("scene_break_visible") and "scene_break" in old and "scene_break_visible" not in old:
        del new["scene_break_visible"]  # visible is what a break is that does not say
    merged = {key: new.get(key, value) for key, value in old.items()}
    merged |= {key: value for key, value in new.items() if key not in old}
    return {**(extra if isinstance(extra, dict) else {}), name: merged}


def _read_recap(taken: Mapping[str, Any]) -> Recap | None:
    if not any(key in taken for key in (*_OF_RECAP, "include")):
        return None
    data = {key: taken[key] for key in rules_recaps.IN_DATA if key in taken}
    return Recap(
        taken.get("memory"), taken.get("include"), bool(taken.get("edited")), bool(taken.get("stale")), data
    )  # fmt: skip


def _recap_values(recap: Recap | None) -> dict[str, Any]:
    if recap is None:
        return {}
    flags = {"edited": recap.edited or None, "stale": recap.stale or None}
    return {"memory": recap.memory, "include": recap.include, **flags, **recap.data}


def _read_scene(taken: Mapping[str, Any]) -> Scene | None:
    if not taken.get("scene_break"):
        return None
    versions = list(taken.get("scene_recap_versions", ()))
    text, number = taken.get("scene_recap_memory"), taken.get("scene_recap_current_index", len(versions) - 1)
    if text is not None and (not 0 <= number < len(versions) or versions[number] != text):
        if text not in versions:
            versions.append(text)
        number = len(versions) - 1 - versions[::-1].index(text)
    current = min(number, len(versions) - 1) if versions else None
    metadata = taken.get("scene_recap_metadata") if current is not None else None
    return Scene(
        taken.get("scene_break_name", ""), taken.get("scene_break_visible", True), tuple(versions), current, metadata
    )


def _scene_values(scene: Scene | None) -> dict[str, Any]:
    if scene is None:
        return {}
    return {
        "scene_break": True,
        "scene_break_visible": scene.visible,
        "scene_break_name": scene.name or None,
        "scene_recap_memory": None if scene.current is None else scene.versions[scene.current],
        "scene_recap_versions": list(scene.versions) or None,
        "scene_recap_current_index": scene.current,
        "scene_recap_metadata": _sorted(scene.metadata) if scene.metadata else None,
    }


def _sorted(value: Any) -> Any:
    """Return a value with the keys of its objects sorted: servers do not keep their order."""
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value
