"""`prompt-engine import` of an export: one paragraph, what to run next, work queued (R21, R23, R25 to R27)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Command

SAMPLES = Path(__file__).parents[2] / "samples" / "exports"


def test_r27_one_paragraph_says_what_is_remembered(run: Command) -> None:
    """Who speaks, how much, from when to when, which standing wishes; and what to run next."""
    ran = run("import", SAMPLES / "chatgpt", "--text")
    assert ran.code == 0
    paragraph = ran.out.splitlines()[0]
    for said in (
        "ChatGPT: 6 messages of 2 conversations were imported.",
        "They are from 2024-05-01 17:37 to",
        "Who speaks: ChatGPT (persona) 3, User 3.",
        "Of the conversations 2 private: chatgpt/conv-1, chatgpt/conv-2.",
        "2 alternative versions",
        "1 conversations marked not to be remembered",
        "1 standing instruction was found: User: 'Please always answer in metric units.'.",
    ):
        assert said in paragraph, said
    assert "conversations.json: conversation 4" in ran.out
    assert "--consolidate" in ran.out


def test_r21_a_dry_run_says_the_same_and_stores_nothing(run: Command) -> None:
    """And how to go on."""
    ran = run("import", SAMPLES / "discord", "--dry-run", "--text")
    assert (ran.code, "7 messages of 3 conversations could be imported; nothing was stored" in ran.out) == (0, True)
    assert "The same command without --dry-run" in ran.out
    assert run("import", SAMPLES / "discord", "--dry-run").json["could_import"] == 7
    assert run("import", SAMPLES / "discord").json["imported"] == 7


def test_r27_consolidate_queues_summaries_and_memories(run: Command) -> None:
    """Of every conversation; a worker does them, and what it did is there."""
    done = run("import", SAMPLES / "claude", "--consolidate").json
    assert (done["imported"], done["memories"], done["queued"]) == (4, 6, 2)
    counts = run("jobs", "list").json["counts"]
    assert set(counts) == {"CONVERSATION_SUMMARY", "CONSOLIDATION"}
    assert run("worker", "--once").code == 0
    assert not any("pending" in states for states in run("jobs", "list").json["counts"].values())
    assert run("import", SAMPLES / "claude", "--consolidate").json["imported"] == 0


def test_r25_the_persona_is_named_by_an_option(run: Command) -> None:
    """The former name of the option does the same; a name nobody bears is told with those there are."""
    for option in ("--persona-speaker", "--persona"):
        assert run("import", SAMPLES / "discord", "--dry-run", option, "Iris").json["persona"] == ["Iris"]
    ran = run("import", SAMPLES / "discord", "--persona-speaker", "Zoe")
    assert (ran.code, "Nobody called 'Zoe' speaks" in ran.err, "'Ann'" in ran.err) == (1, True, True)


@pytest.mark.parametrize(("option", "month"), [("--day-first", "04"), ("--month-first", "03")])
def test_r26_the_order_of_day_and_month_is_an_option(run: Command, tmp_path: Path, option: str, month: str) -> None:
    """What cannot be found is asked for in one sentence."""
    path = tmp_path / "chat.txt"
    path.write_text("03/04/21, 10:00 - Ann: a\n05/06/21, 10:00 - Ann: b\n", encoding="utf-8")
    asked = run("import", path)
    assert (asked.code, "Say --day-first or --month-first" in asked.err) == (1, True)
    assert run("import", path, option).json["first"].startswith(f"2021-{month}")
