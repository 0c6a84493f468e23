"""What doors work with when nothing is passed (G4, G17)."""

from pathlib import Path

import pytest

from core.calls.defaults import EMBEDDED_FILE, configure, handle
from core.chat_history_cache import load_chat_history, save_chat_message
from core.scope import Scope

pytestmark = pytest.mark.usefixtures("own_folder")


def test_g4_without_anything_the_embedded_file_is_used(tmp_path: Path) -> None:
    assert save_chat_message("tg/1", "hello", sender_id="7").stored
    assert (tmp_path / EMBEDDED_FILE).is_file()
    assert [line["text"] for line in load_chat_history("tg/1")] == ["hello"]
    assert load_chat_history("tg/1", scope=Scope("other")) == []


def test_g4_configure_sets_database_and_settings(tmp_path: Path) -> None:
    configure(f"sqlite:///{tmp_path / 'own.db'}", settings={"CHAT_HISTORY": 1})
    for n in range(3):
        save_chat_message("tg/1", f"text {n}", sender_id="7")
    assert [line["text"] for line in load_chat_history("tg/1")] == ["text 2"]
    assert len(load_chat_history("tg/1", settings={"CHAT_HISTORY": 2})) == 2
    configure(handle())
    assert len(load_chat_history("tg/1")) == 3
