"""`prompt-engine forget`: counting, deleting, and what is asked before (F40, F78)."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import pytest

from core.chat_history_cache import load_chat_history, save_chat_message
from core.db import open_database
from core.scope import Scope
from tests.unit.cli.conftest import Command


@pytest.fixture
def said(run: Command, tmp_path: Path) -> Command:
    db = open_database(f"sqlite:///{tmp_path / 'own.db'}")
    for who, text in (("ann", "hello"), ("ann", "I like tea"), ("bob", "me too")):
        given = {"db": db, "scope": Scope("default", "tg/1", f"tg/{who}")}
        assert save_chat_message("tg/1", text, who.title(), who, **given).stored
    db.close()
    return run


def test_f40_counted_then_deleted(said: Command) -> None:
    told = said("forget", "--participant", "tg/ann", "--dry-run").json
    assert (told["dry_run"], told["tables"]["chat_history_cache"], told["tables"]["participants"]) == (True, 2, 1)
    done = said("forget", "--participant", "tg/ann", "--yes").json
    assert (done["tables"], done["dry_run"]) == (told["tables"], False)
    again = said("forget", "--participant", "tg/ann", "--yes", "--text")
    assert (again.code, again.out, "'tg/ann'" in again.err) == (1, "", True)
    shown = said("forget", "--conversation", "tg/1", "--dry-run", "--text").out
    assert "chat_history_cache" in shown and "Nothing was changed." in shown


def test_f40_one_message_by_its_number_or_its_id(said: Command, tmp_path: Path) -> None:
    """A direct message, which the persona's other conversations do not see, is deleted like any other."""
    with closing(open_database(f"sqlite:///{tmp_path / 'own.db'}")) as db:
        ann = Scope("default", "tg/ann", "tg/ann", privacy="direct")
        saved = [save_chat_message("tg/ann", text, db=db, scope=ann, message_id=text) for text in ("tea", "rum")]
        for given in (("--message", str(saved[0].id)), ("--message", "rum", "--conversation", "tg/ann")):
            trial = said("forget", *given, "--dry-run", "--text")
            assert (trial.code, "Nothing was changed" in trial.out) == (0, True)
            assert said("forget", *given).code == 2
            assert said("forget", *given, "--yes").code == 0
            assert said("forget", *given, "--yes").code == 1
        assert load_chat_history("tg/ann", db=db, scope=ann) == []
        assert len(load_chat_history("tg/1", db=db, scope=Scope("default", "tg/1"))) == 3


def test_f78_nothing_is_deleted_unasked(said: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = said("forget", "--participant", "tg/ann")
    assert (ran.code, "--yes" in ran.err) == (2, True)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: False)
    assert said("forget", "--participant", "tg/ann").code == 1
    assert said("forget", "--participant", "tg/ann", "--dry-run").json["total"] > 0


ONE_TOO_MANY = ("--message", "1", "--memory", "3"), ("--participant", "tg/1", "--memory", "3")


@pytest.mark.parametrize("given", [(), *ONE_TOO_MANY, ("--memory", "x")])
def test_f78_exactly_one_thing(run: Command, given: tuple[str, ...]) -> None:
    assert run("forget", *given, "--yes").code == 2
