"""C9: conversations that end at the same time, in threads and processes, leave exactly the newest on the list."""

from __future__ import annotations

import threading
import time
from datetime import timedelta

import pytest
from sqlalchemy import Connection

from core import jobs
from core.config import Settings
from core.conversations import add_recent_conversation, list_recent_conversations
from core.conversations import table_summaries as summaries
from core.database.engine import Database
from core.database.ids import retry_duplicates
from core.database.schema import conversation_summaries, memory_jobs
from core.scope import Scope
from tests.store.world import NOW, own_scope, rows_of, run_at_once, run_processes, url_of

FIFTY = Settings(max_recent_conversations=50)
PROCESSES, THREADS, EACH = 4, 5, 5
_WORK = f"""
import sys
from functools import partial
from core.database.engine import Database
from tests.store.test_conversation_ends import end_many
from tests.store.world import Clock, run_at_once
clock, first = Clock(), int(sys.argv[3])
clock.forward(seconds=first)  # clocks of processes that stand still on one moment would give equal ids
db = Database(sys.argv[1], clock=clock)
run_at_once([partial(end_many, db, sys.argv[2], n) for n in range(first, first + {THREADS})])
db.close()
"""


def number_end(n: int, i: int) -> int:
    """Return how many minutes ago an end is, in no order."""
    return (n * 7 + i * 13) % 97 + 97 * n


def end_many(db: Database, persona: str, n: int) -> None:
    """Be one of those whose conversations end: every second summary is made in the call, the others in the queue."""
    for i in range(EACH):
        number = number_end(n, i)
        given = [{"text": f"talk {number}", "sender_id": "ann", "timestamp": NOW - timedelta(minutes=number)}]
        scope = Scope(persona, f"tg/{number}")
        assert add_recent_conversation(given, wait=i % 2 == 0, db=db, settings=FIFTY, scope=scope).stored
    jobs.run_pending(db=db, settings=FIFTY, scope=Scope(persona))


@pytest.mark.slow
@pytest.mark.engines("mariadb")
def test_c9_a_hundred_ends_in_four_processes_leave_the_newest_fifty_in_order(db: Database) -> None:
    persona = own_scope().persona
    run_processes(_WORK, *([url_of(db), persona, str(n * THREADS)] for n in range(PROCESSES)))
    while jobs.run_pending(db=db, settings=FIFTY, scope=Scope(persona)):
        pass
    made = rows_of(db, conversation_summaries, persona)
    assert {row.status for row in rows_of(db, memory_jobs, persona)} == {"completed"}
    numbers = sorted(number_end(n, i) for n in range(PROCESSES * THREADS) for i in range(EACH))
    assert len(set(numbers)) == 100
    newest = [f"tg/{number}" for number in numbers[:50]]
    shown = list_recent_conversations(db=db, settings=FIFTY, scope=Scope(persona, "tg/0"))
    assert [one["conversation"] for one in shown] == newest[::-1]
    assert {row.conversation_key for row in made} == set(newest)


@pytest.mark.engines("mariadb", "mysql", "seekdb")
def test_c9_whoever_adds_to_a_list_waits_for_the_one_before(db: Database) -> None:
    persona, most = own_scope().persona, 10
    inside = threading.Event()

    @retry_duplicates
    def put(n: int, hold_seconds: float = 0.0) -> None:
        new = summaries.NewSummary(db.ids.one(), "", f"T{n}", "s", NOW + timedelta(minutes=n), -n - 1, "extract")

        def work(connection: Connection) -> None:
            place = summaries.find_place(connection, db, persona, None)
            assert place is not None
            summaries.enlist_summary(connection, db, persona, place, new, most=most)
            inside.set()
            time.sleep(hold_seconds)

        db.transaction(work, source="test")

    for n in range(most):
        put(n)
    inside.clear()
    first = threading.Thread(target=put, args=(most, 0.4))
    first.start()
    assert inside.wait(60)
    put(most + 1)
    first.join()
    left = [row.title for row in rows_of(db, conversation_summaries, persona)]
    assert sorted(left) == sorted(f"T{n}" for n in range(2, most + 2))


def test_c10_many_who_report_one_end_queue_it_once(db: Database) -> None:
    scope = own_scope(conversation="tg/1")

    def report() -> str:
        given = [{"text": "bye", "sender_id": "ann", "message_id": "m1"}]
        return add_recent_conversation(given, db=db, settings=FIFTY, scope=scope).reason

    assert sorted(run_at_once([report] * 6)) == ["", *["duplicate"] * 5]
    assert len(rows_of(db, memory_jobs, scope.persona)) == 1
