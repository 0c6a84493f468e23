"""Words that leave the vocabulary while somebody else writes them (D16): two connections of a real server, stepped.

One of the two is held before a statement of its own while the other goes as far as it comes; and so at every statement
by which they touch what both write, and at every commit.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, delete, event, update

from core.config import Settings
from core.conversations import add_saved_memory
from core.database.engine import Database
from core.database.schema import (
    chat_history_cache,
    memories,
    search_block,
    search_count,
    search_fresh,
    search_gone,
    search_progress,
    search_segment,
    search_stats,
    search_tag,
    search_term,
    search_vocab,
)
from core.db import forget
from core.forgetting import delete_quarantined
from core.lifelong import purge_items
from core.scope import Scope
from tests.index_check import verify_index
from tests.store.search_world import ago, all_rows, edited, find, memory, open_quick, said
from tests.store.world import own_scope

pytestmark = pytest.mark.engines("mariadb", "mysql")
SHARED = (search_vocab.name, search_count.name)
POLL_SECONDS = 0.15
"""The servers give out who waits for whom anew where nobody has asked for a tenth of a second."""
FLAGS = Settings(record_recalls=0)
Work = Callable[[], Any]


@pytest.fixture(scope="module")
def db(migrated_url: str) -> Iterator[Database]:
    """One migrated database per engine."""
    handle = open_quick(migrated_url)
    yield handle
    handle.close()


# Two at once


class Stepped:
    """A thread whose transactions are held once, before a statement on shared tables or a commit."""

    def __init__(self, work: Work, at: int | None) -> None:
        self.at = at
        self.held, self.free = threading.Event(), threading.Event()
        self.connection_id: int | None = None
        self.failure: BaseException | None = None
        self._steps = 0
        self._work = work
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001 - told by the test itself
            self.failure = error

    def step(self, connection: Any, *, is_shared: bool) -> None:
        """Wait, before a statement or a commit, if this is where to be held."""
        self.connection_id = connection.connection.dbapi_connection.thread_id()
        self._steps += is_shared
        if is_shared and self._steps - 1 == self.at:
            self.held.set()
            assert self.free.wait(60)

    def is_waiting(self, db: Database) -> bool:
        """Return whether it waits for a row that somebody holds."""
        text = "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'"
        return self.connection_id in {row[0] for row in db.read_driver(text, (), source="tests")}

    def end(self) -> None:
        """Let it go to its end."""
        self.free.set()
        self.thread.join(60)
        assert not self.thread.is_alive() and self.failure is None, self.failure


def run_stepped(db: Database, first: Work, second: Work, at: int) -> bool:
    """Hold the first before its step `at`, let the second come as far as it comes, then let both go to their ends.

    Returns:
        Whether the first has so many steps.
    """
    one, two = Stepped(first, at), Stepped(second, None)

    def stepped() -> Stepped | None:
        return next((each for each in (one, two) if each.thread is threading.current_thread()), None)

    def statement(connection: Any, _cursor: Any, text: str, *_: Any) -> None:
        if found := stepped():
            found.step(connection, is_shared=any(name in text for name in SHARED))

    def commit(connection: Any) -> None:
        if found := stepped():
            found.step(connection, is_shared=True)

    engine = db.engines()[1]
    event.listen(engine, "before_cursor_execute", statement)
    event.listen(engine, "commit", commit)
    try:
        one.thread.start()
        while not one.held.wait(0.002) and one.thread.is_alive():
            pass
        is_held = one.held.is_set()
        two.thread.start()
        two.thread.join(POLL_SECONDS)
        while is_held and two.thread.is_alive() and not two.is_waiting(db):
            two.thread.join(POLL_SECONDS)
        one.end()
        two.end()
    finally:
        one.free.set()
        event.remove(engine, "before_cursor_execute", statement)
        event.remove(engine, "commit", commit)
    return is_held


# Who takes the word away, and who writes it


def given(db: Database, scope: Scope) -> dict[str, Any]:
    """Return what every door gets."""
    return {"db": db, "settings": FLAGS, "scope": scope}


def edit(db: Database, scope: Scope) -> Work:
    """Return what gives the message that holds the word another text."""
    row = said(db, scope, [("a zebra", ago(minutes=1))])[0]
    audiences = sorted({each.audience for each in all_rows(db, scope.persona)})
    return lambda: edited(db, scope, row, "a horse", audiences)


def forget_item(db: Database, scope: Scope) -> Work:
    """Return what forgets the item that holds the word."""
    row = memory(db, scope, "a zebra")
    return lambda: forget(memory=row, **given(db, scope))


def forget_conversation(db: Database, scope: Scope) -> Work:
    """Return what forgets the conversation that holds the word, and compares the whole vocabulary."""
    said(db, scope, [("a zebra", ago(minutes=1))])
    return lambda: forget(conversation="tg/1", **given(db, scope))


def purge(db: Database, scope: Scope) -> Work:
    """Return what removes the item that holds the word for good."""
    row = memory(db, scope, "a zebra")
    return lambda: purge_items([row], operator=True, **given(db, scope))


def delete_flagged(db: Database, scope: Scope) -> Work:
    """Return what deletes an item in quarantine, which is not indexed, that holds the word."""
    row = add_saved_memory("a zebra", screen=lambda *_: True, **given(db, scope)).id
    return lambda: delete_quarantined("memories", row, **given(db, scope))


REMOVALS = {each.__name__: each for each in (edit, forget_item, forget_conversation, purge, delete_flagged)}


def say(db: Database, scope: Scope) -> Work:
    """Return what says the word elsewhere; it is known."""
    return lambda: said(db, scope, [("the zebra stays", ago())], "tg/2")


WRITES = {each.__name__: each for each in (say,)}


@pytest.mark.slow
@pytest.mark.parametrize("writing", WRITES)
@pytest.mark.parametrize("removal", REMOVALS)
def test_d16_a_word_said_while_it_is_taken_out_stays_known(db: Database, removal: str, writing: str) -> None:
    """With every ending of it: else what was said is not found by it, until the index is mended."""
    for is_writer_held in (True, False):
        at = 0
        while _meet(db, removal, writing, at, is_writer_held=is_writer_held):
            at += 1
        assert at > 1, "it was held nowhere"


def _meet(db: Database, removal: str, writing: str, at: int, *, is_writer_held: bool) -> bool:
    """Let one who removes a word and one who writes it meet, one of them held at a step; return whether it has that."""
    db.transaction(_empty, source="tests")
    scope = own_scope(conversation="tg/3", participant="tg/7")
    remove = REMOVALS[removal](db, scope)
    write = WRITES[writing](db, scope)
    one, two = (write, remove) if is_writer_held else (remove, write)
    has_step = run_stepped(db, one, two, at)
    who = f"{'writer' if is_writer_held else 'remover'} held at step {at}"
    assert verify_index(db) == [], who
    assert find(db, scope, keywords=["ebra"]), who
    return has_step


INDEX_TABLES = (
    search_term, search_tag, search_fresh, search_segment, search_block, search_gone, search_count, search_stats,
    search_vocab,
)  # fmt: skip


def _empty(connection: Connection) -> None:
    for table in (*INDEX_TABLES, chat_history_cache, memories):
        connection.execute(delete(table))
    connection.execute(update(search_progress).values(ready=1, next_id=0, until_id=0))
