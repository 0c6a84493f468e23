"""Turns a connection string into engines: address, encryption, session settings. Passwords never leave this module."""

import ipaddress
import os
import random
import ssl
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event, exc, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import QueuePool, StaticPool

from ..base.hints import find_nearest
from ..errors import ConfigError, StoreError
from . import failures
from .files import resolve_file
from .stored_values import READ_UTF8

Family = Literal["mysql", "sqlite"]

SESSION = (
    "SET time_zone = '+00:00', sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', "
    "group_concat_max_len = 16777216, wait_timeout = 120"
)
"""Session settings sent on every connect, so that behaviour does not depend on the server's own settings.

wait_timeout: an unused connection ends after two minutes, since other clients may need its slot.
group_concat_max_len: a search lets the server join its rows to one text, which is faster than hundreds of driver rows.
"""

PARAMETERS = ("tls", "tls_ca", "unix_socket", "charset")
KEPT_PLANS = 48
"""Number of statement plans that a reading SQLite connection caches, about 7 MB.

The plan of a prompt's last statement takes 170 kB, and this statement's text varies with the number of rows. The
driver's default of 128 plans would take 20 MB, and would save 1 ms in one prompt of six.
"""
_WAIT, _ONE_USE = "lock_wait", "one_use"


@dataclass(frozen=True, slots=True)
class Target:
    url: URL
    family: Family
    in_memory: bool
    shown: str
    """Connection string with its password replaced by dots."""

    @property
    def read_only(self) -> bool:
        """Whether the target is a file that the URL opens for reading only, by `?mode=ro` or `?immutable=1`."""
        return "immutable" in self.url.query or self.url.query.get("mode") == "ro"

    @property
    def server(self) -> str:
        """Host and port, or the socket, as named in errors."""
        if "unix_socket" in self.url.query:
            return str(self.url.query["unix_socket"])
        return f"{self.url.host or 'localhost'}, port {self.url.port or 3306}"

    @property
    def is_local(self) -> bool:
        """Whether the server runs on this machine, where encryption costs 24 ms per connect and protects nothing."""
        host = self.url.host
        if "unix_socket" in self.url.query or host in (None, "", "localhost"):
            return True
        try:
            return ipaddress.ip_address(host or "").is_loopback
        except ValueError:
            return False

    @property
    def tls_mode(self) -> str:
        """`off`, `on` or `verify`: from the connection string, else `off` on this machine, else `verify`."""
        return str(self.url.query.get("tls") or ("off" if self.is_local else "verify"))

    @property
    def is_missing(self) -> bool:
        """Whether the target is a file that does not exist yet and would be created."""
        return self.family == "sqlite" and not self.in_memory and not Path(str(self.url.database)).exists()


def _refuse(text: str) -> ConfigError:
    return ConfigError(text, flag="DATABASE_URL")


def parse_url(url: str) -> Target:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        text = url if isinstance(url, str) else f"type {type(url).__name__}"
        named = "The database address" if set(":@") & set(text) else repr(text)[:60]  # no `:`, no password
        raise _refuse(
            f"{named} is not a connection string. Write sqlite:///FILE or mysql://USER:PASSWORD@HOST:PORT/NAME; in "
            "USER and PASSWORD write %40 for @, %2F for / and %3A for :."
        ) from None
    _check_parts(parsed)
    backend = parsed.get_backend_name()
    if backend not in ("mysql", "mariadb", "sqlite"):
        raise _refuse(
            f"The database address has the scheme {parsed.drivername[:12]!r}. Use sqlite:///FILE, or mysql:// for "
            "MySQL, MariaDB and OceanBase."
        )
    if backend == "sqlite":
        return _sqlite(parsed, _list_parameters(url, parsed))
    if not parsed.database:
        raise _refuse("The database address names no database. Add its name at the end: .../NAME.")
    unknown = [name for name in _list_parameters(url, parsed) if name not in PARAMETERS]
    if unknown:  # others than a mistyped one may be a part of the password, which is not shown
        named = ", ".join(repr(name) for name in unknown if find_nearest(name, PARAMETERS))
        raise _refuse(
            f"The database address has parameters that are not known{named and f': {named}'}. Behind the question mark "
            f"may stand {', '.join(PARAMETERS)}."
        )
    parsed = parsed.set(drivername="mysql+pymysql")
    return Target(parsed, "mysql", False, parsed.render_as_string(hide_password=True))


