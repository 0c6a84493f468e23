"""The two Markdown files against a database: C30 to C35."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from core.base import mirrored_file
from core.config import Settings
from core.conversations import (
    add_saved_memory,
    delete_saved_memory,
    export_markdown,
    import_markdown,
    list_recent_conversations,
    list_saved_memories,
    table_summaries,
)
from core.database.engine import Database
from core.errors import TransferError
from core.scope import Scope
from tests.store.world import own_scope

pytestmark = pytest.mark.engines("sqlite", "mariadb")  # files are the same beside every server

RECENT, SAVED = "Recent Conversations.md", "Saved Memories.md"


class Mirror:
    """A scope, its folder, and what stands in the files."""

    def __init__(self, db: Database, folder: Path, **flags: Any) -> None:
        self.scope, self.folder = own_scope(), folder
        self.known: dict[str, Any] = {"db": db, "settings": Settings(**flags), "scope": self.scope}

    def summary(self, title: str, text: str, minutes: int = 0) -> int:
        """Put a summary on the list."""
        db: Database = self.known["db"]
        at = datetime(2026, 3, 10, 14, 5, tzinfo=UTC) + timedelta(minutes=minutes)
        made = table_summaries.insert_summary(db, self.scope, title=title, summary=text, at=at, most=30)
        assert made.id is not None
        return made.id

    def save(self, text: str) -> int:
        """Save a memory."""
        made = add_saved_memory(text, **self.known)
        assert made.id is not None
        return made.id

    def write(self, **more: Any) -> Any:
        """Export."""
        return export_markdown(self.folder, **{**self.known, **more})

    def take(self) -> Any:
        """Import."""
        return import_markdown(self.folder, **self.known)

    def text(self, name: str) -> str:
        """Return a file byte for byte."""
        return (self.folder / name).read_bytes().decode()

    def put(self, name: str, text: str) -> None:
        """Save a file as a person does."""
        (self.folder / name).write_bytes(text.encode())

    @property
    def saved(self) -> list[str]:
        """Return the saved memories."""
        return [one["text"] for one in list_saved_memories(**self.known)]

    @property
    def recent(self) -> list[tuple[str, str]]:
        """Return titles and summaries."""
        return [(one["title"], one["summary"]) for one in list_recent_conversations(**self.known)]


@pytest.fixture
def mirror(db: Database, tmp_path: Path) -> Mirror:
    """Nothing stored, no folder."""
    return Mirror(db, tmp_path / "a" / "b" / "memory")


def test_c30_missing_folders_are_made_and_an_empty_list_is_an_empty_file(mirror: Mirror) -> None:
    mirror.write()
    assert mirror.text(RECENT) == mirror.text(SAVED) == ""


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


def test_c30_the_folder_of_the_flag(mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mirror.save("I like tea")
    export_markdown(**{**mirror.known, "settings": Settings(memory_folder_name="mine")})
    assert (tmp_path / "mine" / SAVED).read_text() == "- I like tea\n"


def test_c31_stored_line_breaks_open_no_section(mirror: Mirror) -> None:
    mirror.summary("a\n## b", "c\r\n## d\u2028## e")
    mirror.write()
    assert mirror.text(RECENT).count("\n## ") == 0
    assert mirror.take().changed == 0


def test_c32_hand_written_text_survives_byte_for_byte(mirror: Mirror) -> None:
    """A poem before, a note inside section 2, and CRLF line ends."""
    mirror.summary("Trip", "Rome.")
    mirror.summary("Cats", "Tofu.", 10)
    mirror.write()
    by_hand = "A poem\r\n\r\n" + mirror.text(RECENT).replace("\n", "\r\n") + "my note\r\n"
    mirror.put(RECENT, by_hand)
    mirror.put(SAVED, "my list:\r\n\r\nend")
    done = mirror.write()
    assert mirror.text(RECENT) == by_hand and mirror.text(SAVED) == "my list:\r\n\r\nend"
    assert (done.added, done.changed, done.archived, done.written) == (0, 0, 0, ())
    mirror.summary("Dogs", "Rex.", 20)
    mirror.save("I like tea")
    mirror.write()
    assert mirror.text(RECENT) == by_hand + "\r\n## Dogs\r\n**Time:** 2026-03-10 14:25\r\n**Summary:** Rex.\r\n"
    assert mirror.text(SAVED) == "my list:\r\n\r\nend\r\n- I like tea\r\n"


def test_c32_notes_of_a_section_that_leaves_the_buffer_are_kept(mirror: Mirror) -> None:
    mirror.known["settings"] = Settings(max_recent_conversations=10)
    first = mirror.summary("First", "one.")
    for n in range(9):
        mirror.summary(f"T{n}", "x.", n + 1)
    mirror.write()
    mirror.put(RECENT, mirror.text(RECENT).replace("one.\n", "one.\nmy note\n"))
    table_summaries.insert_summary(
        mirror.known["db"], mirror.scope, title="Last", summary="y.", at=datetime(2026, 3, 11, tzinfo=UTC), most=10
    )
    assert first not in [one["id"] for one in list_recent_conversations(**mirror.known)]
    mirror.write()
    assert mirror.text(RECENT).startswith('> From "First":\nmy note\n\n## T0\n')
    assert "## First" not in mirror.text(RECENT)


def test_c33_changes_made_by_hand_are_taken_over(mirror: Mirror) -> None:
    trip, cats = mirror.summary("Trip", "Rome."), mirror.summary("Cats", "Tofu.", 10)
    mirror.summary("Dogs", "Rex.", 20)
    mirror.save("I like tea")
    mirror.save("Call me Jo")
    mirror.write()
    text = mirror.text(RECENT).replace("## Trip", "## Roma").replace("Tofu.", "Tofu is a cat.")
    text = text[: text.index("## Dogs")] + "## By hand\n**Summary:** here\n"
    mirror.put(RECENT, text)
    mirror.put(SAVED, mirror.text(SAVED).replace("I like tea", "I like green tea"))
    done = mirror.take()
    assert (done.added, done.changed, done.archived, done.written) == (2, 2, 2, ())
    assert mirror.recent[:2] == [("Roma", "Rome."), ("Cats", "Tofu is a cat.")]
    assert [one["id"] for one in list_recent_conversations(**mirror.known)][:2] == [trip, cats]
    assert ("By hand", "here") in mirror.recent and len(mirror.recent) == 3
    assert sorted(mirror.saved) == ["Call me Jo", "I like green tea"]
    again = mirror.take()
    assert (again.added, again.changed, again.archived) == (0, 0, 0)
    mirror.write()
    assert "**Time:** " in mirror.text(RECENT)[mirror.text(RECENT).index("## By hand") :]


def test_c33_missing_files_change_nothing(mirror: Mirror) -> None:
    mirror.save("I like tea")
    assert mirror.take().archived == 0 and not mirror.folder.exists()
    mirror.write()
    (mirror.folder / SAVED).unlink()
    assert mirror.take().archived == 0 and mirror.saved == ["I like tea"]
    mirror.write()
    assert mirror.text(SAVED) == "- I like tea\n"


def test_c33_what_the_program_changed_meanwhile_is_not_taken_for_an_edit(mirror: Mirror) -> None:
    """A row that is newer than the file was never in it, and one changed since is not changed back."""
    row = mirror.summary("Trip", "Rome.")
    mirror.save("I like tea")
    mirror.write()
    mirror.save("newer than the file")
    table_summaries.update_summary(
        mirror.known["db"], mirror.scope.persona, row, title="Journey", summary="Rome.", at=None, by="somebody"
    )
    for _ in range(2):
        done = mirror.take()
        assert (done.added, done.changed, done.archived) == (0, 0, 0)
    assert len(mirror.saved) == 2 and mirror.recent == [("Journey", "Rome.")]
    mirror.write()
    assert "newer than the file" in mirror.text(SAVED) and "## Journey" in mirror.text(RECENT)


def test_c33_what_cannot_be_taken_stays_in_the_file(mirror: Mirror) -> None:
    mirror.write()
    mirror.put(SAVED, "- short\n- " + "x" * 4001 + "\n- last\n")
    done = mirror.write()
    assert mirror.saved == ["short", "last"] and len(done.left_out) == 1 and "too_long" in done.left_out[0]
    assert mirror.text(SAVED) == "- short\n- " + "x" * 4001 + "\n- last\n"


def test_c34_an_edit_between_read_and_rename_is_in_file_and_database(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror.save("I like tea")
    mirror.write()
    mirror.save("Call me Jo")
    real, edits = mirror_replace(), ["- written by hand\n"]

    def late(path: Path, text: str, *, seen: str | None) -> bool:
        if path.name == SAVED and edits:
            path.write_text(path.read_text() + edits.pop())
        return real(path, text, seen=seen)

    monkeypatch.setattr(mirrored_file, "replace_file", late)
    mirror.write()
    assert sorted(mirror.text(SAVED).splitlines()) == ["- Call me Jo", "- I like tea", "- written by hand"]
    assert sorted(mirror.saved) == ["Call me Jo", "I like tea", "written by hand"]


def mirror_replace() -> Any:
    """Return the function that puts a text into a file's place."""
    return mirrored_file.replace_file


