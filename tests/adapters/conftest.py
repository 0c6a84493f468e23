"""What the tests of adapters share: a database of each engine, a persona of their own."""

import itertools
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from core import Scope, open_database
from core.database.engine import Database

os.environ.setdefault("OPENAI_AGENTS_DISABLE_TRACING", "1")  # nothing is sent to anybody
_personas = itertools.count(1)


@pytest.fixture
def broken_db(tmp_path: Path) -> Iterator[Database]:
    """A database that lost its tables after it was opened."""
    file = tmp_path / "broken.db"
    with closing(open_database(f"sqlite:///{file}")) as handle:
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                if not name.startswith("sqlite_"):
                    connection.execute(f"DROP TABLE IF EXISTS {name}")
        yield handle


@pytest.fixture
def persona() -> str:
    return f"adapted{next(_personas)}"


@pytest.fixture
def ann(persona: str) -> Scope:
    return Scope(persona, "web/ann", "web/ann", privacy="direct")


@pytest.fixture
def bob(persona: str) -> Scope:
    return Scope(persona, "web/bob", "web/bob", privacy="direct")
