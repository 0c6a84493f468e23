"""What is looked for in the search tables, and what holds for every row of a search. Reads no database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import bindparam, or_

from ..database.dialects import Time, from_microseconds

HELD = "search.held"
"""In the caches of a database handle: what the process holds of the search tables."""
WORD, TAG, PHRASE = 0, 1, 2
"""Kinds of what is looked up. The rows of a phrase are those that hold all of its words."""
TERM_BYTES = 160
"""Most bytes of a word in the index."""
NO_MATCH = "\x02"
"""A pattern no stored text matches: fills the places of a statement that are not needed."""


class Segment(NamedTuple):
    """A segment of the packed index."""

    audience_id: int
    segment_id: int
    stamp: int
    """Tells it from every other one there was."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One text looked for inside texts: a keyword, or a tag where the chat is searched."""

    text: str
    """Folded."""
    is_keyword: bool
    is_tag: bool
    whole_only: bool = False
    """It counts as a whole word alone: so few letters stand in many words that have nothing to do with it."""
    is_minor: bool = False
    """Words of the message beside those asked for, which lend a row weight: `text` is how they begin."""
    stem: str = ""
    """The stem of minor words."""
    terms: Mapping[str, bool] = field(default_factory=dict)
    """Words of the index that match it, each with whether it is the whole word."""
    is_exact: bool = False
    """It holds other signs than letters and blanks: its words lead to rows whose text is compared."""
    pieces: tuple[tuple[str, ...], ...] = ()
    """Of a text of several words: the words of the index that match each of them. A row needs one of each."""

    def applies(self, source: int, chat: int) -> bool:
        """Return whether it is looked for in the texts of a source: tags are in the chat alone."""
        return self.is_keyword or self.is_minor or source == chat


# What holds for every row of a search

AT_LEAST, AT_MOST = -(2**63) + 1, 2**63 - 1
"""Times in microseconds that bound nothing."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What holds for every row of a search."""

    persona: str
    since_us: int = AT_LEAST
    """Earliest time. Rows whose time cannot be read count as oldest: they are in where there is no earliest time."""
    until_us: int = AT_MOST
    local_only: bool = False
    """Take rows marked local_only too."""
    without_conversations: tuple[str, ...] = ()
    """Conversation keys whose chat rows are left out."""
    here: str = ""
    """The active conversation, whose session items do not expire."""

    @property
    def bounds(self) -> tuple[bool, bool]:
        """Return whether there is an earliest and a latest time."""
        return self.since_us != AT_LEAST, self.until_us != AT_MOST

    def values(self) -> dict[str, Any]:
        """Return the parameters of statements that read rows."""
        since, until = self.bounds
        return {
            "persona": self.persona,
            "since": from_microseconds(self.since_us) if since else None,
            "until": from_microseconds(self.until_us) if until else None,
            "local_only": int(self.local_only),
            "without": list(self.without_conversations),
            "here": self.here,
        }


def window_conditions(column: Any, bounds: tuple[bool, bool]) -> list[Any]:
    """Return the conditions of a time window over rows. A row whose time is missing counts as oldest."""
    since, until = bounds
    made = [column >= bindparam("since", type_=Time())] if since else []
    if until:
        before = column < bindparam("until", type_=Time())
        made.append(before if since else or_(before, column.is_(None)))
    return made
