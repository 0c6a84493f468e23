"""D29, D31: a database of 0.1.0 comes to the present while it is used, and everything in it is found as before.

`tests/samples/release_0_1_0` was written by that release through its own doors: `rows.sql` holds every row of every
table, made to fit SQLite and servers alike, `answers.json` what its searches found, for each of several people. Its
tables are made by the first migration, whose statements are that release's own.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select

from core.cli import app as command
from core.config import Settings
from core.database import schema
from core.database.engine import Database
from core.db import open_database, verify_index
from core.errors import StoreError
from core.scope import Scope
from core.synth_core_memory import search_memories
from core.upkeep import ddl, migration
from tests.faults.host import Host
from tests.faults.ledger import wrong

SAMPLE = Path(__file__).resolve().parents[1] / "samples" / "release_0_1_0"
KNOWN = json.loads((SAMPLE / "answers.json").read_text(encoding="utf-8"))
PERSONA = "iris"
PATIENCE_SECONDS = 120.0
FIRST = {
    "mysql": "3cb8c1a31d06dc194f3b527ee0416c00e468d79505d21a3fe41070035589b396",
    "sqlite": "2f86809c2d5a98338eedc2ea6396ea47887b0b4333f4045707944a1096eef02d",
}
"""What the statements of the first release are, by SHA-256: a migration that shipped is never edited."""
ASKERS = {
    "channel-ann": Scope(PERSONA, "discord/42", "discord/ann", "s1", privacy="public"),
    "channel-bob": Scope(PERSONA, "discord/42", "discord/bob", "s1", privacy="public"),
    "other-server": Scope(PERSONA, "discord/77", "discord/cy", "s2", privacy="public"),
    "closed": Scope(PERSONA, "discord/99", "discord/ann", "s1", privacy="restricted"),
    "ann": Scope(PERSONA, "web/ann", "web/ann", privacy="direct"),
    "bob": Scope(PERSONA, "web/bob", "web/bob", privacy="direct"),
    "stranger": Scope(PERSONA, "web/zed", "web/zed", privacy="direct"),
    "another-persona": Scope("otto", "web/ann", "web/ann", privacy="direct"),
}
WORDS = sorted({word for found in KNOWN["answers"].values() for word in found})
OLD = {hit for found in KNOWN["answers"].values() for hits in found.values() for hit in hits}
"""Every row that any of the searches found then."""
MADE = ("text_folded", "content_hash")
"""What `db reindex` makes anew of a text: what is compared has no accents any more."""
ACCENTED = {("bob", "weingärtner")}
"""What may be found again only when `db reindex` has taken the accents off what 0.1.0 compares by."""
KEPT = (
    "memories", "chat_history_cache", "ai_diary", "conversations", "participants", "tags", "tag_aliases", "tag_links",
    "running_recaps", "scenes", "short_term_memories", "memory_jobs", "relationship_log", "audiences",
)  # fmt: skip
"""Tables whose rows are what people said and were promised; the others follow from them, or count."""


@pytest.fixture
def old(fresh_url: str) -> Iterator[Database]:
    """A database of 0.1.0, as it is."""
    db = Database(fresh_url)
    load(db)
    yield db
    db.close()


def load(db: Database) -> None:
    """Make the tables of 0.1.0 and put the sample's rows into them."""
    family = "sqlite" if db.family == "sqlite" else "mysql"
    tables = migration.find_folder() / "versions" / f"v0001_tables.{family}.sql"
    rows = (SAMPLE / "rows.sql").read_text(encoding="utf-8").removesuffix(";\n").split(";\n")

    def work(connection: Connection) -> None:
        for statement in ddl.create_all(ddl.schema_version, db.family):
            connection.exec_driver_sql(statement)
        ddl.run_script(connection, tables.read_text(encoding="utf-8"))
        cursor: Any = connection.connection.cursor()  # the texts hold what drivers take for parameters
        if db.family != "sqlite":
            cursor.execute("SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_BACKSLASH_ESCAPES')")
        cursor.execute("DELETE FROM search_progress")
        for statement in rows:
            cursor.execute(statement)
        if db.family != "sqlite":
            cursor.execute("SET SESSION sql_mode = REPLACE(@@sql_mode, 'NO_BACKSLASH_ESCAPES', '')")
        cursor.close()

    db.transaction(work, source="the sample of 0.1.0")


