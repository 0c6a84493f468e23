"""Owns the life of one database server: start, stop, kill, restart, and what a test needs to reach it.

`Reachable` is a server somebody else runs (another process of this suite, or the person who set TEST_DATABASE_URL);
`Server` is one that this process starts on loopback or a socket, with its data in a temporary folder. A server that is
started here is ended here, by its own pid, also when this process dies without a word (see `_watch`).
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import pymysql
from sqlalchemy.engine import URL, make_url

START_SECONDS = 120.0
"""Longest wait for a server to answer; a healthy one needs 0.3 to 2 seconds, a loaded machine many times that."""

STOP_SECONDS = 60.0
"""Longest wait for a clean shutdown before the server is killed."""

Options = Mapping[str, str | int | None]


class ServerError(RuntimeError):
    """A database server for the tests could not be obtained, started or reached."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Reachable:
    """A server that answers at `url`; knows how to make databases there, not how to run it."""

    def __init__(self, name: str, url: str | URL, version: str = "") -> None:
        self.name = name
        self._url = make_url(url)
        self._version = version

    @property
    def url(self) -> str:
        """SQLAlchemy URL without a database name, for example mysql+pymysql://root@127.0.0.1:40123."""
        return self._url.render_as_string(hide_password=False)

    @property
    def version(self) -> str:
        """What SELECT VERSION() says, or what the program says of itself before it runs."""
        return self._version or self.scalar("SELECT VERSION()")

    def url_for(self, database: str) -> str:
        return self._url.set(database=database).render_as_string(hide_password=False)

    def connect(self, database: str | None = None, **options: Any) -> "pymysql.Connection[Any]":
        """Return an autocommitting PyMySQL connection without TLS (these are loopback and socket servers)."""
        where: dict[str, Any] = {"user": self._url.username, "password": self._url.password or ""}
        where |= {"host": self._url.host or "127.0.0.1", "port": self._url.port or 3306}
        where |= {"database": database, "autocommit": True, "ssl_disabled": True, "charset": "utf8mb4"}
        if "unix_socket" in self._url.query:
            where["unix_socket"] = str(self._url.query["unix_socket"])
        return pymysql.connect(**where | options)

    def execute(self, statement: str) -> tuple[tuple[Any, ...], ...]:
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return tuple(cursor.fetchall())

    def scalar(self, statement: str) -> str:
        return str(self.execute(statement)[0][0])

    def create_database(self, name: str) -> str:
        """Make an empty utf8mb4 database, replacing one of that name, and return its URL."""
        quoted = "`" + name.replace("`", "``") + "`"
        self.execute(f"DROP DATABASE IF EXISTS {quoted}")
        self.execute(f"CREATE DATABASE {quoted} CHARACTER SET utf8mb4")
        return self.url_for(name)

    def drop_database(self, name: str) -> None:
        self.execute("DROP DATABASE IF EXISTS `" + name.replace("`", "``") + "`")


