"""`prompt-engine import` of an export: what it brought, what to run next, work queued (R21, R23, R25 to R27)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Command

SAMPLES = Path(__file__).parents[2] / "samples" / "exports"


def test_r27_an_import_says_what_is_remembered(run: Command) -> None:
    """Who speaks, how much, from when to when, which standing wishes; and what to run next."""
    ran = run("import", SAMPLES / "chatgpt", "--text")
    assert ran.code == 0
    shown = " ".join(ran.out.split())
    for part in (
        "Format ChatGPT Imported 6 messages Time 2024-05-01 17:37 to",
        "Speakers ChatGPT (persona) 3, User 3 ",
        "Conversations 2, of which 2 private: chatgpt/conv-1, chatgpt/conv-2",
        "6 alternatives",
        "1 conversations marked not to be remembered",
        "Instructions 1 ",
        "conversations.json: conversation 4",
        "--consolidate",
    ):
        assert part in shown, part
    assert " days (UTC) Speakers" in shown


def test_r27_consolidate_queues_summaries_and_memories(run: Command) -> None:
    """Of every conversation; a worker does them, and what it did is there."""
    done = run("import", SAMPLES / "claude", "--consolidate").json
    assert (done["imported"], done["memories"], done["queued"]) == (4, 3, 2)
    counts = run("jobs", "list").json["counts"]
    assert set(counts) == {"CONVERSATION_SUMMARY", "CONSOLIDATION"}
    assert run("worker", "--once").code == 0
    assert not any("pending" in states for states in run("jobs", "list").json["counts"].values())
    assert run("import", SAMPLES / "claude", "--consolidate").json["imported"] == 0


@pytest.mark.parametrize(("option", "month"), [("--day-first", "04"), ("--month-first", "03")])
def test_r26_the_order_of_day_and_month_is_an_option(run: Command, tmp_path: Path, option: str, month: str) -> None:
    """What cannot be found is asked for in one sentence."""
    path = tmp_path / "chat.txt"
    path.write_text("03/04/21, 10:00 - Ann: a\n05/06/21, 10:00 - Ann: b\n", encoding="utf-8")
    asked = run("import", path)
    assert (asked.code, "Say --day-first or --month-first" in asked.err) == (1, True)
    assert run("import", path, option).json["first"].startswith(f"2021-{month}")