def find_source(url: str) -> Target:
    """Parse the URL of an existing database into a target; a SQLite file is opened for reading only."""
    target = parse_url(url)
    if target.is_missing:
        raise StoreError(
            f"The SQLite file {str(target.url.database)!r} does not exist. Correct the address {url!r}; a path that "
            "begins with / has four slashes.",
            source="SOURCE",
        )
    if target.family != "sqlite" or target.in_memory or target.read_only:
        return target
    return replace(target, url=target.url.update_query_dict({"mode": "ro"}))


def check_new_file(target: Target) -> None:
    """Raise StoreError if an SQLite file is missing but its journal exists: a new file would get the journal's data."""
    for ending in ("-wal", "-shm", "-journal") if target.is_missing else ():
        left = Path(os.path.realpath(str(target.url.database)) + ending)
        if left.exists():
            what = f"{left} belongs to another file. Nothing was changed. Move it away, or name another file."
            raise StoreError(what, source="TARGET")


def check_url(url: str) -> None:
    """Raise ConfigError for an unusable connection string, without opening anything."""
    target = parse_url(url)
    if target.family != "sqlite":
        _tls(target)


def _check_parts(url: URL) -> None:
    """Raise ConfigError for a URL that cannot work: the driver's own error would show the password in the URL."""
    if not url.get_backend_name().startswith("sqlite") and "@" in f"{url.host}{url.database}":
        raise _refuse(  # a part of the password was parsed as host or name
            "The database address has a character that separates its parts inside the user or the password. Write "
            "%40 for @, %2F for / and %3A for : there."
        )
    parts = (url.username, url.password, url.host, url.database, *(str(value) for value in url.query.values()))
    for part in parts:
        if part and ("\0" in part or any("\ud800" <= letter <= "\udfff" for letter in part)):
            raise _refuse(
                "The database address holds a character that is none. Write it again; %40 stands for @ in a password."
            )
    try:
        (url.host or "").encode("idna")
    except UnicodeError:
        raise _refuse("The database address names a host that cannot be one. Correct it.") from None


def _list_parameters(url: str, parsed: URL) -> list[str]:
    """Return the parameter names of a URL; names without a value, which parsing drops, end with `=`."""
    parts = url.rpartition("@")[2].partition("?")[2].split("&")
    return [*parsed.query, *(f"{part}=" for part in parts if part and not part.partition("=")[2])]


def _sqlite(url: URL, parameters: Sequence[str]) -> Target:
    if url.host or url.username or url.port:
        raise _refuse(
            f"The database address names a host, and a SQLite file has none: write three slashes, as in "
            f"sqlite:///{url.database or url.host}, and four before a path that begins with /."
        )
    file = url.database or ":memory:"
    in_memory = file == ":memory:"
    known = url.query.get("mode", "rwc") in ("ro", "rw", "rwc") and url.query.get("immutable", "1") == "1"
    if not known or set(parameters) - {"mode", "immutable"}:
        raise _refuse(
            "The database address has parameters that are not known. Behind the question mark of a SQLite file may "
            "stand mode=ro, which only reads it, or immutable=1, for one on a read-only medium. A question mark in the "
            "name of a file is %3F."
        )
    if not in_memory:
        url = url.set(drivername="sqlite", database=str(resolve_file(file)))
    return Target(url, "sqlite", in_memory, url.render_as_string(hide_password=True))


def _tls(target: Target) -> tuple[URL, dict[str, Any]]:
    query = dict(target.url.query)
    query.pop("tls", None)
    ca = query.pop("tls_ca", None)
    url, mode = target.url.set(query=query), target.tls_mode
    if mode == "off":
        return url, {"ssl_disabled": True}
    if mode not in ("on", "verify"):
        raise _refuse("tls in the database address must be off, on or verify. Correct it.")
    try:
        context = ssl.create_default_context(cafile=str(ca) if ca else None)
    except OSError as error:  # includes ssl.SSLError
        said = "tls_ca in the database address names a file that cannot be read as certificates"
        raise _refuse(f"{said} ({type(error).__name__}). Correct it.") from None
    if mode == "on":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return url, {"ssl": context}


