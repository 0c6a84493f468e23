"""D34, F53: many writers at once, deadlocks, rows that are locked by somebody else."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from core import ai_diary, chat_history_cache, conversations, lifelong, relationships, short_term
from core.config import Settings
from core.database import schema
from core.database.engine import TRIES, Database
from core.db import insert_memory
from core.errors import StoreWriteError
from core.prompt_engine import build_json_prompt
from core.scope import Scope
from tests.store.world import NOW, count, index_differences, own_scope, rows_of, run_at_once, verify_index

pytestmark = pytest.mark.dialects

DEFAULTS = Settings()
SERVERS = pytest.mark.engines("mariadb", "mysql", "seekdb")


def save(db: Database, scope: Scope, path: str, text: str, **fields: Any) -> Any:
    return chat_history_cache.save_chat_message(
        path, text, "Ann", fields.pop("sender_id", "ann"), NOW, db=db, settings=DEFAULTS, scope=scope, **fields
    )


WRITERS, EACH = 3, int(os.environ.get("WRITER_TURNS", "10"))
_WORK = f"""
import sys, threading
from tests.store.test_writers import write
from core.database.engine import TRIES, Database
from tests.store.world import Clock
db = Database(sys.argv[1], clock=Clock())
failed = []
def run(n):
    try:
        write(db, sys.argv[2], n)
    except BaseException as error:
        failed.append(repr(error))
