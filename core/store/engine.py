"""The database handle: connections, reading, whole transactions with retries, and driver errors made readable.

Driver errors are translated here and nowhere else. The translated error carries the server's number and the query's
source, and not the driver's own text as its cause: PyMySQL writes values into the statement, so a syntax or data error
quotes them, and no message text may leave in an exception (rule G26).
"""

from __future__ import annotations

import contextlib
import logging
import random
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NoReturn, TypeVar

from sqlalchemy import Connection, Engine, exc

from core.errors import CoreError, StoreError, StoreReadError, StoreWriteError
from core.logs import event
from core.shapes import now_utc
from core.store import connecting
from core.store.ids import Ids

T = TypeVar("T")

RETRIED = frozenset({1213, 1205, 1020, 2006, 2013, 1047, 1290, 1040, 1180, 3100, 3101})
"""Deadlock, lock wait, record changed, gone away, lost, not ready, read only during a failover; too many connections;
refused at the commit, by Galera or by group replication (D34)."""
LOST = frozenset({2003, 2006, 2013, 2055, 0, 1053, 1927, 4031})
"""Numbers that say that the connection is gone; the last three: shutting down, killed, closed for idling."""
TRIES = 5
LOOK = "Run `prompt-engine db check` to see what is wrong."
_REFUSED_AT_COMMIT = 1180
"""A commit that a cluster refused; whether other nodes have it cannot be told from the answer."""
_UNSURE = "The commit's answer was lost, so it may be stored: look before repeating it."
_REMEDY = {
    1146: "The table is missing: run `prompt-engine db migrate`.",
    1054: "A column is missing: run `prompt-engine db migrate`.",
    1290: "The server is read only: connect to the primary, or set read_only to OFF.",
    1836: "The server is read only: connect to the primary, or set read_only to OFF.",
    1021: "The server's disk is full: free space and try again.",
    1114: "The server's table or disk is full: free space and try again.",
    1045: "Access denied: check the user and the password in DATABASE_URL.",
    1044: "The user has no rights on this database: grant them.",
    1142: "The user lacks a right on this table: grant it.",
    1049: "The database does not exist: create it or correct its name in DATABASE_URL.",
    2003: "The server could not be reached: check host, port and that it is running.",
    2026: "The server offers no encryption (TLS): add ?tls=off to DATABASE_URL if the network is safe without.",
    26: "The file is no SQLite database: correct its name in DATABASE_URL, or move the file away.",
    2006: "The connection was lost: try again.",
    2013: "The connection was lost: try again.",
    1047: "This node of the cluster is not ready: wait until it is, or lead the address to another node.",
    1205: "Another session holds rows that are needed: end it if that lasts (SHOW PROCESSLIST), and try again.",
    1213: "Writers were in each other's way: try again.",
    1040: "The server takes no more connections: raise max_connections, or run fewer processes.",
    1053: "The server is shutting down: try again when it is back.",
    3100: "The group of servers refused it: try again, and look whether this server still belongs to the group.",
    3101: "Writers were in each other's way on two servers: try again.",
    1153: "The text is larger than the server's max_allowed_packet: raise it.",
}


class Call:
    """The reads of one call: the connection they share, and the seconds they have taken together."""

    __slots__ = ("connection", "since", "spent")

    def __init__(self) -> None:
        self.connection: Connection | None = None
        self.spent = 0.0
        self.since: float | None = None
        """When the read under way began; None between reads."""

    @property
    def taken(self) -> float:
        """Return the seconds taken up to now."""
        return self.spent + (0.0 if self.since is None else time.monotonic() - self.since)

    def let_go(self) -> None:
        """Give the connection back."""
        connection, self.connection = self.connection, None
        if connection is not None:
            with contextlib.suppress(exc.SQLAlchemyError):  # it is gone already
                connection.close()