def make_engines(
    target: Target, timeout_seconds: float, *, left: Callable[[], float], pool_size: int
) -> tuple[Engine, Engine]:
    """Return (engine for reading, with autocommit; engine for writing). `left` returns a call's remaining seconds."""
    if target.family == "sqlite":
        return _sqlite_engines(target, timeout_seconds, pool_size)
    url, arguments = _tls(target)
    arguments |= {"charset": "utf8mb4", "init_command": SESSION, "connect_timeout": max(1, round(timeout_seconds))}
    arguments |= {"read_timeout": timeout_seconds, "write_timeout": timeout_seconds}
    common = _pool(pool_size) | {"pool_pre_ping": True, "pool_recycle": 1800, "pool_timeout": timeout_seconds}
    common |= {"connect_args": arguments, "paramstyle": "format"}
    # Set explicitly: on a server whose default is not autocommit, MySQL tells the driver at login that it is on.
    by_itself = arguments | {"autocommit": None, "init_command": f"{SESSION}, autocommit = 1"}
    alone = common | {"connect_args": by_itself, "skip_autocommit_rollback": True}
    reading = create_engine(url, isolation_level="AUTOCOMMIT", pool_reset_on_return=None, **alone)
    writing = create_engine(url, isolation_level="READ COMMITTED", **common)
    _listen(reading, writing, timeout_seconds, left)
    return reading, writing


def _pool(size: int) -> dict[str, Any]:
    return {"pool_size": size, "max_overflow": size * 4, "hide_parameters": True, "poolclass": QueuePool}


def _listen(reading: Engine, writing: Engine, timeout_seconds: float, left: Callable[[], float]) -> None:
    def connect(dialect: Any, _record: Any, positional: Any, named: dict[str, Any]) -> Any:
        seconds = left()
        named |= {"connect_timeout": seconds, "read_timeout": seconds, "write_timeout": seconds}
        # The driver encodes a text password as Latin-1: `€` fails with the password in the error, and `ü` is wrong.
        if isinstance(named.get("password"), str):
            named["password"] = named["password"].encode()
        try:
            return dialect.loaded_dbapi.connect(*positional, **named)
        except RuntimeError as error:  # the login needs a missing package
            raise dialect.loaded_dbapi.OperationalError(failures.NO_LOGIN, str(error)) from None

    for engine in (reading, writing):
        event.listen(engine, "do_connect", connect)
        event.listen(engine, "checkin", lambda connection, _record: set_timeout(connection, timeout_seconds))


def wait_for_locks(connection: Connection, seconds: float) -> None:
    is_file = connection.dialect.name == "sqlite"
    # SQLite gets half the time, so that it can try again. A server must give up before the client hangs up, since its
    # transaction would keep holding the rows.
    wait = max(50, int(seconds * 500)) if is_file else max(1, int(seconds * 0.8 + 0.01))
    if connection.info.get(_WAIT) == wait:
        return
    line: Any = connection.connection.dbapi_connection
    if is_file:
        line.execute(f"PRAGMA busy_timeout = {wait}").close()
    else:
        # A server may lack either variable. OceanBase, which has the second, detects no deadlocks: two transactions
        # that wait for each other must not give up at the same moment.
        later = int(wait * 1_000_000 * random.uniform(0.5, 1.0))
        for name, value in (("innodb_lock_wait_timeout", wait), ("ob_trx_lock_timeout", later)):
            with suppress(line.Error), line.cursor() as cursor:
                cursor.execute(f"SET SESSION {name} = {value}")
    connection.info[_WAIT] = wait


def set_timeout(connection: Any, seconds: float) -> None:
    """Set how many seconds a driver's connection waits for its server; nothing to do on SQLite."""
    # The driver sets its time limits on connect, and reads these attributes before every packet.
    if hasattr(connection, "_read_timeout"):
        connection._read_timeout = connection._write_timeout = seconds


def _sqlite_engines(target: Target, timeout_seconds: float, pool_size: int) -> tuple[Engine, Engine]:
    arguments = {"timeout": timeout_seconds, "check_same_thread": False}
    if target.in_memory:
        only = create_engine(target.url, connect_args=arguments, poolclass=StaticPool, hide_parameters=True)
        _listen_sqlite(only, timeout_seconds, writes=True)
        return only, only
    common = _pool(pool_size) | {"connect_args": arguments}
    alone = common | {"connect_args": arguments | {"cached_statements": KEPT_PLANS}}
    url = target.url
    if url.query:  # SQLAlchemy passes these parameters on in an SQLite `file:` URL
        query = {**{name: str(value) for name, value in url.query.items()}, "uri": "true"}
        url = url.set(database=f"file:{quote(str(url.database))}", query=query)
    reading = create_engine(url, isolation_level="AUTOCOMMIT", pool_reset_on_return=None, **alone)
    writing = create_engine(url, **common)
    for engine, writes in ((reading, False), (writing, not target.read_only)):
        _listen_sqlite(engine, timeout_seconds, writes=writes)
        event.listen(engine, "do_connect", lambda *_: make_private(target))
    _read_on_full_disk(reading, target)
    return reading, writing


