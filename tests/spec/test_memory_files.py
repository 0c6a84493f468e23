"""The two Markdown files against a database, and the folder that keeps step by itself: C30 to C35."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from core import conversations, jobs, lifelong
from core.chat_history_cache import save_chat_message
from core.config import Settings
from core.conversations import memory_files, table_summaries
from core.database.engine import Database
from core.errors import MessageError, TransferError
from core.forgetting import forget
from core.prompt_engine import build_json_prompt
from core.scope import Scope
from tests.spec.stage import HERE, NOW, at_once
from tests.store.world import own_scope

pytestmark = pytest.mark.engines("sqlite")  # files are the same beside every server

RECENT, SAVED = "Recent Conversations.md", "Saved Memories.md"


class Mirror:
    """A scope, its folder, and what stands in the files."""

    def __init__(self, db: Database, folder: Path, scope: Scope | None = None, **flags: Any) -> None:
        self.scope, self.folder = scope or own_scope(), folder
        self.known: dict[str, Any] = {"db": db, "settings": Settings(**flags), "scope": self.scope}

    def summary(self, title: str, text: str, minutes: int = 0) -> int:
        db: Database = self.known["db"]
        at = datetime(2026, 3, 10, 14, 5, tzinfo=UTC) + timedelta(minutes=minutes)
        return table_summaries.insert_summary(db, self.scope, title=title, summary=text, at=at, most=30).id

    def save(self, text: str) -> int:
        return conversations.add_saved_memory(text, **self.known).id

    def write(self, **more: Any) -> Any:
        return conversations.export_markdown(self.folder, **{**self.known, **more})

    def take(self) -> Any:
        return conversations.import_markdown(self.folder, **self.known)

    def text(self, name: str) -> str:
        return (self.folder / name).read_bytes().decode()

    def put(self, name: str, text: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_bytes(text.encode())

    @property
    def saved(self) -> list[str]:
        return [one["text"] for one in conversations.list_saved_memories(**self.known)]

    @property
    def recent(self) -> list[tuple[str, str]]:
        return [(one["title"], one["summary"]) for one in conversations.list_recent_conversations(**self.known)]


@pytest.fixture
def mirror(db: Database, tmp_path: Path) -> Mirror:
    return Mirror(db, tmp_path / "a" / "b" / "memory")


def test_c30_sections_and_bullets_oldest_first(mirror: Mirror) -> None:
    mirror.summary("Trip to Rome", "The flight is at seven. Ada will bring the tickets.")
    mirror.summary("Cats", "Tofu.", 10)
    mirror.summary("Dogs", "Rex.", 20)
    mirror.save("I like tea")
    mirror.save("Call me Jo")
    done = mirror.write()
    assert mirror.text(RECENT).startswith(
        "## Trip to Rome\n**Time:** 2026-03-10 14:05\n"
        "**Summary:** The flight is at seven. Ada will bring the tickets.\n\n## Cats\n"
    )
    assert mirror.text(RECENT).count("## ") == 3
    assert mirror.text(SAVED) == "- I like tea\n- Call me Jo\n"
    assert (done.recent, done.saved, done.written) == (3, 2, (RECENT, SAVED))
    assert mirror.write().written == ()


def test_c30_a_scope_s_export_holds_that_scope_s_rows_alone(mirror: Mirror, tmp_path: Path) -> None:
    mirror.save("I like tea")
    other = Mirror(mirror.known["db"], tmp_path / "other")
    other.save("a secret of another persona")
    mirror.write()
    other.write()
    assert "secret" not in mirror.text(SAVED) and mirror.text(SAVED) == "- I like tea\n"
    with pytest.raises(TransferError, match="another scope"):
        other.known["scope"] = Scope(persona="somebody-else")
        other.write()
    assert other.text(SAVED) == "- a secret of another persona\n"


def test_c31_stored_line_breaks_open_no_section(mirror: Mirror) -> None:
    mirror.summary("a\n## b", "c\r\n## d\u2028## e")
    mirror.write()
    assert mirror.text(RECENT).count("\n## ") == 0
    assert mirror.take().added == 0


def test_c32_an_export_takes_what_a_person_changed_in_the_file(mirror: Mirror) -> None:
    """The file of saved memories is theirs; that of conversations shows what is stored."""
    tea = mirror.save("I like tea")
    mirror.save("I have a cat")
    mirror.summary("Trip", "Rome.")
    mirror.write()
    whole = mirror.text(RECENT)
    mirror.put(SAVED, "\ufeff# my list\r\n- i have a CAT\r\n- by hand\n\n  - indented\n- " + "x" * 4001)
    mirror.put(RECENT, "")
    mirror.write()
    assert mirror.text(RECENT) == whole
    assert mirror.saved == ["I have a cat", "by hand"]
    assert mirror.text(SAVED) == f"\ufeff# my list\r\n- i have a CAT\r\n- by hand\n\n  - indented\n- {'x' * 4001}\n"
    assert mirror.write().written == ()
    assert conversations.delete_saved_memory(tea, restore=True, **mirror.known).stored
    mirror.write()
    assert mirror.text(SAVED).endswith("x\n- I like tea\n") and len(mirror.saved) == 3
    mirror.put(SAVED, "")
    mirror.write()
    assert mirror.saved == [] and mirror.text(SAVED) == ""


def test_c34_the_files_of_the_original_are_added_to(mirror: Mirror) -> None:
    """A person's own list is not lost because a folder was named, and it is known from then on."""
    mirror.save("I like tea")
    mirror.summary("Trip", "Rome.")
    mirror.put(SAVED, "- My pin is 4711\n- i like TEA")
    mirror.put(RECENT, "## Cats\n**Time:** 2026-02-10 14:05\n**Summary:** Tofu.\n\n")
    mirror.write()
    assert mirror.text(SAVED) == "- My pin is 4711\n- i like TEA\n"
    assert mirror.recent == [("Cats", "Tofu."), ("Trip", "Rome.")] and mirror.text(RECENT).count("## ") == 2


