"""D29, F58, F74: `check_server` says what is there, what is needed and what mends it, and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import insert

from core.database import registry, schema
from core.database.engine import Database
from core.errors import StoreError
from core.upkeep import check, ddl, inspection, migration
from tests.store.world import of_today


@pytest.fixture
def db(fresh_migrated_url: str) -> Iterator[Database]:
    """A database of today."""
    with of_today(fresh_migrated_url) as handle:
        yield handle


def run(db: Database, *statements: str) -> None:
    """Run statements, each in a transaction of its own."""
    for statement in statements:
        ready = statement if db.family == "sqlite" else statement.replace("%", "%%")
        db.transaction(lambda c, s=ready: c.exec_driver_sql(s), source="test")


def kinds(db: Database) -> set[tuple[str, str]]:
    """Return what is found and where, the size of packets aside: that is the server's."""
    return {(one.what, one.where) for one in check.check_server(db) if one.what != "packet size"}


def test_d29_a_new_database_is_in_good_order(db: Database) -> None:
    """No false alarm on any engine."""
    assert kinds(db) == set()
    assert [one for one in check.check_server(db) if one.severity == "error"] == []


def test_d29_what_was_dropped_by_hand_is_named_with_the_remedy(db: Database) -> None:
    """A column, an index, a table; migrate restores them, and then nothing is left to say."""
    drop = "DROP INDEX ix_diary_chat" + ("" if db.family == "sqlite" else " ON ai_diary")
    run(db, "ALTER TABLE memories DROP COLUMN pinned", drop, "DROP TABLE tag_links")
    before = inspection.read_tables(db)
    assert kinds(db) == {("column", "memories.pinned"), ("index", "ai_diary.ix_diary_chat"), ("table", "tag_links")}
    assert {one.remedy for one in check.check_server(db) if one.what != "packet size"} == {check.MIGRATE}
    assert inspection.read_tables(db) == before
    migration.migrate(db)
    assert kinds(db) == set()


@pytest.mark.engines("mariadb", "mysql")
def test_f74_wrong_engine_type_and_collation_come_with_the_statement_that_mends_them(db: Database) -> None:
    """The statement is run as it stands, and then nothing is left to say."""
    run(
        db,
        "ALTER TABLE memory_recalls ENGINE=MyISAM",
        "ALTER TABLE memories MODIFY author VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
        "ALTER TABLE memories MODIFY emotion VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        "ALTER TABLE ai_diary MODIFY chat_id VARBINARY(255) NULL",
    )
    found = [one for one in check.check_server(db) if one.what != "packet size"]
    assert {(one.what, one.where, one.there, one.needed) for one in found} == {
        ("engine", "memory_recalls", "MyISAM", "InnoDB"),
        ("collation", "memories.author", "utf8mb4_general_ci", "utf8mb4_bin"),
        ("type", "memories.emotion", "varchar(20)", "varchar(50)"),
        ("nullable", "ai_diary.chat_id", "NULL", "NOT NULL"),
    }
    assert found[0].severity == "error"
    run(db, *(one.remedy.rstrip(";") for one in found))
    assert kinds(db) == set()


def test_f74_an_old_server_is_named_with_what_is_needed() -> None:
    """Every product that the schema is written for, in its own words."""
    said = {
        "8.0.36": [],
        "5.7.44-log": ["MySQL 5.7.44"],
        "10.11.6-MariaDB-1:10.11.6+maria~ubu2204": [],
        "5.5.5-10.6.16-MariaDB": ["MariaDB 10.6.16"],
        "8.0.11-TiDB-v7.5.1": [],
        "5.7.25-OceanBase-v4.3.0": [],
        "9.7.4": [],
    }
    for version, expected in said.items():
        assert [one.there for one in check.check_version(*check.product_of(version))] == expected, version
    assert check.product_of("5.7.25", "OceanBase 4.2.1 (r1)") == ("OceanBase", (4, 2, 1))
    assert check.check_version("SQLite", (3, 37, 2))[0].needed == "SQLite 3.38 or later"
    assert check.check_version("SQLite", (3, 40, 1)) == []


@pytest.mark.parametrize(("size", "severity"), [(2**20, "error"), (16 * 2**20, "warning"), (64 * 2**20, "")])
def test_f74_a_packet_too_small_for_a_text_is_named(size: int, severity: str) -> None:
    """A text may be 16 MB long (F63)."""
    found = check.check_packet(size)
    assert [one.severity for one in found] == ([severity] if severity else [])
    assert all("SET GLOBAL max_allowed_packet = 67108864;" in one.remedy for one in found)


RIGHTS = [
    (["GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION"], []),
    (["GRANT USAGE ON *.* TO `app`@`%`", "GRANT ALL PRIVILEGES ON `my\\_db`.* TO `app`@`%`"], []),
    (["GRANT ALL PRIVILEGES ON `my_d%`.* TO `app`@`%`"], []),
    (["GRANT ALL PRIVILEGES ON `my`.* TO `app`@`%`"], ["error", "warning"]),
    (["GRANT SELECT, INSERT, UPDATE, DELETE ON `my_db`.* TO `app`@`%`"], ["warning"]),
    (["GRANT SELECT ON `my_db`.* TO `app`@`%`", "GRANT CREATE, ALTER, INDEX, DROP ON *.* TO `app`@`%`"], ["error"]),
    (["GRANT SELECT, INSERT, UPDATE, DELETE ON `my_db`.`memories` TO `app`@`%`"], ["error", "warning"]),
    (["GRANT `writer`@`%` TO `app`@`%`"], []),
]


