"""The folder of MEMORY_FOLDER_NAME keeps step by itself (C30 to C34)."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import pytest

from core import jobs, lifelong
from core.chat_history_cache import save_chat_message
from core.config import Settings
from core.conversations import (
    add_recent_conversation,
    add_saved_memory,
    close_conversation,
    delete_saved_memory,
    import_markdown,
)
from core.database.engine import Database
from core.forgetting import forget
from core.prompt_engine import build_json_prompt
from core.scope import Scope
from tests.spec.stage import HERE, NOW
from tests.spec.test_memory_files import RECENT, SAVED
from tests.store.world import own_scope

pytestmark = pytest.mark.engines("sqlite")  # files are the same beside every server


class Folder:
    """A scope whose host has set the folder."""

    def __init__(self, db: Database, path: Path) -> None:
        self.path, self.db = path, db
        self.scope = own_scope(conversation=HERE, participant="tg/ann")
        self.settings = Settings(memory_folder_name=str(path))
        self.known: dict[str, Any] = {"db": db, "settings": self.settings, "scope": self.scope}

    def text(self, name: str) -> str:
        return (self.path / name).read_text()

    def put(self, name: str, text: str) -> None:
        """Save a file as an editor does, at a time of its own."""
        path = self.path / name
        before = path.stat().st_mtime_ns if path.exists() else 0
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, ns=(before + 10**9, before + 10**9))

    def prompt(self, text: str = "hello") -> dict[str, Any]:
        context: dict[str, Any] = build_json_prompt(self.message(text), **self.known)["context"]
        return context

    def message(self, text: str) -> dict[str, Any]:
        return {"text": text, "interface_path": self.scope.conversation, "timestamp": NOW}


@pytest.fixture
def folder(db: Database, tmp_path: Path) -> Folder:
    """Nothing stored, no folder yet."""
    return Folder(db, tmp_path / "notes")


def test_c30_what_changes_is_written_by_itself(folder: Folder) -> None:
    tea = add_saved_memory("I like tea", **folder.known)
    assert folder.text(SAVED) == "- I like tea\n"
    dogs = add_saved_memory("I have two dogs", **folder.known)
    assert tea.id is not None and dogs.id is not None
    delete_saved_memory(tea.id, **folder.known)
    assert folder.text(SAVED) == "- I have two dogs\n"
    lifelong.edit_item(dogs.id, "I have three dogs", operator=True, **folder.known)
    assert folder.text(SAVED) == "- I have three dogs\n"
    lifelong.delete_items([dogs.id], operator=True, **folder.known)
    assert folder.text(SAVED) == ""
    said = [{"text": "We fly to Rome on Friday.", "role": "user"}]
    assert add_recent_conversation(said, wait=True, **folder.known).stored
    assert "We fly to Rome on Friday." in folder.text(RECENT)


def test_c30_a_workers_summary_is_written_when_it_is_stored(folder: Folder) -> None:
    where = folder.scope.conversation
    assert where is not None
    save_chat_message(where, "We fly to Rome on Friday.", "Ann", "ann", NOW, **folder.known)
    assert close_conversation(**folder.known).stored
    jobs.run_pending(db=folder.db, settings=folder.settings, scope=Scope(folder.scope.persona))
    assert "Rome" in folder.text(RECENT)


def test_c34_nothing_is_read_by_itself(folder: Folder) -> None:
    """A prompt holds what is stored; files are read by the command alone."""
    add_saved_memory("I like tea", **folder.known)
    folder.put(SAVED, "- I like tea\n- Call me Jo\n")
    assert folder.prompt()["saved_memories"] == ["I like tea"]
    assert import_markdown(**folder.known).added == 1
    assert sorted(folder.prompt()["saved_memories"]) == ["Call me Jo", "I like tea"]


def test_c30_the_default_folder_is_written_by_the_command_alone(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    known = {**folder.known, "settings": Settings()}
    add_saved_memory("I like tea", **known)
    build_json_prompt(folder.message("hello"), **known)
    assert list(tmp_path.iterdir()) == []


def test_c30_a_folder_is_of_one_scope_and_others_neither_fail_nor_show_in_it(folder: Folder) -> None:
    add_saved_memory("I like tea", **folder.known)
    other = {**folder.known, "scope": own_scope()}
    assert add_saved_memory("a secret of another persona", **other).stored
    assert folder.text(SAVED) == "- I like tea\n"


def test_c33_what_cannot_be_written_costs_no_memory(folder: Folder, caplog: pytest.LogCaptureFixture) -> None:
    folder.put(SAVED, "- somebody else's list\n")
    with caplog.at_level(logging.WARNING):
        assert add_saved_memory("I have a dog", **folder.known).stored
    assert folder.text(SAVED) == "- somebody else's list\n"
    assert "memory_files_not_written" in caplog.text and "dog" not in caplog.text


def test_c34_what_is_forgotten_leaves_the_files(folder: Folder) -> None:
    add_saved_memory("I like tea", **folder.known)
    forget(participant=folder.scope.participant, db=folder.db, settings=folder.settings, scope=folder.scope)
    assert folder.text(SAVED) == ""
    assert "saved_memories" not in folder.prompt()
