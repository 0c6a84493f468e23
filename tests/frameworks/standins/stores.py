"""LangGraph's tests of stores (SQLite, Postgres, in memory) with our store in the place of theirs.

What their fixtures do to a server of theirs (make a database, drop a table) comes to nothing here; the statements with
which their tests put a row into the past change the row of ours.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from types import ModuleType, SimpleNamespace
from typing import Any

import langgraph.store.memory
from ours import SetAside, database, scope_of
from prompt_engine.adapters.langgraph import Store
from prompt_engine.database.schema import stored_values
from sqlalchemy import and_, func, select, update

_numbers = itertools.count()
_V = stored_values.c


class _Cursor:
    """Takes the statements of their tests that touch rows."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self._answer: dict[str, Any] = {}

    def execute(self, statement: str, given: tuple[Any, ...] = ()) -> None:
        words = " ".join(statement.split())
        if words.startswith("DROP TABLE"):
            return
        *before, prefix, key = given
        db = database()
        persona = self._store._by["scope"].persona
        namespace = "".join(f"{part}\x1f" for part in prefix.split("."))
        where = and_(_V.persona_id == persona, _V.namespace == namespace, _V.name == key)
        now = db.clock()
        if words.startswith("UPDATE store SET expires_at"):
            done = update(stored_values).where(where).values(expires_at=now - timedelta(minutes=1))
        elif words.startswith("UPDATE store SET updated_at"):
            done = update(stored_values).where(where).values(updated_at=now - timedelta(seconds=before[0]))
        else:
            asked = select(func.count().label("n"), func.max(_V.expires_at).label("expires_at")).where(where)
            with db.connection(source="frameworks") as connection:
                self._answer = dict(connection.execute(asked).mappings().one())
            return
        changed = db.transaction(lambda connection: connection.execute(done).rowcount, source="frameworks")
        assert changed == 1, (words, given, changed)

    def fetchone(self) -> dict[str, Any]:
        return self._answer


class _AsyncCursor(_Cursor):
    async def execute(self, *given: Any) -> None:  # type: ignore[override]
        super().execute(*given)

    async def fetchone(self) -> dict[str, Any]:  # type: ignore[override]
        return self._answer


class Ours(Store):
    """Our store, made as theirs are. It has no vectors: `index` names its fields alone."""

    __slots__ = ("MIGRATIONS", "embeddings", "index_config")

    def __init__(self, place: object = None, index: Any = None, ttl: Any = None) -> None:
        index = index or {}
        fields = index.get("fields") or index.get("text_fields")
        where = next(_numbers) if place in (None, ":memory:") else place
        super().__init__(db=database(), scope=scope_of(f"{os.getpid()}{where}"), fields=fields, ttl=ttl)
        self.index_config, self.embeddings, self.MIGRATIONS = index or None, index.get("embed"), []

    @classmethod
    @contextmanager
    def from_conn_string(cls, place: str, *, index: Any = None, ttl: Any = None, **_: Any) -> Iterator[Any]:
        yield cls(place, index, ttl)

    @contextmanager
    def _cursor(self) -> Iterator[_Cursor]:
        yield _Cursor(self)

    def setup(self) -> None:
        pass

    start_ttl_sweeper = stop_ttl_sweeper = setup


class OursAwaited(Ours):
    __slots__ = ()

    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, place: str, *, index: Any = None, ttl: Any = None, **_: Any) -> AsyncIterator[Any]:
        yield cls(place, index, ttl)

    @asynccontextmanager
    async def _cursor(self) -> AsyncIterator[_AsyncCursor]:
        yield _AsyncCursor(self)

    async def setup(self) -> None:  # type: ignore[override]
        pass

    async def sweep_ttl(self) -> int:  # type: ignore[override]
        return await asyncio.to_thread(Store.sweep_ttl, self)

    start_ttl_sweeper = stop_ttl_sweeper = setup  # type: ignore[assignment]


class InMemory(Ours):
    __slots__ = ()

    def __init__(self, *, index: Any = None, ttl: Any = None) -> None:
        super().__init__(None, index, ttl)


class _Connection:
    """A connection to a server of theirs, which is not there."""

    @classmethod
    def connect(cls, *_: Any, **__: Any) -> Any:
        return cls()

    def __enter__(self) -> _Connection:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, *_: Any) -> None:
        pass


class _AsyncConnection:
    @classmethod
    async def connect(cls, *_: Any, **__: Any) -> Any:
        return cls()

    def __class_getitem__(cls, _: Any) -> Any:
        return cls

    async def __aenter__(self) -> _AsyncConnection:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def execute(self, *_: Any) -> None:
        pass


def _module(name: str, **names: Any) -> None:
    made = ModuleType(name)
    made.__path__ = []
    made.__dict__.update(names)
    sys.modules[name] = made


def _nothing(name: str) -> type:
    """Return something for what stands inside theirs; tests that use it are set aside."""
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (), {})


_module("langgraph.store.sqlite", SqliteStore=Ours, AsyncSqliteStore=OursAwaited)
_module("langgraph.store.sqlite.aio", AsyncSqliteStore=OursAwaited)
_module("langgraph.store.sqlite.base", __getattr__=_nothing)
_module("langgraph.store.postgres", PostgresStore=Ours, AsyncPostgresStore=OursAwaited)
_module("langgraph.store.postgres.base", __getattr__=_nothing)
_module("langgraph.checkpoint.postgres", _ainternal=SimpleNamespace(get_connection=None))
_module("psycopg", Connection=_Connection, AsyncConnection=_AsyncConnection)
_module("psycopg.errors", UndefinedTable=type("UndefinedTable", (Exception,), {}))
_module("psycopg.rows", DictRow=dict, dict_row=None)
langgraph.store.memory.InMemoryStore = InMemory  # type: ignore[misc]

ASIDE = {
    "numbers of an embedding: a vector for each field, its length, its own scores": (
        "test_scores", "test_embed_with_path", "test_embed_with_path_sync", "test_vector_store_initialization",
    ),
    "a score here orders the hits of one search; that of another is not compared with it": (
        "test_async_store.py::test_vector_search_edge_cases",
    ),
    "functions inside theirs, their migrations, their pool, their SQL": (
        "test_escape_like_literal", "test_escape_glob_literal", "test_namespace_match_pattern",
        "test_nonnull_migrations", "test_abatch_uses_single_pool_checkout",
        "test_list_namespaces_prefix_uses_indexable_condition",
    ),
    "theirs refuses its blocking ways inside an event loop; ours has no loop of its own to wait for": (
        "test_no_running_loop",
    ),
    "what has expired is never read here, swept or not": ("test_omit_expired_disabled_preserves_expired_rows",),
    "no thread sweeps: each put deletes what has expired": ("test_ttl_sweeper", "test_async_ttl_sweeper"),
    "their SQLite store begins no time to live anew where nothing says so; the base class and ours do": (
        "test_ttl_override_default",
    ),
}  # fmt: skip


def pytest_configure(config: Any) -> None:
    config.pluginmanager.register(SetAside(ASIDE), "set_aside")