def search_all(db: Database) -> dict[str, dict[str, list[str]]]:
    """Return what everybody finds of the old rows by every word."""
    found: dict[str, dict[str, list[str]]] = {}
    for name, scope in ASKERS.items():
        for word in WORDS:
            hits = search_memories(
                keywords=[word], limit=1000, db=db, settings=Settings(record_recalls=False), scope=scope
            )
            known = sorted(OLD & {f"{hit['source']} {hit['id']}" for hit in hits})
            if known:
                found.setdefault(name, {})[word] = known
    return found


def read_rows(db: Database, columns: dict[str, tuple[str, ...]]) -> dict[str, set[str]]:
    """Return every row of the tables that hold what was said, by its columns of then but those made of a text."""
    tables = {table.name: table for table in ddl.list_tables().values()}
    return {
        name: {
            repr(tuple(row))
            for row in db.read(
                select(*(tables[name].c[one] for one in columns[name] if one not in MADE)), source="test"
            )
        }
        for name in KEPT
    }


def wait_for(holds: Callable[[], bool], host: Host) -> None:
    """Wait until something holds; raise when the host has broken down, or nothing happens any more."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        host.check()
        assert time.monotonic() < end, host.told[-5:]
        time.sleep(0.02)


def test_d31_the_first_migration_is_that_of_0_1_0() -> None:
    folder = migration.find_folder() / "versions"
    made = {name: hashlib.sha256((folder / f"v0001_tables.{name}.sql").read_bytes()).hexdigest() for name in FIRST}
    assert made == FIRST


@pytest.mark.slow
@pytest.mark.engines("sqlite", "mariadb", "mysql")
def test_d31_a_database_of_0_1_0_comes_to_the_present_while_it_is_used(
    old: Database, fresh_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A host of today writes and builds prompts meanwhile; each old row is there, found by whom it was before."""
    assert migration.read_version(old) == "0001" and len(migration.list_pending(old)) >= 5
    columns = {name: tuple(found.columns) for name, found in migration.read_tables(old).items()}
    before = read_rows(old, columns)
    assert {name: len(rows) for name, rows in before.items()} == {name: KNOWN["rows"].get(name, 0) for name in KEPT}
    if old.family != "sqlite":  # others may be at work there: it is an operator's decision
        with pytest.raises(StoreError, match="prompt-engine db migrate"):
            open_database(fresh_url)
    host = Host(fresh_url, PERSONA, "new", timeout_seconds=60)
    try:
        wait_for(lambda: len(host.told) >= 15, host)
        assert command.run_command(["db", "migrate", "--database", fresh_url]) == 0
        wait_for(lambda: host.stored() >= 15, host)
        db = open_database(fresh_url)
        found = search_all(db)  # from the rows themselves, while the index is being made
        asked = [(who, word) for who, answers in KNOWN["answers"].items() for word in answers]
        differing = {(who, word) for who, word in asked if found[who].get(word) != KNOWN["answers"][who][word]}
        assert differing <= ACCENTED
        assert command.run_command(["db", "reindex", "--database", fresh_url]) == 0
        stored = host.stored()
        wait_for(lambda: host.stored() >= stored + 15, host)
    finally:
        told = host.stop()
    assert [each for each in told if each.kind == "prompt" and each.state != "stored"] == []
    assert {each.kind for each in told if each.state == "stored"} >= {"message", "item", "entry", "turn", "prompt"}
    assert command.run_command(["db", "verify", "--database", fresh_url]) == 0, capsys.readouterr().out
    assert search_all(db) == KNOWN["answers"]
    after = read_rows(db, columns)
    assert {name: lost for name, rows in before.items() if (lost := rows - after[name])} == {}
    assert wrong(db, PERSONA, told) == [] and list(verify_index(db)) == []
    assert migration.list_pending(db) == [] and migration.plan_steps(db) == []
    progress = db.read(select(schema.search_progress.c.ready), source="search_progress")
    assert [row[0] for row in progress] == [1, 1, 1]
    db.close()
