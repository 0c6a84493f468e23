"""F74, D29: the doctor names each fault with what mends it, changes nothing, and says so when all is well."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from datetime import timedelta
from importlib import metadata
from pathlib import Path

import pytest
from sqlalchemy import delete, insert, update

from core import doctor
from core.config import Settings
from core.database import schema, schema_recent, schema_stories
from core.database.engine import Database
from core.db import insert_memory
from tests.store.world import NOW, open_db, own_scope

PLAIN = Settings()


@pytest.fixture
def db(fresh_migrated_url: str) -> Iterator[Database]:
    """A database of today with a few memories in it."""
    made = open_db(fresh_migrated_url)
    for text in ("my cat is called Tofu", "Ann moved to Rome"):
        insert_memory(text, "Ann", "chat", ["cat"], own_scope(), db=made, settings=PLAIN)
    yield made
    made.close()


def run(db: Database, *statements: str) -> None:
    """Run statements, each in a transaction of its own."""
    for statement in statements:
        ready = statement if db.family == "sqlite" else statement.replace("%", "%%")
        db.transaction(lambda c, s=ready: c.exec_driver_sql(s), source="test")


def serious(checkup: doctor.Checkup) -> list[doctor.Symptom]:
    """Return warnings and errors; what depends on the machine aside: its disk, its packets, its clock, its speed."""
    machine = ("disk", "clock", "speed")
    found = [one for one in checkup.symptoms if one.level in ("warning", "error") and one.area not in machine]
    return [one for one in found if not one.what.startswith(("packet size", "innodb_flush_log"))]


def test_d29_a_database_in_good_order_has_no_serious_symptom(db: Database) -> None:
    """No false alarm on any engine, and every part was looked at."""
    found = doctor.examine(db=db, settings=PLAIN)
    assert serious(found) == []
    areas = {one.area for one in found.symptoms}
    assert areas >= {"server", "schema", "index", "queue", "rows", "disk", "speed", "settings", "model", "extras"}
    if db.family != "sqlite":
        assert areas >= {"clock", "encryption"}


def test_f74_every_fault_is_named_with_what_mends_it(db: Database) -> None:
    """Faults of tables, index, queue and rows at once: one symptom each, and following them leaves none."""
    drop = "DROP INDEX ix_diary_chat" + ("" if db.family == "sqlite" else " ON ai_diary")
    hour = timedelta(hours=1)
    jobs, recaps = schema_stories.memory_jobs, schema_stories.message_recaps
    base = {"persona_id": "p", "type": "RECAP", "created_at": NOW - 3 * hour, "updated_at": NOW}
    listed = [
        {"id": 1, "status": "in_progress", "lease_until": NOW - hour, "available_at": None, **base},
        {"id": 2, "status": "failed", "lease_until": None, "available_at": None, **base},
        {"id": 3, "status": "pending", "lease_until": None, "available_at": NOW - hour, **base},
    ]
    db.transaction(lambda c: c.execute(insert(jobs), listed), source="test")
    lost = {"persona_id": "p", "message_row": 7, "alternative": -1, "memory": "m"}
    db.transaction(lambda c: c.execute(insert(recaps), lost), source="test")
    old = {"id": 9, "persona_id": "p", "messages": [], "last_updated": NOW - 300 * hour}
    db.transaction(lambda c: c.execute(insert(schema_recent.short_term_memories), old), source="test")
    db.transaction(lambda c: c.execute(delete(schema.search_tag)), source="test")
    run(db, drop, "DROP TABLE tag_links")
    found = doctor.examine(db=db, settings=PLAIN)
    said = [(one.level, one.area, one.mend) for one in serious(found)]
    assert ("error", "index", "prompt-engine db verify shows all of it, prompt-engine db reindex mends it") in said
    assert {(level, area) for level, area, _ in said} == {
        ("error", "schema"), ("warning", "schema"), ("error", "index"), ("warning", "queue"), ("warning", "rows"),
    }  # fmt: skip
    texts = " ".join(one.what for one in serious(found))
    for part in (
        "table tag_links: absent", "index ai_diary.ix_diary_chat: absent", "1 operations are in progress and their",
        "1 operations failed", "1 operations could run and the oldest has waited for 3.0 h", "1 rows of message_recaps",
        "2 of memories",
    ):  # fmt: skip
        assert part in texts, part
    assert any(one.what.startswith("0 session items and 1 short-term entries") for one in found.symptoms)
    assert all(one.why and one.mend for one in serious(found))
    assert not found.healthy


def test_f74_a_token_that_serve_refuses_is_a_warning() -> None:
    """Without one there is no admin server, and nothing wrong; it is never quoted."""
    for token, warnings in (("", 0), ("sixteen-letters!", 0), ("secret-of-15-ch", 1)):
        checkup = doctor.examine("sqlite:///:memory:", settings=Settings(admin_token=token))
        told = [one for one in serious(checkup) if one.area == "settings"]
        assert (len(told), checkup.healthy) == (warnings, True), token
        assert all("has 15 characters" in one.what and "secret-of" not in repr(one) for one in told)


@pytest.mark.spared("seekdb")  # test_f74_every_fault_is_named looks at the same tables there
def test_f74_a_pending_migration_and_what_it_brings_are_one_error(db: Database) -> None:
    """One command mends both; what else is wrong stays apart."""
    run(db, "UPDATE schema_version SET version_num = '0000'", "DROP TABLE tag_links", "DROP TABLE scenes")
    told = [one for one in serious(doctor.examine(db=db, settings=PLAIN)) if one.area == "schema"]
    assert [(one.level, one.mend) for one in told] == [("error", "prompt-engine db migrate")]
    for part in ("version 0000", "table scenes", "table tag_links"):
        assert part in told[0].what


@pytest.mark.spared("seekdb")  # test_f74_every_fault_is_named looks at the same tables there
def test_f74_an_earlier_revision_and_a_row_that_differs_are_named(db: Database) -> None:
    """The command that mends each stands beside it."""
    run(db, "UPDATE schema_version SET version_num = '0000'")
    db.transaction(lambda c: c.execute(update(schema.memories).values(text_folded="something else")), source="test")
    told = {one.area: one for one in serious(doctor.examine(db=db, settings=PLAIN))}
    assert told["schema"].what.startswith("migration: version 0000")
    assert told["schema"].mend == "prompt-engine db migrate"
    assert "2 of memories" in told["index"].what


def test_f74_a_clock_that_differs_is_named(db: Database) -> None:
    """The clock of the tests stands in another year than the server's."""
    found = [one for one in doctor.examine(db=db, settings=PLAIN).symptoms if one.area == "clock"]
    assert [one.level for one in found] == ([] if db.family == "sqlite" else ["error"])
    assert all("NTP" in one.mend for one in found)


