"""R32: without the database, what adapters share recalls and stores nothing, and the log says so."""

from __future__ import annotations

import pytest

from core.adapters.recall import build_recall, save_lines
from core.calls import defaults
from core.scope import Scope


def test_r32_a_turn_goes_on_where_the_database_cannot_be_opened(
    ann: Scope, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(defaults, "_process", defaults._Process())
    monkeypatch.setenv("DATABASE_URL", "mysql://eva:secret@127.0.0.1:1/chats")
    assert build_recall("Who drinks oolong?", scope=ann) == ""
    save_lines([("user", "Who drinks oolong?")], scope=ann)
    assert "source_failed" in caplog.text and "turn_not_kept" in caplog.text and "oolong" not in caplog.text
