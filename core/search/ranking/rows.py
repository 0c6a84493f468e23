"""The query of a ranking, the rows it ranks, and the orders of rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Literal, NamedTuple

from ...index.shapes import IndexTerm, RowId
from ...shapes import SOURCES
from ...text.folding import fold
from ...text.hits import diary_snippet_text
from ..question import Question
from .weights import INSIDE, K1, LEAST_CONTEXT, hold_back

if TYPE_CHECKING:
    from ..terms import GroupShare, QueryTerm

CHAT = SOURCES.index("chat_history")
FOLDED_CHARS = 4000
"""Number of leading characters of a loaded row that are searched, if the search has no exact terms."""
PERSONA = "persona"
UNKNOWN = -1

Kept = Literal["", "correction", "newest", "others", "person"]
"""Why a row gets one of the first places. correction: corrects the message before it. newest: newest match of a
question about now. others: somebody else's row, clearly better than the named person's. person: that person's row.
"""


# The query


@dataclass(frozen=True, slots=True)
class RankingQuery:
    terms: Sequence[QueryTerm]
    weights: Sequence[float]
    """Weight of each term's group."""
    total: float
    """Score of a row that contains every term and tag; above 0."""
    mean_words: float
    question: Question = field(default_factory=Question)
    asker: Collection[str] = ()
    """Participant keys of the asker."""
    here: str = ""
    """Conversation key of the asker."""
    reach: int = 4
    """Number of rows on each side of a match that may have the answer; 0 looks at matches only."""
    least_context: float = LEAST_CONTEXT
    """Minimum score of the words around a row without a match; below it, the row is not shown."""
    by_words: bool = False
    newest: int = 0
    """Number of newest rows about the question that get a place among the first hits."""
    has_answers: bool = True
    """Whether something is asked, so that a row without a match may be the answer."""
    shares: Mapping[IndexTerm, Sequence[GroupShare]] = field(default_factory=dict)
    """For each word and phrase of the index, the groups of terms that it matches, with factors."""
    languages: Sequence[str] = ()
    weigh_texts: Callable[[Sequence[Collection[str]]], Sequence[float]] | None = None
    """For questions about a time: how informative each text is, given its terms, 0 to 1."""


# Rows


@dataclass(slots=True)
class FoundRow:
    """A row that may become a hit, with its texts."""

    source: int
    id: int
    at_us: int
    texts: tuple[str, ...]
    """Text columns; the diary has four, content first."""
    folded: str
    """First characters of the texts, folded (`Search.searched_chars`)."""
    digest: bytes | None
    tags: Sequence[str] = ()
    conversation: str = ""
    """Conversation key; "" if the row has none."""
    sender: str = ""
    """Sender id of a chat row; "" for other sources."""
    message_id: str | None = None
    is_hidden: bool = False
    """Whether the history does not show the message."""
    said_by: str = ""
    """Speaker's name as shown in a hit; "" if unknown."""
    said_by_key: str = ""
    """Speaker's participant key, `self` for the persona; "" if unknown."""
    messages: object = None
    """Source messages of a memory as stored: JSON text; None if unknown, and for other sources."""
    kind: str = ""
    """Kind of a memory; "" for other sources."""
    reply: str | None = None
    """Metadata of a message that replies to another, as JSON text; None for other rows."""

    @property
    def shown_text(self) -> str:
        return self.texts[0] if len(self.texts) == 1 else diary_snippet_text(*self.texts)


FILLING, FILLING_LAST = 3, 4
Matched = Mapping[int, tuple[int, bool]]
"""Matches of a row: (number of occurrences, whether as a whole word) by term id."""


