"""Running a search: round after round, until there are enough hits or no more rows that match."""

from __future__ import annotations

from ..base import logs
from ..database.engine import Database
from ..errors import ConfigError, CoreError, StoreReadError
from .asked import question_of
from .choice import Drop, Result, choose_hits
from .gather import Round, add_plain_matches, gather, leave_read_by_meaning, read_rows
from .table_rows import find_copies
from .terms import Search, widen

MOST_ROUNDS = 12


def start(search: Search, db: Database, before: Result | None = None, *, extra: int = 0) -> Round:
    """Return the next round with its rows read.

    Args:
        before: what the round before found.
        extra: rows to read beyond those that can become hits, where some of these will be left out.
    """
    if before is None:
        current = Round(search, question_of(search, db.clock()), extra=extra)
    else:
        last = before.round
        copies = [*last.copies, *find_copies(db, search.viewer.scope.persona, before.repeated)]
        current = Round(last.search, last.question, last.depth + 1, last.extra, copies)
        current.meaning_error = last.meaning_error
    gather(current, db)
    query = search.query
    if current.depth == 0 and current.count_matching() < query.limit and (wider := widen(search)) is not None:
        current = Round(wider, current.question, extra=extra)
        gather(current, db)
    is_by_index = query.ranking == "relevance" and current.index_error is None
    if is_by_index and not query.text and current.count_matching() < query.limit:
        add_plain_matches(current, db)
    if search.embedder is None or query.ranking != "relevance":
        read_rows(current, db)
    else:
        _compare(current, db, before)
    return current


def _compare(current: Round, db: Database, before: Result | None) -> None:
    """Compare rows with the message by their meaning, and read those that are near in words or meaning."""
    from ..llm.embedder import EmbedderError  # noqa: PLC0415 - loads what asks servers
    from . import meaning  # noqa: PLC0415

    try:
        if current.meaning_error is None:
            meaning.compare_rows(current, db, None if before is None else before.round.meaning)
    except (EmbedderError, StoreReadError, ConfigError) as error:
        _note_failure(current, error)
    leave_read_by_meaning(current)
    read_rows(current, db)
    try:
        if current.meaning is not None:
            meaning.compare_neighbours(current, db)
    except StoreReadError as error:
        _note_failure(current, error)


def _note_failure(current: Round, error: CoreError) -> None:
    """Note why nothing more is known about the meaning of rows."""
    logs.warning("embedder_failed", error=type(error).__name__, reason=getattr(error, "reason", ""))
    current.meaning_error = error


def run(search: Search, db: Database, drop: Drop | None = None, after: Result | None = None) -> Result:
    """Gather, read and choose, deeper where fewer hits than the limit came out and more rows may match."""
    result = after
    while True:
        current = start(search, db, result)
        result = choose_hits(current, drop)
        if result.is_done or current.depth + 1 >= MOST_ROUNDS:
            return result