class Database:
    """One database, opened by `core.db.open_database`. Safe to share between threads.

    `clock` is the only clock anything in this package asks (rule G8); `ids` makes row ids.
    """

    def __init__(
        self, url: str, *, timeout_seconds: float = 10.0, clock: Callable[[], datetime] = now_utc, **options: Any
    ) -> None:
        self.target = connecting.parse(url)
        self.family = self.target.family
        self.timeout_seconds = timeout_seconds
        self.clock = clock
        self.ids = Ids(clock)
        self.caches: dict[str, Any] = {}
        """Values other modules keep beside the handle, each under its module's name."""
        self.kept_back: list[Callable[[], object]] = []
        """What writes changes that are kept back for a moment, each called by `settle`; none of them raises (S6)."""
        self._options = options
        self._engines: tuple[Engine, Engine] | None = None
        self._opening = threading.Lock()
        self._single = threading.RLock() if self.target.in_memory else None
        self._tracers: list[list[str]] = []
        self._local = threading.local()

    def __repr__(self) -> str:
        return f"Database({self.target.shown!r})"

    # Connections

    def engines(self) -> tuple[Engine, Engine]:
        """Return the reading engine (autocommit) and the writing engine, made at first use."""
        if self._engines is None:
            with self._opening:
                if self._engines is None:
                    self._engines = connecting.make_engines(
                        self.target, self.timeout_seconds, left=self._left, **self._options
                    )
        return self._engines

    def settle(self) -> None:
        """Write what is kept back for a moment, such as which messages are hidden (S6)."""
        for write in tuple(self.kept_back):
            write()

    def close(self) -> None:
        """Write what is kept back and close all idle connections; the handle opens new ones when it is used again."""
        self.settle()
        with self._opening:
            if self._engines is not None:
                for engine in set(self._engines):
                    engine.dispose()
                self._engines = None

    # Reading

    def read(self, statement: Any, parameters: Mapping[str, Any] | None = None, *, source: str) -> Sequence[Any]:
        """Return all rows of one statement, read in one round trip and repeated once on a lost connection (F52).

        Raises:
            StoreReadError: the server refused or cannot be reached; names `source` and what to do.
        """
        return self._read(statement, lambda c: c.execute(statement, parameters or {}).fetchall(), source)

    def read_driver(self, sql: str, parameters: Sequence[Any], *, source: str) -> Sequence[Any]:
        """Return all rows of a statement compiled before, its values bound by position. As `read` otherwise."""
        return self._read(sql, lambda c: c.exec_driver_sql(sql, tuple(parameters)).fetchall(), source)

    def _read(self, statement: Any, ask: Callable[[Connection], Sequence[Any]], source: str) -> Sequence[Any]:
        with self.one_call():
            call: Call = self._local.call
            for attempt in (1, 2):
                call.since = time.monotonic()
                try:
                    with self._exclusive(), self._reading(call) as connection:
                        self._note(statement)
                        return ask(connection)
                except exc.SQLAlchemyError as error:
                    number = error_number(error)
                    call.let_go()
                    in_time = attempt == 1 and call.taken < self.timeout_seconds
                    if not (in_time and (is_lost(error) or number in RETRIED)):
                        _fail(StoreReadError, error, source)
                    event(logging.INFO, "read_repeated", source=source, number=number)
                finally:
                    call.spent, call.since = call.taken, None
        raise AssertionError

    @contextlib.contextmanager
    def one_call(self) -> Iterator[None]:
        """Let this thread's reads up to the end of the block share one connection and DB_TIMEOUT_SECONDS (F51).

        A block inside another one belongs to it. What other threads read meanwhile, hooks for instance, is their own.

        Source: F51.
        """
        if getattr(self._local, "call", None) is not None:
            yield
            return
        call = self._local.call = Call()
        try:
            yield
        finally:
            self._local.call = None
            call.let_go()

    def let_go(self) -> None:
        """Give the connection of `one_call` back while something else takes its time; the next read takes another."""
        call: Call | None = getattr(self._local, "call", None)
        if call is not None:
            call.let_go()

    @contextlib.contextmanager
    def _reading(self, call: Call) -> Iterator[Connection]:
        """Yield the connection of the call, given no more time than the call has left."""
        if self._single is not None:  # the one connection of an in-memory database must not be kept from others
            with self.engines()[0].connect() as connection:
                yield connection
            return
        if call.connection is None:
            call.connection = self.engines()[0].connect()
        connecting.give_time(call.connection, self._left())
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
            _fail(StoreReadError, error, source)

    # Writing

    def transaction(
        self,
        work: Callable[[Connection], T],
        *,
        source: str,
        confirm: Callable[[Connection], T | None] | None = None,
    ) -> T:
        """Run `work` in one transaction and return what it returns; all of it is stored or nothing.

        The whole of `work` is run again, up to 5 times in all with growing pauses, on deadlock, lock wait, lost
        connection and not-ready answers (D34); it must therefore have no effect but on its connection. Where the
        answer to the commit itself was lost, `confirm` is asked on a fresh connection whether the rows are there, and
        what it returns, unless that is None, is the result.

        Raises:
            StoreWriteError: nothing was written; or the commit's answer was lost and whether it is stored cannot be
                told, which the message says.
        """
        unsure = False
        with self._spending():
            for attempt in range(1, TRIES + 1):
                committing = False
                try:
                    with self._exclusive(), self._writing() as connection:
                        self._begin(connection)
                        there = confirm(connection) if unsure and confirm is not None else None
                        if there is not None:
                            return there
                        result = work(connection)
                        committing = True
                        connection.commit()
                        return result
                except exc.SQLAlchemyError as error:
                    lost = is_lost(error)
                    unsure = unsure or (committing and (lost or error_number(error) == _REFUSED_AT_COMMIT))
                    again = lost or error_number(error) in RETRIED or _is_busy(error)
                    if attempt == TRIES or not (again and self._in_time()) or (unsure and confirm is None):
                        # A commit still under way when the next try began is in the way of that now.
                        there = self._ask(confirm) if unsure else None
                        if there is not None:
                            return there
                        _fail(StoreWriteError, error, source, _UNSURE if unsure else "")
                    event(logging.INFO, "write_repeated", source=source, number=error_number(error), attempt=attempt)
                    time.sleep(0.02 * 2**attempt * (0.5 + random.random()))
        raise AssertionError

    @contextlib.contextmanager
    def _spending(self) -> Iterator[None]:
        """Count the time of the block as taken by the call, where there is one: a prompt that writes ends in time too.

        Source: F51.
        """
        call: Call | None = getattr(self._local, "call", None)
        if call is None or call.since is not None:
            yield
            return
        call.since = time.monotonic()
        try:
            yield
        finally:
            call.spent, call.since = call.taken, None

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Connection]:
        """Yield a connection that writes; within a call it is given no more time than the call has left."""
        with self.engines()[1].connect() as connection:
            if getattr(self._local, "call", None) is not None:
                connecting.give_time(connection, self._left())
            yield connection

    def _in_time(self) -> bool:
        """Return whether there is time to try again: always, but within a call."""
        call: Call | None = getattr(self._local, "call", None)
        return call is None or call.taken < self.timeout_seconds

    def _begin(self, connection: Connection) -> None:
        if self.family == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")

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

    # Watching

    @contextlib.contextmanager
    def traced(self) -> Iterator[list[str]]:
        """Yield a list that gets the text of every reading statement run meanwhile: one entry, one round trip (D35)."""
        statements: list[str] = []
        self._tracers.append(statements)
        try:
            yield statements
        finally:
            self._tracers.remove(statements)

    def _note(self, statement: Any) -> None:
        for tracer in self._tracers:
            tracer.append(str(statement))

    @contextlib.contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Hold the one connection of an in-memory database; elsewhere nothing."""
        if self._single is None:
            yield
        else:
            with self._single:
                yield


def error_number(error: BaseException) -> int | None:
    """Return the server's error number, None when there is none."""
    original = getattr(error, "orig", None)
    arguments = getattr(original, "args", ())
    return arguments[0] if arguments and isinstance(arguments[0], int) else None


