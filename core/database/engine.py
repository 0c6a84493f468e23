"""The database handle: connections, reading, and whole transactions with retries."""

from __future__ import annotations

import contextlib
import logging
import os
import random
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NoReturn, TypeVar

from sqlalchemy import Connection as Connection
from sqlalchemy import Engine, exc
from sqlalchemy.sql.util import find_tables

from ..base.hints import shown
from ..base.logs import event
from ..errors import DuplicateKeyError, StoreError, StoreReadError, StoreWriteError
from ..shapes import now_utc
from . import connections, failures
from .compiled import CompiledStatement
from .connections import Target
from .ids import Ids

T = TypeVar("T")

TRIES = 6
_JOURNAL = "{}-wal: SQLite's journal, which others are reading; close what has it open, or the next deletion empties it"


class RollbackError(Exception):
    """Raised by `work` to roll its transaction back: nothing is stored, and `transaction` returns `result`."""

    def __init__(self, result: Any) -> None:
        super().__init__("nothing is to be stored")
        self.result = result


class Call:
    """The connection that the reads of one call share, and the seconds that these reads have taken so far."""

    __slots__ = ("connection", "since", "snapshot", "spent")

    def __init__(self, *, snapshot: bool = False) -> None:
        self.connection: Connection | None = None
        self.snapshot = snapshot
        """Whether all reads of the call see the database as it was at the first read."""
        self.spent: float = 0.0
        self.since: float | None = None
        """Start of the current read; None between reads."""

    @property
    def taken(self) -> float:
        return self.spent + (0.0 if self.since is None else time.monotonic() - self.since)

    def release_connection(self) -> None:
        connection, self.connection = self.connection, None
        if connection is not None:
            if self.snapshot:
                with contextlib.suppress(exc.SQLAlchemyError):  # the snapshot is gone already, or was not begun
                    connections.run_driver(connection, "COMMIT", ())
            with contextlib.suppress(exc.SQLAlchemyError):  # the connection is gone already
                connection.close()


class _Thread(threading.local):
    call: Call | None = None
    joined: Connection | None = None
    """Connection of the `all_or_none` that this thread is running; None outside of it."""
    repeats: int = 0


_handles: weakref.WeakSet[Database] = weakref.WeakSet()


def _leave_parent() -> None:
    """Drop inherited connections in a forked process: two processes on one connection would mix their answers."""
    for handle in _handles:
        handle._leave_connections()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_parent)


def _dispose(engines: tuple[Engine, Engine]) -> None:
    for engine in set(engines):
        engine.dispose()