@pytest.mark.parametrize(("grants", "severities"), RIGHTS)
def test_f74_missing_rights_come_with_the_grant(grants: list[str], severities: list[str]) -> None:
    """Those to work are errors; those to migrate can wait until somebody migrates."""
    found = check.check_rights(grants, "my_db", "app@%")
    assert [one.severity for one in found] == severities
    assert all(one.remedy.startswith("GRANT ") and one.remedy.endswith("ON `my_db`.* TO 'app'@'%';") for one in found)


def test_f74_the_missing_rights_are_named() -> None:
    """Only what is lacking, not everything."""
    found = check.check_rights(["GRANT SELECT, DELETE ON `my_db`.* TO `app`@`%`"], "my_db", "app@%")
    assert found[0].remedy == "GRANT INSERT, UPDATE ON `my_db`.* TO 'app'@'%';"


@pytest.mark.engines("mariadb", "mysql")
def test_f74_a_user_without_rights_is_told_by_a_real_server(db: Database) -> None:
    """The server's own words of a grant are understood, and the remedy works."""
    name = str(db.target.url.database)
    user = f"u{abs(hash(name)) % 10**8}"
    run(db, f"CREATE USER {user}@'%' IDENTIFIED BY 'secret'", f"GRANT SELECT ON `{name}`.* TO {user}@'%'")
    url = db.target.url.set(username=user, password="secret").render_as_string(hide_password=False)
    other = Database(url)
    found = [one for one in check.check_server(other) if one.what == "right"]
    assert [(one.severity, one.there) for one in found] == [
        ("error", "no INSERT, UPDATE, DELETE"),
        ("warning", "no CREATE, ALTER, INDEX, DROP"),
    ]
    run(db, *(one.remedy.rstrip(";") for one in found))
    other.close()
    other = Database(url)
    assert [one for one in check.check_server(other) if one.what == "right"] == []
    other.close()
    run(db, f"DROP USER {user}@'%'")


def test_d29_pending_migrations_and_the_original_s_tables_are_named(fresh_url: str) -> None:
    """`migrate --check` before anybody runs it; an empty database lacks everything."""
    db = Database(fresh_url)
    assert ("migration", "") in kinds(db)
    assert {where for what, where in kinds(db) if what == "table"} == set(ddl.list_tables())
    run(db, "CREATE TABLE memories (id INTEGER NOT NULL PRIMARY KEY, content VARCHAR(100))")
    found = kinds(db)
    assert ("adoption", "memories") in found
    assert not [where for _, where in found if where.startswith("memories.")]
    assert set(inspection.read_tables(db)) == {"memories"}
    db.close()


def test_d16_an_index_that_is_not_built_is_named(db: Database) -> None:
    """Searches are right without it, and slow."""
    run(db, "UPDATE search_progress SET ready = 0 WHERE source = 1", "DELETE FROM search_progress WHERE source = 2")
    assert kinds(db) == {("search index", "ai_diary"), ("search index", "chat_history_cache")}


@pytest.mark.engines("sqlite")
def test_f58_broken_rows_are_listed(db: Database) -> None:
    """By column and id, never by what stands in them; the rows are left as they are."""
    rows: list[dict[str, Any]] = [{"id": n, "content": "a", "tags": ["x"]} for n in range(1, 5)]
    db.transaction(lambda c: c.execute(insert(schema.memories), rows), source="test")
    run(
        db,
        "PRAGMA ignore_check_constraints = ON",
        "UPDATE memories SET timestamp = 'soon' WHERE id = 1",
        "UPDATE memories SET tags = '{\"a\": 1}' WHERE id = 2",
        "UPDATE memories SET tags = '[1]' WHERE id = 3",
        "UPDATE memories SET metadata = '[\"secret\"]' WHERE id = 4",
    )
    found = {one.where: one for one in check.check_server(db)}
    assert set(found) == {"memories.timestamp", "memories.tags", "memories.metadata"}
    assert "(2, 3)" in found["memories.tags"].there
    assert found["memories.tags"].remedy == "UPDATE memories SET tags = '[]' WHERE id IN (2, 3);"
    assert "secret" not in " ".join(map(str, found.values()))
    run(db, found["memories.tags"].remedy.rstrip(";"), found["memories.metadata"].remedy.rstrip(";"))
    assert kinds(db) == {("row", "memories.timestamp")}


@pytest.mark.engines("sqlite")
def test_f58_the_scan_is_bounded(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check of a large database ends in seconds: only the newest rows are looked at."""
    monkeypatch.setattr(check, "SCAN_ROWS", 2)
    rows: list[dict[str, Any]] = [{"id": n, "content": "a", "tags": [1] if n < 3 else []} for n in range(1, 5)]
    db.transaction(lambda c: c.execute(insert(schema.memories), rows), source="test")
    assert kinds(db) == set()


def test_d36_stats_count_every_table(db: Database) -> None:
    """`db stats` reads the registry; a table that is missing is left out."""
    rows = [{"id": n, "content": "a"} for n in (1, 2, 3)]
    db.transaction(lambda c: c.execute(insert(schema.memories), rows), source="test")
    counted = check.count_rows(db)
    assert list(counted) == [entry.table for entry in registry.REGISTRY]
    assert {name: n for name, n in counted.items() if n} == {"memories": 3, "search_progress": 3, "schema_version": 1}
    run(db, "DROP TABLE tags")
    assert "tags" not in check.count_rows(db)


def test_f74_a_database_that_cannot_be_reached_is_an_error_not_a_finding() -> None:
    """There is nothing to say about a server that does not answer."""
    with pytest.raises(StoreError):
        check.check_server(Database("mysql://u:p@127.0.0.1:1/none", timeout_seconds=1))