def _read_on_full_disk(reading: Engine, target: Target) -> None:
    """If the disk is too full for SQLite's `-shm` file, let `reading` open the database as immutable, for one use."""

    def connect(dialect: Any, record: Any, positional: Any, named: dict[str, Any]) -> Any:
        connection = dialect.loaded_dbapi.connect(*positional, **named)
        try:
            connection.execute("PRAGMA schema_version").close()
        except connection.OperationalError as error:
            journal = Path(f"{target.url.database}-wal")
            if error.sqlite_errorname != failures.NO_SHARED_FILE or (journal.exists() and journal.stat().st_size):
                return connection  # its rows would be left out; the next statement raises the error
            connection.close()
            file = f"file:{quote(str(target.url.database))}?immutable=1"
            connection = dialect.loaded_dbapi.connect(file, **named | {"uri": True})
            record.info[_ONE_USE] = True
        return connection

    event.listen(reading, "do_connect", connect)
    # it would not notice another program's writes
    event.listen(reading, "checkin", lambda _, record: record.info.get(_ONE_USE) and record.invalidate())


def run_driver(connection: Connection, sql: str, values: tuple[Any, ...]) -> Sequence[Any]:
    """Return all rows of a statement run on the driver's own cursor."""
    return _run(connection, sql, values)[0]


def execute_driver(
    connection: Connection, sql: str, values: Sequence[Any], *, many: bool = False
) -> tuple[Sequence[Any], int]:
    """Run a write statement (executemany if `many`); return (rows, number of rows changed)."""
    return _run(connection, sql, values, many=many)


def _run(connection: Connection, sql: str, values: Sequence[Any], *, many: bool = False) -> tuple[Sequence[Any], int]:
    dialect, driver = connection.dialect, connection.connection
    errors: Any = dialect.loaded_dbapi
    cursor = driver.cursor()
    try:
        execute = cursor.executemany if many else cursor.execute
        execute(sql, values)
        return cursor.fetchall(), cursor.rowcount
    except errors.Error as error:
        is_lost = dialect.is_disconnect(error, driver.dbapi_connection, cursor)
        if is_lost:
            connection.invalidate(error)
        raise exc.DBAPIError.instance(sql, values, error, errors.Error, True, is_lost, dialect) from error
    except BaseException:
        if dialect.name != "sqlite":  # half of an answer may be left unread
            connection.invalidate()
        raise
    finally:
        cursor.close()  # a kept error would keep the file open


def make_private(target: Target) -> None:
    """Create the file of a new database readable by its owner only; SQLite's other files inherit the permissions."""
    if target.is_missing and target.url.query.get("mode", "rwc") == "rwc":
        with suppress(OSError):  # SQLite reports the problem
            os.close(os.open(str(target.url.database), os.O_CREAT | os.O_RDWR, 0o600))


def _listen_sqlite(engine: Engine, timeout_seconds: float, *, writes: bool) -> None:
    """Set up each new connection of an SQLite engine; a reading connection changes nothing in the file."""

    def connected(connection: Any, _record: Any) -> None:
        # SQLite's own text decoding fails on bytes that are not UTF-8, and with it the whole statement.
        connection.text_factory = READ_UTF8
        connection.execute("PRAGMA cache_size = -16000").close()
        if not writes:
            return
        _start_wal(connection, timeout_seconds)
        # Deleted data is overwritten with zeros; otherwise forgotten texts stay readable in the file.
        for pragma in ("synchronous = FULL", "foreign_keys = ON", "secure_delete = ON"):
            connection.execute(f"PRAGMA {pragma}").close()

    event.listen(engine, "connect", connected)


def _start_wal(connection: Any, timeout_seconds: float) -> None:
    """Switch to WAL, so that readers continue during a write; `synchronous = FULL` keeps commits in a power cut."""
    deadline = time.monotonic() + timeout_seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").close()
            return
        except connection.OperationalError as error:
            if not failures.says_busy(error) or time.monotonic() >= deadline:
                raise
            time.sleep(0.002 + 0.01 * random.random())