class Database:
    """One database, opened by `db.open_database`. Safe to share between threads.

    `clock` is the only clock of this package; `ids` makes row ids.
    """

    def __init__(
        self,
        url: str | Target,
        *,
        timeout_seconds: float = 10.0,
        clock: Callable[[], datetime] = now_utc,
        pool_size: int = 8,
    ) -> None:
        if not isinstance(pool_size, int) or pool_size < 1:
            raise ValueError(f"pool_size is {shown(pool_size)}. It must be a whole number of connections, 1 or more.")
        if (moment := clock()) is not None and getattr(moment, "tzinfo", None) is None:
            raise ValueError("clock returns no time with a zone. Return one, such as datetime.now(timezone.utc).")
        self.target: Target = url if isinstance(url, Target) else connections.parse_url(url)
        self.family = self.target.family
        self.timeout_seconds = timeout_seconds
        self.clock = clock
        self.ids: Ids = Ids(clock)
        self.version = ""
        """Newest version of the tables known to this program; set when the database is opened."""
        self.caches: dict[str, Any] = {}
        """Other modules' caches for this handle, each under its own name."""
        self.repeats: Counter[int | None] = Counter()
        """Number of retried reads and transactions by error number; key None counts those for a busy SQLite file."""
        self._pool_size = pool_size
        self._engines: tuple[Engine, Engine] | None = None
        self._given_up: weakref.finalize[Any, Any] | None = None
        """Finalizer that closes the connections of a handle that is garbage-collected without being closed."""
        self._file: tuple[int, int] | None = None
        """Device and inode number of the open SQLite file."""
        self._opening = threading.Lock()
        self._exclusive: contextlib.AbstractContextManager[Any] = (
            threading.RLock() if self.target.in_memory else contextlib.nullcontext()
        )
        """Lock of the only connection of an in-memory database."""
        self.watchers: list[Callable[[str, Sequence[Any] | None], object]] = []
        """Functions called with each reading statement's SQL and values (None if SQLAlchemy binds them)."""
        self._local = _Thread()
        _handles.add(self)

    def __reduce__(self) -> NoReturn:
        raise TypeError("A Database stays in its process. Pass the connection string, and open_database(url) there.")

    def _leave_connections(self) -> None:
        """Drop the parent process's connections without closing them, since the parent still uses them."""
        call = self._local.call
        self._opening = threading.Lock()
        if not self.target.in_memory:
            self._inherited = (self._engines, call.connection if call is not None else None, self._given_up)
            self._engines = self._given_up = None
            if call is not None:
                call.connection = None

    def __repr__(self) -> str:
        return f"Database({self.target.shown!r})"

    def engines(self) -> tuple[Engine, Engine]:
        """Return the reading engine (autocommit) and the writing engine, created at first use."""
        if self._engines is None:
            with self._opening:
                if self._engines is None:
                    self._engines = connections.make_engines(
                        self.target, self.timeout_seconds, left=self._left, pool_size=self._pool_size
                    )
                    if self.family == "sqlite":  # Python 3.13 and later warn about a file that is left open
                        self._given_up = weakref.finalize(self, _dispose, self._engines)
                        self._given_up.atexit = False
        return self._engines

    def empty_journal(self) -> tuple[str, ...]:
        """Move SQLite's WAL journal into the database file and empty it, waiting up to a second for readers.

        Deleted texts stay readable in the journal until then. Returns (), or a text with the journal's path and the
        reason why it could not be emptied. On servers nothing is done.
        """
        if self.family != "sqlite" or self.target.in_memory:
            return ()
        deadline = time.monotonic() + min(1.0, self.timeout_seconds)
        while True:
            try:
                with self.engines()[0].connect() as connection:
                    connection.exec_driver_sql("PRAGMA busy_timeout = 0")
                    try:
                        connection.exec_driver_sql("PRAGMA schema_version")  # without a read a checkpoint does nothing
                        busy = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").scalar()
                    finally:
                        connection.exec_driver_sql(f"PRAGMA busy_timeout = {int(self.timeout_seconds * 1000)}")
            except exc.SQLAlchemyError:
                busy = 1
            if not busy:
                return ()
            if time.monotonic() >= deadline:
                return (_JOURNAL.format(self.target.url.database),)
            time.sleep(0.02)

    def close(self) -> None:
        """Close all idle connections; the handle opens new ones when it is used again."""
        with self._opening:
            if self._given_up is not None:
                self._given_up.detach()
            if self._engines is not None:
                _dispose(self._engines)
                self._engines = None

    def read(
        self, statement: Any, values: Mapping[str, Any] | Sequence[Any] | None = None, *, source: str = ""
    ) -> Sequence[Any]:
        """Run one reading statement and return all its rows; after a temporary failure, run it once more.

        A compiled statement, or a text with its values in order, runs on the driver's own cursor, which gives plain
        rows: through SQLAlchemy, a look-up by a key takes five times as long. `source` is the table that errors name,
        by default the statement's first table.
        """
        sql: Any = statement
        bound: list[Any] | None = None
        if isinstance(statement, CompiledStatement):
            sql = statement.text(values, bound := [])  # type: ignore[arg-type]
        elif isinstance(statement, str):
            bound = list(values or ())
        with self._spending() as call:
            self._check_file(StoreReadError)
            for attempt in (1, 2):
                try:
                    with self._exclusive, self._reading(call) as connection:
                        for watch in self.watchers:
                            watch(str(sql), bound)
                        if bound is not None:
                            return connections.run_driver(connection, sql, tuple(bound))
                        return connection.execute(sql, values or {}).fetchall()
                except exc.SQLAlchemyError as error:
                    if self._local.joined is not None:  # `all_or_none` repeats all work
                        raise
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
        """Let this thread's reads within the block share one connection and DB_TIMEOUT_SECONDS.

        With `snapshot`, all reads see the database as it was at the first read; after a write, a new snapshot begins.
        A nested block uses the outer block's connection. Other threads, such as threads of hooks, are not affected.
        """
        if self._local.call is not None:
            yield
            return
        call = self._local.call = Call(snapshot=snapshot)
        try:
            yield
        finally:
            self._local.call = None
            call.release_connection()

    def release_connection(self) -> None:
        """Return the shared connection to the pool, before slow work; the next read takes a connection again."""
        if self._local.call is not None:
            self._local.call.release_connection()

    def _reading(self, call: Call) -> contextlib.AbstractContextManager[Connection]:
        """Return the connection of `call` for one block; a server must answer within the seconds the call has left."""
        if self._local.joined is not None:
            return contextlib.nullcontext(self._local.joined)
        if self.target.in_memory:  # the only connection must not be kept from other threads
            return self.engines()[0].connect()
        connection = call.connection or self._connect(call)
        if self.family != "sqlite":  # it has no time limit
            connections.set_timeout(connection.connection.dbapi_connection, self._left())
        return contextlib.nullcontext(connection)

    def _connect(self, call: Call) -> Connection:
        call.connection = self.engines()[0].connect()
        if call.snapshot:  # it locks nothing; a server set to READ COMMITTED ignores it
            begin = "BEGIN" if self.family == "sqlite" else "START TRANSACTION WITH CONSISTENT SNAPSHOT"
            connections.run_driver(call.connection, begin, ())
        return call.connection

    def _left(self) -> float:
        """Return how many seconds this thread's call has left, never 0, since drivers treat 0 as unlimited."""
        call = self._local.call
        return max(0.05, self.timeout_seconds - (call.taken if call is not None else 0.0))

    @contextlib.contextmanager
    def connection(self, *, source: str, snapshot: bool = False) -> Iterator[Connection]:
        """Yield a reading connection for several statements; an error becomes StoreReadError, without a retry."""
        self._check_file(StoreReadError)
        call = Call(snapshot=snapshot)
        try:
            with self._exclusive:
                yield self._connect(call)
        except exc.SQLAlchemyError as error:
            failures.raise_store_error(StoreReadError, error, source, server=self.target.server)
        finally:
            call.release_connection()

    def transaction(
        self,
        work: Callable[[Connection], T],
        *,
        source: str,
        confirm: Callable[[Connection, T], bool] | None = None,
        waits: bool = True,
        if_unsure: str = failures.UNSURE,
    ) -> T:
        """Run `work` in one transaction and return its result. If `work` raises RollbackError, nothing is stored.

        After a deadlock, lock wait, lost connection or not-ready answer, all of `work` is run again: up to 5 tries with
        growing pauses, within DB_TIMEOUT_SECONDS. After a duplicate key, there is no pause. Because of these retries,
        `work` must change nothing outside its connection. If the commit's answer was lost, `confirm(new connection,
        result)` checks whether that try was stored; if it was, `result` is returned. With `waits` off, `work` does not
        wait for locks and is retried only after a duplicate key. The text of an error says that nothing was written;
        if the commit's answer was lost, it is `if_unsure`, which says that the outcome is unknown.
        """
        if self._local.joined is not None:
            return self._run_joined(self._local.joined, work)
        lost: list[T] = []  # results of tries whose commit was not answered
        first: exc.SQLAlchemyError | None = None
        self._check_file(StoreWriteError)
        self.release_connection()  # a snapshot would not see this transaction's rows
        is_alone = self._local.call is None
        with self._spending() as call:
            for attempt in range(1, TRIES + 1):
                committing = False
                try:
                    with self._exclusive, self._writing(self._left() if waits else 0.0) as connection:
                        if lost and confirm is not None and confirm(connection, lost[-1]):
                            return lost[-1]
                        result = work(connection)
                        committing = True
                        connection.commit()
                        return result
                except RollbackError as ended:
                    undone: T = ended.result
                    return undone
                except DuplicateKeyError:
                    if attempt == TRIES:
                        raise
                    self.ids.jump()
                except exc.SQLAlchemyError as error:
                    is_duplicate = failures.is_duplicate(error)
                    if is_duplicate and attempt < TRIES:
                        self.ids.jump()
                        continue
                    number = failures.error_number(error)
                    if committing and (failures.is_lost(error) or number == failures.REFUSED_AT_COMMIT):
                        lost.append(result)
                    # Conflicts of two writers are reported at once: long work is retried even after its time is over.
                    in_time = call.taken < self.timeout_seconds
                    in_time |= is_alone and attempt < 3 and number in failures.IN_THE_WAY
                    remedy = self._explain_large(error)
                    again = waits and attempt < TRIES and in_time and failures.is_passing(error) and not remedy
                    first = first or error
                    if not again or (lost and confirm is None):
                        # This waits for a commit that was still running when the next try began.
                        if lost and confirm is not None and self._ask(confirm, lost[-1]):
                            return lost[-1]
                        remedy = if_unsure if lost else remedy
                        kind = DuplicateKeyError if is_duplicate else StoreWriteError
                        # The last tries have little time: a timeout of their connections is not the cause.
                        cause = first if failures.is_lost(error) and not lost else error
                        failures.raise_store_error(kind, cause, source, remedy, server=self.target.server)
                    self._note_repeat("write_repeated", error, source)
                    time.sleep(0.02 * 2**attempt * (0.5 + random.random()))
        raise AssertionError

    def all_or_none(self, work: Callable[[], T], *, source: str) -> T:
        """Run `work`, again after a failed try, so that all its transactions become one; its reads see its writes."""

        def join(connection: Connection) -> T:
            self._local.joined = connection
            try:
                return work()
            finally:
                self._local.joined = None

        return self.transaction(join, source=source)

    @staticmethod
    def _run_joined(connection: Connection, work: Callable[[Connection], T]) -> T:
        part = connection.begin_nested()
        try:
            result = work(connection)
        except RollbackError as ended:
            part.rollback()
            undone: T = ended.result
            return undone
        part.commit()
        return result

    def _explain_large(self, error: exc.SQLAlchemyError) -> str:
        """Return advice if a statement was too large for the server and ended the connection, else ""."""
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
        """Count a retry and log it as `name`; after the error `too many connections`, close idle connections."""
        number = failures.error_number(error)
        if number in failures.CROWDED and self._engines is not None:
            _dispose(self._engines)
        self.repeats[number] += 1
        self._local.repeats += 1
        event(logging.INFO, name, source=source, number=number)

    def _check_file(self, kind: type[StoreError]) -> None:
        """Raise if the open SQLite file was replaced or is missing: writes to it would be lost. No file is created."""
        if self.family != "sqlite" or self.target.in_memory:
            return
        try:
            facts = os.stat(str(self.target.url.database))  # noqa: PTH116 - faster, and this runs for every write
            there = facts.st_dev, facts.st_ino
        except OSError:
            there = None
        if (self._file is None or there == self._file) and (there or not self.version):
            self._file = there
            return
        self._file = None
        self.close()
        self.caches.clear()
        what, then = "replaced", "The next call opens the file that is there now."
        if there is None:
            what, then = "removed", "Put it back with its -wal and -shm, or start the program again to begin a new one."
        text = f"The file of {self.target.shown} was {what} while it was open. Nothing was done. {then}"
        raise kind(text, source="DATABASE_URL")

    def count_repeats(self) -> int:
        """Return the number of retries of the calling thread."""
        return self._local.repeats

    def idempotent_transaction(
        self, work: Callable[[Connection], T], *, source: str, if_unsure: str = failures.UNSURE
    ) -> T:
        """Run `work` like `transaction`, but retry even if the first try may be stored: `work` must be idempotent."""
        return self.transaction(work, source=source, confirm=lambda *_: False, if_unsure=if_unsure)

    @contextlib.contextmanager
    def _spending(self) -> Iterator[Call]:
        """Yield this thread's `Call`, or a new `Call`, and add the duration of the block to the time it has taken."""
        call = self._local.call
        if call is None:
            with self.request_connection(), self._spending() as call:
                yield call
            return
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
        """Yield a writing connection; it waits for the server at most the seconds that this thread's call has left."""
        with self.engines()[1].connect() as connection:
            connections.set_timeout(connection.connection.dbapi_connection, self._left())
            connections.wait_for_locks(connection, lock_seconds)
            connection.begin()
            if self.family == "sqlite":
                connections.run_driver(connection, "BEGIN IMMEDIATE", ())
            try:
                if self.version:
                    self._check_version(connection)
                yield connection
            except BaseException:
                with contextlib.suppress(exc.SQLAlchemyError):  # a failed rollback must not hide its cause
                    connection.rollback()
                raise

    def _check_version(self, connection: Connection) -> None:
        """Raise StoreWriteError if a newer version migrated the database: new columns would stay empty."""
        sql = "SELECT MAX(version_num) FROM schema_version WHERE version_num < ':'"  # not the marker row of `db copy`
        version = connections.run_driver(connection, sql, ())[0][0]
        if str(version or "") > self.version:
            raise StoreWriteError(
                f"The database is at version {version}, this program at {self.version}. Nothing was changed. A newer "
                "program made it: update this program, and start it again.",
                source="schema_version",
            )

    def _ask(self, confirm: Callable[[Connection, T], bool], result: T) -> bool:
        for attempt in (1, 2, 3):
            try:
                with self.engines()[1].connect() as connection:
                    return confirm(connection, result)
            except exc.SQLAlchemyError:
                time.sleep(0.2 * attempt)
        return False
