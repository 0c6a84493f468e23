"""F52, D34: connections and commits that are lost on the way, and servers that are not there."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pymysql
import pytest
from sqlalchemy import event, text

from core import ai_diary, chat_history_cache, privacy
from core.database import failures, schema
from core.database.engine import Database
from core.db import insert_memory
from core.errors import StoreError, StoreReadError, StoreWriteError
from core.messages import new_message as messages
from core.messages import table_batches as chat_batches
from core.scope import Scope
from tests.conftest import SESSION
from tests.databases import watched
from tests.servers import Reachable
from tests.store.relay import Relay
from tests.store.test_writers import SERVERS, save
from tests.store.world import NOW, count, index_differences, own_scope, rows_of

pytestmark = pytest.mark.dialects

BY_PORT = pytest.mark.engines("mariadb", "mysql")
"""What stands in the way of the connection needs a port; seekdb listens on a socket."""


@pytest.fixture
def server(engine_name: str, request: pytest.FixtureRequest) -> Reachable:
    return request.config.stash[SESSION].server(engine_name)


@contextlib.contextmanager
def killing(db: Database, server: Reachable, after: int, times: int = 1) -> Iterator[None]:
    """Have the server end the connection of a transaction after its n-th statement."""
    left = [after] * times

    def look(_statement: str, _values: Any, connection: Any) -> None:
        if left:
            left[0] -= 1
            if not left[0]:
                left.pop(0)
                server.execute(f"KILL {connection.connection.dbapi_connection.thread_id()}")

    with watched(db, look, after=True):
        yield


@SERVERS
def test_f52_a_connection_lost_in_a_transaction_is_not_noticed(db: Database, server: Reachable) -> None:
    scope = own_scope()
    for after in (1, 2, 4, 6):
        with killing(db, server, after):
            result = save(db, scope, "tg/1", f"text number {after}")
        assert result.stored
    assert count(db, schema.chat_history_cache, scope.persona) == 4
    assert index_differences(db, scope.persona) == []


@SERVERS
def test_f52_a_connection_the_server_ends_with_an_answer_is_not_taken_again(db: Database, server: Reachable) -> None:
    answers = sorted(failures.ENDED)[-1:]

    def ended(cursor: Any, *_: Any) -> None:
        if answers:
            server.execute(f"KILL {cursor.connection.thread_id()}")
            raise pymysql.err.OperationalError(answers.pop(), "ended")

    engine = db.engines()[0]
    event.listen(engine, "do_execute", ended)
    try:
        assert db.read(text("SELECT 1"), source="test")[0][0] == 1
    finally:
        event.remove(engine, "do_execute", ended)


@SERVERS
def test_f52_idle_connections_lost_between_calls_are_not_noticed(db: Database, server: Reachable) -> None:
    scope = own_scope()
    save(db, scope, "tg/1", "before")
    own = db.target.url.database
    for row in server.execute("SHOW PROCESSLIST"):
        if own in row:
            with contextlib.suppress(pymysql.err.MySQLError):  # it ended by itself meanwhile
                server.execute(f"KILL {row[0]}")
    loaded = chat_history_cache.load_chat_history("tg/1", 5, db=db, scope=scope)
    assert [line["text"] for line in loaded] == ["before"]
    assert save(db, scope, "tg/1", "after").stored


def _doors(db: Database, scope: Scope) -> dict[str, tuple[Any, Callable[[], int]]]:
    def many() -> int:
        times = [NOW + timedelta(minutes=n) for n in range(5)]
        made = [messages.read_message(scope, "tg/9", f"line {at}", now=NOW, timestamp=at) for at in times]
        results = chat_batches.insert_messages(db, scope, [each for each in made if each], privacy_default="none")
        assert all(each.stored and each.reason == "" for each in results)
        return results[0].id or 0

    def checked(result: Any) -> int:
        assert (result.stored, result.reason) == (True, "")
        return int(result.id)

    def entry() -> Any:
        return ai_diary.add_diary_entry("a day", context_tags=["cat"], db=db, scope=scope)

    chat = schema.chat_history_cache
    return {
        "a message": (chat, lambda: checked(save(db, scope, "tg/1", "hello"))),
        "a message with id": (chat, lambda: checked(save(db, scope, "tg/1", "hi", message_id="7"))),
        "an import": (chat, many),
        "an item": (schema.memories, lambda: insert_memory("an item", "synth", "chat", ["cat"], scope, db=db)),
        "an entry": (schema.ai_diary, lambda: checked(entry())),
    }


@BY_PORT
@pytest.mark.parametrize("what", ["answer", "request"])
@pytest.mark.parametrize("door", ["a message", "a message with id", "an import", "an item", "an entry"])
def test_d34_a_lost_commit_is_neither_lost_nor_doubled(
    relayed: tuple[Database, Relay], db: Database, door: str, what: Any
) -> None:
    handle, relay = relayed
    scope = own_scope()
    save(handle, scope, "tg/1", "before")
    table, call = _doors(handle, scope)[door]
    before = count(db, table, scope.persona)
    relay.lose(what)
    row_id = call()
    assert relay.lost == 1
    assert row_id in {row.id for row in rows_of(db, table, scope.persona)}
    assert count(db, table, scope.persona) - before == (5 if door == "an import" else 1)
    assert index_differences(db, scope.persona) == []
    assert {row.tag: row.uses for row in rows_of(db, schema.tags, scope.persona)} in ({}, {"cat": 1})


@BY_PORT
def test_d34_a_change_whose_commit_is_lost_is_done_once(relayed: tuple[Database, Relay], db: Database) -> None:
    handle, relay = relayed
    scope = own_scope()
    row_id = save(handle, scope, "tg/1", "before").id
    more: dict[str, Any] = {"db": handle, "scope": scope}
    relay.lose("answer")
    privacy.set_conversation_privacy("tg/1", "restricted", **more)
    here = more | {"scope": replace(scope, conversation="tg/1")}
    relay.lose("answer")
    assert chat_history_cache.edit_chat_message(row_id, "afterwards", **here).id in (row_id, None)
    assert relay.lost == 2
    assert [row.is_private for row in rows_of(db, schema.conversations, scope.persona)] == [1]
    assert [row.message_text for row in rows_of(db, schema.chat_history_cache, scope.persona)] == ["afterwards"]
    assert index_differences(db, scope.persona) == []


@BY_PORT
def test_d34_a_commit_that_cannot_be_told_says_so(relayed: tuple[Database, Relay]) -> None:
    handle, relay = relayed
    runs: list[int] = []
    handle.transaction(lambda c: None, source="test")  # a new connection commits too, while it is set up
    relay.lose("answer")
    with pytest.raises(StoreError, match="answer was lost"):
        handle.transaction(lambda c: runs.append(c.exec_driver_sql("SELECT 1").scalar_one()), source="test")
    assert runs == [1]


@pytest.mark.parametrize("where", ["127.0.0.1:1/x", "localhost/x?unix_socket=/tmp/there-is-no-server.sock"])
def test_f52_a_server_that_is_not_there_is_an_error(where: str) -> None:
    handle = Database(f"mysql://root:secretword@{where}", timeout_seconds=1.0)
    for kind, call, asked in (
        (StoreReadError, handle.read, text("SELECT 1")),
        (StoreWriteError, handle.transaction, lambda c: c.exec_driver_sql("SELECT 1")),
    ):
        with pytest.raises(kind) as caught:
            call(asked, source="memories")
        assert caught.value.number == 2003 and "memories" in str(caught.value)
        assert "secretword" not in str(caught.value)
    handle.close()


@pytest.mark.engines("sqlite", "mariadb", "mysql")  # seekdb reads what is committed
def test_f17_the_reads_of_one_prompt_see_one_moment(db: Database) -> None:
    scope = own_scope()

    def lines() -> int:
        return count(db, schema.chat_history_cache, scope.persona)

    save(db, scope, "tg/1", "first")
    with db.request_connection(snapshot=True):
        assert lines() == 1
        other = threading.Thread(target=save, args=(db, scope, "tg/1", "second"))
        other.start()
        other.join()
        assert lines() == 1
        save(db, scope, "tg/1", "third")
        assert lines() == 3
    assert lines() == 3
