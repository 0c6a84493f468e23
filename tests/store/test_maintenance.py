"""D33: scripts say risk, tables and cost, count first, change second, and run in the program and a plain client."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pymysql
import pytest
from pymysql.constants import CLIENT
from sqlalchemy import func, insert, select

from core.base import resources
from core.database import schema
from core.database.engine import Database
from core.database.schema import TABLES
from core.database.sources import MEMORIES
from core.index import embeddings, entries, indexed, packing
from core.tags import table as tags
from core.text.folding import fold
from core.text.hits import content_digest
from core.upkeep import maintenance
from tests.store.world import of_today, verify_index

pytestmark = pytest.mark.dialects

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
FILES = sorted(resources.find("sql/maintenance").glob("*.sql"))


def count_rows(db: Database) -> dict[str, int]:
    counts = {name: select(func.count()).select_from(table) for name, table in schema.metadata.tables.items()}
    return {name: db.read(count, source=name)[0][0] for name, count in counts.items()}


@pytest.fixture
def db(fresh_migrated_url: str) -> Iterator[Database]:
    owners = [{"audience_id": 7, "persona_id": "default", "kind": "persona"}]
    owners.append({"audience_id": 8, "persona_id": "other", "kind": "persona"})
    with of_today(fresh_migrated_url, clock=lambda: NOW) as handle:
        handle.transaction(lambda c: c.execute(insert(schema.audiences), owners), source="test")
        yield handle


def remember(db: Database, number: int, text: str, *words: str, persona: str = "default", **more: Any) -> None:
    row = {"id": number, "persona_id": persona, "audience_id": 7 if persona == "default" else 8, "content": text}
    row |= {"text_folded": fold(text), "content_hash": content_digest(text), "timestamp": NOW, "indexed": 1}
    row |= {"tags": list(words), **more}

    def work(connection: Any) -> None:
        connection.execute(insert(schema.memories), row)
        tags.raise_uses(connection, db, persona, dict.fromkeys(words, 1))
        indexed.add_entries(connection, entries.read_entries(connection, MEMORIES, [number], entries.calendar_of(db)))

    db.transaction(work, source="test")


def uses(db: Database) -> dict[str, int]:
    t = schema.tags.c
    return dict(map(tuple, db.read(select(t.tag, t.uses).where(t.persona_id == "default"), source="tags")))


def ids(db: Database) -> list[int]:
    return sorted(row[0] for row in db.read(select(schema.memories.c.id), source="memories"))


def test_d33_prune_removes_what_expired_and_was_archived_with_its_index_rows(db: Database) -> None:
    old = NOW - timedelta(days=1)
    remember(db, 1, "my cat sleeps", "cat", "pet", expires_at=old)
    remember(db, 2, "the cat eats", "cat", archived_at=old)
    remember(db, 3, "a cat and a dog", "cat", "dog")
    remember(db, 4, "pinned cat", "cat", expires_at=old, pinned=1)
    remember(db, 5, "cat tomorrow", "cat", expires_at=NOW + timedelta(days=1))
    remember(db, 6, "another's cat", "cat", persona="other", expires_at=old)
    vectors = [{"audience_id": 7, "source": 0, "row_id": n, "part": 0, "at_us": n} for n in (1, 2, 3, 4)]
    vectors = [{**one, "model": "m", "vector": b"canary", "stamp": 1} for one in vectors]
    db.transaction(lambda c: c.execute(insert(schema.search_vector), vectors), source="test")
    versions = [{"audience_id": n, "version": 5} for n in (7, 8)]
    db.transaction(lambda c: c.execute(insert(schema.search_vector_version), versions), source="test")
    values, before = {"expired_before": NOW, "archived_before": NOW}, count_rows(db)
    counted = {"memory items that go": 2, "of these archived": 1, "pinned, they stay": 1}
    looked = maintenance.run_script(db, "prune", values=values)
    assert (looked.counted, set(looked.changed.values())) == (counted, {0})
    assert (count_rows(db), ids(db)) == (before, [1, 2, 3, 4, 5, 6])
    done = maintenance.run_script(db, "prune", values=values, apply=True)
    assert done.counted == counted and done.changed["memories"] == 2 and set(done.changed) <= set(TABLES)
    assert sorted(row[0] for row in db.read(select(schema.search_vector.c.row_id), source="search_vector")) == [3, 4]
    told = db.read(select(schema.search_vector_version), source="search_vector_version")
    assert {row[0]: row[1] - 5 > embeddings.KEPT for row in told} == {7: True, 8: False}
    assert ids(db) == [3, 4, 5, 6] and uses(db) == {"cat": 3, "dog": 1} and verify_index(db) == []
    assert set(maintenance.run_script(db, "prune", values=values, apply=True).changed.values()) == {0}


@pytest.mark.parametrize("packed", [False, True], ids=["fresh", "packed"])
def test_d42_what_prune_deletes_stands_nowhere_afterwards(db: Database, packed: bool) -> None:
    remember(db, 1, "zqcanary of cats", "cat", "zqcanary", expires_at=NOW)
    remember(db, 2, "a cat", "cat")
    remember(db, 3, "zqwren of another", persona="other")
    vector = {"audience_id": 7, "model": "m", "at_us": 1, "source": 0, "row_id": 1, "part": 0, "vector": b"zqcanary"}
    old = [{"id": n, "persona_id": "default", "item_id": n, "old_text": w} for n, w in ((1, "zqcanary"), (2, "zqkept"))]

    def plant(connection: Any) -> None:
        connection.execute(insert(schema.search_vector), vector)
        connection.execute(insert(schema.item_history), old)
        of_tags = [(schema.tags, {"tag": "pet"}), (schema.tag_links, {"tag": "pet", "related_tag": "zqcanary"})]
        of_tags += [(schema.tag_aliases, {"alias": a, "tag": t}) for a, t in (("bird", "zqcanary"), ("puss", "cat"))]
        for table, row in of_tags:
            connection.execute(insert(table), {"persona_id": "default", **row})
        if packed:
            packing.pack_fresh(connection, 7)

    db.transaction(plant, source="test")
    assert {"item_history", "memories", "search_vector", "tag_aliases", "tags"} <= set(holders(db, "zqcanary"))
    maintenance.run_script(db, "prune", values={"expired_before": NOW}, apply=True)
    assert holders(db, "zqcanary") == []
    assert "search_fresh" in holders(db, "zqwren") and holders(db, "zqkept") == ["item_history"]
    assert holders(db, "puss") == ["tag_aliases"] and uses(db) == {"cat": 1, "pet": 0} and verify_index(db) == []


def holders(db: Database, text: str) -> list[str]:
    found = []
    for name, table in sorted(TABLES.items()):
        values = [value for row in db.read(select(table), source="test") for value in row]
        if any(text.encode() in (v if isinstance(v, bytes) else str(v).encode()) for v in values):
            found.append(name)
    return found


def test_d33_duplicates_let_the_older_copies_expire(db: Database) -> None:
    remember(db, 1, "Jay  likes tea")
    remember(db, 2, "jay likes TEA", pinned=1)
    remember(db, 3, "jay likes tea")
    remember(db, 4, "jay likes coffee")
    remember(db, 5, "jay likes coffee", audience_id=9)
    for number in (6, 7):
        remember(db, number, "jay likes tea", persona="other")
    counted = {"memory items with a newer copy": 2, "of these pinned, they stay": 1}
    assert maintenance.run_script(db, "duplicates").counted == counted
    done = maintenance.run_script(db, "duplicates", values={"now": NOW}, apply=True)
    assert (done.counted, done.changed) == (counted, {"memories": 1})
    m = schema.memories.c
    expired = db.read(select(m.id, m.expires_at).where(m.expires_at.is_not(None)), source="memories")
    assert list(map(tuple, expired)) == [(1, NOW)]
    assert maintenance.run_script(db, "prune", values={"expired_before": NOW}, apply=True).changed["memories"] == 1
    assert verify_index(db) == []


def test_d33_t25_health_reads_only_and_what_an_operator_types_is_no_part_of_a_statement(db: Database) -> None:
    remember(db, 1, "my cat", "cat", expires_at=NOW)
    remember(db, 2, "my dog", archived_at=NOW, timestamp=None)
    remember(db, 3, "my dog", persona="other")
    before = count_rows(db)
    assert maintenance.run_script(db, "health").counted["memory items expired and still there"] == 1, "until now"
    done = maintenance.run_script(db, "health", values={"now": NOW})
    assert done.changed == {} and count_rows(db) == before
    of_items = {"archived": 1, "expired and still there": 1, "without time": 1}
    expected = {"memories": 2, "tags": 1, **{f"memory items {what}": n for what, n in of_items.items()}}
    assert {what: n for what, n in done.counted.items() if n} == expected
    assert maintenance.run_script(db, "health", values={"persona": "x' OR '1'='1"}).counted["memories"] == 0


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_d33_the_head_states_risk_tables_and_cost(path: Path) -> None:
    name, family, _ = path.name.split(".")
    script = maintenance.get_script(name, family)
    for word in ("Risk", "Tables", "Cost"):
        assert re.search(rf"^{word}: .+\.$", script.head, re.MULTILINE), word
    assert script.values["persona"] == "default"
    kinds = [statement.split()[0] for statement in script.statements]
    assert set(kinds) <= {"SELECT", "INSERT", "REPLACE", "UPDATE", "DELETE"}
    assert kinds == sorted(kinds, key=lambda kind: kind != "SELECT")
    changes = [one for one in script.statements if not one.startswith("SELECT")]
    asked = "@apply = 1" if family == "mysql" else "(SELECT apply FROM given) = 1"
    assert all(asked in one for one in changes) and (script.values.get("apply") == 0) == bool(changes)


def test_d33_the_scripts_run_in_a_plain_client(db: Database) -> None:
    remember(db, 1, "my cat")
    for name in maintenance.list_scripts():
        text = (resources.find("sql/maintenance") / f"{name}.{db.family}.sql").read_text()
        rows = by_sqlite3(db, text) if db.family == "sqlite" else by_pymysql(db, text)
        assert [(what, int(n)) for what, n in rows] == list(maintenance.run_script(db, name).counted.items()), name
    assert ids(db) == [1]


def by_sqlite3(db: Database, text: str) -> list[tuple[str, str]]:
    client = shutil.which("sqlite3")
    if client is None:
        pytest.skip("no sqlite3 client on this machine")
    command = [client, "-batch", str(db.target.url.database)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return [(what, n) for what, _, n in (line.rpartition("|") for line in done.stdout.splitlines())]


def by_pymysql(db: Database, text: str) -> list[tuple[str, str]]:
    url = db.target.url
    socket = url.query.get("unix_socket")
    where = {"unix_socket": socket} if socket else {"host": url.host, "port": url.port}
    options: dict[str, Any] = {**where, "user": url.username, "password": url.password or "", "database": url.database}
    rows: list[tuple[str, str]] = []
    flags = CLIENT.MULTI_STATEMENTS
    with pymysql.connect(**options, ssl_disabled=True, client_flag=flags) as connection, connection.cursor() as cursor:
        cursor.execute(text)
        more = True
        while more:
            rows += [(str(row[0]), str(row[1])) for row in cursor.fetchall()]
            more = bool(cursor.nextset())
    return rows
