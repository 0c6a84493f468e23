"""Running a search: round after round, until there are enough hits or no more rows that match."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..base import logs
from ..database import sources
from ..database.engine import Database
from ..errors import ConfigError, CoreError, StoreReadError
from ..llm.embedder import EmbedderError
from ..shapes import LeftOut
from . import choice
from .asked import question_of
from .candidates import add_plain_matches, gather_candidates, log_unread
from .choice import Choice, Chosen, Drop, Place
from .gathered import Gathered
from .question.question import Question
from .ranking.meaning import Meaning
from .reading import last_statement
from .reading.by_id import RowsWanted
from .reading.copies import find_copies
from .reading.found_rows import FoundRow
from .terms import Search, widen

MOST_ROUNDS = 12


@dataclass(frozen=True, slots=True)
class Round:
    """What one round of a search has gathered, before any row is read."""

    search: Search
    question: Question
    """What the message asks, but for whom it names."""
    gathered: Gathered = field(default_factory=Gathered)
    meaning: Meaning | None = None
    """How near rows are to the message; None without an embedder, or where it failed."""
    meaning_error: CoreError | None = None
    """Why nothing is known about that: the words alone decide, in this round and those after it."""
    depth: int = 0
    """How many rounds came before."""
    copies: Sequence[Place] = ()
    """Messages that others read before stand for: no candidates any more."""


@dataclass(frozen=True, slots=True)
class SourceReport:
    """What happened in one source."""

    considered: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    error: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """What a search found, and what it left out."""

    round: Round
    """The last one."""
    choice: Choice
    errors: Mapping[int, StoreReadError]
    """Sources that could not be read."""

    @property
    def chosen(self) -> Sequence[Chosen]:
        """Return the hits, newest first."""
        return self.choice.chosen

    @property
    def is_done(self) -> bool:
        """Return whether going deeper can bring nothing more."""
        return self.choice.is_done

    @property
    def reports(self) -> dict[int, SourceReport]:
        """Return what happened in each source asked, by its number."""
        dropped = {s.number: Counter[str]() for s in self.round.search.query.sources}
        for candidate, reason in self.choice.left:
            dropped[candidate.source][reason] += 1
        considered, errors = self.round.gathered.considered, self.errors
        return {n: SourceReport(considered.get(n, 0), count, str(errors.get(n, ""))) for n, count in dropped.items()}

    @property
    def left_out(self) -> list[LeftOut]:
        """Return the rows read that are no hits, as a report tells them."""
        left = self.choice.left
        return [LeftOut("memories", reason, f"{sources.BY_NUMBER[c.source].name}/{c.id}") for c, reason in left]


def gather(search: Search, db: Database, before: Result | None = None) -> Round:
    """Return the candidates of the next round, from the search tables or by the plain predicates."""
    if before is None:
        current, known = Round(search, question_of(search, db.clock())), None
    else:
        last, known = before.round, before.round.meaning
        copies = [*last.copies, *find_copies(db, search.viewer.scope.persona, before.choice.repeated)]
        current = replace(last, meaning=None, depth=last.depth + 1, copies=copies)
    search = current.search
    gathered = gather_candidates(search, db, current.question, current.depth, copies=current.copies)
    if current.depth == 0 and _count_matching(gathered) < search.query.limit and (wider := widen(search)) is not None:
        current = replace(current, search=wider)
        search = wider
        gathered = gather_candidates(search, db, current.question, copies=current.copies)
    if _needs_plain_matches(search, gathered):
        gathered = add_plain_matches(search, db, gathered, current.depth)
    current = replace(current, gathered=gathered)
    if search.embedder is None or search.query.ranking != "relevance" or current.meaning_error is not None:
        return current
    from . import meaning  # noqa: PLC0415 - loads numpy, which only an embedder needs

    try:
        earlier = known if isinstance(known, meaning.Meanings) else None
        meanings, candidates = meaning.compare_rows(search, db, gathered.candidates, earlier)
    except (EmbedderError, StoreReadError, ConfigError) as error:
        return _without_meaning(current, error)
    gathered = replace(gathered, candidates=candidates)
    if meanings is not None:
        gathered = meaning.bring_neighbours(gathered, meanings)
    return replace(current, meaning=meanings, gathered=gathered)


def _needs_plain_matches(search: Search, gathered: Gathered) -> bool:
    """Return whether keywords that were asked for by themselves lead to too few rows by the index."""
    query = search.query
    is_by_index = query.ranking == "relevance" and gathered.index_error is None
    return is_by_index and not query.text and _count_matching(gathered) < query.limit


def _count_matching(gathered: Gathered) -> int:
    return sum(1 for c in gathered.candidates if c.matched or c.tags)


def rows_wanted(current: Round, extra: int = 0) -> RowsWanted:
    """Return the rows to bring, with as much of their texts as the search needs."""
    return choice.rows_wanted(
        current.search, current.gathered, current.question, current.meaning, extra=extra, depth=current.depth
    )


def read_rows(
    search: Search, db: Database, wanted: RowsWanted
) -> tuple[dict[Place, FoundRow], dict[int, StoreReadError]]:
    """Return the rows to bring, and the sources that cannot be read, whose rows are left out."""
    nothing = last_statement.HistoryWanted()
    try:
        return last_statement.read(db, search.viewer, wanted, nothing).rows, {}
    except StoreReadError:
        rows: dict[Place, FoundRow] = {}
        errors = {}
        for number, ids in wanted.ids.items():
            around = wanted.around if number == sources.CHAT.number else ()
            try:
                one = replace(wanted, ids={number: ids}, around=around)
                rows |= last_statement.read(db, search.viewer, one, nothing).rows
            except StoreReadError as error:
                log_unread(number, error)
                errors[number] = error
        return rows, errors


def compare(current: Round, db: Database, rows: Mapping[Place, FoundRow]) -> Round:
    """Return the round with the rows that were brought compared by their meaning too, where there is an embedder."""
    if current.meaning is None:
        return current
    from . import meaning  # noqa: PLC0415 - as in `gather`

    assert isinstance(current.meaning, meaning.Meanings)
    try:
        meaning.compare_neighbours(current.search, db, current.meaning, rows)
    except StoreReadError as error:
        return _without_meaning(current, error)
    return current


def finish(
    current: Round,
    wanted: RowsWanted | None,
    rows: Mapping[Place, FoundRow],
    drop: Drop | None = None,
    errors: Mapping[int, StoreReadError] | None = None,
) -> Result:
    """Return what a round found among the rows that were brought."""
    gathered, is_all = current.gathered, wanted is None or wanted.is_all
    rows = {**gathered.rows, **rows} if gathered.rows else rows
    hits = choice.choose_hits(
        current.search, gathered, current.question, current.meaning, rows, is_all=is_all, drop=drop
    )
    return Result(current, hits, {**gathered.errors, **(errors or {})})


def failed(current: Round) -> Result:
    """Return what is known of a round whose hits could not be chosen."""
    return Result(current, Choice(), current.gathered.errors)


def _without_meaning(current: Round, error: CoreError) -> Round:
    """Return a round that tells why nothing more is known about the meaning of rows."""
    logs.warning("embedder_failed", error=type(error).__name__, reason=getattr(error, "reason", ""))
    return replace(current, meaning_error=error)


def run(search: Search, db: Database, drop: Drop | None = None, after: Result | None = None) -> Result:
    """Gather, read and choose, deeper where fewer hits than the limit came out and more rows may match."""
    result = after
    while True:
        # 1. candidates, 2. their rows, 3. how near these are, 4. the hits among them
        current = gather(search, db, result)
        wanted = rows_wanted(current)
        rows, errors = read_rows(search, db, wanted)
        current = compare(current, db, rows)
        result = finish(current, wanted, rows, drop, errors)
        if result.is_done or current.depth + 1 >= MOST_ROUNDS:
            return result