@pytest.mark.engines("mariadb", "mysql")
def test_f74_rights_collation_and_engine_of_a_real_server(db: Database) -> None:
    """A right taken away is named with its GRANT, tables with the statement that mends them."""
    name = str(db.target.url.database)
    user = f"d{abs(hash(name)) % 10**8}"
    run(
        db,
        f"CREATE USER {user}@'%' IDENTIFIED BY 'canary-pw-ü€'",  # none that Latin-1 could write
        f"GRANT ALL PRIVILEGES ON `{name}`.* TO {user}@'%'",
        f"REVOKE INSERT, INDEX ON `{name}`.* FROM {user}@'%'",
        "ALTER TABLE memory_recalls ENGINE=MyISAM",
        "ALTER TABLE memories MODIFY author VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
        f"ALTER DATABASE `{name}` CHARACTER SET latin1",
    )
    url = db.target.url.set(username=user, password="canary-pw-ü€").render_as_string(hide_password=False)
    try:
        found = doctor.examine(url, settings=PLAIN)
    finally:
        run(db, f"DROP USER {user}@'%'")
    told = {one.mend for one in found.symptoms}
    assert f"GRANT INSERT ON `{name}`.* TO '{user}'@'%';" in told
    assert f"GRANT INDEX ON `{name}`.* TO '{user}'@'%';" in told
    assert "ALTER TABLE memory_recalls ENGINE=InnoDB;" in told
    assert any(mend.startswith("ALTER TABLE memories MODIFY author") for mend in told)
    assert any("character set is latin1" in one.what for one in found.symptoms)
    assert "canary-pw" not in str(found)


def test_an_extra_is_known_by_its_packages_and_not_by_what_their_modules_are_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """discord.py brings the module discord, python-telegram-bot the module telegram."""
    needed = {
        "discord": "discord.py",
        "telegram": "python-telegram-bot",
        "openai-agents": "openai-agents",
        "nix": "no-x",
    }
    lines = [f"{package}>=1; extra == '{extra}'" for extra, package in needed.items()]
    monkeypatch.setattr(metadata, "requires", lambda _: lines)
    there = {str(one.metadata["Name"]).lower() for one in metadata.distributions()}
    found = doctor.examine(f"sqlite:///{tmp_path / 'none.db'}", settings=PLAIN)
    told = {
        one.level: set(one.what.partition(": ")[2].rstrip(".").split(", "))
        for one in found.symptoms
        if one.area == "extras"
    }
    assert told.get("ok", set()) == {extra for extra, package in needed.items() if package in there}
    assert told["note"] == needed.keys() - told.get("ok", set())
    assert "nix" in told["note"]


