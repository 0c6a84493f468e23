"""Migrated databases that tests hand on to each other: emptied, they are what a new one is, in a tenth of the time.

Making the tables takes a server half a second to two seconds; deleting what a test wrote takes 50 to 150 milliseconds.
Nothing is handed on that a test has changed in its form, filled with very many rows, or still holds locks in.
Called by `tests/conftest.py`; each worker of a parallel run has databases of its own.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

from sqlalchemy import Connection, delete, event, func, literal, select, union_all

from core.database import connections
from core.database.engine import Database
from core.database.schema import TABLES, schema_version
from core.errors import CoreError
from core.upkeep import inspection as inspecting
from core.upkeep import migration as migrating

MOST_ROWS = 20_000
"""Rows of one table above which a new database is quicker than deleting them."""
PATIENCE_SECONDS = 5.0
"""Longest wait for locks that a test has left behind."""


class Handed:
    """The migrated databases of one process that nobody uses at the moment, by engine."""

    def __init__(self) -> None:
        self._free: dict[str, list[str]] = {}
        self._form: dict[str, Any] = {}

    def take(self, engine: str) -> str | None:
        free = self._free.get(engine)
        return free.pop() if free else None

    def made(self, engine: str, url: str) -> None:
        with closing(Database(url)) as db:
            migrating.migrate(db)
            if engine not in self._form:
                self._form[engine] = inspecting.read_facts(db)

    def give_back(self, engine: str, url: str) -> None:
        """Empty a database for the next test; forget it where it cannot be what it was."""
        with closing(Database(url, timeout_seconds=PATIENCE_SECONDS)) as db, suppress(CoreError):
            if inspecting.read_facts(db) == self._form[engine] and _emptied(db):
                self._free.setdefault(engine, []).append(url)


def _emptied(db: Database) -> bool:
    """Delete every row but the version; return False where there are too many."""
    tables = [table for table in TABLES.values() if table is not schema_version]
    some = {table.name: select(literal(1)).select_from(table).limit(MOST_ROWS + 1).subquery() for table in tables}
    counted = [select(literal(name), func.count()).select_from(rows) for name, rows in some.items()]
    rows = dict(map(tuple, db.read(union_all(*counted), source="tests")))
    if max(rows.values()) > MOST_ROWS:
        return False

    def work(connection: Connection) -> None:
        for table in tables:
            if rows[table.name]:
                connection.execute(delete(table))

    db.transaction(work, source="tests")
    return migrating.list_pending(db) == []


def run_script(url: str, script: str) -> None:
    """Run statements that end with a line each, by a handle of their own: one that was opened knows its tables."""
    with closing(Database(url)) as db:
        for statement in filter(str.strip, script.split(";\n")):
            db.transaction(lambda connection, sql=statement: connection.exec_driver_sql(sql), source="tests")


@contextmanager
def traced(db: Database) -> Iterator[list[str]]:
    """Yield a list to which each statement that reads is added while the block runs: one entry for a round trip."""
    statements: list[str] = []

    def note(sql: str, _values: object) -> None:
        statements.append(sql)

    db.watchers.append(note)
    try:
        yield statements
    finally:
        db.watchers.remove(note)


@contextmanager
def listening(engine: Any, name: str, note: Any) -> Iterator[None]:
    event.listen(engine, name, note)
    try:
        yield
    finally:
        event.remove(engine, name, note)


@contextmanager
def watched(db: Database, note: Callable[..., object], *, after: bool = False) -> Iterator[None]:
    """Call `note(statement, values, connection)` before each statement is sent, or after it is answered.

    Reads on the driver's own cursor are not among them: `traced` and `Database.watchers` have those.
    """
    engines, execute = set(db.engines()), connections.execute_driver
    when = "after_cursor_execute" if after else "before_cursor_execute"

    def listen(connection: Any, _cursor: Any, statement: str, values: Any, _context: Any, many: bool) -> None:
        note(statement, values[0] if many else values, connection)

    def run(connection: Any, sql: str, values: Any, *, many: bool = False) -> Any:
        sent = (sql, values[0] if many else values, connection)
        if connection.engine in engines and not after:
            note(*sent)
        answer = execute(connection, sql, values, many=many)
        if connection.engine in engines and after:
            note(*sent)
        return answer

    for engine in engines:
        event.listen(engine, when, listen)
    connections.execute_driver = run
    try:
        yield
    finally:
        connections.execute_driver = execute
        for engine in engines:
            event.remove(engine, when, listen)