class Server(Reachable):
    """A server run by this process. Subclasses say how it is obtained and with which command it starts.

    Args:
        options: server variables that replace or add to the defaults, named as in its documentation with underscores;
            a value of None gives the bare option (`{"skip_networking": None}`).
        durable: True flushes every commit to the disk, for tests that kill the server; False is quicker.
        data_dir: where the data lives; None takes a temporary folder that goes away with `stop()`.
    """

    NAME: ClassVar[str]

    def __init__(self, *, options: Options | None = None, durable: bool = False, data_dir: Path | None = None) -> None:
        super().__init__(self.NAME, "mysql+pymysql://root@127.0.0.1")
        self.options = dict(options or {})
        self.durable = durable
        self._given_dir = data_dir
        self._folder: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._watcher: subprocess.Popen[bytes] | None = None

    # What a subclass fills in.

    @classmethod
    def available(cls) -> bool:
        """Tell whether the program is here already, without downloading anything."""
        raise NotImplementedError

    @classmethod
    def program_version(cls) -> str:
        """Return what the program says of itself, without starting a server."""
        raise NotImplementedError

    @classmethod
    def install(cls, *, refresh: bool = False) -> str:
        """Obtain the program if it is missing and return one sentence about where it came from."""
        raise NotImplementedError

    def _prepare(self) -> None:
        """Lay out the data folder unless it holds a database already."""
        raise NotImplementedError

    def _command(self) -> Sequence[str]:
        raise NotImplementedError

    def _address(self) -> URL:
        """Choose where this start will listen."""
        raise NotImplementedError

    def _environment(self) -> dict[str, str]:
        return dict(os.environ)

    # What callers use.

    @property
    def folder(self) -> Path:
        if self._folder is None:
            if self._given_dir is not None:
                self._given_dir.mkdir(parents=True, exist_ok=True)
            self._folder = (self._given_dir or Path(tempfile.mkdtemp(prefix=f"test-{self.NAME}-"))).resolve()
        return self._folder

    @property
    def log_path(self) -> Path:
        return self.folder / "server.log"

    @property
    def pid(self) -> int:
        if self._process is None or self._process.poll() is not None:
            raise ServerError(f"{self.NAME} is not running")
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def log_tail(self, lines: int = 30) -> str:
        if self._folder is None or not self.log_path.exists():
            return ""
        return "\n".join(self.log_path.read_text(errors="replace").splitlines()[-lines:])

    def start(self) -> Self:
        """Start on the same data as before, wait until it answers, and return itself."""
        if self.running:
            return self
        self._prepare()
        for attempt in (1, 2, 3):
            self._url = self._address()
            self._spawn()
            try:
                self._wait()
                break
            except ServerError:
                self.kill()
                if attempt == 3 or "already in use" not in self.log_tail():
                    raise
        self._version = self.scalar("SELECT VERSION()")
        return self

    def kill(self) -> None:
        """End the server with SIGKILL, as a power cut would; the data stays for `start()`."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._process = None
        self._unwatch()

    def stop(self) -> None:
        """End the server, and its temporary folder with it; only a data folder that was given needs a clean end."""
        if self._given_dir is not None:
            self.shut_down()
        self.kill()
        if self._folder is not None and self._given_dir is None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def shut_down(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_SECONDS)
        self.kill()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    # How it is done.

    def _spawn(self) -> None:
        with self.log_path.open("ab") as log:
            streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": subprocess.STDOUT}
            own = {"cwd": self.folder, "env": self._environment(), "start_new_session": True}
            self._process = subprocess.Popen(self._command(), **streams, **own)
        self._watch()

    def _watch(self) -> None:
        """Leave a helper that ends the server, and removes its temporary folder, if this process dies first.

        The helper reads a pipe whose only writing end is ours: when we are gone it reads the end of the file. A signal
        on the parent's death is no help, it follows the thread that started the server, not the process.
        """
        assert self._process is not None
        script = 'cat >/dev/null; kill -9 "$1" 2>/dev/null; [ -z "$2" ] || { sleep 1; rm -rf "$2"; }'
        folder = "" if self._given_dir is not None else str(self.folder)
        words, none = ["sh", "-c", script, "sh", str(self._process.pid), folder], subprocess.DEVNULL
        self._watcher = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=none, stderr=none, start_new_session=True)

    def _unwatch(self) -> None:
        if self._watcher is not None:
            os.killpg(self._watcher.pid, signal.SIGKILL)
            self._watcher.wait()
            if self._watcher.stdin is not None:
                self._watcher.stdin.close()
            self._watcher = None

    def _wait(self) -> None:
        assert self._process is not None
        last: Exception | None = None
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise ServerError(f"{self.NAME} ended with {self._process.returncode} at its start:\n{self.log_tail()}")
            try:
                self.scalar("SELECT 1")
                return
            except (pymysql.err.Error, OSError) as error:
                last = error
                time.sleep(0.05)
        raise ServerError(f"{self.NAME} did not answer in {START_SECONDS:.0f} s ({last}):\n{self.log_tail()}")
