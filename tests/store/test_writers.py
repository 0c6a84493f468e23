"""D34, F52, F53: many writers at once, deadlocks, locked rows, and connections and commits lost on the way."""

import contextlib
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pymysql
import pytest
from sqlalchemy import select, text, update

from core import ai_diary, chat_history_cache, conversations, lifelong, privacy, relationships, short_term
from core.config import Settings
from core.database import failures, schema
from core.database.engine import TRIES, Database
from core.db import insert_memory
from core.errors import StoreError, StoreReadError, StoreWriteError
from core.messages import new_message as messages
from core.messages import table_batches as chat_batches
from core.prompt_engine import build_json_prompt
from core.scope import Scope
from tests.conftest import SESSION
from tests.databases import listening, watched
from tests.servers import Reachable
from tests.store import world
from tests.store.relay import Relay
from tests.store.world import NOW, count, index_differences, own_scope, rows_of, run_at_once, save, url_of, verify_index

pytestmark = pytest.mark.dialects

SERVERS = pytest.mark.engines("mariadb", "mysql", "seekdb")

WRITERS, EACH = 3, int(os.environ.get("WRITER_TURNS", "10"))
_WORK = f"""
import sys
from functools import partial
from core.database.engine import Database
from tests.store.test_writers import write
from tests.store.world import Clock, run_at_once
db, first = Database(sys.argv[1], clock=Clock()), int(sys.argv[3])
run_at_once([partial(write, db, sys.argv[2], n) for n in range(first, first + {WRITERS})])
db.close()
"""


def write(db: Database, persona: str, n: int) -> None:
    words, scope = [f"word{i}" for i in range(30)], Scope(persona)
    for i in range(EACH):
        text = " ".join(words[(n * 7 + i * k) % 30] for k in range(1, 9))
        assert save(db, scope, f"tg/{(n + i) % 3}", f"{text} {n} {i}", sender_id=str(n % 4)).stored
        if i % 5 == 0:
            tags = [words[(n + i) % 7], words[i % 5]]
            where = Scope(persona, f"tg/{i % 3}", f"tg/{n % 4}")
            more: dict[str, Any] = {"db": db, "settings": Settings(), "scope": where}
            insert_memory(text, "synth", "chat", tags, where, db=db, timestamp=NOW)
            assert ai_diary.add_diary_entry(text, context_tags=tags, **more).stored
            said = [{"role": "user", "content": text, "speaker": "Ann", "user_id": str(n % 4)}]
            relationships.adjust(f"tg/{n % 4}", 1, 1, **more)
            assert conversations.add_saved_memory(f"{text} {n} {i}", **more).stored
            lifelong.add_facts_with_meta([{"text": f"{n} {i} {text}", "tags": tags}], **more)
            assert short_term.store_short_term_memory(str(n % 4), f"tg/{i % 3}", said, interface="tg", **more).stored
            build_json_prompt({"text": text, "interface_path": f"tg/{i % 3}"}, **more)


@pytest.mark.slow
def test_d34_writers_in_threads_and_processes_lose_nothing(db: Database) -> None:
    persona = own_scope().persona
    world.run_processes(_WORK, *([url_of(db), persona, str(first)] for first in (0, WRITERS)))
    assert count(db, schema.chat_history_cache, persona) == 2 * WRITERS * EACH
    assert count(db, schema.ai_diary, persona) == 2 * WRITERS * EACH / 5
    assert count(db, schema.memories, persona) == 3 * 2 * WRITERS * EACH / 5
    assert len(rows_of(db, schema.conversations, persona)) == 3 and index_differences(db, persona) == []
    tagged = [row.tags for row in rows_of(db, schema.memories, persona)]
    tagged += [row.context_tags for row in rows_of(db, schema.ai_diary, persona)]
    uses = sum(row.uses for row in rows_of(db, schema.tags, persona))
    assert uses == sum(len({*json.loads(each)}) for each in tagged) and verify_index(db) == []


def _rename(persona: str, key: str, name: Any) -> Any:
    people, p = schema.participants, schema.participants.c
    return update(people).where(p.persona_id == persona, p.participant_key == key).values(display_name=name)


@SERVERS
@pytest.mark.slow
def test_f53_a_deadlock_is_retried_unnoticed(db: Database, caplog: pytest.LogCaptureFixture) -> None:
    persona = own_scope().persona
    people = [{"persona_id": persona, "participant_key": key, "person_key": key} for key in ("tg/a", "tg/b")]
    db.transaction(lambda c: c.execute(schema.participants.insert(), people), source="test")
    hasty, met = _again(db, 3.0), threading.Barrier(2)
    runs: list[str] = []

    def change(first: str, second: str) -> None:
        def work(connection: Any) -> None:
            runs.append(first)
            connection.execute(_rename(persona, first, first))
            if runs.count(first) == 1:
                met.wait(30)
            connection.execute(_rename(persona, second, first))

        hasty.transaction(work, source="participants")

    with caplog.at_level(logging.INFO):
        run_at_once([lambda: change("tg/a", "tg/b"), lambda: change("tg/b", "tg/a")])
    hasty.close()
    # A server that only has time limits may give both up, more than once.
    assert 3 <= len(runs) <= 2 * TRIES and "write_repeated" in caplog.text
    names = {row.display_name for row in rows_of(db, schema.participants, persona)}
    assert len(names) == 1, "one transaction as a whole came last"


def _again(db: Database, seconds: float) -> Database:
    return Database(url_of(db), clock=db.clock, timeout_seconds=seconds)