threads = [threading.Thread(target=run, args=(n,)) for n in range(int(sys.argv[3]), int(sys.argv[3]) + {WRITERS})]
for thread in threads: thread.start()
for thread in threads: thread.join()
db.close()
sys.exit("; ".join(failed) or 0)
"""


def write(db: Database, persona: str, n: int) -> None:
    """Be one of six writers: messages, items and diary entries of few words, tags and conversations."""
    words = [f"word{i}" for i in range(30)]
    scope = Scope(persona=persona)
    for i in range(EACH):
        text = " ".join(words[(n * 7 + i * k) % 30] for k in range(1, 9))
        assert save(db, scope, f"tg/{(n + i) % 3}", f"{text} {n} {i}", sender_id=str(n % 4)).stored
        if i % 5 == 0:
            tags = [words[(n + i) % 7], words[i % 5]]
            where = Scope(persona=persona, conversation=f"tg/{i % 3}", participant=f"tg/{n % 4}")
            insert_memory(text, "synth", "chat", tags, where, db=db, settings=DEFAULTS, timestamp=NOW)
            kept = ai_diary.add_diary_entry(text, context_tags=tags, db=db, settings=DEFAULTS, scope=where)
            assert kept.stored
            more: dict[str, Any] = {"db": db, "settings": DEFAULTS, "scope": where}
            said = [{"role": "user", "content": text, "speaker": "Ann", "user_id": str(n % 4)}]
            relationships.adjust(f"tg/{n % 4}", 1, 1, **more)
            assert conversations.add_saved_memory(f"{text} {n} {i}", **more).stored
            lifelong.add_facts_with_meta([{"text": f"{n} {i} {text}", "tags": tags}], **more)
            assert short_term.store_short_term_memory(str(n % 4), f"tg/{i % 3}", said, interface="tg", **more).stored
            build_json_prompt({"text": text, "interface_path": f"tg/{i % 3}"}, **more)


@pytest.mark.slow
def test_d34_writers_in_threads_and_processes_lose_nothing(db: Database) -> None:
    persona = own_scope().persona
    url = db.target.url.render_as_string(hide_password=False)
    root = Path(__file__).resolve().parents[2]
    running = [
        subprocess.Popen([sys.executable, "-c", _WORK, url, persona, str(first)], stderr=subprocess.PIPE, cwd=root)
        for first in (0, WRITERS)
    ]
    errors = [process.communicate()[1].decode() for process in running]
    assert [process.returncode for process in running] == [0, 0], errors
    assert count(db, schema.chat_history_cache, persona) == 2 * WRITERS * EACH
    assert count(db, schema.ai_diary, persona) == 2 * WRITERS * EACH / 5
    assert count(db, schema.memories, persona) == 3 * 2 * WRITERS * EACH / 5
    assert len(rows_of(db, schema.conversations, persona)) == 3
    assert index_differences(db, persona) == []
    assert sum(row.uses for row in rows_of(db, schema.tags, persona)) == sum(
        len(set(each)) for each in _tags_of(db, persona)
    )
    assert verify_index(db) == []


def _tags_of(db: Database, persona: str) -> Iterator[list[str]]:
    import json

    for table, column in ((schema.memories, "tags"), (schema.ai_diary, "context_tags")):
        for row in rows_of(db, table, persona):
            yield json.loads(getattr(row, column))


def _two_people(db: Database, persona: str) -> None:
    for key in ("tg/a", "tg/b"):
        row = {"persona_id": persona, "participant_key": key, "person_key": key, "display_name": "0"}
        db.transaction(lambda c, row=row: c.execute(schema.participants.insert(), row), source="test")


def _rename(persona: str, key: str, name: Any) -> Any:
    p = schema.participants.c
    return (
        update(schema.participants).where(p.persona_id == persona, p.participant_key == key).values(display_name=name)
    )


@SERVERS
@pytest.mark.slow
def test_f53_a_deadlock_is_retried_unnoticed(db: Database, caplog: pytest.LogCaptureFixture) -> None:
    persona = own_scope().persona
    _two_people(db, persona)
    hasty = Database(db.target.url.render_as_string(hide_password=False), clock=db.clock, timeout_seconds=3.0)
    met = threading.Barrier(2)
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
    assert 3 <= len(runs) <= 2 * TRIES
    assert "write_repeated" in caplog.text
    names = {row.display_name for row in rows_of(db, schema.participants, persona)}
    assert len(names) == 1, "one transaction as a whole came last"


class _Held:
    """Holds the row of a conversation by a transaction of somebody else."""

    def __init__(self, db: Database, persona: str) -> None:
        self.connection = db.engines()[1].connect()
        c = schema.conversations.c
        if db.family == "sqlite":
            self.connection.exec_driver_sql("BEGIN IMMEDIATE")
        self.connection.execute(select(c.id).where(c.persona_id == persona).with_for_update())

    def release_connection(self) -> None:
        self.connection.rollback()
        self.connection.close()


@pytest.mark.slow
def test_f53_a_lock_wait_is_retried_until_the_row_is_free(db: Database, caplog: pytest.LogCaptureFixture) -> None:
    scope = own_scope()
    save(db, scope, "tg/1", "the first")
    hasty = Database(db.target.url.render_as_string(hide_password=False), clock=db.clock, timeout_seconds=3.0)
    held = _Held(db, scope.persona)

    def free() -> None:
        deadline = time.monotonic() + 20
        while "write_repeated" not in caplog.text and time.monotonic() < deadline:
            time.sleep(0.02)
        held.release_connection()

    try:
        with caplog.at_level(logging.INFO):
            run_at_once([free, lambda: save(hasty, scope, "tg/1", "waited for a while")])
    finally:
        hasty.close()
    assert "write_repeated" in caplog.text
    said = {row.message_text for row in rows_of(db, schema.chat_history_cache, scope.persona)}
    assert said == {"the first", "waited for a while"}
    assert index_differences(db, scope.persona) == []


@pytest.mark.slow
def test_f53_a_row_that_stays_locked_is_an_error_and_nothing_is_written(db: Database) -> None:
    """After five tries the caller is told, with what to do; no text of the message is in it (G26)."""
    scope = own_scope()
    save(db, scope, "tg/1", "the first")
    hasty = Database(db.target.url.render_as_string(hide_password=False), clock=db.clock, timeout_seconds=0.4)
    held = _Held(db, scope.persona)
    try:
        with pytest.raises(StoreWriteError) as caught:
            save(hasty, scope, "tg/1", "canary xylofant")
    finally:
        held.release_connection()
        hasty.close()
    assert caught.value.source == "chat_history_cache"
    assert "xylofant" not in str(caught.value) and "could not be written" in str(caught.value)
    assert count(db, schema.chat_history_cache, scope.persona) == 1
    assert save(db, scope, "tg/1", "canary xylofant").stored


@pytest.mark.slow
def test_g29_a_write_waits_no_longer_than_the_limit_in_all(db: Database) -> None:
    """Repeats included: with a limit of 10 seconds it was 51, behind a row that somebody held for a minute."""
    scope = own_scope()
    save(db, scope, "tg/1", "the first")
    url = db.target.url.render_as_string(hide_password=False)
    limited = Database(url, clock=db.clock, timeout_seconds=2.0)
    held = _Held(db, scope.persona)
    began = time.monotonic()
    try:
        with pytest.raises(StoreWriteError):
            save(limited, scope, "tg/1", "waits")
        took = time.monotonic() - began
    finally:
        held.release_connection()
    assert 1.0 <= took <= 3.0, took
    # The connection that had little time left at the end has all of it again.
    assert save(limited, scope, "tg/1", "after").stored
    limited.close()