def test_f74_what_cannot_be_reached_is_the_first_thing_said(tmp_path: Path) -> None:
    """One error, no password, and the parts that need no database are still looked at."""
    found = doctor.examine("mysql://u:canary-pw@127.0.0.1:1/none", settings=Settings(db_timeout_seconds=1))
    assert found.symptoms[0].level == "error"
    assert "could not be reached" in found.symptoms[0].what
    assert "canary-pw" not in str(found)
    assert {"settings", "extras", "model"} <= {one.area for one in found.symptoms}
    wrong = doctor.examine("postgres://u:canary-pw@h/n", settings=PLAIN)
    assert [one.area for one in wrong.symptoms if one.level == "error"] == ["server"]
    assert "canary-pw" not in str(wrong)
    wrong = doctor.examine("mysql://u:canary-pw@h/n?tls=maybe", settings=PLAIN)
    assert [one.area for one in wrong.symptoms if one.level == "error"] == ["server"]
    missing = tmp_path / "none.db"
    assert doctor.examine(f"sqlite:///{missing}", settings=PLAIN).healthy
    assert not missing.exists()


def test_f74_a_database_without_tables_is_one_symptom_not_forty(fresh_url: str) -> None:
    """It may be the wrong one, or nothing was stored yet."""
    url = "sqlite://" if fresh_url.startswith("sqlite") else fresh_url
    found = serious(doctor.examine(url, settings=PLAIN))
    assert [(one.level, one.mend) for one in found] == [("warning", "prompt-engine db init makes them now")]


@pytest.mark.engines("sqlite")
def test_f74_a_file_that_is_damaged_or_may_not_be_written(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """What SQLite itself says of the file, and what the file system does."""
    file = Path(str(db.target.url.database))
    file.chmod(0o604)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    told = [one for one in doctor.examine(db=db, settings=PLAIN).symptoms if one.area == "disk"]
    assert ("error", True) in {(one.level, "may not be written" in one.what) for one in told}
    assert any(one.mend == f"chmod o-rwx {file}*" for one in told)
    db.close()
    content = bytearray(file.read_bytes())
    size = int.from_bytes(content[16:18], "big")
    for page in range(20, len(content) // size, 2):
        content[page * size : page * size + 64] = b"\xff" * 64
    file.write_bytes(content)
    broken = doctor.examine(db=db, settings=PLAIN)
    assert not broken.healthy


@pytest.mark.engines("sqlite")
def test_d29_the_doctor_changes_nothing(db: Database) -> None:
    """Every byte of the file is as before."""
    file = Path(str(db.target.url.database))
    db.close()
    before = hashlib.sha256(file.read_bytes()).hexdigest()
    doctor.examine(db=db, settings=PLAIN)
    db.close()
    assert hashlib.sha256(file.read_bytes()).hexdigest() == before


def test_f74_settings_that_are_wrong_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An unknown key, a bad value, and a file that cannot be read."""
    file = tmp_path / "config.yaml"
    file.write_text("CONTEXT_VERBOSTY: 3\nTHOUGHTS_LIMIT: ten\n", encoding="utf-8")
    monkeypatch.setenv("CONFIG_FILE", str(file))
    told = [one for one in doctor.examine("sqlite://").symptoms if one.area == "settings"]
    assert [one.level for one in told] == ["warning", "warning"]
    assert "CONTEXT_VERBOSITY" in told[0].what
    file.write_text("a: [", encoding="utf-8")
    assert not doctor.examine("sqlite://").healthy


@pytest.mark.parametrize(("address", "level"), [("", "note"), ("http://127.0.0.1:1/v1", "error"), ("ftp://x", "error")])
def test_g21_a_model_is_asked_only_when_wished(address: str, level: str) -> None:
    """Without --models no connection is opened."""
    settings = Settings(llm_base_url=address, llm_timeout_seconds=2, llm_api_key="canary-key")
    asked = doctor.examine("sqlite://", models=True, settings=settings)
    told = [one for one in asked.symptoms if one.area == "model" and "Tokens" not in one.what]
    assert [one.level for one in told] == [level]
    assert "canary-key" not in str(asked)
    if address.startswith("http"):
        unasked = doctor.examine("sqlite://", settings=settings)
        assert "A model is configured; it was not asked." in {one.what for one in unasked.symptoms}
