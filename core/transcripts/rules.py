"""Match the messages of a list, which a front end sends with every request, to stored lines.

A list is a piece of the chat, such as its newest lines; its last line is usually new. So the lines before the last one
are searched in one piece, nearest to the end of the stored lines. Only a list without such a piece may have edited
lines. If an edit of a person's line is not certain, the line is new: a line too many does less harm than a lost one.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Literal, NamedTuple

LineRole = Literal["user", "persona"]
ID_PREFIX = "list-"
Matches = list[int | None]
"""For each line of a list the index of a stored line, in rising order, or None."""


class Spoken(NamedTuple):
    role: LineRole
    text: str


def match_lines(lines: Sequence[Spoken], stored: Sequence[Spoken], *, is_whole: bool = False) -> Matches:
    """Return for each line the index of the stored line that it equals or edits; `is_whole`: neither list is cut."""
    lines, stored = list(lines), list(stored)
    if not lines:
        return []
    newest = max((index for index, line in enumerate(stored) if line.role == lines[-1].role), default=-1)
    for end in (newest + 1, *([1] if is_whole else [])):
        if end >= len(lines) and stored[end - len(lines) : end] == lines:  # the list, or its first line, is sent again
            return [*range(end - len(lines), end)]
    matches = [*_match_equal(lines[:-1], stored), None]
    is_certain = _is_certain(lines, matches, stored, is_whole)
    at, index = [(-1, -1), *_list_pairs(matches)][-1]
    place = index + len(lines) - 1 - at  # of the last line if no line before it is missing
    if newest > index and stored[newest] == lines[-1]:
        matches[-1] = newest
    elif is_certain and (stored[place : place + 1] == lines[-1:] or place == newest == index + 1):
        matches[-1] = place
    if is_certain:
        _pair_edited(lines, matches, stored)
    _pair_answer(lines, matches, stored, is_whole)
    return matches


def _match_equal(lines: list[Spoken], stored: list[Spoken]) -> Matches:
    """Match equal lines: all of them in the latest possible piece of `stored`, or else as many as possible.

    The list may go on after the end of the stored lines, have changed lines, or lack some of the stored lines.
    """
    size, end = len(lines), len(stored)
    starts = [start for start in range(end + 1) if stored[start : start + size] == lines[: end - start]]
    start = max(starts, key=lambda start: (min(size, end - start), start))
    piece: Matches = [index if index < end else None for index in range(start, start + size)]
    if None not in piece:
        return piece
    newest = enumerate(range(end - size, end))
    unchanged: Matches = [index if index >= 0 and lines[at] == stored[index] else None for at, index in newest]
    counts = Counter(stored)

    def rank(matches: Matches) -> tuple[int, int]:
        """Return (number of lines without a match, number of matches of repeated lines); the least is best."""
        return matches.count(None), sum(index is not None and counts[stored[index]] > 1 for index in matches)

    return min(piece, unchanged, _match_single(lines, stored), key=rank)


def _match_single(lines: list[Spoken], stored: list[Spoken]) -> Matches:
    """Match lines that are stored only once, and then equal lines next to them.

    Other repeated lines, such as "ok", do not show a place, and comparing thousands of them would take minutes.
    """
    matches: Matches = [None] * len(lines)
    repeated = {line for line, count in Counter(stored).items() if count > 1}
    compared = SequenceMatcher(repeated.__contains__, lines[::-1], stored[::-1], autojunk=False)
    for at, index, length in compared.get_matching_blocks():
        matches[len(lines) - at - length : len(lines) - at] = range(len(stored) - index - length, len(stored) - index)
    return matches


def _list_pairs(matches: Matches) -> list[tuple[int, int]]:
    return [(at, index) for at, index in enumerate(matches) if index is not None]


def _is_certain(lines: list[Spoken], matches: Matches, stored: list[Spoken], is_whole: bool) -> bool:
    """Return whether equal lines show where the list belongs, so that it may edit a person's line.

    They do if the list begins with the first stored line, or if an equal line of a person is stored only once. An
    answer stored only once is enough if the list is longer than the stored lines; else it may be a greeting.
    """
    equal = [lines[at] for at, _ in _list_pairs(matches)]
    said = [line for line in equal if line.role == "user"]
    is_from_first = matches[0] == 0 and (is_whole or bool(said))
    return is_from_first or any(stored.count(line) == 1 for line in (equal if len(matches) > len(stored) else said))


def _pair_edited(lines: list[Spoken], matches: Matches, stored: list[Spoken]) -> None:
    """Between two pairs of equal lines, pair new lines, as edits, with unmatched stored lines of the same roles.

    There must be as many equal lines as edited lines or more; otherwise the list may be another chat with this key.
    A person's line that is also stored elsewhere is no edit: the unmatched line may have been deleted.
    """
    equal = [(at, index) for at, index in _list_pairs(matches) if lines[at] == stored[index]]
    for (left, first), (right, last) in pairwise([(-1, -1), *equal]):
        new, missing = range(left + 1, right), range(first + 1, last)
        has_same_roles = [lines[at].role for at in new] == [stored[index].role for index in missing]
        is_new = all(lines[at].role == "persona" or lines[at] not in stored for at in new)
        if has_same_roles and is_new and len(new) <= len(equal):
            matches[left + 1 : right] = missing


def _pair_answer(lines: list[Spoken], matches: Matches, stored: list[Spoken], is_whole: bool) -> None:
    """Match a changed answer before the last line to the newest stored answer, if both follow the same line.

    With `is_whole` any stored answer is allowed, since every answer is stored when it is made.
    """
    at = len(lines) - 2
    before = matches[at - 1] if at > 0 and lines[at].role == "persona" else None
    if before is None or matches[at] is not None or before + 1 in matches:
        return
    answers = [index for index, line in enumerate(stored) if line.role == "persona"]
    if before + 1 in answers[-1:] or (is_whole and before + 1 == at and at in answers):
        matches[at] = before + 1


def make_message_id(before: str, role: str, text: str) -> str:
    """Return the id of a new line, made from the line `before` it, so that two requests store the line once."""
    return ID_PREFIX + hashlib.sha256(f"{before}\x00{role}\x00{text}".encode("utf-8", "replace")).hexdigest()[:40]
