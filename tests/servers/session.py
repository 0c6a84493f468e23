"""What one test session does with the servers: which it covers, how they start, what parallel workers get.

Called by `tests/conftest.py`. The controller of a parallel run starts the servers and gives their URLs to its workers,
each of which makes databases of its own; without workers a server starts when the first collected test needs it.
"""

import contextlib
import re
import sqlite3
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Self

import pymysql

from tests.servers import SERVERS
from tests.servers.base import Reachable, Server, ServerError
from tests.servers.packages import is_debian

SQLITE = "sqlite"


def short_name(version: str) -> str:
    """Return an engine name for what SELECT VERSION() says.

    >>> short_name("8.0.11-TiDB-v8.5.1"), short_name("8.0.40"), short_name("11.8.2-MariaDB-log")
    ('tidb-8.5', 'mysql-8.0', 'mariadb-11.8')
    """
    for word, name in (("TiDB-v", "tidb"), ("OceanBase[^0-9]*", "oceanbase"), ("seekdb-v", "seekdb")):
        if match := re.search(word + r"(\d+\.\d+)", version, re.IGNORECASE):
            return f"{name}-{match[1]}"
    number = ".".join(version.split(".")[:2])
    kind = next((word for word in ("mariadb", "vitess") if word in version.lower()), "mysql")
    return f"{kind}-{number}"


def _reach(url: str) -> Reachable:
    """Return the server at a URL from TEST_DATABASE_URL; raises ServerError when it does not answer."""
    server = Reachable("extra", url)
    try:
        version = server.scalar("SELECT VERSION()")
    except (pymysql.err.Error, OSError) as error:
        raise ServerError(f"TEST_DATABASE_URL names a server that does not answer ({error})") from error
    return Reachable(short_name(version), url, version)


class Session:
    def __init__(self, names: Iterable[str], problems: Iterable[str] = (), extras: Iterable[Reachable] = ()) -> None:
        self.names = list(names)
        self.problems = list(problems)
        self._ready: dict[str, Reachable] = {}
        self._starting: dict[str, Future[Server]] = {}
        self._threads = ThreadPoolExecutor(max_workers=len(SERVERS), thread_name_prefix="server")
        for extra in extras:
            extra.name = self._unused(extra.name)
            self._ready[extra.name] = extra
            self.names.append(extra.name)
        self._extras = tuple(self._ready)

    def _unused(self, name: str) -> str:
        numbers = (f"{name}{suffix}" for suffix in ("", *(f"-{n}" for n in range(2, 100))))
        return next(candidate for candidate in numbers if candidate not in self.names)

    @classmethod
    def planned(cls, environ: Mapping[str, str]) -> Self:
        """Return the session that TEST_SERVERS and TEST_DATABASE_URL ask for; nothing is started."""
        problems, extras = [], []
        for url in filter(None, (part.strip() for part in environ.get("TEST_DATABASE_URL", "").split(","))):
            try:
                extras.append(_reach(url))
            except ServerError as error:
                problems.append(str(error))
        chosen = [part.strip() for part in environ.get("TEST_SERVERS", "").split(",") if part.strip()]
        if unknown := [name for name in chosen if name not in (SQLITE, *SERVERS)]:
            problems.append(f"TEST_SERVERS names {', '.join(unknown)}; it may name {', '.join((SQLITE, *SERVERS))}")
        # Debian has all three, so there a missing one is a fault; elsewhere what is here must do.
        wanted = [n for n in SERVERS if (n in chosen if chosen else is_debian() or SERVERS[n].available())]
        missing = [name for name in wanted if not SERVERS[name].available()]
        if missing:
            problems.append(f"no {', '.join(missing)} on this machine; run: python -m tests.servers install")
        if not chosen and not wanted and not extras:
            problems.append("no database server found; install the package pylibseekdb or set TEST_DATABASE_URL")
        sqlite = [SQLITE] if not chosen or SQLITE in chosen else []
        return cls([*sqlite, *wanted], problems, extras)

    @classmethod
    def received(cls, handed: Mapping[str, Any]) -> Self:
        session = cls(handed["names"])
        session._ready = {where[0]: Reachable(*where) for where in handed["servers"]}
        session._extras = tuple(handed["extras"])
        return session

    def hand_over(self) -> dict[str, Any]:
        """Start everything and return it in plain values for a worker."""
        self.start(self.names)
        servers = [self.server(name) for name in self.names if name != SQLITE]
        where = [[server.name, server.url, server.version] for server in servers]
        return {"names": self.names, "servers": where, "extras": [*self._extras]}

    def start(self, names: Iterable[str]) -> None:
        """Begin to start these servers, side by side, without waiting for them."""
        for name in names:
            if name != SQLITE and name not in self._ready and name not in self._starting:
                self._starting[name] = self._threads.submit(SERVERS[name]().start)

    def server(self, name: str) -> Reachable:
        if name not in self._ready:
            self.start([name])
            self._ready[name] = self._starting[name].result()
        return self._ready[name]

    def is_extra(self, name: str) -> bool:
        """Tell whether this is somebody's own server, where databases must not be left behind."""
        return name in self._extras

    def describe(self) -> str:
        return ", ".join(f"{name} {self._version(name)}" for name in self.names)

    def _version(self, name: str) -> str:
        if name == SQLITE:
            return sqlite3.sqlite_version
        if name in self._ready:
            return self._ready[name].version
        return SERVERS[name].program_version() if SERVERS[name].available() else "(missing)"

    def stop(self) -> None:
        for future in self._starting.values():
            with contextlib.suppress(Exception):
                future.result().stop()
        self._starting.clear()
        self._threads.shutdown()
