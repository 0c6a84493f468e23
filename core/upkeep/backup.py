"""A consistent copy of the database while others write to it, readable by its owner alone. Called by `db backup`."""

from __future__ import annotations

import shlex
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ..base.whole_file import replace_file
from ..database.connections import Target
from ..database.engine import Database
from ..errors import StoreError

DUMP_TOOLS = ("mariadb-dump", "mysqldump")
DUMP_OPTIONS = ("--single-transaction", "--no-tablespaces", "--hex-blob")
OWN_OPTIONS = (("loose-set-gtid-purged", "OFF"), ("loose-column-statistics", "0"))
"""What mysqldump needs rights on the whole server for, or tables of MySQL alone; a tool ignores `loose-` it lacks."""


def write_backup(db: Database, target: Path, *, overwrite: bool = False) -> int:
    """Write the whole database into a file, or nothing, and return the bytes of the file.

    A SQLite file is copied; of a server `mariadb-dump` or `mysqldump`, whichever is installed, writes SQL.

    Raises:
        StoreError: the file is there already or cannot be written; no tool is installed; the tool failed.
    """
    if target.exists() and not overwrite:
        raise StoreError(f"{str(target)!r} is there already. Name another file, or replace it with --force.", source="")
    try:
        with replace_file(target, mode=0o600) as part:
            if db.family == "sqlite":
                _copy_file(db, part)
            else:
                _dump_server(db.target, part)
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise StoreError(f"{str(target)!r} cannot be written: {reason}.", source="") from None
    return target.stat().st_size


def _copy_file(db: Database, part: Path) -> None:
    source = Path(str(db.target.url.database or ""))
    if db.target.in_memory or not source.is_file():
        raise StoreError(f"There is no file of {db.target.shown} to copy.", source="DATABASE_URL")
    with closing(sqlite3.connect(source)) as original, closing(sqlite3.connect(part)) as copy:
        original.backup(copy, pages=4096)


def _dump_server(target: Target, part: Path) -> None:
    tool = next(filter(None, map(shutil.which, DUMP_TOOLS)), None)
    if tool is None:
        command = shlex.join([DUMP_TOOLS[0], *DUMP_OPTIONS, *_address(target), "-p", str(target.url.database)])
        raise StoreError(
            f"Neither {' nor '.join(DUMP_TOOLS)} is installed here. Install one, or run where the server is: {command}",
            source="DATABASE_URL",
        )
    with _login_file(target) as login, part.open("wb") as stream:
        arguments = [tool, f"--defaults-file={login}", *DUMP_OPTIONS, str(target.url.database)]
        done = subprocess.run(arguments, stdout=stream, stderr=subprocess.PIPE, check=False)  # noqa: S603
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit code {done.returncode}"]
        raise StoreError(f"{Path(tool).name} failed: {said[-1]}", source="DATABASE_URL")


def _address(target: Target) -> list[str]:
    url = target.url
    if "unix_socket" in url.query:
        return [f"--socket={url.query['unix_socket']}", f"--user={url.username or ''}"]
    return [f"--host={url.host or 'localhost'}", f"--port={url.port or 3306}", f"--user={url.username or ''}"]


@contextmanager
def _login_file(target: Target) -> Iterator[str]:
    """Yield an option file with address, password and encryption: on a command line every process could read them."""
    options = [option.removeprefix("--").partition("=")[::2] for option in _address(target)]
    options += [("password", target.url.password or ""), *_encryption(target), *OWN_OPTIONS]
    with tempfile.NamedTemporaryFile("w", suffix=".cnf", encoding="utf-8") as file:
        lines = [f'{name}="{_escape(str(value))}"' if value else name for name, value in options]
        file.write("\n".join(["[client]", *lines, ""]))
        file.flush()
        yield file.name


def _encryption(target: Target) -> list[tuple[str, str]]:
    """Return the options for `tls` and `tls_ca` of the URL."""
    mode, query = target.tls_mode, target.url.query
    options = [("loose-ssl-mode", {"off": "DISABLED", "on": "REQUIRED"}.get(mode, "VERIFY_IDENTITY"))]
    options += [("loose-skip-ssl", "")] if mode == "off" else [("loose-ssl", "1")]
    options += [("loose-ssl-verify-server-cert", "1" if mode == "verify" else "0")]
    return options + ([("ssl-ca", str(query["tls_ca"]))] if "tls_ca" in query else [])


def _escape(value: str) -> str:
    """Return a value as an option file has it between quotes."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