def test_c34_a_file_of_conversations_in_another_format_is_not_written_over(mirror: Mirror) -> None:
    mirror.put(RECENT, "## Cats\n**Summary:** Tofu.\nmy own note\n")
    with pytest.raises(TransferError, match="not written by this program"):
        mirror.write()
    assert mirror.text(RECENT).endswith("my own note\n")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_c34_an_import_adds_what_is_new_and_changes_nothing(mirror: Mirror, end: str) -> None:
    mirror.summary("Trip", "Rome.")
    mirror.summary("Cats", "Tofu.", 10)
    mirror.save("I like tea")
    mirror.save("two\nlines")
    mirror.write()
    sections = "## Trip\n**Time:** 2026-03-10 14:05\n**Summary:** Rome.\n\nmy note\n## By hand\n**Summary:** here\n"
    bullets = "\ufeff# Mine\n- i like TEA\n- I like green tea\n- two lines\n- \nno bullet\n- I like green tea"
    mirror.put(RECENT, sections.replace("\n", end))
    mirror.put(SAVED, bullets.replace("\n", end))
    done = mirror.take()
    assert (done.added, done.left_out, done.written) == (2, (), ())
    assert mirror.recent == [("Trip", "Rome."), ("Cats", "Tofu."), ("By hand", "here")]
    assert sorted(mirror.saved) == ["I like green tea", "I like tea", "two lines"]
    assert mirror.text(SAVED) == bullets.replace("\n", end)
    assert mirror.take().added == 0


def test_c33_c35_missing_files_change_nothing_and_other_bytes_are_refused(mirror: Mirror) -> None:
    mirror.save("I like tea")
    assert mirror.take().added == 0 and not mirror.folder.exists()
    mirror.write()
    (mirror.folder / SAVED).unlink()
    assert mirror.take().added == 0 and mirror.saved == ["I like tea"]
    mirror.write()
    assert mirror.text(SAVED) == "- I like tea\n"
    (mirror.folder / SAVED).write_bytes(b"\xff")
    with pytest.raises(TransferError, match=r"Saved Memories\.md.*byte 0"):
        mirror.take()
    assert (mirror.folder / SAVED).read_bytes() == b"\xff" and mirror.saved == ["I like tea"]


def test_c30_c33_missing_folders_are_made_and_what_cannot_be_taken_is_told(mirror: Mirror) -> None:
    mirror.write()
    assert mirror.text(RECENT) == mirror.text(SAVED) == ""
    mirror.put(SAVED, "- short\n- " + "x" * 4001 + "\n- last\n")
    done = mirror.take()
    assert mirror.saved == ["short", "last"] and len(done.left_out) == 1 and "too_long" in done.left_out[0]


def test_c34_exports_at_the_same_time_leave_a_whole_file(mirror: Mirror) -> None:
    for number in range(20):
        mirror.save(f"I like tea number {number}")
    at_once(mirror.write, 4)
    assert mirror.text(SAVED).count("- I like tea") == 20
    assert sorted(path.name for path in mirror.folder.iterdir()) == [".memory.json", ".memory.json.lock", RECENT, SAVED]