@dataclass(slots=True, eq=False)  # never changed, but creating a frozen one takes four times as long
class Candidate:
    """A row that may become a hit, before its text is read."""

    source: int
    id: int
    at_us: int
    words: int = 0
    """Length of the row's text in words; 0 if unknown."""
    score: float = 0.0
    context: bool = False
    """Whether the row is a neighbour of a match and does not match itself."""
    place: int = UNKNOWN
    """Position by conversation and time; adjacent rows have consecutive positions."""
    session: int = UNKNOWN
    """Session number, unique in a search."""
    session_rows: int = 0
    long: float = 0.0
    """Scale of turn length in the row's conversation, from 0 (short turns) to 1 (long turns)."""
    tag_worth: float = 0.0
    reasons: Mapping[str, float] = field(default_factory=dict)
    """Value of each ranking reason, by its name in WEIGHTS."""
    matched: Matched = field(default_factory=dict)
    is_offered: bool = False
    """Whether the row does not match but was said in a span of the question, or by the person the question is about."""
    kept: Kept = ""
    """Reason why the row gets one of the first places, whatever its score."""
    changes: RowId | None = None
    """Row that this one changes (`search.changes`)."""
    by_meaning: bool = False
    """Whether the row was found only by its vector (docs/embeddings.md)."""
    tier: int = 2
    """1: matches a tag and a keyword. 2: other rows. FILLING, FILLING_LAST: rows that come after all others."""

    @property
    def key(self) -> RowId:
        return self.source, self.id

    @property
    def own(self) -> float:
        """Return the score that the row gets for its own words."""
        return self.reasons.get("own", 0.0)


@dataclass(slots=True, eq=False)
class ScoredRow:
    """A candidate with the row that was read for it, and its final score."""

    candidate: Candidate
    row: FoundRow
    matched: Matched
    tier: int = 2
    context: bool = False
    """Whether the row is a neighbour of a match and neither its index terms nor its text match."""
    score: float = 0.0
    reasons: Mapping[str, float] = field(default_factory=dict)
    parts: Mapping[str, float] | None = None
    """How much each ranking reason adds to the score; None if rows were not ranked."""
    kept: Kept = ""
    """Reason why the row gets one of the first places; "" also for a "correction" whose text corrects nothing."""
    neighbour: Candidate | None = None
    """Better-scored copy of the row, whose session and conversation are used instead."""

    @property
    def own(self) -> float:
        return self.reasons.get("own", 0.0)


class WordScorer(NamedTuple):
    """Scores rows by their terms alone, if there is no message."""

    terms: Sequence[QueryTerm]
    weights: Sequence[float]
    mean_words: float

    def score(self, matched: Matched, words: int) -> float:
        """Return the score of a row's terms; without any, that of one weak match (0 if the search has only tags)."""
        total = 0.0
        held_back = hold_back(words or self.mean_words, self.mean_words)
        tags = {}
        for i, (times, whole) in matched.items():
            term, weight = self.terms[i], self.weights[i]
            if term.kind == "tag":
                tags[fold(term.text)] = weight
                continue
            gained = weight * (times * (K1 + 1) / (times + held_back))  # `saturation`
            total += gained if whole else INSIDE * gained
        if tags:
            texts = {self.terms[i].text for i in matched if self.terms[i].kind != "tag"}
            total += sum(tags[tag] for tag in sorted(tags.keys() - texts))
        if total:
            return total
        # The match is after the characters searched: the row counts as one with the commonest text.
        texts_only = zip(self.terms, self.weights, strict=True)
        return INSIDE * min((weight for term, weight in texts_only if term.kind != "tag"), default=0.0)


def newest_first(rows: Iterable[Candidate]) -> list[Candidate]:
    """Return the rows in the order of hits: by time, then source and id."""
    ordered = sorted(rows, key=attrgetter("id"), reverse=True)  # three sorts without a frame of Python for each row
    ordered.sort(key=attrgetter("source"))
    ordered.sort(key=attrgetter("at_us"), reverse=True)
    return ordered


def without_many_contexts(ordered: Iterable[ScoredRow], most: int) -> list[ScoredRow]:
    """Drop all but `most` of the rows that match nothing themselves and only neighbour a match."""
    kept = []
    for row in ordered:
        if row.context:
            most -= 1
        if most >= 0 or not row.context:
            kept.append(row)
    return kept


def choose(ordered: Sequence[ScoredRow], limit: int, always: ScoredRow | None = None) -> list[ScoredRow]:
    """Return at most `limit` of the rows, best first; each source keeps its best row."""
    first: dict[int, int] = {}
    for place, row in enumerate(ordered):
        first.setdefault(row.row.source, place)
    kept = set(sorted(first.values())[:limit])
    if always is not None and len(kept) < limit:
        kept.update(place for place, row in enumerate(ordered) if row is always)
    for place in range(len(ordered)):
        if len(kept) >= limit:
            break
        kept.add(place)
    return [ordered[place] for place in sorted(kept)]
