"""Diary, thoughts, memories and their caps in a whole prompt (P34, P38 to P41)."""

from __future__ import annotations

import pytest

from tests.spec.stage import Stage, reasons

pytestmark = pytest.mark.engines("sqlite")


def test_p38_the_diary_is_shown_oldest_first_within_its_days(stage: Stage) -> None:
    stage.diary("old", minutes=2 * 24 * 60 + 5)
    stage.diary("c1", minutes=120, interaction_summary="we talked", personal_thought="he is sad")
    stage.diary("only content", minutes=60)
    assert stage.context("what")["ai_diary"] == [
        "[2026-03-10 10:00] c1 | summary: we talked | thought: he is sad",
        "[2026-03-10 11:00] only content",
    ]
    assert len(stage.context("what", DIARY_HISTORY_DAYS=3)["ai_diary"]) == 3
    assert "ai_diary" not in stage.context("what", DIARY_HISTORY_DAYS=0)


def test_p38_the_newest_whole_entries_fit_under_the_characters(stage: Stage) -> None:
    stage.diary("a" * 300, minutes=120)
    stage.diary("b" * 100, minutes=60)
    context, report = stage.explain("what", DIARY_CHARS=200)
    assert context["context"]["ai_diary"] == [f"[2026-03-10 11:00] {'b' * 100}"]
    assert reasons(report, "ai_diary") == ["limit"]


def test_p38_what_was_written_reaches_the_prompt_and_nothing_twice(stage: Stage) -> None:
    stage.diary(
        "Ann has an exam on Thursday.", interaction_summary="We talked of school.", personal_thought="hm", minutes=9
    )
    stage.diary(
        "She fears it. Poor Ann.", interaction_summary="she  fears it.", personal_thought="Poor Ann.", minutes=8
    )
    stage.diary("An examination.", interaction_summary="exam", minutes=7)
    prompt, report = stage.explain("what")
    assert [line.split("] ")[1] for line in prompt["context"]["ai_diary"]] == [
        "Ann has an exam on Thursday. | summary: We talked of school. | thought: hm",
        "She fears it. Poor Ann.",
        "An examination. | summary: exam",
    ]
    assert prompt["context"]["thoughts"] == []
    assert reasons(report, "thoughts") == ["visible", "visible"]
    bare = stage.context("what", AI_DIARY_FULL=0)
    assert [line.split("] ")[1] for line in bare["thoughts"]] == ["hm", "Poor Ann."]


def test_p39_the_last_thoughts_stay_in_order(stage: Stage) -> None:
    for n in range(7):
        stage.diary(f"day {n}", minutes=100 - n, personal_thought=f"thought {n}")
    context, report = stage.explain("what", AI_DIARY_FULL=0)
    shown = context["context"]["thoughts"]
    assert [line.split("] ")[1] for line in shown] == [f"thought {n}" for n in range(2, 7)]
    assert shown[0].startswith("[2026-03-10 10:22] ")
    assert reasons(report, "thoughts") == ["limit", "limit"]
    assert stage.context("what", ENABLE_THOUGHTS=0)["thoughts"] == []


def test_p72_memories_are_hits(stage: Stage) -> None:
    stage.remember("tofu is white", ["tofu"], 60)
    stage.say("tofu came up", "tg/44", "Bob", minutes=60 * 24 * 3, title="P")
    plain = stage.context("tofu", UNIFIED_HISTORY=0)["memories"]
    keys = ["source", "id", "timestamp", "snippet", "tags"]
    assert [list(hit) for hit in plain] == [keys, [*keys, "speaker"]]
