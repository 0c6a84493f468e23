"""Which new text may not take the place of a good one: blank, an error, or far too short."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from .folding import clean

LONG_ENOUGH_CHARS = 200
"""A shorter current text may be replaced by a text of any length."""
MIN_RATIO = 0.3
"""A text shorter than this share of the current one has most likely lost something."""
LOOKED_AT_CHARS = 2000
"""Errors and refusals say so at their beginning."""

Refusal = Literal["", "empty", "error_like", "shorter"]
"""Why a text is refused; blank when it is not."""

_BLANK = re.compile("[\\s\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]*\\Z")
_MARKS = re.compile(r"[\s*_#>\"“”«»‘`~•|()\-–—❌⚠️⛔🚫❗]+")
_SPACES = re.compile(r"\s+")


def judge_refusal(new: str, current: str, *, patterns: Sequence[str]) -> Refusal:
    """Return why a new text must not replace the current one; blank when it may."""
    if _BLANK.match(clean(new)):
        return "empty"
    head = beginning(new)
    if any(pattern.match(head) for pattern in _compiled(tuple(patterns))):
        return "error_like"
    had = len(current.strip())
    if had >= LONG_ENOUGH_CHARS and len(new.strip()) < round(MIN_RATIO * had, 6):
        return "shorter"
    return ""


def beginning(text: str) -> str:
    """Return the beginning of a text as patterns see it: without marks in front, one kind of space and apostrophe."""
    known = unicodedata.normalize("NFKC", clean(text[: 2 * LOOKED_AT_CHARS])).replace("’", "'").replace("＇", "'")
    marks = _MARKS.match(known)
    return _SPACES.sub(" ", known[marks.end() if marks else 0 :])[:LOOKED_AT_CHARS].strip()


@lru_cache(maxsize=32)
def _compiled(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns)