def is_lost(error: BaseException) -> bool:
    """Return whether the connection is gone, so the statement may be tried on another."""
    if isinstance(error, exc.DBAPIError) and error.connection_invalidated:
        return True
    return error_number(error) in LOST


def _is_busy(error: BaseException) -> bool:
    return "database is locked" in str(getattr(error, "orig", "")) or "is busy" in str(getattr(error, "orig", ""))


def is_missing_table(error: StoreError) -> bool:
    """Return whether a table or column is not there yet."""
    return error.number in (1146, 1054)


_MISSING = re.compile(r"(?:no such table: |Table '(?:[^'.]*\.)?)(?:main\.)?([a-z_]{1,64})\b", re.IGNORECASE)


def _missing_table(said: str) -> str | None:
    """Return the table a server does not know: of a statement over many tables, the one to mend (F50).

    >>> _missing_table("no such table: ai_diary"), _missing_table("Table 'mine.ai_diary' doesn't exist")
    ('ai_diary', 'ai_diary')
    """
    found = _MISSING.search(said)
    return found[1] if found else None


def _fail(kind: type[StoreError], error: exc.SQLAlchemyError, source: str, remedy: str = "") -> NoReturn:
    """Raise the project's own exception for a driver error, without any value that was sent."""
    number = error_number(error)
    original = getattr(error, "orig", error)
    if number is None:
        said = str(original)
        if "no such table" in said or "no such column" in said:
            number = 1146 if "table" in said else 1054
        elif "readonly" in said:
            number = 1290
        elif "disk is full" in said:
            number = 1021
        elif "file is not a database" in said:
            number = 26
        elif "unable to open database file" in said:
            remedy = remedy or "The database file cannot be opened: check that its folder exists and may be written."
    elif number == 2003 and "CERTIFICATE" in str(original):
        remedy = remedy or "Its certificate cannot be verified: name its authority by &tls_ca=FILE, or use ?tls=on."
    if number == 1146:
        source = _missing_table(str(original)) or source
    shown = f" (error {number})" if number is not None else ""
    remedy = remedy or _REMEDY.get(number or 0, LOOK)
    doing = "read" if kind is StoreReadError else "written"
    made = kind(
        f"{source} could not be {doing}: {type(original).__name__}{shown}. {remedy}", source=source, number=number
    )
    assert isinstance(made, CoreError)
    raise made from None
