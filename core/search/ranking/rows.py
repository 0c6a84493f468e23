"""The query of a ranking, the rows it ranks, and the orders of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from ...index.shapes import IndexTerm, RowId
from ...shapes import SOURCES
from ...text.hits import diary_snippet_text
from ..question.question import Question
from .weights import INSIDE, K1, hold_back

if TYPE_CHECKING:
    from ..terms import GroupShare, QueryTerm

CHAT = SOURCES.index("chat_history")
"""Number of the source of messages."""
FOLDED_CHARS = 4000
"""Characters of a row that are searched."""
PERSONA = "persona"
"""Role of what the persona itself said."""
UNKNOWN = -1

Kept = Literal["", "correction", "newest", "others"]
"""correction: takes back the line before it. newest: the newest match of a question about the present. others: somebody
else matches the question better than the person it names."""


# What is asked


@dataclass(frozen=True, slots=True)
class RankingQuery:
    """What is asked, as the ranking sees it."""

    terms: Sequence[QueryTerm]
    weights: Sequence[float]
    """Weight of the group of each term."""
    total: float
    """Score of a row that holds every term and tag; above 0."""
    mean_words: float
    question: Question = field(default_factory=Question)
    asker: str = ""
    """Participant key of who asks."""
    here: str = ""
    """The conversation asked in."""
    reach: int = 4
    """Rows around one that matches among which an answer is looked for; 0 for none."""
    by_words: bool = False
    """What the rows hold decides alone."""
    newest: int = 0
    """How many of the newest rows about the question come out beside the best."""
    has_answers: bool = True
    """Something is asked, so that a row that matches nothing may answer it."""
    shares: Mapping[IndexTerm, Sequence[GroupShare]] = field(default_factory=dict)
    """What each word and phrase of the index counts for which groups of terms."""
    languages: Sequence[str] = ()
    """Of the question."""
    rarity: Callable[[str], float] | None = None
    """For questions about a time: rarity of a word among the visible rows, 1 for a word of a single row."""


# Rows


@dataclass(slots=True)
class FoundRow:
    """A row that may become a hit, with its texts."""

    source: int
    id: int
    at_us: int
    texts: tuple[str, ...]
    """The text columns; the diary has four, content first."""
    folded: str
    """Its first FOLDED_CHARS characters, folded."""
    digest: bytes | None
    tags: object = None
    """As stored: JSON text, or None for the chat."""
    conversation: str = ""
    """Conversation key; blank where the row has none."""
    sender: str = ""
    """Sender id of a chat row; blank elsewhere."""
    message_id: str | None = None
    said_by: str = ""
    """Who said it, as a hit shows it; blank where nobody knows."""
    said_by_key: str = ""
    """Participant key of who said it, `self` for the persona; blank where nobody knows."""
    messages: object = None
    """Messages a memory was made of, as stored: JSON text; None where nobody knows, and elsewhere."""

    @property
    def shown_text(self) -> str:
        """Return the text that a hit shows."""
        if len(self.texts) == 1:
            return self.texts[0]
        content, summary, message, thought = self.texts
        return diary_snippet_text(content, summary, message, thought)


Matched = Mapping[int, tuple[int, bool]]
"""Id of each term that a row holds to (times found, as a whole word)."""


@dataclass(slots=True, eq=False)  # never changed; to make a frozen one takes four times as long
class Candidate:
    """A row that may become a hit, before its text is read."""

    source: int
    id: int
    at_us: int
    words: int = 0
    """Length of its text in words; 0 when unknown."""
    score: float = 0.0
    context: bool = False
    """It does not match and is close to a row that does."""
    place: int = UNKNOWN
    """Its place by conversation and time; adjacent rows have consecutive places."""
    session: int = UNKNOWN
    """Its session; no two of a search have the same number."""
    session_rows: int = 0
    """Number of rows of the session."""
    long: float = 0.0
    """0 for a conversation of short turns to 1 for long ones."""
    tag_worth: float = 0.0
    """Score of its tags."""
    reasons: Mapping[str, float] = field(default_factory=dict)
    """What speaks for it, by the names of WEIGHTS."""
    matched: Matched = field(default_factory=dict)
    is_offered: bool = False
    """It does not match, and was said on a day asked for or by the person asked about."""
    kept: Kept = ""
    """Why it has a place among the first hits."""
    by_meaning: bool = False
    """It matches nothing itself and was found by its vector (docs/embeddings.md)."""
    tier: int = 2

    @property
    def key(self) -> RowId:
        """Return its source and id."""
        return self.source, self.id

    @property
    def own(self) -> float:
        """Return the score of its own words."""
        return self.reasons.get("own", 0.0)


@dataclass(slots=True, eq=False)  # as above
class ScoredRow:
    """A candidate with its row, as scored after reading."""

    candidate: Candidate
    row: FoundRow
    matched: Matched
    tier: int = 2
    context: bool = False
    """As of the candidate; its text may match nevertheless."""
    score: float = 0.0
    reasons: Mapping[str, float] = field(default_factory=dict)
    parts: Mapping[str, float] | None = None
    """Part of each reason in the score; None if rows were not ranked."""
    kept: Kept = ""
    """As of the candidate; its text may tell that it takes nothing back."""
    neighbour: Candidate | None = None
    """A copy with a better score: its session and conversation count."""

    @property
    def own(self) -> float:
        """Return the score of its own words."""
        return self.reasons.get("own", 0.0)


class WordScorer(NamedTuple):
    """Scores rows by the terms they hold alone, where no message was given."""

    terms: Sequence[QueryTerm]
    weights: Sequence[float]
    """Of each term."""
    mean_words: float

    def score(self, matched: Matched, words: int) -> float:
        """Return the score of the terms a row holds; above 0 if a text is looked for."""
        total = 0.0
        held_back = hold_back(words, self.mean_words)
        tags = {}
        for i, (times, whole) in matched.items():
            term, weight = self.terms[i], self.weights[i]
            if term.kind == "tag":
                tags[term.text] = weight
                continue
            gained = weight * (times * (K1 + 1) / (times + held_back))  # `saturation`
            total += gained if whole else INSIDE * gained
        if tags:
            texts = {self.terms[i].text for i in matched if self.terms[i].kind != "tag"}
            total += sum(tags[tag] for tag in sorted(tags.keys() - texts))
        if total:
            return total
        # It holds one of the texts behind the part that was searched: it counts as the commonest of them.
        texts_only = zip(self.terms, self.weights, strict=True)
        return INSIDE * min((weight for term, weight in texts_only if term.kind != "tag"), default=0.0)


def newest_first(rows: Iterable[Candidate]) -> list[Candidate]:
    """Return the rows in the order hits are handed out."""
    return sorted(rows, key=lambda c: (-c.at_us, c.source, -c.id))


def best_first(rows: Iterable[ScoredRow]) -> list[ScoredRow]:
    """Return the rows by score, then tier, then as they were."""
    return sorted(rows, key=lambda c: (-c.score, c.tier))


def without_many_contexts(ordered: Iterable[ScoredRow], most: int) -> list[ScoredRow]:
    """Return the rows, with at most `most` that do not match themselves."""
    kept = []
    for row in ordered:
        if row.context:
            most -= 1
        if most >= 0 or not row.context:
            kept.append(row)
    return kept


def choose(ordered: Sequence[ScoredRow], limit: int, always: ScoredRow | None = None) -> list[ScoredRow]:
    """Return at most `limit` of the rows, best first: each source that has one keeps its best."""
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
