"""A message's line in a chat of SillyTavern: what is taken from it and what is kept, and the line made of
them again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ....shapes import Role
from ....stories.table_imported import NOTHING, Alternative, Beside, Recap
from ....text.folding import clean
from ...fields import SPEAKER_BYTES, TEXT_BYTES, RefusedError, said_without_thoughts
from . import recaps
from .json_text import kept

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
    """Return what a line comes to."""
    is_whole = isinstance(value.get("mes"), str) and clean(value["mes"]) == text
    line = {**value, "mes": None} if is_whole else dict(value)
    extra, own = recaps.split_extra(value.get("extra"), recaps.OF_MESSAGE)
    if own:
        line["extra"] = extra
    recap = recaps.recap_of(own)
    scene = recaps.scene_of(own)
    alternatives = _take_alternatives(line, text, recap)
    return Taken(line, Beside(recap, alternatives, scene), bool(own.get("exclude")))


def _take_alternatives(line: dict[str, Any], text: str, own: Recap | None) -> tuple[Alternative, ...]:
    """Return the alternatives of a line that is about to be kept, and take them out of it."""
    swipes = line.get("swipes")
    if not isinstance(swipes, list) or not swipes:
        return ()
    texts = [_text(swipe, line) for swipe in swipes]
    line["swipes"] = [None if said is not None and said == clean(swipe) else swipe
                      for swipe, said in zip(swipes, texts, strict=True)]  # fmt: skip
    infos = line.get("swipe_info")
    infos = list(infos) if isinstance(infos, list) else []
    current = _current(line.get("swipe_id"), texts, text)
    is_alone = texts == [text]
    made = []
    for number, said in enumerate(texts):
        if said is None:
            continue
        info = infos[number] if number < len(infos) else None
        recap = None
        if isinstance(info, dict) and (number != current or own is not None):
            extra, taken = recaps.split_extra(info.get("extra"), recaps.OF_RECAP)
            recap = recaps.recap_of(taken)
            infos[number] = {**info, "extra": extra} if taken else info
        made.append(Alternative(number, said, number == current, recap=recap))
    if infos:
        line["swipe_info"] = infos
    return () if is_alone else tuple(made)


def without_thoughts(text: str, line: Mapping[str, Any]) -> str:
    """Return the text of a line as it is stored: a character's without its thoughts."""
    return text if line.get("is_user") else said_without_thoughts(text)


def _text(swipe: Any, line: Mapping[str, Any]) -> str | None:
    """Return an alternative's text as it is stored; None for one that cannot be: no text, blank, too large."""
    made = without_thoughts(clean(swipe), line) if isinstance(swipe, str) else ""
    is_small = len(made) * 4 <= TEXT_BYTES or len(made.encode("utf-8")) <= TEXT_BYTES
    return made if made.strip() and is_small else None


def _current(chosen: Any, texts: list[str | None], text: str) -> int | None:
    """Return the number of the current alternative; where the line names none, of the one that says the text."""
    if isinstance(chosen, int) and not isinstance(chosen, bool) and 0 <= chosen < len(texts):
        return chosen if texts[chosen] is not None else None
    return texts.index(text) if text in texts else None


# Into a line


def build_line(said: Said) -> dict[str, Any]:
    """Return the line of a stored message."""
    held = kept(said.metadata)
    line = _new(said) if held is None else held
    line["mes"] = _shown(line.get("mes"), said.text, line)
    if held is not None and read_role(line)[2] != said.hidden:
        line["is_system"] = said.hidden
    beside = said.beside
    own = recaps.values_of(beside.recap) | recaps.scene_values(beside.scene)
    extra = recaps.merge_extra(line.get("extra"), own | ({"exclude": True} if said.excluded else {}))
    if extra is not None or "extra" in line:
        line["extra"] = extra
    _put_alternatives(line, said, is_new=held is None)
    return line


def _shown(held: Any, text: str, line: Mapping[str, Any]) -> str:
    """Return a stored text, with the thoughts it had in the file where it was not changed."""
    is_same = isinstance(held, str) and without_thoughts(clean(held), line) == text
    return str(held) if is_same else text


def _new(said: Said) -> dict[str, Any]:
    """Return a line for a message that was in no such file."""
    kind = next((kind for kind, role in _OWN_TYPES.items() if role == said.role), None)
    line: dict[str, Any] = {
        "name": said.name.encode("utf-8")[:SPEAKER_BYTES].decode("utf-8", "ignore"),
        "is_user": said.role == "user",
        "is_system": said.hidden,
        "send_date": iso(said.at),
        "mes": said.text,
        "extra": {} if kind is None else {"type": kind},
    }
    if said.role == "thought":
        line["is_thoughts"] = True
    return line


def iso(at: datetime | None) -> str:
    """Return a time as SillyTavern writes it, with microseconds where it has them; blank for none."""
    if at is None:
        return ""
    kind = "milliseconds" if at.microsecond % 1000 == 0 else "microseconds"
    return at.replace(tzinfo=None).isoformat(timespec=kind) + "Z"


def _put_alternatives(line: dict[str, Any], said: Said, *, is_new: bool) -> None:
    alternatives = {each.number: each for each in said.beside.alternatives}
    swipes = line.get("swipes")
    swipes = swipes if isinstance(swipes, list) else []
    if not alternatives:
        if swipes == [None]:
            line["swipes"] = [said.text]
            _put_infos(line, {0: Alternative(0, said.text, is_current=True)}, said, 1, is_new=False)
        return
    length = max(len(swipes), max(alternatives) + 1)
    line["swipes"] = [
        _shown(swipes[n] if n < len(swipes) else None, alternatives[n].text, line)
        if n in alternatives
        else swipes[n]
        if n < len(swipes)
        else ""
        for n in range(length)
    ]
    current = next((n for n, each in alternatives.items() if each.is_current), None)
    if current is not None:
        line["swipe_id"] = current
    _put_infos(line, alternatives, said, length, is_new=is_new)


def _put_infos(
    line: dict[str, Any], alternatives: Mapping[int, Alternative], said: Said, length: int, *, is_new: bool
) -> None:
    """Write `swipe_info`: what is kept of each alternative, with its recap."""
    held = line.get("swipe_info")
    infos = held if isinstance(held, list) else []
    made: list[Any] = []
    for number in range(max(length, len(infos))):
        each = alternatives.get(number)
        info = infos[number] if number < len(infos) else None
        if each is None:
            made.append(info)
            continue
        values = {**recaps.values_of(said.beside.recap if each.is_current else each.recap), "include": None}
        has_recap = any(value is not None for value in values.values())
        if not isinstance(info, dict) and (is_new or (has_recap and not each.is_current)):
            info = {"send_date": line.get("send_date"), "extra": {}}
        if isinstance(info, dict) and has_recap and (is_new or not each.is_current or recaps.has_place(info)):
            info = {**info, "extra": recaps.merge_extra(info.get("extra"), values)}
        made.append(info)
    while len(made) > len(infos) and made[-1] is None:
        made.pop()
    if made:
        line["swipe_info"] = made
