"""What the search tables hold of a row, and what they are asked for. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

WORD, TAG, PHRASE, DAY = 0, 1, 2, 3
"""Kinds of what is looked up. The rows of a phrase are those that hold all of its words, the rows of a day
(`2026-03-12`) those that are about it."""
PARTIAL = "\x1f"
"""Stands as a word of a row some of whose words are not in the index: too long, or too many."""
IndexTerm = tuple[int, str]
"""Kind and text of what is looked up: a word, a tag, a phrase or a day."""
RowId = tuple[int, int]
"""Source and id of a row."""


class Said(NamedTuple):
    """Who said a row: name, participant key, role."""

    name: str
    key: str
    role: str


class ThreadSpeaker(NamedTuple):
    """Where a row was said and by whom."""

    thread: str
    """Conversation key. Only the chat has neighbours: what else belongs to a conversation is kept apart from it."""
    speaker: Said


@dataclass(frozen=True, slots=True)
class Entry:
    """What the search tables hold of one row."""

    source: int
    row_id: int
    audience_id: int
    at_us: int
    local_only: int
    terms: Mapping[str, int]
    """Word to number of times, at most TERMS_PER_ROW."""
    words: int
    """Length of the text in words, counted to 65,535."""
    tags: Sequence[str]
    place: ThreadSpeaker
    days: Sequence[str] = ()
    """Those its text is about."""
