"""`prompt-engine doctor`: what it prints and how it exits (F74, F78)."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Command


def test_f74_the_doctor_prints_each_finding_with_what_mends_it(run: Command, tmp_path: Path) -> None:
    """Healthy: exit code 0. A table dropped by hand: 1, with the command that mends it; that command mends it."""
    assert run("db", "init").code == 0
    ran = run("doctor")
    assert (ran.code, ran.json["healthy"]) == (0, True)
    assert set(ran.json["symptoms"][0]) == {"level", "area", "what", "why", "mend"}
    with closing(sqlite3.connect(tmp_path / "own.db")) as connection:
        connection.execute("DROP TABLE tag_links")
    ran = run("doctor", "--format", "text")
    assert ran.code == 1
    assert "error: schema: table tag_links: absent; needed: the table." in ran.out
    assert "mend: prompt-engine db migrate" in ran.out
    assert "1 error, 0 warnings, " in ran.out
    assert run("db", "migrate").code == 0
    assert run("doctor", "--format", "json").code == 0


def test_f78_without_a_database_none_is_made(run: Command, tmp_path: Path) -> None:
    """Looking is no reason to make a file; a wrong call exits 2."""
    ran = run("doctor")
    assert ran.code == 0
    assert any("There is no database yet" in one["what"] for one in ran.json["symptoms"])
    assert list(tmp_path.iterdir()) == []
    assert run("doctor", "--format", "xml").code == 2


def test_where_no_database_is_named_it_says_how_to_name_one(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has one elsewhere must not make a second one here."""

    def read_mend(*words: str) -> str:
        symptoms = run("doctor", *words).json["symptoms"]
        return next(one["mend"] for one in symptoms if "There is no database yet" in one["what"])

    assert "--database" not in read_mend()
    monkeypatch.delenv("DATABASE_URL")
    monkeypatch.chdir(tmp_path)
    assert "--database URL" in read_mend()
    assert "--database" not in read_mend("--database", f"sqlite:///{tmp_path / 'own.db'}")


@pytest.mark.parametrize("shown", ["ok: ", "note: "])
def test_what_is_in_order_is_shown_on_demand(run: Command, shown: str) -> None:
    """The short list names what needs somebody."""
    run("db", "init")
    assert shown in run("doctor", "--text", "--all").out
    assert "ok: " not in run("doctor", "--text").out


def test_extras_that_make_this_package_and_not_run_it_are_not_told(run: Command) -> None:
    """A host neither tests it nor makes its site."""
    said = [each["what"] for each in run("doctor").json["symptoms"] if each["area"] == "extras"]
    names = [name for what in said for name in what.partition(": ")[2].rstrip(".").split(", ")]
    assert len(said) <= 2 and "admin" in names
    assert "docs" not in names and "test" not in names