def test_c34_exports_at_the_same_time_double_nothing(mirror: Mirror) -> None:
    mirror.save("I like tea")
    mirror.write()
    mirror.put(SAVED, mirror.text(SAVED) + "- by hand\n")
    threads = [threading.Thread(target=mirror.write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert mirror.saved == ["I like tea", "by hand"]
    assert mirror.text(SAVED) == "- I like tea\n- by hand\n"


def test_c35_a_file_of_other_bytes_is_refused_and_left(mirror: Mirror) -> None:
    mirror.save("I like tea")
    mirror.write()
    (mirror.folder / SAVED).write_bytes(b"\xff")
    for call in (mirror.write, mirror.take):
        with pytest.raises(TransferError, match=r"Saved Memories\.md.*byte 0"):
            call()
    assert (mirror.folder / SAVED).read_bytes() == b"\xff" and mirror.saved == ["I like tea"]


def test_c19_a_file_whose_switch_is_off_is_left_alone(mirror: Mirror) -> None:
    row = mirror.save("I like tea")
    mirror.write()
    mirror.put(SAVED, "")
    mirror.known["settings"] = Settings(enable_saved_memory=0)
    mirror.write()
    assert mirror.text(SAVED) == ""
    mirror.known["settings"] = Settings()
    assert mirror.saved == ["I like tea"]
    delete_saved_memory(row, **mirror.known)


def test_g26_the_file_of_states_holds_nothing_that_was_said(mirror: Mirror) -> None:
    mirror.save("canary tea")
    mirror.summary("canary title", "canary text")
    mirror.write()
    state = mirror.text(".memory.json")
    assert "canary" not in state and json.loads(state)["scope"][0] == mirror.scope.persona
