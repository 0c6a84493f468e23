"""A row and a question as the ranking sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ..question.question import Question
from .people import NOBODY, Speaker


@dataclass(slots=True, eq=False)
class PlainRow:
    """A row as it is stored, as far as the ranking needs it."""

    key: tuple[int, int]
    """Source and id."""
    thread: str
    """Conversation it stands in; rows of a thread have neighbours and sessions. Unique where it stands alone."""
    at_us: int
    folded: str = ""
    """Its text, folded; of a long one the beginning."""
    chars: int = 0
    """Length of the whole text; 0 where `folded` is all there is."""
    words: int = 0
    """Length of its text in words; 0 where that is not known, and is reckoned from the text."""
    is_chat: bool = False
    speaker: Speaker = NOBODY
    windows: Sequence[int] = ()
    """Numbers of the windows it was read in; two rows of one window have all rows between them at hand."""
    matched: Mapping[int, tuple[int, bool]] | None = None
    """Index of each text it is known to hold to (times found, as a whole word); None for a row that came along with its
    neighbour."""
    tags: frozenset[str] = frozenset()
    """Tags asked for that it holds."""
    said: datetime | None = None
    """When, for questions that name days."""
    meaning: float = 0.0
    """How near it is to the question by its vector, where there is an embedder."""
    vector: Any = None
    """That vector, of length 1; None where it has none."""
    is_left_out: bool = False
    """It may become no hit."""
    session: int | None = None
    """Its session, where all of that was looked at; unique among all conversations."""
    session_rows: int = 0
    """Rows of that; 0 where it is not known."""
    context: float = 0.0
    """What its words are worth with those around it, as far as that was looked at with rows that are not at hand."""
    session_worth: float | None = None
    """What its session is worth, where all of that was looked at."""
    long: float | None = None
    """How far the turns of its conversation are long ones, where all of these were looked at."""
    near: float = 0.0
    """How near it stands to who asks: 1 in the conversation asked in, less in others of the person."""


_ALONE = PlainRow((0, 0), "", 0)


@dataclass(slots=True)
class Row:
    """A row while it is ranked."""

    thread: str
    at_us: int
    words: int
    passages: Sequence[dict[int, float]]
    """Number of each text that stands in a passage, with how often (`text.passages.by_passage`)."""
    tags: float = 0.0
    """What the tags it holds are worth, beside those that are looked for as words too."""
    meaning: float = 0.0
    vector: Any = None
    windows: Sequence[int] = ()
    session: int = 0
    """Number of its session in its thread."""
    place: int = 0
    """Where it stands in its thread, among the rows at hand."""
    reasons: dict[str, float] = field(default_factory=dict)
    """What speaks for it, by the names of WEIGHTS."""
    score: float = 0.0
    long: float = 0.0
    """How far the turns of its own conversation are long ones (`weights.share_of_long`)."""
    plain: PlainRow = _ALONE
    """The row itself."""


@dataclass(slots=True)
class Probe:
    """One text that is looked for in the rows, on behalf of a group of texts of one word."""

    group: int
    text: str
    terms: dict[str, bool] = field(default_factory=dict)
    """Known words that hold it, each with whether it is the whole word."""
    chat_only: bool = False
    always_whole: bool = False
    """It is of a script without spaces or more than one word."""
    whole_only: bool = False
    """It is a minor word, which counts as a whole word alone."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked, as the ranking sees it."""

    worth: Sequence[float]
    """`rarity_weight` of each group of texts: `recip` and `recipes` are one word and count once."""
    total: float
    """What a row that holds everything asked for is worth, tags included; above 0."""
    mean_words: float
    mean_turn_words: float = 0.0
    """Mean length of the visible chat rows."""
    by_meaning: float = 0.0
    """How far meaning stands beside the words, 0 to 1: 0 where nothing is known of it."""
    question: Question = field(default_factory=Question)
    asker: str = ""
    """Participant key of who asks."""
    has_answers: bool = True
    """Something is asked, so that a row that matches nothing may answer it."""
    texts: Sequence[str] = ()
    """What is looked for, by the indexes of `PlainRow.matched`."""
    groups: Sequence[int] = ()
    """For each of `texts` the number of its group."""
    probes: Sequence[Probe] = ()
    """The texts that are looked for in the rows; of a group those that the others hold."""
    tags: Mapping[str, float] = field(default_factory=dict)
    """What each tag is worth."""
    languages: Sequence[str] = ()
    """Of the question."""
    days: Sequence[tuple[int, int]] = ()
    """The spans asked for, in microseconds."""


def together(passages: Sequence[Mapping[int, float]]) -> Mapping[int, float]:
    """Return how often each text stands in all passages together."""
    if len(passages) == 1:
        return passages[0]
    found: dict[int, float] = {}
    for held in passages:
        for number, times in held.items():
            found[number] = found.get(number, 0.0) + times
    return found
