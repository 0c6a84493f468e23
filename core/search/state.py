"""A search under way: what was asked, what is known, the candidates so far, and what happened in each source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ..audience.view import Viewer
from ..base import logs
from ..calls import defaults
from ..config import Settings
from ..database import sources
from ..database.dialects import EPOCH
from ..database.engine import Database
from ..errors import CoreError, StoreReadError
from ..index.lookups import Known, Wanted
from ..index.postings import Limits
from ..shapes import Hit, LeftOut
from . import asked as asking
from . import candidates as gathering
from . import choice as choosing
from .language import with_languages_of
from .query import Query
from .question.question import Question
from .ranking.ranking import Candidate
from .ranking.surroundings import Stretch
from .reading.found_rows import FoundRow
from .terms import resolved

if TYPE_CHECKING:
    from .meaning import Meanings

NOTHING_ASKED = Question()
FOLDED_CHARS = 4000
"""Characters of a row in which words beyond the budget are looked for."""
WHOLE = 2**24
"""More characters than any text has."""


@dataclass(slots=True)
class SourceReport:
    """What happened in one source."""

    considered: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    error: str = ""

    def drop(self, reason: str) -> None:
        """Count one row left out."""
        self.dropped[reason] = self.dropped.get(reason, 0) + 1


@dataclass(frozen=True, slots=True)
class Chosen:
    """One hit and why it was chosen."""

    hit: Hit
    candidate: Candidate
    row: FoundRow
    rank: int


Drop = Callable[[Candidate, FoundRow], str]
"""Returns why a row is left out beside what the search itself leaves out, "" to keep it."""


@dataclass(slots=True)
class Search:
    """One search under way."""

    query: Query
    viewer: Viewer
    settings: Settings
    words: tuple[Wanted, ...]
    known: Known
    limits: Limits
    reports: dict[int, SourceReport]
    keyword_numbers: frozenset[int] = frozenset()
    tag_numbers: frozenset[int] = frozenset()
    """Which of `words` are keywords, and which are tags looked for as words."""
    now: datetime = EPOCH
    """When it was asked."""
    question: Question = NOTHING_ASKED
    """What the message asks, but for whom it names."""
    complete: bool = False
    """Every matching row is among the candidates."""
    cut: set[int] = field(default_factory=set)
    """In recency mode, sources that may hold more matching rows than are among the candidates."""
    candidates: list[Candidate] = field(default_factory=list)
    stretches: list[Stretch] = field(default_factory=list)
    """What is read around the best candidates, in relevance mode."""
    long: float = 0.0
    """How far the visible conversations are of long turns."""
    left: list[tuple[Candidate, str]] = field(default_factory=list)
    """Rows read that are no hits, with the reason."""
    said_in_chat: Sequence[tuple[int, str, bool]] = ()
    said_elsewhere: Sequence[tuple[int, str, bool]] = ()
    """The texts that chat rows, or others, may hold: index in `words`, text, whether that alone proves the match."""
    folded: dict[Candidate, Candidate] = field(default_factory=dict)
    """Rows that say nearly the same as a better one, which keeps the place, with that one."""
    embedder: Any = None
    """What makes a vector of the message; None for none."""
    meaning: Meanings | None = None
    """How near rows are to the message; None without an embedder, or where it failed."""
    meaning_error: CoreError | None = None
    """Why nothing is known about that."""

    @property
    def texts(self) -> list[str]:
        """Return the texts looked for, by the indexes of `Candidate.matched`."""
        return [w.text for w in self.words]

    @property
    def by_meaning(self) -> float:
        """Return how far meaning stands beside the words, 0 to 1: 0 where nothing is known of it."""
        return 0.0 if self.meaning is None else self.meaning.share

    def gather(self, db: Database, depth: int = 0) -> None:
        """Read the candidates; what is not indexed yet is asked by the plain predicates.

        Args:
            depth: how often too few hits came out before.

        Raises:
            StoreReadError: no source could be read.
        """
        self.now = db.clock()
        self.question = asking.question_of(self)
        gathering.gather(self, db, depth)
        if self.embedder is not None and self.query.ranking == "relevance":
            from . import meaning  # noqa: PLC0415 - loads numpy, which only an embedder needs

            meaning.add(self, db, self.embedder)

    def compare(self, db: Database, rows: Iterable[tuple[int, int]]) -> None:
        """Compare the rows that were brought with the message by their meaning too, where there is an embedder."""
        if self.meaning is not None:
            from . import meaning  # noqa: PLC0415 - as in `gather`

            meaning.add_around(self, db, self.meaning, rows)

    def fail_meaning(self, error: CoreError) -> None:
        """Note that nothing is known about the meaning of rows: the words alone decide."""
        self.meaning_error = error
        logs.warning("embedder_failed", error=type(error).__name__, reason=getattr(error, "reason", ""))

    def fail(self, source: int, error: StoreReadError) -> None:
        """Note that a source could not be read; the others' hits come back."""
        self.reports[source].error = str(error)
        logs.warning("source_unread", source=sources.BY_NUMBER[source].table.name, number=error.number)

    def rows_wanted(self, extra: int = 0, depth: int = 0) -> dict[int, list[int]]:
        """Return the ids of the rows to bring, by source: those that can become hits and some more.

        Args:
            extra: how many rows the caller may leave out.
            depth: as for `gather`.
        """
        return choosing.rows_wanted(self, extra, depth)

    @property
    def chars(self) -> int:
        """Return how many characters of a text are needed for its snippet."""
        return WHOLE if self.settings.snippet_window == "match" else self.settings.snippet_chars + 1

    @property
    def folded_chars(self) -> int:
        """Return how many characters of a folded text are needed to tell what it matches."""
        return FOLDED_CHARS

    def finish(self, rows: Mapping[tuple[int, int], FoundRow], drop: Drop | None = None) -> list[Chosen]:
        """Return the hits in the order of T32, each with its rank among them."""
        return choosing.finish(self, rows, drop)

    def is_done(self, chosen: int) -> bool:
        """Return whether going deeper can bring nothing more: there are `limit` hits, or no further matching rows.

        In recency mode the newest of each source are all there is to choose from.
        """
        return chosen >= self.query.limit or self.complete

    def leave(self, c: Candidate, reason: str) -> None:
        """Note why a row read is no hit."""
        self.reports[c.source].drop(reason)
        self.left.append((c, reason))

    @property
    def left_out(self) -> list[LeftOut]:
        """Return the rows read that are no hits, as a report tells them."""
        return [LeftOut("memories", reason, f"{sources.BY_NUMBER[c.source].name}/{c.id}") for c, reason in self.left]


def resolve(query: Query, viewer: Viewer, settings: Settings, embedder: Any = None) -> Search:
    """Return the search joined with what is visible: which known words hold the texts, and how rare they are.

    Args:
        embedder: makes a vector of the message, where the host has one; without one that of the process.
    """
    settings = with_languages_of(query.text, settings)
    joined = resolved(query, viewer, settings.languages)
    return Search(
        query,
        viewer,
        settings,
        joined.words,
        joined.known,
        query.limits(viewer.scope.persona, local_only=viewer.sees_local_only, here=viewer.scope.conversation or ""),
        {s.number: SourceReport() for s in query.sources},
        keyword_numbers=frozenset(i for i, w in enumerate(joined.words) if w.is_keyword),
        tag_numbers=frozenset(i for i, w in enumerate(joined.words) if w.is_tag),
        said_in_chat=[(i, w.text, w.verify) for i, w in enumerate(joined.words) if not w.is_minor],
        said_elsewhere=[(i, w.text, w.verify) for i, w in enumerate(joined.words) if w.is_keyword and not w.is_minor],
        embedder=defaults.default_embedder() if embedder is None else embedder,
    )
