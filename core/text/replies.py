"""Reading what a model answered: thoughts dropped, then the object that was asked for."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection
from typing import Any

from .loose_json import MAX_DEPTH, MAX_DIGITS, TooDeepError, iter_objects
from .strict_json import make_strict
from .thoughts import strip_thoughts

MAX_CHARS = 1_000_000
"""A longer reply is no answer."""
MAX_EFFORT = 400 * MAX_CHARS
"""Characters looked at in vain before the search for exact JSON is given up: about half a second."""
_PARSED = 16
"""Looking at a character as JSON takes as long as this many of looking for line ends, which every failure does from the
start of the text, to say where it was."""

Fits = Callable[[dict[str, Any]], bool]

_LANGUAGE = re.compile(r"[ \t]*[\w.+#-]*")
_FENCE = "```"
_LIST = re.compile(r'\[\s*+[\[{"\]]')
_OPENING = re.compile(r'\{\s*+["}]')


def is_unreadable(text: str) -> bool:
    """Return whether a text is no answer in words: too long, or an object or fence that was not what was asked for."""
    return len(text) > MAX_CHARS or text.startswith(("{", _FENCE)) or bool(_LIST.match(text))


def read_object(reply: str, keys: Collection[str], *, fits: Fits | None = None) -> dict[str, Any] | None:
    """Return the object that a reply holds, wherever and however it stands there; None where it holds none."""
    if not isinstance(reply, str) or len(reply) > MAX_CHARS:
        return None
    wanted = _Wanted((keys,) if isinstance(keys, str) else tuple(keys), fits)
    text = strip_thoughts(reply)
    fenced = _first_fence(text)
    try:
        for read in (_exact, _mended):
            for part in (fenced, text):
                found = read(part, wanted) if "{" in part else None
                if found is not None:
                    return found
    except (TooDeepError, RecursionError):
        return None
    return None


class _Wanted:
    """What an object must be."""

    def __init__(self, keys: tuple[str, ...], fits: Fits | None) -> None:
        self.keys = keys
        self.fits = fits

    def first_in(self, value: Any) -> dict[str, Any] | None:
        """Return the first object that fits: the value itself, else one inside, in the order they are written in."""
        waiting: list[tuple[Any, int]] = [(value, 1)]
        found = None
        while waiting:
            item, depth = waiting.pop()
            if not isinstance(item, (dict, list)):
                continue
            if depth > MAX_DEPTH:
                raise TooDeepError
            if isinstance(item, dict) and found is None:
                found = self.judge(item)
            inside = list(item.values()) if isinstance(item, dict) else item
            waiting.extend((value, depth + 1) for value in reversed(inside))
        return found

    def judge(self, value: dict[str, Any]) -> dict[str, Any] | None:
        if self.keys and not any(key in value for key in self.keys):
            return None
        plain: dict[str, Any] = make_strict(value)[0]
        return plain if self.fits is None or self.fits(plain) else None


def _first_fence(text: str) -> str:
    """Return what stands in the first fenced block, without its language word; blank without one."""
    start = text.find(_FENCE)
    if start < 0:
        return ""
    while text.startswith("`", start):
        start += 1
    end = text.find(_FENCE, start)
    inside = text[start : end if end >= 0 else len(text)]
    language = _LANGUAGE.match(inside)
    return inside[language.end() if language else 0 :].strip()


def _exact(text: str, wanted: _Wanted) -> dict[str, Any] | None:
    """Return the first JSON object that fits, trying each brace in turn."""
    effort = 0
    start = _OPENING.search(text)
    while start is not None and effort <= MAX_EFFORT:
        at = start.start()
        try:
            value, end = _DECODER.raw_decode(text, at)
        except json.JSONDecodeError as error:
            # A text without an end is named by its start, and was looked at up to the end.
            seen = len(text) if error.msg.startswith("Unterminated") else error.pos
            effort += error.pos + _PARSED * (seen - at)
            start = _OPENING.search(text, at + 1)
            continue
        found = wanted.first_in(value)
        if found is not None:
            return found
        start = _OPENING.search(text, end)
    return None


def _mended(text: str, wanted: _Wanted) -> dict[str, Any] | None:
    """Return the first object that fits once mended."""
    return next((found for value in iter_objects(text) if (found := wanted.first_in(value)) is not None), None)


def _whole(digits: str) -> int | None:
    return int(digits) if len(digits) <= MAX_DIGITS else None


def _real(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None


_DECODER = json.JSONDecoder(strict=False, parse_constant=lambda _: None, parse_int=_whole, parse_float=_real)
