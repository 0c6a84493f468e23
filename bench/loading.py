"""Databases of a size on every engine, made once and kept in `.bench/` for later runs.

A folder there is named after the generator's version and its tables, so that a change of either makes new databases.
`Bench` starts the servers, loads what is missing and hands out database handles.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import shutil
import sqlite3
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from bench import generator
from bench.generator import COLUMNS, NOW, Generator
from core import db as core_db
from core.database.engine import Database
from core.database.schema import TABLES
from core.upkeep import ddl
from tests.servers import SERVERS, Server

HOME = Path(__file__).resolve().parents[1] / ".bench"
SQLITE = "sqlite"
ENGINES = (SQLITE, "mariadb", "mysql")
BUFFER_POOL = "2500M"
_HEX = "content_hash"


def say(text: str) -> None:
    """Tell the person who waits."""
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def key() -> str:
    """Return the name of the folder for this generator and the tables of this version."""
    filled = [ddl.create_table(table, family) for table in TABLES.values() for family in ("sqlite", "mysql")]
    return f"v{generator.VERSION}-{hashlib.sha256(''.join(filled).encode()).hexdigest()[:10]}"


_MADE_HERE = re.compile(r"v[\w.]+-[0-9a-f]{10}")
"""What `key` names; whatever else lies beside is not ours."""


def remove_former(home: Path, current: Path) -> None:
    """Remove the databases of former generators and schemas."""
    for old in sorted(home.iterdir()):
        if old.is_dir() and old != current and _MADE_HERE.fullmatch(old.name):
            say(f"removing {old.name}: made for another generator or schema")
            shutil.rmtree(old)


class Bench:
    """The databases of one run, as a context manager.

    Args:
        engines: names out of ENGINES.
        sizes: numbers of memories.
        rebuild: make the databases again.
    """

    def __init__(self, engines: Sequence[str], sizes: Sequence[int], *, rebuild: bool = False) -> None:
        self.engines, self.sizes, self.rebuild = list(engines), sorted(sizes), rebuild
        self.folder = HOME / key()
        self._servers: dict[str, Server] = {}
        self._open: dict[tuple[str, int], Database] = {}

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        remove_former(HOME, self.folder)
        try:
            for size in self.sizes:
                self._prepare(size)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for db in self._open.values():
            db.close()
        self._open.clear()
        for server in self._servers.values():
            server.stop()
        self._servers.clear()

    def server(self, engine: str) -> Server:
        """Return a running server; its data stays in the folder."""
        if engine not in self._servers:
            redo = {"mariadb": {"innodb_log_file_size": "1G"}, "mysql": {"innodb_redo_log_capacity": "2G"}}[engine]
            options = {"innodb_buffer_pool_size": BUFFER_POOL, "local_infile": 1, **redo}
            self._servers[engine] = SERVERS[engine](options=options, data_dir=self.folder / engine).start()
        return self._servers[engine]

    def url(self, engine: str, size: int) -> str:
        """Return where the database of a size is."""
        if engine == SQLITE:
            return f"sqlite:///{self.folder / f'{size}.db'}"
        return self.server(engine).url_for(f"bench_{size}")

    def db(self, engine: str, size: int) -> Database:
        """Return a handle whose clock stands at the time of the newest row."""
        if (engine, size) not in self._open:
            made = Database(self.url(engine, size), clock=lambda: NOW, timeout_seconds=600)
            core_db.migrate(made)
            self._open[engine, size] = made
        return self._open[engine, size]

    # Making them

    def _prepare(self, size: int) -> None:
        missing = [e for e in self.engines if self.rebuild or not self._mark(e, size).exists()]
        if not missing:
            return
        files = self.folder / f"files-{size}"
        try:
            with _timed(f"{size:,}: generated"):
                Generator(size, progress=say).write(files)
            for engine in missing:
                self._mark(engine, size).unlink(missing_ok=True)
                with _timed(f"{size:,}: loaded into {engine}"):
                    self._load(engine, size, files)
                with _timed(f"{size:,}: indexed and packed on {engine}"):
                    core_db.reindex(self.db(engine, size))
                    core_db.pack_index(self.db(engine, size))
                self._mark(engine, size).touch()
        finally:
            shutil.rmtree(files, ignore_errors=True)

    def _mark(self, engine: str, size: int) -> Path:
        return self.folder / f"{engine}-{size}.done"

    def _load(self, engine: str, size: int, files: Path) -> None:
        if engine == SQLITE:
            path = self.folder / f"{size}.db"
            for part in path.parent.glob(path.name + "*"):
                part.unlink()
        else:
            self.server(engine).create_database(f"bench_{size}")
        made = Database(self.url(engine, size), clock=lambda: NOW, timeout_seconds=3600)
        core_db.migrate(made)
        made.close()
        if engine == SQLITE:
            load_sqlite(self.folder / f"{size}.db", files)
        else:
            load_server(self.server(engine), f"bench_{size}", files)


@contextlib.contextmanager
def _timed(what: str) -> Iterator[None]:
    began = time.perf_counter()
    yield
    say(f"{what} in {time.perf_counter() - began:.0f} s")


def _rows(path: Path, columns: Sequence[str]) -> Iterator[list[str | bytes | None]]:
    hashed = columns.index(_HEX) if _HEX in columns else None
    with path.open(encoding="utf-8", newline="\n", buffering=1 << 20) as file:
        for line in file:
            fields: list[str | bytes | None] = list(line[:-1].split("\t"))
            if "\\N" in line:
                fields = [None if f == generator.NULL else f for f in fields]
            if hashed is not None:
                fields[hashed] = bytes.fromhex(str(fields[hashed]))
            yield fields


def load_sqlite(file: Path, files: Path) -> None:
    """Fill an empty, migrated SQLite file; its secondary indexes are made after the rows."""
    connection = sqlite3.connect(file, isolation_level=None)
    for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -400000", "locking_mode = EXCLUSIVE"):
        connection.execute(f"PRAGMA {pragma}")
    found = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND tbl_name = ?"
    for table, columns in COLUMNS.items():
        say(f"  {table}")
        indexes = connection.execute(found, (table,)).fetchall()
        for name, _ in indexes:
            connection.execute(f"DROP INDEX {name}")
        connection.execute("BEGIN")
        values = ", ".join("?" * len(columns))
        insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({values})"
        connection.executemany(insert, _rows(files / f"{table}.tsv", columns))
        connection.execute("COMMIT")
        for _, statement in indexes:
            connection.execute(statement)
    connection.execute("PRAGMA locking_mode = NORMAL")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()


def load_server(server: Server, database: str, files: Path) -> None:
    """Fill an empty, migrated database of a server."""
    with server.connect(database, local_infile=True, read_timeout=3600) as connection, connection.cursor() as cursor:
        cursor.execute("SET unique_checks = 0, foreign_key_checks = 0")
        if server.name == "mysql":
            cursor.execute("ALTER INSTANCE DISABLE INNODB REDO_LOG")
        for table, columns in COLUMNS.items():
            say(f"  {table}")
            names = [f"@{name}" if name == _HEX else name for name in columns]
            then = f" SET {_HEX} = UNHEX(@{_HEX})" if _HEX in columns else ""
            cursor.execute(
                f"LOAD DATA LOCAL INFILE '{files / table}.tsv' INTO TABLE {table} CHARACTER SET utf8mb4 "
                f"FIELDS TERMINATED BY '\\t' LINES TERMINATED BY '\\n' ({', '.join(names)}){then}"
            )
            cursor.execute("SHOW WARNINGS")
            for level, _, text in cursor.fetchall()[:3]:
                raise RuntimeError(f"{table}: {level}: {text}")
        if server.name == "mysql":
            cursor.execute("ALTER INSTANCE ENABLE INNODB REDO_LOG")
        connection.commit()
        cursor.execute(f"ANALYZE TABLE {', '.join(COLUMNS)}")
        cursor.fetchall()


def parsed_sizes(text: str) -> list[int]:
    """Return the sizes of a command line.

    >>> parsed_sizes("10k,1m, 500")
    [10000, 1000000, 500]
    """
    units = {"k": 1000, "m": 1_000_000}
    words: Iterable[str] = (part.strip().lower() for part in text.split(",") if part.strip())
    return [int(word[:-1]) * units[word[-1]] if word[-1] in units else int(word) for word in words]
