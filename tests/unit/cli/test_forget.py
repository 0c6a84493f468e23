"""`prompt-engine forget`: counting, deleting, and what is asked before (F40, F78)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from core.chat_history_cache import save_chat_message
from core.config import Settings
from core.db import open_database
from core.scope import Scope
from tests.unit.cli.conftest import Command


@pytest.fixture
def said(run: Command, tmp_path: Path) -> Command:
    db = open_database(f"sqlite:///{tmp_path / 'own.db'}")
    for who, text in (("ann", "hello"), ("ann", "I like tea"), ("bob", "me too")):
        given = {"db": db, "settings": Settings(), "scope": Scope("default", "tg/1", f"tg/{who}")}
        assert save_chat_message("tg/1", text, who.title(), who, **given).stored
    db.close()
    return run


def test_f40_counted_then_deleted(said: Command) -> None:
    told = said("forget", "--participant", "tg/ann", "--dry-run").json
    assert (told["dry_run"], told["tables"]["chat_history_cache"], told["tables"]["participants"]) == (True, 2, 1)
    done = said("forget", "--participant", "tg/ann", "--yes").json
    assert (done["tables"], done["dry_run"]) == (told["tables"], False)
    again = said("forget", "--participant", "tg/ann", "--yes", "--text")
    assert (again.code, again.out) == (1, "There is nothing of it.\n")
    shown = said("forget", "--conversation", "tg/1", "--dry-run", "--text").out
    assert "chat_history_cache" in shown and "Nothing was changed." in shown


def test_f78_nothing_is_deleted_unasked(said: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = said("forget", "--participant", "tg/ann")
    assert (ran.code, "--yes" in ran.err) == (2, True)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: False)
    assert said("forget", "--participant", "tg/ann").code == 1
    assert said("forget", "--participant", "tg/ann", "--dry-run").json["total"] > 0


@pytest.mark.parametrize("given", [(), ("--participant", "tg/1", "--memory", "3"), ("--memory", "x")])
def test_f78_exactly_one_thing(run: Command, given: tuple[str, ...]) -> None:
    assert run("forget", *given, "--yes").code == 2
