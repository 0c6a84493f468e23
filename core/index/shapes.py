"""The index entry of a row, and the terms that the index is searched for. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..text.folding import name_form

WORD, TAG, PHRASE, DAY = 0, 1, 2, 3
"""Kinds of index terms. PHRASE: rows with all its words. DAY: rows about a day (`2026-03-12`), week, month or year."""
PARTIAL = "\x1f"
"""Word added to the entry of a row that has too many words, or too long words, to be indexed whole."""
IndexTerm = tuple[int, str]
"""(kind, text) of a word, tag, phrase or day."""
RowId = tuple[int, int]
"""Source and id of a row."""
RowTime = tuple[int, int]
"""Time and id of a row."""


class Said(NamedTuple):
    """Speaker of a row: name, participant key, role."""

    name: str
    key: str
    role: str

    @property
    def name_form(self) -> str:
        return name_form(self.name)


class ThreadSpeaker(NamedTuple):
    thread: str
    """Conversation key; for a memory, with NUL before it, since only messages have neighbours."""
    speaker: Said


@dataclass(frozen=True, slots=True)
class Entry:
    source: int
    row_id: int
    audience_id: int
    at_us: int
    local_only: int
    terms: Mapping[str, int]
    """Number of occurrences of each word; at most TERMS_PER_ROW words."""
    words: int
    """Length of the text in words, at most 65,535."""
    tags: Sequence[str]
    place: ThreadSpeaker
    days: Sequence[str] = ()
    """Days that the text is about, as ISO 8601."""
