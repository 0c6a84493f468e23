"""Databases of a size on every engine, made once and kept in `.bench/` for later runs.

A folder there is named after the generator's version and its tables, so that a change of either makes new databases.
`Bench` starts the servers, makes what is missing and hands out database handles. Each size is indexed once, on SQLite;
a server gets a copy of its tables.
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
from core.database.dialects import Key, StoredBytes
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
        if self.rebuild or not self._mark(SQLITE, size).exists():
            self._mark(SQLITE, size).unlink(missing_ok=True)
            self._fill_sqlite(size)
            self._mark(SQLITE, size).touch()
        for engine in missing:
            if engine != SQLITE:
                self._mark(engine, size).unlink(missing_ok=True)
                with _timed(f"{size:,}: copied to {engine}"):
                    self._copy(engine, size)
                self._mark(engine, size).touch()

    def _mark(self, engine: str, size: int) -> Path:
        return self.folder / f"{engine}-{size}.done"

    def _fill_sqlite(self, size: int) -> None:
        files = self.folder / f"files-{size}"
        path = self.folder / f"{size}.db"
        for part in path.parent.glob(path.name + "*"):
            part.unlink()
        try:
            with _timed(f"{size:,}: generated"):
                Generator(size, progress=say).write(files)
            self.db(SQLITE, size)
            self._open.pop((SQLITE, size)).close()
            with _timed(f"{size:,}: loaded into {SQLITE}"):
                load_sqlite(path, files)
            with _timed(f"{size:,}: indexed and packed"):
                core_db.reindex(self.db(SQLITE, size))
                core_db.pack_index(self.db(SQLITE, size))
        finally:
            shutil.rmtree(files, ignore_errors=True)

    def _copy(self, engine: str, size: int) -> None:
        server, name = self.server(engine), f"bench_{size}"
        server.create_database(name)
        self.db(engine, size)  # makes the tables
        copy_tables(self.folder / f"{size}.db", server, name)


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


def copy_tables(file: Path, server: Server, database: str) -> None:
    """Copy every row of an SQLite file, with the packed index, to an empty, migrated database of a server."""
    rows = file.with_suffix(f".{server.name}.tsv")
    with (
        contextlib.closing(sqlite3.connect(file)) as source,
        server.connect(database, local_infile=True, read_timeout=3600) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("SET unique_checks = 0, foreign_key_checks = 0")
        for name in (each for each in TABLES if each != "schema_version"):
            columns = [(column.name, isinstance(column.type, Key | StoredBytes)) for column in TABLES[name].columns]
            if not write_rows(source, name, columns, rows):
                continue
            say(f"  {name}")
            fields = ", ".join(f"@{column}" if binary else column for column, binary in columns)
            then = ", ".join(f"{column} = UNHEX(@{column})" for column, binary in columns if binary)
            load = f"LOAD DATA LOCAL INFILE '{rows}' INTO TABLE {name} CHARACTER SET utf8mb4 ({fields})"
            cursor.execute(f"{load} SET {then}" if then else load)
            cursor.execute("SHOW WARNINGS")
            for level, _, text in cursor.fetchall()[:3]:
                raise RuntimeError(f"{name}: {level}: {text}")
            connection.commit()
            cursor.execute(f"ANALYZE TABLE {name}")
            cursor.fetchall()
    rows.unlink(missing_ok=True)


def write_rows(source: sqlite3.Connection, table: str, columns: Sequence[tuple[str, bool]], path: Path) -> int:
    """Write the rows of a table for LOAD DATA, and return their number.

    Args:
        columns: name of each, and whether it is binary and written in hex digits.
    """
    count = 0
    with path.open("w", encoding="utf-8", newline="\n", buffering=1 << 20) as file:
        for row in source.execute(f"SELECT {', '.join(column for column, _ in columns)} FROM {table}"):
            fields = [_field(value, binary) for value, (_, binary) in zip(row, columns, strict=True)]
            file.write("\t".join(fields) + "\n")
            count += 1
    return count


def _field(value: object, binary: bool) -> str:
    if value is None:
        return generator.NULL
    if binary:
        return (value if isinstance(value, bytes) else str(value).encode()).hex()
    return str(value).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def parsed_sizes(text: str) -> list[int]:
    """Return the sizes of a command line.

    >>> parsed_sizes("10k,1m, 500")
    [10000, 1000000, 500]
    """
    units = {"k": 1000, "m": 1_000_000}
    words: Iterable[str] = (part.strip().lower() for part in text.split(",") if part.strip())
    return [int(word[:-1]) * units[word[-1]] if word[-1] in units else int(word) for word in words]