def test_c34_a_folder_that_another_process_writes_is_waited_for(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older export must not bring back what was forgotten meanwhile."""
    mirror.write()
    monkeypatch.setattr(memory_files, "LOCK_SECONDS", 0.01)
    with closing(sqlite3.connect(mirror.folder / ".memory.json.lock", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(TransferError, match="cannot be used as a folder"):
            mirror.write()
    mirror.write()


def test_c19_a_file_whose_switch_is_off_is_left_alone(mirror: Mirror) -> None:
    row = mirror.save("I like tea")
    mirror.write()
    mirror.put(SAVED, "")
    mirror.known["settings"] = Settings(enable_saved_memory=0)
    mirror.write()
    assert mirror.text(SAVED) == ""
    mirror.known["settings"] = Settings()
    assert mirror.saved == ["I like tea"]
    conversations.delete_saved_memory(row, **mirror.known)


@pytest.mark.parametrize("folder", ["a\x00b", "\ud800", "  "])
def test_f72_a_folder_that_can_be_none_is_refused(mirror: Mirror, folder: str) -> None:
    with pytest.raises(MessageError, match="folder"):
        conversations.export_markdown(folder, **mirror.known)


@pytest.fixture
def kept(db: Database, tmp_path: Path) -> Mirror:
    """Nothing stored, no folder; the host has set one."""
    folder = tmp_path / "notes"
    return Mirror(db, folder, own_scope(conversation=HERE, participant="tg/ann"), memory_folder_name=str(folder))


def shown(kept: Mirror, **more: Any) -> dict[str, Any]:
    asked = {"text": "hello", "interface_path": HERE, "timestamp": NOW}
    context: dict[str, Any] = build_json_prompt(asked, **{**kept.known, **more})["context"]
    return context


def test_c30_what_changes_is_written_by_itself_also_by_a_worker(kept: Mirror) -> None:
    tea = conversations.add_saved_memory("I like tea", **kept.known)
    assert kept.text(SAVED) == "- I like tea\n"
    dogs = conversations.add_saved_memory("I have two dogs", **kept.known)
    conversations.delete_saved_memory(tea.id, **kept.known)
    assert kept.text(SAVED) == "- I have two dogs\n"
    lifelong.edit_item(dogs.id, "I have three dogs", operator=True, **kept.known)
    assert kept.text(SAVED) == "- I have three dogs\n"
    lifelong.delete_items([dogs.id], operator=True, **kept.known)
    assert kept.text(SAVED) == ""
    said = [{"text": "We fly to Rome on Friday.", "role": "user"}]
    assert conversations.add_recent_conversation(said, wait=True, **kept.known).stored
    assert "We fly to Rome on Friday." in kept.text(RECENT)
    save_chat_message(HERE, "The ship goes to Oslo.", "Ann", "ann", NOW, **kept.known)
    assert conversations.close_conversation(**kept.known).stored
    jobs.run_pending(**{**kept.known, "scope": Scope(kept.scope.persona)})
    assert "Oslo" in kept.text(RECENT)


def test_c32_a_line_removed_by_hand_is_gone_and_a_line_added_is_a_memory(kept: Mirror) -> None:
    for text in ("My pin is 4711", "I like tea"):
        conversations.add_saved_memory(text, **kept.known)
    kept.put(SAVED, "# Mine\n- I like tea\n- Rex is my dog\n")
    conversations.add_saved_memory("I like jazz", **kept.known)
    assert kept.text(SAVED) == "# Mine\n- I like tea\n- Rex is my dog\n- I like jazz\n"
    texts = sorted(line.rpartition("] ")[2] for line in shown(kept)["saved_memories"])
    assert texts == ["I like jazz", "I like tea", "Rex is my dog"]
    (pin,) = [one for one in conversations.list_saved_memories(archived=True, **kept.known) if one["archived"]]
    assert pin["text"] == "My pin is 4711"
    assert forget(memory=pin["id"], **kept.known)["memories"] == 1


def test_c34_nothing_is_read_by_itself_and_what_is_forgotten_leaves_the_files(kept: Mirror) -> None:
    conversations.add_saved_memory("I like tea", **kept.known)
    kept.put(SAVED, "- I like tea\n- Call me Jo\n")
    assert shown(kept)["saved_memories"] == ["[2026-03-10] I like tea"]
    assert conversations.import_markdown(**kept.known).added == 1
    assert [line[13:] for line in shown(kept)["saved_memories"]] == ["I like tea", "Call me Jo"]
    forget(participant=kept.scope.participant, **kept.known)
    assert kept.text(SAVED) == "" and "saved_memories" not in shown(kept)


def test_c30_the_default_folder_is_written_by_the_command_alone(
    kept: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    known = {**kept.known, "settings": Settings()}
    conversations.add_saved_memory("I like tea", **known)
    shown(kept, **known)
    assert list(tmp_path.iterdir()) == []


def test_c30_a_folder_is_of_one_scope_and_others_neither_fail_nor_show_in_it(kept: Mirror) -> None:
    conversations.add_saved_memory("I like tea", **kept.known)
    other = {**kept.known, "scope": own_scope()}
    assert conversations.add_saved_memory("a secret of another persona", **other).stored
    assert kept.text(SAVED) == "- I like tea\n"


def test_c33_what_cannot_be_written_costs_no_memory(kept: Mirror, caplog: pytest.LogCaptureFixture) -> None:
    kept.put(RECENT, "somebody else's notes\n")
    (kept.folder / SAVED).write_bytes(b"\xff")
    with caplog.at_level(logging.WARNING):
        assert conversations.add_saved_memory("I have a dog", **kept.known).stored
    assert (kept.folder / SAVED).read_bytes() == b"\xff" and kept.text(RECENT) == "somebody else's notes\n"
    assert "memory_files_not_written" in caplog.text and "dog" not in caplog.text
