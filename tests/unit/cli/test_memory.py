"""`prompt-engine memory`: consolidation, pruning and health from the command line."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from core import lifelong
from core.chat_history_cache import save_chat_message
from core.db import open_database
from core.scope import Scope
from tests.unit.cli.conftest import Command


@pytest.fixture
def call(run: Command, tmp_path: Path) -> Any:
    db = open_database(f"sqlite:///{tmp_path / 'own.db'}")
    yield {"db": db, "scope": Scope("default")}
    db.close()


def items(call: dict[str, Any], **more: Any) -> list[str]:
    return sorted(item["text"] for item in lifelong.search_items(operator=True, **more, **call)["items"])


def test_l13_consolidation_by_hand(run: Command, call: dict[str, Any]) -> None:
    save_chat_message("tg/1", "My name is Jonas. What time is it?", "Jonas", "jonas", message_id="m1", **call)
    ran = run("memory", "consolidate", "--text")
    assert ran.code == 0 and "1 item stored from 1 conversation," in ran.out
    assert items(call, kinds="FactsAboutUser") == ["My name is Jonas."]
    again = json.loads(run("memory", "consolidate").out)
    assert (again["stored"], again["deep"]) == (0, False)


def test_l23_pruning_shows_first_and_archives_then(
    run: Command, call: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    old = call["db"].clock() - timedelta(days=366)
    entries = [{"text": "old", "timestamp": old, "importance": 0.6}, {"text": "small", "importance": 0.2}, "kept"]
    lifelong.add_facts_with_meta(entries, **call)
    assert json.loads(run("memory", "prune").out)["count"] == 0
    monkeypatch.setenv("PRUNE_MODE", "any")
    shown = json.loads(run("memory", "prune", "--dry-run").out)
    assert (shown["count"], sorted(each["why"] for each in shown["items"])) == (2, [["age"], ["importance"]])
    assert items(call) == ["kept", "old", "small"]
    monkeypatch.setenv("PRUNE_MAX_AGE_DAYS", "400")
    ran = run("memory", "prune", "--text")
    assert "1 item archived" in ran.out and items(call) == ["kept", "old"]
