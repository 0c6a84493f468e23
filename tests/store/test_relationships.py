"""Relationships on every engine: exact sums, changes by an operator, lost commits (L28 to L36, D34)."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, insert

from core.calls.call import Call
from core.config import Settings
from core.database.engine import Database
from core.database.schema import participants, user_relationships
from core.privacy import table_people
from core.relationships import table as store
from core.relationships.rules import decay
from core.relationships.table import Change, Row
from core.scope import Scope
from tests.store.relay import Relay
from tests.store.world import NOW, own_scope

pytestmark = pytest.mark.dialects

MICROSECOND = timedelta(microseconds=1)


@pytest.fixture
def persona() -> str:
    return own_scope().persona


def change(db: Database, persona: str, user: str = "tg/ann", **wanted: Any) -> tuple[Row | None, str]:
    return store.change(Call(db, Settings(decay_days=60), Scope(persona)), user, Change(**wanted))


def found(db: Database, persona: str, user: str = "tg/ann") -> Row:
    row = store.find(db, persona, user)
    assert row is not None
    return row


@pytest.mark.parametrize(("start", "total"), [(0, 80), (50, 100)])
def test_l28_eight_threads_add_up_exactly(db: Database, persona: str, start: int, total: int) -> None:
    if start:
        change(db, persona, affinity=start, touch=True)

    def ten(_: int) -> set[str]:
        return {change(db, persona, affinity=1, trust=2, touch=True)[1] for _ in range(10)}

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ten, range(8))) == [{""}] * 8
    row, met = found(db, persona), 80 + bool(start)
    assert (row.affinity, row.affinity_base, row.trust, row.interaction_count) == (total, total, 100, met)


def test_l36_an_operators_change_is_the_new_base_and_no_interaction(db: Database, persona: str) -> None:
    clock: Any = db.clock
    change(db, persona, affinity=60, touch=True)
    clock.forward(days=90)
    assert found(db, persona).affinity_at(clock.now, 60) == 0
    change(db, persona, affinity=40)
    row = found(db, persona)
    assert (row.affinity_at(clock.now, 60), row.interaction_count, row.last_interaction) == (40, 1, NOW)
    clock.forward(days=15)
    assert found(db, persona).affinity_at(clock.now, 60) == 30
    for _ in range(5):  # trust alone, more often than once a day, does not stop it
        change(db, persona, trust=1)
        clock.forward(hours=12)
    assert found(db, persona).affinity_at(clock.now, 60) == decay(40, 17, 60)


@pytest.mark.engines("mariadb", "mysql")  # what stands in the way of the connection needs a port
@pytest.mark.parametrize("what", ["answer", "request"])
@pytest.mark.parametrize("wanted", [{"affinity": 5, "touch": True}, {"touch": True}, {"trust": 5}])
def test_d34_a_lost_commit_is_counted_once(
    relayed: tuple[Database, Relay], db: Database, persona: str, wanted: Any, what: Any
) -> None:
    change(db, persona, affinity=10, touch=True)
    made, relay = relayed
    change(made, persona)  # so that it is connected
    relay.lose(what)
    told, reason = change(made, persona, **wanted)
    assert relay.lost == 1 and not reason
    row = found(db, persona)
    assert row == told
    add, touched = wanted.get("affinity", 0), bool(wanted.get("touch"))
    assert (row.affinity, row.trust, row.interaction_count) == (10 + add, wanted.get("trust", 0), 1 + touched)


def test_l31_the_list_has_one_row_a_person_in_a_total_order(db: Database, persona: str) -> None:
    clock: Any = db.clock
    for n, user in enumerate(["tg/a", "tg/b", "dc/a", "tg/c"]):
        clock.now = NOW + n // 2 * timedelta(seconds=1)
        change(db, persona, user, affinity=n, touch=True)
    change(db, persona, "tg/never", affinity=1)
    assert [row.user_id for row in store.read_recent(db, persona, 9)] == ["tg/c", "dc/a", "tg/b", "tg/a", "tg/never"]
    table_people.link_people(db, persona, "tg/a", "dc/a")
    assert [row.user_id for row in store.read_recent(db, persona, 9)] == ["tg/c", "dc/a", "tg/b", "tg/never"]
    assert [row.user_id for row in store.read_recent(db, persona, 2)] == ["tg/c", "dc/a"]
    assert found(db, persona, "tg/a") == found(db, persona, "dc/a")


@pytest.mark.engines("sqlite")  # no server does it differently
def test_l31_the_list_reads_on_where_many_identities_are_linked(db: Database, persona: str) -> None:
    rows, known = [], []
    for n in range(60):
        key = f"tg/{n:02}"
        rows.append({"persona_id": persona, "user_id": key, "last_interaction": NOW - n * MICROSECOND})
        known.append({"persona_id": persona, "participant_key": key, "person_key": "tg/00" if n < 58 else key})

    def work(connection: Connection) -> None:
        connection.execute(insert(user_relationships), rows)
        connection.execute(insert(participants), known)

    db.transaction(work, source="x")
    assert [row.user_id for row in store.read_recent(db, persona, 3)] == ["tg/00", "tg/58", "tg/59"]
