"""OceanBase seekdb, whose program comes with the package `pylibseekdb`.

The program is started directly rather than through the package's `open()`, so that the tests know its pid, give it
their own sizes and can kill it. In its embedded mode it listens on a socket only (with a port it would listen on every
address), and ends when nobody holds a shared lock on `run/seekdb.clients`: the launcher holds it, as `open()` does.
"""

import contextlib
import functools
import importlib.util
import os
import re
import subprocess
from pathlib import Path
from typing import IO, ClassVar

from sqlalchemy.engine import URL

from tests.servers.base import Server, ServerError

with contextlib.suppress(ImportError):  # Windows, where none of these servers runs
    import fcntl


def _program() -> Path | None:
    spec = importlib.util.find_spec("pylibseekdb")
    path = Path(spec.origin).parent / "seekdb" if spec and spec.origin else None
    return path if path and path.exists() else None


@functools.cache
def _version_text(program: Path) -> str:
    result = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, env=_QUIET)
    return result.stdout + result.stderr


# It reports its start to its makers unless told not to.
_QUIET = {**os.environ, "TELEMETRY_ENABLED": "false"}


class SeekDB(Server):
    """A seekdb server on a Unix socket, user root without a password."""

    NAME: ClassVar[str] = "seekdb"
    _clients: IO[str] | None = None

    @classmethod
    def available(cls) -> bool:
        return _program() is not None

    @classmethod
    def program(cls) -> Path:
        if path := _program():
            return path
        raise ServerError("seekdb is not here; install the package pylibseekdb (it is in the extra `test`)")

    @classmethod
    def program_version(cls) -> str:
        match = re.search(r"seekdb ([0-9][0-9.]*)", _version_text(cls.program()))
        return match[1] if match else "?"

    @classmethod
    def install(cls, *, refresh: bool = False) -> str:
        return f"seekdb {cls.program_version()}, from the package pylibseekdb"

    def _environment(self) -> dict[str, str]:
        return dict(_QUIET)

    def _prepare(self) -> None:
        run = self.folder / "run"
        run.mkdir(exist_ok=True)
        # What a killed server leaves behind; the next one would wait for it.
        (run / "sql.sock").unlink(missing_ok=True)
        if self._clients is None:
            self._clients = (run / "seekdb.clients").open("a")
            fcntl.flock(self._clients, fcntl.LOCK_SH)

    def _address(self) -> URL:
        query = {"unix_socket": str(self.folder / "run" / "sql.sock")}
        return URL.create("mysql+pymysql", "root", host="localhost", query=query)

    def _command(self) -> list[str]:
        parameters = {"memory_budget": "1G", "log_disk_size": "2G", "datafile_size": "64M", **self.options}
        flags = [word for key, value in parameters.items() for word in ("--parameter", f"{key}={value}")]
        words = ["--embedded", "--nodaemon", f"--base-dir={self.folder}", "--log-level", "ERROR"]
        return [str(self.program()), *words, *flags]

    def log_tail(self, lines: int = 30) -> str:
        own = self.folder / "log" / "seekdb.log"
        written = own.read_text(errors="replace").splitlines()[-lines:] if own.exists() else []
        return "\n".join([super().log_tail(lines), *written])

    def stop(self) -> None:
        super().stop()
        if self._clients is not None:
            self._clients.close()
            self._clients = None
