"""D29, F58, F74: `check_server` says what is there, what is needed and what mends it, and changes nothing."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta

import pytest
from sqlalchemy import insert, select

from core.database import schema
from core.database.engine import Database
from core.db import insert_memory
from core.errors import StoreError
from core.upkeep import check, inspection, migration
from core.upkeep.check import Finding
from tests.store.world import account, full_disk, of_today, url_of

pytestmark = pytest.mark.dialects


@pytest.fixture
def db(fresh_migrated_url: str) -> Iterator[Database]:
    with of_today(fresh_migrated_url) as handle:
        yield handle


def run(db: Database, *statements: str) -> None:
    for statement in statements:
        ready = statement if db.family == "sqlite" else statement.replace("%", "%%")
        db.transaction(lambda c, s=ready: c.exec_driver_sql(s), source="test")


def findings(db: Database) -> list[Finding]:
    """Return what is found, what is only counted aside, and what the servers of the suite are set to (for speed)."""
    found = [one for one in check.check_server(db) if one.severity != "note"]
    return [one for one in found if one.where or one.severity == "error"]


def test_f74_an_empty_database_is_one_line(fresh_url: str) -> None:
    with closing(Database(fresh_url)) as db:
        found = [one for one in check.check_server(db) if one.severity != "warning"]
        assert found == [Finding("note", "empty", "", "run prompt-engine db init")] and inspection.read_facts(db) == {}


def test_d29_what_was_dropped_by_hand_is_named_with_the_remedy(db: Database) -> None:
    assert findings(db) == []
    drop = "DROP INDEX ix_diary_chat" + ("" if db.family == "sqlite" else " ON ai_diary")
    run(db, "ALTER TABLE memories DROP COLUMN pinned", drop, "DROP TABLE tag_links")
    before, found = inspection.read_facts(db), {one.where: one for one in findings(db)}
    assert {(where, one.severity) for where, one in found.items()} == {
        ("memories.pinned", "error"), ("ai_diary.ix_diary_chat", "warning"), ("tag_links", "error"),
    }  # fmt: skip
    assert "prompt-engine db migrate" in found["tag_links"].remedy and inspection.read_facts(db) == before
    run(db, *(found[where].remedy.rstrip(";") for where in ("memories.pinned", "ai_diary.ix_diary_chat")))
    assert [one.where for one in findings(db)] == ["tag_links"]
    with pytest.raises(StoreError, match=r"tag_links could not be read.*run `prompt-engine db migrate`"):
        db.read(select(schema.tag_links.c.tag), source="tag_links")
    done = migration.migrate(db)
    assert done.changed and done.messages == (
        "Made the missing table tag_links, without rows. A backup may have those it held.",
    )
    assert findings(db) == [] and not migration.migrate(db).changed
    other_key = {**before, ("memories", "primary key", ""): "persona_id, id"}
    differing = {(one.severity, one.where) for one in inspection.list_differences(other_key, db.family)}
    assert ("error", "memories.PRIMARY") in differing


@pytest.mark.engines("mariadb", "mysql")
def test_f74_wrong_engine_type_and_collation_come_with_the_statement_that_mends_them(db: Database) -> None:
    run(
        db,
        "ALTER TABLE counters ENGINE=MyISAM",
        "ALTER TABLE memories MODIFY author VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
        "ALTER TABLE memories MODIFY emotion VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        "ALTER TABLE ai_diary MODIFY chat_id VARBINARY(255) NULL",
    )
    found = findings(db)
    assert {(one.where, one.what) for one in found} == {
        ("counters", "the engine is MyISAM, and should be InnoDB"),
        ("memories.author", "the collation is utf8mb4_general_ci, and should be utf8mb4_bin"),
        ("memories.emotion", "the type is varchar(20), and should be varchar(50)"),
        ("ai_diary.chat_id", "the column is NULL, and should be NOT NULL"),
    }
    assert found[0].severity == "error"
    run(db, *(one.remedy.rstrip(";") for one in found))
    assert findings(db) == []


def test_f74_an_old_server_is_named_with_what_is_needed() -> None:
    said = {
        "8.0.36": [], "5.7.44-log": ["MySQL 5.7.44"], "10.11.6-MariaDB-1:10.11.6+maria~ubu2204": [],
        "5.5.5-10.6.16-MariaDB": ["MariaDB 10.6.16"], "8.0.11-TiDB-v7.5.1": [], "5.7.25-OceanBase-v4.3.0": [],
        "9.7.4": [],
    }  # fmt: skip
    for version, expected in said.items():
        told = [one.what for one in check.check_version(*check.product_of(version))]
        assert [one in what for one, what in zip(expected, told, strict=True)] == [True] * len(expected), version
    assert check.product_of("5.7.25", "OceanBase 4.2.1 (r1)") == ("OceanBase", (4, 2, 1))
    assert "3.38 or later" in check.check_version("SQLite", (3, 37, 2))[0].what
    assert check.check_version("SQLite", (3, 40, 1)) == []


@pytest.mark.parametrize(("size", "severity"), [(2**20, "error"), (16 * 2**20, "warning"), (64 * 2**20, "")])
def test_f74_a_packet_too_small_for_a_text_is_named(size: int, severity: str) -> None:
    found = check.check_packet(size)
    assert [one.severity for one in found] == ([severity] if severity else [])
    assert all("SET GLOBAL max_allowed_packet = 67108864;" in one.remedy for one in found)


@pytest.mark.parametrize(("grants", "severities"), [
    (["GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION"], []),
    (["GRANT USAGE ON *.* TO `app`@`%`", "GRANT ALL PRIVILEGES ON `my\\_db`.* TO `app`@`%`"], []),
    (["GRANT ALL PRIVILEGES ON `my`.* TO `app`@`%`"], ["error", "note"]),
    (["GRANT SELECT, INSERT, UPDATE, DELETE ON `my_db`.* TO `app`@`%`"], ["note"]),
    (["GRANT SELECT ON `my_db`.* TO `app`@`%`", "GRANT CREATE, ALTER, INDEX, DROP ON *.* TO `app`@`%`"], ["error"]),
    (["GRANT SELECT, INSERT, UPDATE, DELETE ON `my_db`.`memories` TO `app`@`%`"], ["error", "note"]),
    (["GRANT `writer`@`%` TO `app`@`%`"], []),
])  # fmt: skip
def test_f74_missing_rights_come_with_the_grant(grants: list[str], severities: list[str]) -> None:
    """Those to work are errors; an account may lack those to migrate on purpose."""
    found = check.check_rights(grants, "my_db", "app@%")
    assert [one.severity for one in found] == severities
    for one in found:
        if one.severity == "note":
            assert one.remedy == "" and "only for `prompt-engine db init` and `db migrate`" in one.what
        else:
            assert one.remedy.startswith("GRANT ") and one.remedy.endswith("ON `my_db`.* TO 'app'@'%';")


@pytest.mark.posix
@pytest.mark.engines("sqlite")
@pytest.mark.parametrize("is_open", [True, False])
def test_f74_a_full_disk_is_named_where_everything_can_be_read(db: Database, is_open: bool) -> None:
    """Another program that has the file open made SQLite's files while there was room."""
    insert_memory("Ann likes green tea", "ann", "chat", [], db=db)
    if not is_open:
        db.close()
    with closing(Database(db.target)) as other:
        with full_disk():
            found = check.check_server(other)
        assert [one.severity for one in found] == ["error"]
        assert "nothing can be stored: File too large" in found[0].what and "Free space" in found[0].remedy
        assert check.check_server(other) == []


