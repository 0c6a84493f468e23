"""Running a search: round after round, until there are enough hits or no more rows that match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..database import sources
from ..database.engine import Database
from ..errors import StoreReadError
from .reading import by_id as search_read
from .reading import last_statement as reading
from .reading.found_rows import FoundRow
from .state import Chosen, Drop, Search

MOST_ROUNDS = 12


def run(search: Search, db: Database, drop: Drop | None = None) -> list[Chosen]:
    """Gather, read and finish, deeper where fewer hits than the limit came out and more rows may match."""
    search.gather(db)
    rows = read_rows(search, db, search.rows_wanted())
    search.compare(db, rows)
    chosen = search.finish(rows, drop)
    return chosen if search.is_done(len(chosen)) else deeper(search, db, drop)


def deeper(search: Search, db: Database, drop: Drop | None = None) -> list[Chosen]:
    """Go on where one round gave fewer hits than the limit, as `run` does."""
    chosen: list[Chosen] = []
    for depth in range(1, MOST_ROUNDS):
        search.gather(db, depth)
        rows = read_rows(search, db, search.rows_wanted(depth=depth))
        search.compare(db, rows)
        chosen = search.finish(rows, drop)
        if search.is_done(len(chosen)):
            break
    return chosen


def rows_wanted(search: Search, ids: Mapping[int, Sequence[int]]) -> search_read.RowsWanted:
    """Return the request for these rows, with as much of their texts as the search needs."""
    around = search.stretches if sources.CHAT.number in ids else ()
    return search_read.RowsWanted(ids, search.chars, search.folded_chars, around, search.limits)


def read_rows(search: Search, db: Database, ids: Mapping[int, Sequence[int]]) -> dict[tuple[int, int], FoundRow]:
    """Return the rows with these ids; a source that cannot be read is noted and left out."""
    nothing = reading.HistoryWanted()
    try:
        return reading.read(db, search.viewer, rows_wanted(search, ids), nothing).rows
    except StoreReadError:
        found: dict[tuple[int, int], FoundRow] = {}
        for number, numbers in ids.items():
            try:
                found |= reading.read(db, search.viewer, rows_wanted(search, {number: numbers}), nothing).rows
            except StoreReadError as error:
                search.fail(number, error)
        return found
