"""Write a consistent copy of the database into a private file, and restore it. Called by `cli.db`."""

import shlex
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any

from ..base.whole_file import replace_file
from ..database.connections import Target, check_new_file
from ..database.engine import Database
from ..database.schema import TABLES
from ..errors import StoreError
from . import inspection, migration

CLIENTS = ("mariadb", "mysql")
DUMP_OPTIONS = ("--single-transaction", "--no-tablespaces", "--hex-blob", "--skip-add-locks")
"""Options of the dump tool. Restoring a dump with table locks would need the permission LOCK TABLES."""
OWN_OPTIONS = {"loose-set-gtid-purged": "OFF", "loose-column-statistics": "0"}
"""Options without which mysqldump needs server-wide permissions or MySQL's tables; other tools skip `loose-` ones."""
DUMP_ENDS, _TAIL = b"-- Dump completed", 200
"""Prefix of the last line of every dump, and the number of bytes at its end in which to look for this line."""

SQLITE_BEGINS = b"SQLite format 3\0"
_OTHER_KIND = {
    True: "is a SQLite file, and a server takes none: run `prompt-engine db copy sqlite:///FILE TARGET --tokens`",
    False: "is no SQLite file: a dump of a server goes to a server, from which `prompt-engine db copy` reads",
}


def write_backup(db: Database, target: Path, *, overwrite: bool = False) -> int:
    """Copy a SQLite file, or dump a server as SQL; return the size in bytes. After an error there is no file."""
    if target.exists() and not overwrite:
        raise StoreError(f"{str(target)!r} is there already. Name another file, or replace it with --force.", source="")
    try:
        with replace_file(target, mode=0o600) as part:
            if db.family == "sqlite":
                source = Path(str(db.target.url.database or ""))
                if db.target.in_memory or not source.is_file():
                    raise StoreError(f"There is no file of {db.target.shown} to copy.", source="DATABASE_URL")
                _copy_file(source, part)
            else:
                missing = TABLES.keys() - inspection.list_names(inspection.read_facts(db))  # a dump leaves them out
                if missing and not migration.list_pending(db):
                    what = f"The user may not read {', '.join(sorted(missing))}, or they are missing"
                    raise StoreError(f"{what}. Nothing was written. Run `prompt-engine db check`.", source="")
                with part.open("wb") as stream:
                    _run_tool(("mariadb-dump", "mysqldump"), DUMP_OPTIONS, db.target, stdout=stream)
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise StoreError(f"{str(target)!r} cannot be written: {reason}.", source="") from None
    return target.stat().st_size


def restore_backup(file: Path, db: Database) -> None:
    """Restore a backup into a database that is missing or empty."""
    try:
        with file.open("rb") as stream:
            is_sqlite = stream.read(len(SQLITE_BEGINS)) == SQLITE_BEGINS
            stream.seek(max(0, file.stat().st_size - _TAIL))
            last_line = stream.read().rstrip().rpartition(b"\n")[2]
        if is_sqlite != (db.family == "sqlite"):
            raise StoreError(f"{str(file)!r} {_OTHER_KIND[is_sqlite]}.", source="FILE")
        if not is_sqlite and not last_line.startswith(DUMP_ENDS):
            raise StoreError(
                f"{str(file)!r} does not end with {DUMP_ENDS.decode()!r}: it is a part of a dump. Nothing was changed. "
                "Name a whole backup; give a dump that was made without comments to the server's client yourself.",
                source="FILE",
            )
        names = {} if db.target.is_missing else inspection.list_names(inspection.read_facts(db))
        if names or (is_sqlite and not db.target.is_missing):
            what = f"holds {len(names)} tables" if names else "is there already"
            raise StoreError(f"{db.target.shown} {what}. Nothing was changed. Name an empty database.", source="TARGET")
        if is_sqlite:
            check_new_file(db.target)
            path = Path(str(db.target.url.database))
            with replace_file(path, mode=0o600) as part:
                _copy_file(file, part)
            _compare_files(file, path)
        else:
            with file.open("rb") as stream:
                _run_tool(CLIENTS, (), db.target, stdin=stream)
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise StoreError(f"{str(file)!r} cannot be restored: {reason}.", source="FILE") from None


