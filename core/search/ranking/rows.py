"""What is asked, and a row of the search while it is ranked; and the orders that rows come in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from ...shapes import SOURCES
from ...text.hits import diary_snippet_text
from ..question.question import Question
from .weights import INSIDE, K1, hold_back

_NONE: frozenset[str] = frozenset()
CHAT = SOURCES.index("chat_history")
"""Number of the source of messages."""
FOLDED_CHARS = 4000
"""Characters of a row in which what is looked for is looked for."""
PERSONA = "persona"
"""Role of what the persona itself said."""
UNKNOWN = -1

Kept = Literal["", "newest", "others"]
"""newest: the newest about a question in the present. others: somebody else said more of it than whom it names."""
Place = tuple[int, int]
"""Source and id of a row."""


# What is asked


class Term(NamedTuple):
    """What a word of the index, a tag or a phrase counts for what is asked."""

    group: int
    """Number of the group of texts it belongs to; -1 for a tag that is looked for as no word."""
    factor: float = 1.0
    """What it counts: 1 for the whole word, less for letters inside it."""
    tag_worth: float = 0.0
    """Of a tag."""
    chat_only: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked, as the ranking sees it."""

    worth: Sequence[float]
    """`rarity_weight` of each group of texts: `recip` and `recipes` are one word and count once."""
    total: float
    """What a row that holds everything asked for is worth, tags included; above 0."""
    mean_words: float
    question: Question = field(default_factory=Question)
    asker: str = ""
    """Participant key of who asks."""
    has_answers: bool = True
    """Something is asked, so that a row that matches nothing may answer it."""
    texts: Sequence[str] = ()
    """What is looked for, by the indexes of `Candidate.matched`."""
    groups: Sequence[int] = ()
    """For each of `texts` the number of its group."""
    terms: Mapping[tuple[int, str], Sequence[Term]] = field(default_factory=dict)
    """What each word, tag and phrase counts, by kind and name."""
    words: Mapping[str, Sequence[Term]] = field(default_factory=dict)
    """Of these the words."""
    languages: Sequence[str] = ()
    """Of the question."""
    days: Sequence[tuple[int, int]] = ()
    """The spans asked for, in microseconds."""


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
    tags: Any = None
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
    messages: Any = None
    """Messages a memory was made of, as stored: JSON text; None where nobody knows, and elsewhere."""

    @property
    def shown_text(self) -> str:
        """Return the text that a hit shows."""
        if len(self.texts) == 1:
            return self.texts[0]
        content, summary, message, thought = self.texts
        return diary_snippet_text(content, summary, message, thought)


@dataclass(slots=True, eq=False)
class Candidate:
    """A row that may become a hit: what is known of it before its text is read, and what its text then tells."""

    source: int
    id: int
    at_us: int
    words: int = 0
    """Length of its text in words; 0 when unknown."""
    score: float = 0.0
    context: bool = False
    """It matches nothing itself and stands close to a row that does."""
    place: int = UNKNOWN
    """Where it stands by conversation and time: rows next to each other have places that follow."""
    session: int = UNKNOWN
    """Its session; no two of a search have the same number."""
    session_rows: int = 0
    """Rows of that."""
    long: float = 0.0
    """How far the turns of its conversation are long ones."""
    tag_worth: float = 0.0
    """What its tags are worth, of all that is asked."""
    reasons: dict[str, float] = field(default_factory=dict)
    """What speaks for it, by the names of WEIGHTS."""
    by_meaning: bool = False
    """It matches nothing itself and was found by its vector (docs/embeddings.md)."""
    matched: dict[int, tuple[int, bool]] = field(default_factory=dict)
    """Index of the text looked for to (times found, as a whole word)."""
    tags: frozenset[str] = _NONE
    """Tags asked for that it holds."""
    tier: int = 2
    is_offered: bool = False
    """It matches nothing and was said on a day asked for, or by whom nothing else is known of."""
    kept: Kept = ""
    """Why it has a place among the first hits."""
    row: FoundRow | None = None
    """It as it is stored; None until it is read."""
    meaning: float = 0.0
    """How near it is to the question by its vector, where there is an embedder."""
    vector: Any = None
    """That vector, of length 1; None where it has none."""
    parts: Mapping[str, float] | None = None
    """What the score is made of, by the same names; None where rows were not ranked."""

    @property
    def key(self) -> Place:
        """Return its source and id."""
        return self.source, self.id

    @property
    def own(self) -> float:
        """Return what its own words are worth."""
        return self.reasons.get("own", 0.0)

    def match(self, wanted: int, times: int, whole: bool) -> None:
        """Note that the row holds a text; whole words add up, letters inside other words count where none is whole."""
        matched = self.matched
        before = matched.get(wanted)
        if before is None or (whole and not before[1]):
            matched[wanted] = (times, whole)
        elif whole == before[1]:
            matched[wanted] = (before[0] + times, whole)


def score_words(
    candidate: Candidate,
    texts: Sequence[str],
    worth: Sequence[float],
    tag_worth: Mapping[str, float],
    *,
    mean_words: float,
) -> float:
    """Return the sum of what the row's matches are worth; always above 0 where a text is looked for."""
    total = 0.0
    held_back = hold_back(candidate.words, mean_words)
    matched = candidate.matched
    for wanted, (times, whole) in matched.items():
        gained = worth[wanted] * (times * (K1 + 1) / (times + held_back))  # `saturation`
        total += gained if whole else INSIDE * gained
    if candidate.tags:
        for tag in sorted(candidate.tags - {texts[wanted] for wanted in matched}):
            total += tag_worth.get(tag, 0.0)
    if not total and worth:
        # It holds one of the texts, further in than was looked: worth no more than the commonest of them.
        return INSIDE * min(worth)
    return total


def best_first(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates by score, then tier, newest, source and id."""
    return sorted(candidates, key=lambda c: (-c.score, c.tier, -c.at_us, c.source, -c.id))


def newest_first(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates in the order hits are handed out."""
    return sorted(candidates, key=lambda c: (-c.at_us, c.source, -c.id))


def tier_then_newest(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates in the order of recency mode."""
    return sorted(candidates, key=lambda c: (c.tier, -c.at_us, c.source, -c.id))


def without_many_contexts(ordered: Iterable[Candidate], most: int) -> list[Candidate]:
    """Return the candidates with at most the first `most` of those that match nothing themselves."""
    kept = []
    for candidate in ordered:
        if candidate.context:
            most -= 1
        if most >= 0 or not candidate.context:
            kept.append(candidate)
    return kept


def choose(ordered: Sequence[Candidate], limit: int, always: Candidate | None = None) -> list[Candidate]:
    """Return at most `limit` of the candidates, best first: each source that has one keeps its best."""
    first: dict[int, int] = {}
    for place, candidate in enumerate(ordered):
        first.setdefault(candidate.source, place)
    kept = set(sorted(first.values())[:limit])
    if always is not None and len(kept) < limit:
        kept.update(place for place, candidate in enumerate(ordered) if candidate is always)
    for place in range(len(ordered)):
        if len(kept) >= limit:
            break
        kept.add(place)
    return [ordered[place] for place in sorted(kept)]
