"""What a search sends to a database, and the plain predicates it stands for, without a database being asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

from ..audience.view import Viewer, WordCount
from ..audience.view_statement import look
from ..config import Settings
from ..database.dialects import from_key
from ..database.engine import Database
from ..index.lookups import TAG, Wanted
from ..scope import Scope
from . import candidates
from .query import Query
from .reading import last_statement
from .reading import plain as search_plain
from .reading.by_id import RowsWanted
from .terms import FOLDED_CHARS, Search, resolve

AUDIENCE: Any = "<audiences seen>"
ROW: Any = "<ids of the best rows>"
"""What stands in place of numbers."""
WHO, INDEX, ROWS = "who sees what, and which known words are meant", "the search index", "the rows"
"""What a statement is for."""


class _Note:
    """A handle that writes down what would be sent, and answers nothing."""

    def __init__(self, family: str, clock: Callable[[], datetime]) -> None:
        self.family, self.clock, self.caches = family, clock, dict[str, Any]()
        self.sent: list[dict[str, Any]] = []
        self.step = ""

    def read_driver(self, sql: str, parameters: Sequence[Any], *, source: str) -> Sequence[Any]:  # noqa: ARG002 - as `Database.read_driver`
        """Write a statement down."""
        shown = [from_key(value) if isinstance(value, bytes) else value for value in parameters]
        self.sent.append({"for": self.step, "statement": sql, "parameters": shown})
        return ()


def show_plain(query: Query, settings: Settings, scope: Scope, family: str) -> dict[str, dict[str, Any]]:
    """Return for each source the plain statement that a search stands for in recency mode, and its parameters."""
    local = (scope.destination or settings.prompt_destination) == "local"
    limits = query.limits(scope.persona, local_only=local, here=scope.conversation or "")
    words = [Wanted(t, is_keyword=t in query.keywords, is_tag=t in query.folded_tags) for t in query.texts]
    made: dict[str, dict[str, Any]] = {}
    for source in query.sources:
        asked = candidates.ask_plainly(query, source, words, limits)
        statement, parameters = search_plain.statement_text(family, asked)
        made[source.name] = {"statement": statement, "parameters": parameters}
    return made


def show_sent(
    query: Query, settings: Settings, scope: Scope, family: str, clock: Callable[[], datetime]
) -> list[dict[str, Any]]:
    """Return the statements of a search in the order they are sent, each with what it is for and its parameters."""
    note = _Note(family, clock)
    db = cast("Database", note)
    destination = scope.destination or settings.prompt_destination
    note.step = WHO if query.has_index else WHO.partition(",")[0]
    seen = look(
        db, scope, query.request, destination=destination, private_stays_private=bool(settings.private_stays_private)
    )
    search = resolve(query, _sees(seen.viewer, query), settings)
    if query.has_index:
        note.step = INDEX
        from .matches import read_matches  # noqa: PLC0415 - loads numpy

        read_matches(search, db, query.numbers)
    note.step = ROWS
    _read_rows(search, db)
    return note.sent


def _sees(viewer: Viewer, query: Query) -> Viewer:
    """Return a viewer that sees something, and to whom every word and tag asked for is known."""
    number = query.numbers[0]
    counts = [WordCount(n, AUDIENCE, piece.text, number, 1) for n, piece in enumerate(query.fragments)]
    counts += [WordCount(-1 - TAG, AUDIENCE, tag, number, 1) for tag in query.tags] if query.has_index else []
    return replace(
        viewer, audiences=(AUDIENCE,), counts=tuple(counts), ready=dict.fromkeys(query.numbers, True), waiting={}
    )


def _read_rows(search: Search, db: Database) -> None:
    if search.query.has_index:
        ids = {number: [ROW] for number in search.query.numbers}
        wanted = RowsWanted(ids, search.chars, FOLDED_CHARS)
        last_statement.read(db, search.viewer, wanted, last_statement.HistoryWanted())
    else:
        candidates.gather_newest(search, db, 0)
