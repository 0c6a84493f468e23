"""The database handle: connections, reading, and whole transactions with retries."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import random
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NoReturn, TypeVar, cast

from sqlalchemy import Connection as Connection
from sqlalchemy import Engine, exc
from sqlalchemy.sql.util import find_tables

from ..base.logs import event
from ..errors import DuplicateKeyError, StoreError, StoreReadError, StoreWriteError
from ..shapes import now_utc
from . import connections, failures
from .compiled import Part
from .connections import Target
from .ids import Ids

T = TypeVar("T")

TRIES = 6
"""How often a transaction is begun at most."""
DUPLICATE_TRIES = 3
"""Most tries after a duplicate key; each try reads again and makes new ids."""


class RollbackError(Exception):
    """Raised by the work of a transaction: nothing is stored, and the transaction returns `result`."""

    def __init__(self, result: Any) -> None:
        super().__init__("nothing is to be stored")
        self.result = result


class Call:
    """The reads of one call: the connection they share, and the seconds they have taken together."""

    __slots__ = ("connection", "since", "snapshot", "spent")

    def __init__(self, *, snapshot: bool = False) -> None:
        self.connection: Connection | None = None
        self.snapshot = snapshot
        """Whether its reads see the database as it was at the first of them."""
        self.spent: float = 0.0
        self.since: float | None = None
        """When the read under way began; None between reads."""

    @property
    def taken(self) -> float:
        """Return the seconds taken up to now."""
        return self.spent + (0.0 if self.since is None else time.monotonic() - self.since)

    def release_connection(self) -> None:
        """Give the connection back."""
        connection, self.connection = self.connection, None
        if connection is not None:
            if self.snapshot:
                with contextlib.suppress(exc.SQLAlchemyError):  # it is gone already, or was not begun
                    connections.end_snapshot(connection)
            with contextlib.suppress(exc.SQLAlchemyError):  # it is gone already
                connection.close()


_handles: weakref.WeakSet[Database] = weakref.WeakSet()


def _leave_parent() -> None:
    """Drop inherited connections in a forked process: two processes on one connection would mix their answers."""
    for handle in _handles:
        handle._leave_connections()


@functools.lru_cache(maxsize=1)
def _watch_forks() -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_leave_parent)


def _dispose(engines: tuple[Engine, Engine]) -> None:
    for engine in set(engines):
        engine.dispose()


class Database:
    """One database, opened by `db.open_database`. Safe to share between threads.

    `clock` is the only clock anything in this package asks; `ids` makes row ids.
    """

    def __init__(
        self,
        url: str | Target,
        *,
        timeout_seconds: float = 10.0,
        clock: Callable[[], datetime] = now_utc,
        **options: Any,
    ) -> None:
        self.target: Target = url if isinstance(url, Target) else connections.parse_url(url)
        self.family = self.target.family
        self.timeout_seconds = timeout_seconds
        self.clock = clock
        self.ids: Ids = Ids(clock)
        self.version = ""
        """The newest version of the tables that this program knows, from the opening on."""
        self.caches: dict[str, Any] = {}
        """Values other modules keep beside the handle, each under its module's name."""
        self.repeats: Counter[int | None] = Counter()
        """How often a read or a transaction was run again, by the number of the error; None is a lost connection."""
        self._options = options
        self._engines: tuple[Engine, Engine] | None = None
        self._given_up: weakref.finalize[Any, Any] | None = None
        """Closes the connections of a handle that nobody has closed, when nobody holds it any more."""
        self._file: tuple[int, int] | None = None
        """Device and number of the SQLite file that is open."""
        self._opening = threading.Lock()
        self._single = threading.RLock() if self.target.in_memory else None
        self.watchers: list[Callable[[str, Sequence[Any] | None], object]] = []
        """Called with each reading statement that is sent, and its values where it was compiled before."""
        self._local = threading.local()
        _handles.add(self)
        _watch_forks()

    def __reduce__(self) -> NoReturn:
        raise TypeError("A Database stays in its process. Pass the connection string, and open_database(url) there.")

    def _leave_connections(self) -> None:
        """Drop the connections of the parent process without closing them; it still uses them."""
        call: Call | None = getattr(self._local, "call", None)
        self._opening = threading.Lock()
        if not self.target.in_memory:
            self._inherited = (self._engines, call.connection if call is not None else None, self._given_up)
            self._engines = self._given_up = None
            if call is not None:
                call.connection = None

    def __repr__(self) -> str:
        return f"Database({self.target.shown!r})"

    # Connections

    def engines(self) -> tuple[Engine, Engine]:
        """Return the reading engine (autocommit) and the writing engine, made at first use."""
        if self._engines is None:
            with self._opening:
                if self._engines is None:
                    self._engines = connections.make_engines(
                        self.target, self.timeout_seconds, left=self._left, **self._options
                    )
                    if self.family == "sqlite":  # from Python 3.13 on a file that is left open is warned of
                        self._given_up = weakref.finalize(self, _dispose, self._engines)
                        self._given_up.atexit = False
        return self._engines

    def empty_journal(self) -> bool:
        """Move SQLite's journal into the file and empty it: pages of before stay readable there for as long as a
        handle is open. Return whether it is empty; on servers nothing is done, and True.

        It waits for readers that are at it, up to a second.
        """
        if self.family != "sqlite" or self.target.in_memory:
            return True
        deadline = time.monotonic() + min(1.0, self.timeout_seconds)
        while True:
            try:
                with (
                    self.engines()[0].connect() as connection,
                    connections.without_waiting(connection, self.timeout_seconds),
                ):
                    connection.exec_driver_sql("PRAGMA schema_version")  # before a read, a checkpoint does nothing
                    busy = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").scalar()
            except exc.SQLAlchemyError:
                busy = 1
            if not busy or time.monotonic() >= deadline:
                return not busy
            time.sleep(0.02)

    def close(self) -> None:
        """Close all idle connections; the handle opens new ones when it is used again."""
        with self._opening:
            if self._given_up is not None:
                self._given_up.detach()
            if self._engines is not None:
                _dispose(self._engines)
                self._engines = None

    # Reading

    def read(
        self, statement: Any, values: Mapping[str, Any] | Sequence[Any] | None = None, *, source: str = ""
    ) -> Sequence[Any]:
        """Return all rows of one statement, read in one round trip and repeated once on a lost connection.

        A compiled statement, or a text with its values in order, runs on the driver's own cursor, which gives plain
        rows: through the layers above, a look-up by a key takes five times as long. `source` is what an error names;
        the statement's first table by default.

        Raises:
            StoreReadError: the server refused or cannot be reached; names `source` and what to do.
        """
        sql: Any = statement
        bound: list[Any] | None = None
        if isinstance(statement, Part):
            sql = statement.text(cast("Mapping[str, Any]", values), bound := [])
        elif isinstance(statement, str):
            bound = list(values or ())
        with self.request_connection(), self._spending() as call:
            self._check_file(StoreReadError)
            for attempt in (1, 2):
                try:
                    with self._exclusive(), self._reading(call) as connection:
                        for watch in self.watchers:
                            watch(str(sql), bound)
                        if bound is not None:
                            return connections.run_driver(connection, sql, tuple(bound))
                        return connection.execute(sql, values or {}).fetchall()
                except exc.SQLAlchemyError as error:
                    call.release_connection()
                    too_large = self._explain_large(error)
                    in_time = call.taken < self.timeout_seconds
                    if attempt == 2 or too_large or not (failures.is_passing(error) and in_time):
                        source = source or next((each.name for each in find_tables(statement)), "the database")
                        failures.raise_store_error(StoreReadError, error, source, too_large, server=self.target.server)
                    self._note_repeat("read_repeated", error, source)
        raise AssertionError

    @contextlib.contextmanager
    def request_connection(self, *, snapshot: bool = False) -> Iterator[None]:
        """Let this thread's reads up to the end of the block share one connection and DB_TIMEOUT_SECONDS.

        With `snapshot` all of them see the database as it was at the first, but for what this thread writes meanwhile.
        A block inside another one belongs to it. What other threads read meanwhile, hooks for instance, is their own.
        """
        if getattr(self._local, "call", None) is not None:
            yield
            return
        call = self._local.call = Call(snapshot=snapshot)
        try:
            yield
        finally:
            self._local.call = None
            call.release_connection()

    def release_connection(self) -> None:
        """Give the shared connection back while something else takes its time; the next read takes another."""
        call: Call | None = getattr(self._local, "call", None)
        if call is not None:
            call.release_connection()

    @contextlib.contextmanager
    def _reading(self, call: Call) -> Iterator[Connection]:
        """Yield the connection of the call, given no more time than the call has left."""
        if self._single is not None:  # the one connection of an in-memory database must not be kept from others
            with self.engines()[0].connect() as connection:
                yield connection
            return
        if call.connection is None:
            call.connection = self.engines()[0].connect()
            if call.snapshot:
                connections.begin_snapshot(call.connection)
        connections.set_timeout(call.connection, self._left())
        yield call.connection

    def _left(self) -> float:
        """Return the seconds this thread's call may still take, never quite none: drivers take 0 for endless."""
        call: Call | None = getattr(self._local, "call", None)
        return max(0.05, self.timeout_seconds - (call.taken if call is not None else 0.0))

    @contextlib.contextmanager
    def connection(self, *, source: str) -> Iterator[Connection]:
        """Yield a reading connection for several statements; errors are translated, nothing is repeated."""
        try:
            with self._exclusive(), self.engines()[0].connect() as connection:
                yield connection
        except exc.SQLAlchemyError as error:
            failures.raise_store_error(StoreReadError, error, source, server=self.target.server)

    # Writing

    def transaction(
        self,
        work: Callable[[Connection], T],
        *,
        source: str,
        confirm: Callable[[Connection], T | None] | None = None,
        waits: bool = True,
    ) -> T:
        """Run `work` in one transaction and return what it returns; all of it is stored or nothing (`RollbackError`).

        The whole of `work` is run again, up to 5 times with growing pauses, on deadlock, lock wait, lost connection and
        not-ready answers, as long as DB_TIMEOUT_SECONDS are not over, which count from the first try on; it must
        therefore have no effect but on its connection. Where the
        answer to the commit itself was lost, `confirm` is asked on a fresh connection whether the rows are there, and
        what it returns, unless that is None, is the result. With `waits` off it is tried once, and gives up where
        others hold what it needs.

        Raises:
            StoreWriteError: nothing was written; or the commit's answer was lost and whether it is stored cannot be
                told, which the message says.
        """
        unsure = False
        first: exc.SQLAlchemyError | None = None
        self._check_file(StoreWriteError)
        self.release_connection()  # a snapshot would not hold what is written now
        is_alone = getattr(self._local, "call", None) is None
        with self.request_connection(), self._spending() as call:
            for attempt in range(1, TRIES + 1):
                committing = False
                try:
                    with self._exclusive(), self._writing(self._left() if waits else 0.0) as connection:
                        there = confirm(connection) if unsure and confirm is not None else None
                        if there is not None:
                            return there
                        result = work(connection)
                        committing = True
                        connection.commit()
                        return result
                except RollbackError as ended:
                    undone: T = ended.result
                    return undone
                except DuplicateKeyError:
                    if attempt == DUPLICATE_TRIES:
                        raise
                    self.ids.jump()
                except exc.SQLAlchemyError as error:
                    is_duplicate = failures.is_duplicate(error)
                    if is_duplicate and attempt < DUPLICATE_TRIES:
                        self.ids.jump()
                        continue
                    number = failures.error_number(error)
                    unsure |= committing and (failures.is_lost(error) or number == failures.REFUSED_AT_COMMIT)
                    # What was in others' way has waited for nobody: long work is done again though its time is over.
                    in_time = call.taken < self.timeout_seconds
                    in_time |= is_alone and attempt < 3 and number in failures.IN_THE_WAY
                    remedy = self._explain_large(error)
                    again = waits and attempt < TRIES and in_time and failures.is_passing(error) and not remedy
                    first = first or error
                    if not again or (unsure and confirm is None):
                        # A commit still under way when the next try began is in the way of that now.
                        there = self._ask(confirm) if unsure else None
                        if there is not None:
                            return there
                        remedy = failures.UNSURE if unsure else remedy
                        kind = DuplicateKeyError if is_duplicate else StoreWriteError
                        # The last tries have little time: that their connections were given up is no cause.
                        cause = first if failures.is_lost(error) and not unsure else error
                        failures.raise_store_error(kind, cause, source, remedy, server=self.target.server)
                    self._note_repeat("write_repeated", error, source)
                    time.sleep(0.02 * 2**attempt * (0.5 + random.random()))
        raise AssertionError

    def _explain_large(self, error: exc.SQLAlchemyError) -> str:
        """Return advice if a statement was too large for the server and ended the connection, else blank."""
        size = failures.measure_statement(error) if failures.is_lost(error) else 0
        if size < failures.LARGE_BYTES:
            return ""
        try:
            with self.engines()[0].connect() as connection:
                most = connections.run_driver(connection, "SELECT @@max_allowed_packet", ())[0][0]
        except exc.SQLAlchemyError:
            return ""
        return failures.TOO_LARGE if size > int(most) else ""

    def _note_repeat(self, name: str, error: exc.SQLAlchemyError, source: str) -> None:
        """Count a retry; close our idle connections if the server has too many."""
        number = failures.error_number(error)
        if number in failures.CROWDED and self._engines is not None:
            _dispose(self._engines)
        self.repeats[number] += 1
        self._local.repeats = self.count_repeats() + 1
        event(logging.INFO, name, source=source, number=number)

    def _check_file(self, kind: type[StoreError]) -> None:
        """Raise if the open SQLite file was replaced or removed: writes to it would be lost."""
        if self.family != "sqlite" or self.target.in_memory:
            return
        try:
            facts = os.stat(str(self.target.url.database))  # noqa: PTH116 - this runs for every write
            there = facts.st_dev, facts.st_ino
        except OSError:
            there = None
        if self._file is None or there == self._file:
            self._file = there
            return
        self._file = None
        self.close()
        self.caches.clear()
        raise kind(
            f"The file of {self.target.shown} was replaced or removed while it was open. Nothing was done. The next "
            "call opens the file that is there now.",
            source="DATABASE_URL",
        )

    def count_repeats(self) -> int:
        """Return the number of retries of the calling thread."""
        found: int = getattr(self._local, "repeats", 0)
        return found

    def idempotent_transaction(self, work: Callable[[Connection], T], *, source: str) -> T:
        """Run `work` as `transaction` does, and retry even if it may already be stored: `work` is idempotent."""
        return self.transaction(work, source=source, confirm=lambda _: None)

    @contextlib.contextmanager
    def _spending(self) -> Iterator[Call]:
        """Count the time of the block as taken by the call, and yield the call: a prompt that writes ends in time."""
        call: Call = self._local.call
        if call.since is not None:
            yield call
            return
        call.since = time.monotonic()
        try:
            yield call
        finally:
            call.spent, call.since = call.taken, None

    @contextlib.contextmanager
    def _writing(self, lock_seconds: float) -> Iterator[Connection]:
        """Yield a connection that writes; it waits for answers no longer than the call has left."""
        with self.engines()[1].connect() as connection:
            connections.set_timeout(connection, self._left())
            connections.wait_for_locks(connection, lock_seconds)
            connection.begin()
            if self.family == "sqlite":
                connections.run_driver(connection, "BEGIN IMMEDIATE", ())
            try:
                if self.version:
                    self._check_version(connection)
                yield connection
            except BaseException:
                with contextlib.suppress(exc.SQLAlchemyError):  # a rollback that fails must not hide why it is made
                    connection.rollback()
                raise

    def _check_version(self, connection: Connection) -> None:
        """Refuse to write to a database that a newer version has migrated: this one would leave columns out."""
        sql = "SELECT MAX(version_num) FROM schema_version WHERE version_num < ':'"  # not the row of `db copy`
        version = connections.run_driver(connection, sql, ())[0][0]
        if str(version or "") > self.version:
            raise StoreWriteError(
                f"The database is at version {version}, this program at {self.version}. Nothing was changed. A newer "
                "program made it: update this program, and start it again.",
                source="schema_version",
            )

    def _ask(self, confirm: Callable[[Connection], T | None] | None) -> T | None:
        if confirm is None:
            return None
        for attempt in (1, 2, 3):
            try:
                with self.engines()[1].connect() as connection:
                    return confirm(connection)
            except exc.SQLAlchemyError:
                time.sleep(0.2 * attempt)
        return None

    @contextlib.contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Hold the one connection of an in-memory database; elsewhere nothing."""
        if self._single is None:
            yield
        else:
            with self._single:
                yield
