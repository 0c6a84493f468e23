"""Audiences: made once, whoever makes them, and never remembered wrongly (D6)."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection

from core.audience import table as audiences
from core.audience.rules import AudienceKey
from core.database.engine import Database
from core.database.schema import audiences as table
from core.scope import Scope
from tests.store.world import count, open_db, own_scope, rows_of


@pytest.fixture(scope="module")
def db(migrated_url: str) -> Iterator[Database]:
    """One migrated database per engine; each test has a persona of its own."""
    handle = open_db(migrated_url)
    yield handle
    handle.close()


@pytest.fixture
def scope() -> Scope:
    """A persona of the test's own."""
    return own_scope()


def make(db: Database, scope: Scope, key: AudienceKey) -> int:
    """Find or make one audience in a transaction of its own."""
    return db.transaction(lambda c: audiences.find_or_make(c, db, scope.persona, key), source="test")


def test_d6_one_row_per_owner(db: Database, scope: Scope) -> None:
    keys = [
        AudienceKey("persona"),
        AudienceKey("server", "s1"),
        AudienceKey("server", "S1"),
        AudienceKey("server", "s1 "),
        AudienceKey("direct", "", "tg/7"),
        AudienceKey("conversation", "s1", "tg/7"),
    ]
    made = [make(db, scope, key) for key in keys]
    assert len(set(made)) == len(keys) and [make(db, scope, key) for key in keys] == made
    audiences.forget_cached(db)
    assert [make(db, scope, key) for key in keys] == made
    assert count(db, table, scope.persona) == len(keys)
    assert make(db, own_scope(), keys[0]) not in made


def test_d6_eight_threads_make_one(db: Database, scope: Scope) -> None:
    made: list[int] = []
    gate = threading.Barrier(8)

    def run() -> None:
        gate.wait()
        made.append(make(db, scope, AudienceKey("server", "s")))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 8 and len(set(made)) == 1 and count(db, table, scope.persona) == 1


def test_g16_an_audience_rolled_back_is_not_remembered(db: Database, scope: Scope) -> None:
    """A transaction that fails after making an audience, and after asking for it again, leaves no trace of its id."""
    key = AudienceKey("server", "s")

    def work(connection: Connection) -> None:
        audiences.find_or_make(connection, db, scope.persona, key)
        audiences.find_or_make(connection, db, scope.persona, key)
        raise RuntimeError("broken on purpose")

    with pytest.raises(RuntimeError):
        db.transaction(work, source="test")
    assert count(db, table, scope.persona) == 0
    found = make(db, scope, key)
    assert [r.audience_id for r in rows_of(db, table, scope.persona)] == [found]


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=60))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_f4_hostile_references_are_kept_apart(db: Database, scope: Scope, ref: str) -> None:
    one = make(db, scope, AudienceKey("direct", "", "x" + ref))
    other = make(db, scope, AudienceKey("direct", "", "x" + ref + " "))
    assert one != other and make(db, scope, AudienceKey("direct", "", "x" + ref)) == one