def _held(db: Database, persona: str) -> Any:
    connection = db.engines()[1].connect()
    if db.family == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    c = schema.conversations.c
    connection.execute(select(c.id).where(c.persona_id == persona).with_for_update())
    return connection


@pytest.mark.slow
def test_f53_a_lock_wait_is_retried_until_the_row_is_free(db: Database, caplog: pytest.LogCaptureFixture) -> None:
    scope = own_scope()
    save(db, scope, "tg/1", "the first")
    hasty, held = _again(db, 3.0), _held(db, scope.persona)

    def free() -> None:
        deadline = time.monotonic() + 20
        while "write_repeated" not in caplog.text and time.monotonic() < deadline:
            time.sleep(0.02)
        held.close()

    try:
        with caplog.at_level(logging.INFO):
            run_at_once([free, lambda: save(hasty, scope, "tg/1", "waited for a while")])
    finally:
        hasty.close()
    assert "write_repeated" in caplog.text
    said = {row.message_text for row in rows_of(db, schema.chat_history_cache, scope.persona)}
    assert said == {"the first", "waited for a while"} and index_differences(db, scope.persona) == []


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [1.0, 2.0])
def test_f52_f53_g29_a_row_that_stays_locked_is_told_in_time_and_nothing_written(db: Database, seconds: float) -> None:
    """Repeats included: with a limit of 10 seconds it was 51, behind a row that somebody held for a minute."""
    scope = own_scope()
    save(db, scope, "tg/1", "the first")
    limited = _again(db, seconds)
    told = "write lock" if db.family == "sqlite" else r"[Aa]nother session .*hold.*SHOW PROCESSLIST"
    with closing(_held(db, scope.persona)):
        began = time.monotonic()
        with pytest.raises(StoreWriteError, match=told) as caught:
            save(limited, scope, "tg/1", "canary xylofant")
        took = time.monotonic() - began
    assert seconds / 2 <= took <= 9.0, took  # five tries of the limit each take more than 10
    assert caught.value.source == "chat_history_cache"
    assert "xylofant" not in str(caught.value) and "could not be written" in str(caught.value)
    assert count(db, schema.chat_history_cache, scope.persona) == 1
    # The connection that had little time left at the end has all of it again.
    assert save(limited, scope, "tg/1", "canary xylofant").stored
    limited.close()


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
def test_f52_a_connection_lost_in_a_transaction_is_not_noticed(db: Database, scope: Scope, server: Reachable) -> None:
    for after in (1, 2, 4, 6):
        with killing(db, server, after):
            result = save(db, scope, "tg/1", f"text number {after}")
        assert result.stored
    assert count(db, schema.chat_history_cache, scope.persona) == 4 and index_differences(db, scope.persona) == []


@SERVERS
def test_f52_a_connection_the_server_ends_with_an_answer_is_not_taken_again(db: Database, server: Reachable) -> None:
    answers = sorted(failures.ENDED)[-1:]

    def ended(cursor: Any, *_: Any) -> None:
        if answers:
            server.execute(f"KILL {cursor.connection.thread_id()}")
            raise pymysql.err.OperationalError(answers.pop(), "ended")

    with listening(db.engines()[0], "do_execute", ended):
        assert db.read(text("SELECT 1"), source="test")[0][0] == 1


@SERVERS
def test_f52_idle_connections_lost_between_calls_are_not_noticed(db: Database, scope: Scope, server: Reachable) -> None:
    save(db, scope, "tg/1", "before")
    own = db.target.url.database
    for row in server.execute("SHOW PROCESSLIST"):
        if own in row:
            with contextlib.suppress(pymysql.err.MySQLError):  # it ended by itself meanwhile
                server.execute(f"KILL {row[0]}")
    assert [line["text"] for line in chat_history_cache.load_chat_history("tg/1", 5, db=db, scope=scope)] == ["before"]
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

    chat, by = schema.chat_history_cache, {"db": db, "scope": scope}
    return {
        "a message": (chat, lambda: checked(save(db, scope, "tg/1", "hello"))),
        "a message with id": (chat, lambda: checked(save(db, scope, "tg/1", "hi", message_id="7"))),
        "an import": (chat, many),
        "an item": (schema.memories, lambda: insert_memory("an item", "synth", "chat", ["cat"], scope, db=db)),
        "an entry": (schema.ai_diary, lambda: checked(ai_diary.add_diary_entry("a day", context_tags=["cat"], **by))),
    }


@BY_PORT
@pytest.mark.parametrize("what", ["answer", "request"])
@pytest.mark.parametrize("door", ["a message", "a message with id", "an import", "an item", "an entry"])
def test_d34_a_lost_commit_is_done_once(relayed: tuple[Database, Relay], db: Database, door: str, what: Any) -> None:
    handle, relay = relayed
    scope = own_scope()
    save(handle, scope, "tg/1", "before")
    table, call = _doors(handle, scope)[door]
    before = count(db, table, scope.persona)
    relay.lose(what)
    row_id = call()
    assert relay.lost == 1 and row_id in {row.id for row in rows_of(db, table, scope.persona)}
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
    assert relay.lost == 2 and [row.is_private for row in rows_of(db, schema.conversations, scope.persona)] == [1]
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
        assert caught.value.number == 2003 and "memories" in str(caught.value) and "secretword" not in str(caught.value)
    handle.close()


@pytest.mark.engines("sqlite", "mariadb", "mysql")  # seekdb reads what is committed
def test_f17_the_reads_of_one_prompt_see_one_moment(db: Database, scope: Scope) -> None:

    lines = partial(count, db, schema.chat_history_cache, scope.persona)
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
