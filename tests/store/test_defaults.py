"""What doors work with when nothing is passed (G4, G17)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.calls import defaults
from core.calls.defaults import EMBEDDED_FILE, configure, handle, scope_for
from core.chat_history_cache import load_chat_history, save_chat_message
from core.config import Settings
from core.scope import Scope, use_scope


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run in an empty folder and without the process's own defaults."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    configure()
    yield
    held = defaults._process.db
    configure()
    if held is not None:
        held.close()


def test_g4_without_anything_the_embedded_file_is_used(tmp_path: Path) -> None:
    assert save_chat_message("tg/1", "hello", sender_id="7").stored
    assert (tmp_path / EMBEDDED_FILE).is_file()
    assert [line["text"] for line in load_chat_history("tg/1")] == ["hello"]
    assert load_chat_history("tg/1", scope=Scope("other")) == []


def test_g4_the_variable_names_the_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path / 'named.db'}")
    assert save_chat_message("tg/1", "hello", sender_id="7").stored
    assert (tmp_path / "named.db").is_file() and not (tmp_path / EMBEDDED_FILE).exists()
    assert handle() is handle()


def test_g4_configure_sets_database_and_settings(tmp_path: Path) -> None:
    configure(f"sqlite:///{tmp_path / 'own.db'}", settings={"CHAT_HISTORY": 1})
    for n in range(3):
        save_chat_message("tg/1", f"text {n}", sender_id="7")
    assert [line["text"] for line in load_chat_history("tg/1")] == ["text 2"]
    assert len(load_chat_history("tg/1", settings={"CHAT_HISTORY": 2})) == 2
    configure(handle())
    assert len(load_chat_history("tg/1")) == 3


def test_g4_the_scope_passed_then_used_then_the_persona_of_the_flag() -> None:
    settings = Settings(persona_id="iris")
    assert scope_for(Scope("a"), settings) == Scope("a") and scope_for(None, settings) == Scope("iris")
    with use_scope(Scope("b")):
        assert scope_for(None, settings) == Scope("b") and scope_for(Scope("a"), settings) == Scope("a")
    with use_scope(Scope()):
        assert scope_for(None, settings) == Scope(), "a scope in use counts, also the plain one"
    assert scope_for() == Scope()