def _copy_file(source: Path, part: Path) -> None:
    with closing(sqlite3.connect(source)) as original, closing(sqlite3.connect(part)) as copy:
        try:
            copy.execute("PRAGMA journal_mode = OFF")  # a part is removed after a failure, and its journal is not
            original.backup(copy, pages=4096)
            copy.execute("PRAGMA journal_mode = DELETE")  # with WAL a copy could not be read from a read-only folder
            if copy.execute("PRAGMA quick_check(1)").fetchone() == ("ok",):
                return
        except sqlite3.DatabaseError as error:
            if type(error) is not sqlite3.DatabaseError:  # a subclass is another cause, such as a full disk
                raise
    what = f"{str(source)!r} is damaged. Restore an earlier backup, or try `sqlite3 FILE .recover`."
    raise StoreError(what, source="FILE")


def _compare_files(file: Path, target: Path) -> None:
    """Raise if a table of `target` differs from the same table of the backup `file`."""
    with closing(sqlite3.connect(file)) as original, closing(sqlite3.connect(target)) as copy:
        original.text_factory = copy.text_factory = bytes
        for (name,) in original.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            table = name.decode()
            rows = f'SELECT * FROM "{table}"'  # noqa: S608 - a name of the schema
            if any(one != other for one, other in zip_longest(original.execute(rows), copy.execute(rows))):
                what = f"{str(target)!r} differs from {str(file)!r} in {table}"
                raise StoreError(f"{what}. Stop what writes to it, remove it, and restore again.", source="TARGET")


def _run_tool(tools: Sequence[str], options: Sequence[str], target: Target, **streams: Any) -> None:
    tool = next(filter(None, map(shutil.which, tools)), None)
    if tool is None:
        address = (f"--{name}={value}" for name, value in _address(target).items())
        command = shlex.join([tools[0], *options, *address, "-p", str(target.url.database)])
        what = f"Neither {' nor '.join(tools)} is installed here. Install one, or run where the server is: {command}"
        raise StoreError(what, source="DATABASE_URL")
    with _login_file(target) as login:
        arguments = [tool, f"--defaults-file={login}", *options, str(target.url.database)]
        done = subprocess.run(arguments, stderr=subprocess.PIPE, check=False, **streams)  # noqa: S603
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit code {done.returncode}"]
        then = ". Empty the target, which may hold a part of the backup, and try again." if tools is CLIENTS else ""
        raise StoreError(f"{Path(tool).name} failed: {said[-1]}{then}", source="DATABASE_URL")


def _address(target: Target) -> dict[str, str]:
    url = target.url
    place = {"host": url.host or "localhost", "port": str(url.port or 3306)}
    if "unix_socket" in url.query:
        place = {"socket": str(url.query["unix_socket"])}
    return {**place, "user": url.username or ""}


@contextmanager
def _login_file(target: Target) -> Iterator[str]:
    """Yield an option file with address, password and encryption, since other processes can read command lines."""
    options = _address(target)
    if target.url.password:  # with `password` but no value, a client asks for one
        options["password"] = str(target.url.password)
    options |= _encryption(target) | OWN_OPTIONS
    with tempfile.TemporaryDirectory() as folder:  # the folder is private, and so is its file
        file = Path(folder) / "login.cnf"
        escapes = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
        lines = [f'{name}="{value.translate(escapes)}"' if value else name for name, value in options.items()]
        file.write_text("\n".join(["[client]", *lines, ""]), encoding="utf-8")
        yield str(file)


def _encryption(target: Target) -> dict[str, str]:
    mode, query = target.tls_mode, target.url.query
    options = {"loose-ssl-mode": {"off": "DISABLED", "on": "REQUIRED"}.get(mode, "VERIFY_IDENTITY")}
    # without TLS, MySQL's log-in encrypts the password with the server's key, as PyMySQL does
    off = {"loose-skip-ssl": "", "loose-get-server-public-key": "1"}
    options |= off if mode == "off" else {"loose-ssl": "1"}
    options["loose-ssl-verify-server-cert"] = "1" if mode == "verify" else "0"
    return options | ({"ssl-ca": str(query["tls_ca"])} if "tls_ca" in query else {})
