"""Match the messages of a list, which a front end sends with every request, to stored lines."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Literal, NamedTuple

LineRole = Literal["user", "persona"]
MOST_PAIRS = 20_000
"""Maximum number of pairs of equal lines that are all compared: thousands of lines "Continue" would take minutes."""


class Spoken(NamedTuple):
    role: LineRole
    text: str


def match_lines(lines: Sequence[Spoken], stored: Sequence[Spoken], *, is_whole: bool = False) -> list[int | None]:
    """Return the index of the stored line that each line equals or edits, or None; `is_whole`: neither list is cut."""
    matches = _pair_equal(lines, stored)
    is_first = is_whole and len(lines) == 1 and matches[0] == 0
    if lines and matches[-1] is not None and not is_first and not _is_repeated(lines, matches, stored):
        matches[-1] = None
    _pair_edited(lines, matches, stored)
    for at, line in enumerate(lines):
        if matches[at] is None:
            matches[at] = _find_changed(at, line, matches, stored, is_whole)
    return matches


def _pair_edited(lines: Sequence[Spoken], matches: list[int | None], stored: Sequence[Spoken]) -> None:
    """Pair edited lines: between two pairs of equal lines, new lines edit missing stored lines with the same roles.

    There must be as many equal lines as edited lines or more; otherwise the list may be another chat with this key.
    """
    equal = [(at, index) for at, index in enumerate(matches) if index is not None]
    for (left, first), (right, last) in pairwise([(-1, -1), *equal]):
        new, missing = range(left + 1, right), range(first + 1, last)
        has_same_roles = [lines[at].role for at in new] == [stored[index].role for index in missing]
        if has_same_roles and len(new) <= len(equal):
            matches[left + 1 : right] = missing


def _find_changed(
    at: int, line: Spoken, matches: Sequence[int | None], stored: Sequence[Spoken], is_whole: bool
) -> int | None:
    """Return the index of the stored line that this line edits, or None for a new line.

    The stored line must follow the match of the line before, no later line may match, and the stored line must be the
    last of its role. In a list that is not cut it may be any answer, since every answer is stored when it is made.
    """
    before = matches[at - 1] if at else -1
    if before is None or before + 1 >= len(stored) or before + 1 in matches:
        return None
    candidate = before + 1
    if stored[candidate].role != line.role:
        return None
    is_last = all(each.role != line.role for each in stored[candidate + 1 :])
    is_answer = is_whole and candidate == at and line.role == "persona"
    return candidate if at and (is_last or is_answer) and all(index is None for index in matches[at + 1 :]) else None


def _is_repeated(lines: Sequence[Spoken], matches: Sequence[int | None], stored: Sequence[Spoken]) -> bool:
    """Return whether the last line of a list is a retry of a stored line, not the same words said again later."""
    index = matches[-1]
    assert index is not None
    if not any(each.role == lines[-1].role for each in stored[index + 1 :]):
        return True
    before = next((at for at in reversed(range(len(lines) - 1)) if matches[at] is not None), None)
    return before is not None and index - matches[before] == len(lines) - 1 - before  # type: ignore[operator]


def _pair_equal(lines: Sequence[Spoken], stored: Sequence[Spoken]) -> list[int | None]:
    """Return, for each line, the index of the latest equal stored line or None; the indexes are in rising order.

    With more than MOST_PAIRS possible pairs, very common lines are paired only next to other equal lines.
    """
    matches: list[int | None] = [None] * len(lines)
    counts = Counter(stored)
    is_repetitive = sum(counts[line] for line in lines) > MOST_PAIRS
    pairs = SequenceMatcher(None, lines[::-1], stored[::-1], autojunk=is_repetitive)
    for at, index, size in pairs.get_matching_blocks():
        for step in range(size):
            matches[len(lines) - 1 - at - step] = len(stored) - 1 - index - step
    return matches


def make_message_id(before: str, role: str, text: str) -> str:
    """Return the id of a new line. It depends on the line before it, so two requests store the line once."""
    return "list-" + hashlib.sha256(f"{before}\x00{role}\x00{text}".encode("utf-8", "replace")).hexdigest()[:40]