@pytest.mark.engines("mariadb", "mysql")
def test_f74_the_rights_to_make_the_tables_are_named_before_and_when_they_lack(fresh_url: str) -> None:
    with account(fresh_url, "SELECT") as url:
        with closing(Database(url)) as other:
            found = [one for one in check.check_server(other) if "lacks the rights" in one.what]
            with pytest.raises(StoreError, match="lacks the right CREATE: grant it") as raised:
                migration.migrate(other)
        remedies = [(one.severity, one.remedy.split(" ON ")[0]) for one in found]
        assert remedies == [("error", "GRANT INSERT, UPDATE, DELETE"), ("error", "GRANT CREATE")]
        assert "secret" not in str(raised.value)
        with closing(Database(fresh_url)) as db:
            run(db, *(one.remedy.rstrip(";") for one in found))
        with closing(Database(url)) as other:
            assert check.check_server(other) == [check.NO_TABLES] and migration.migrate(other).changed


@pytest.mark.engines("mariadb", "mysql")
@pytest.mark.parametrize("hidden", ["privacy_levels", "schema_version"])
def test_f74_tables_that_the_account_may_not_read_are_named(db: Database, hidden: str) -> None:
    """A server leaves them out of its lists and dumps: a backup without them would look whole."""
    tables = [table for table in schema.TABLES if table != hidden]
    with account(url_of(db), "SELECT", tables) as url, closing(Database(url)) as other:
        assert hidden in [one.where for one in check.check_server(other) if "rant SELECT on it" in one.remedy]


def test_f74_statement_binlog_and_other_settings_that_lose_writes_are_named() -> None:
    good = {"read_only": "OFF", "log_bin": "ON", "binlog_format": "ROW", "innodb_flush_log_at_trx_commit": "1"}
    assert check.check_settings(good) == []
    found = check.check_settings({**good, "binlog_format": "STATEMENT"})
    assert [one.severity for one in found] == ["error"] and "1665" in found[0].what
    assert found[0].remedy.startswith("SET GLOBAL binlog_format = 'ROW';")
    assert check.check_settings({**good, "binlog_format": "STATEMENT", "log_bin": "OFF"}) == []
    assert check.check_settings({**good, "read_only": "ON"})[0].severity == "error"
    assert check.check_settings({**good, "innodb_flush_log_at_trx_commit": "2"})[0].severity == "warning"


def test_f74_expired_items_and_orphans_are_counted(db: Database) -> None:
    insert_memory("gone by now", "ann", "chat", [], tier="session", expires_at=db.clock() - timedelta(days=1), db=db)
    row = {"id": 5, "item_id": 99, "old_text": "x"}
    recap = {"message_row": 77, "alternative": -1, "memory": "x"}
    db.transaction(lambda c: c.execute(insert(schema.item_history), row), source="test")
    db.transaction(lambda c: c.execute(insert(schema.message_recaps), recap), source="test")
    told = {one.where: one for one in check.check_server(db)}
    assert "1 session items have expired" in told["memories"].what
    assert told["message_recaps"].severity == "warning" and "are gone" in told["message_recaps"].what
