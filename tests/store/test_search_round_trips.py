"""What a search sends to a server, and what it does where the server cuts what it was asked to join (D35, F52)."""

from collections.abc import Iterator
from typing import Any

import pytest
from pymysql.connections import Connection

from core.database import connections as connecting
from core.database.engine import Database
from core.scope import Scope
from tests.databases import traced
from tests.store.search_world import ago, entered, explain, memory, said
from tests.store.world import open_db, own_scope

ASKED = "Where is the café with the green lamp?"


@pytest.fixture(scope="module")
def scope() -> Scope:
    return own_scope()


@pytest.fixture(scope="module")
def db(migrated_url: str, scope: Scope) -> Iterator[Database]:
    """A chat, a memory and a diary entry with texts of several scripts."""
    handle = open_db(migrated_url)
    lines = ("the café is closed", "beside the library\n, 7 steps down", "a green lamp hangs there 灯 🟢")
    said(handle, scope, [(text, ago(hours=9 - n)) for n, text in enumerate(lines)])
    said(handle, scope, [(f"lamp number {n}", ago(days=n + 1)) for n in range(20)])
    memory(handle, scope, "The café has a green lamp", ago(days=40), tags=["café", "a, b"])
    entered(handle, scope, "We sat in the café", ago(days=41))
    yield handle
    handle.close()


def found(db: Database, scope: Scope) -> tuple[list[Any], dict[str, Any]]:
    """Ask with the settings of a fresh installation."""
    return explain(db, scope, query=ASKED, limit=10)


def test_d35_a_search_sends_its_statements_alone(db: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    if db.family == "sqlite":
        pytest.skip("no server")
    sent: list[int] = []
    send = Connection._execute_command

    def note(self: Any, command: int, sql: Any) -> Any:
        sent.append(command)
        return send(self, command, sql)

    found(db, scope)
    monkeypatch.setattr(Connection, "_execute_command", note)
    with traced(db) as statements:
        found(db, scope)
    assert len(sent) == len(statements) + 1 <= 8  # the connection is asked once whether it still is one
    assert db.read("SELECT @@autocommit", (), source="test")[0][0] == 1


def test_d35_what_a_server_cuts_is_read_row_by_row(
    db: Database, scope: Scope, migrated_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if db.family == "sqlite":
        pytest.skip("rows are joined on servers alone")
    expected = found(db, scope)
    assert len(expected[0]) == 10 and {hit["source"] for hit in expected[0]} == {"memories", "ai_diary", "chat_history"}
    for length in (4, 60, 200, 600):
        monkeypatch.setattr(connecting, "SESSION", f"SET time_zone = '+00:00', group_concat_max_len = {length}")
        cut = open_db(migrated_url)
        cut.clock = db.clock
        with traced(cut) as statements:
            assert found(cut, scope) == expected
        cut.close()
        assert len(statements) <= 14
