"""How many items of each kind a prompt holds, and how it is filled (P40, P53, P59)."""

from __future__ import annotations

from core.prompt_engine import to_json
from tests.spec.stage import ELSEWHERE, HERE, Stage


def crowd(stage: Stage, count: int = 16) -> None:
    for n in range(count):
        stage.say(f"here number {n}", minutes=100 - n)
        stage.say(f"there number {n}", ELSEWHERE, "Bob", minutes=90 - n)
        stage.remember(f"tofu memory number {n} of the kitchen", ["tofu"], 1000 + n)


def counts(stage: Stage, **flags: int) -> tuple[int, int, int]:
    context = stage.context("tofu", **flags)
    return len(context["history_current_chat"]), len(context["history_recent"]), len(context["memories"])


def test_p40_each_list_has_a_count_of_its_own(stage: Stage) -> None:
    crowd(stage)
    assert counts(stage) == (10, 10, 10)
    assert counts(stage, CONTEXT_VERBOSITY=3) == (3, 3, 3)
    assert counts(stage, CONTEXT_VERBOSITY=3, HISTORY_LINES=4, MEMORY_ITEMS=12) == (4, 3, 12)
    assert counts(stage, HISTORY_LINES=16, MEMORY_ITEMS=0) == (16, 10, 0)
    assert counts(stage, HISTORY_LINES=0) == (0, 10, 10)
    assert counts(stage, PROMPT_LITE_MODE=1, HISTORY_LINES=9, MEMORY_ITEMS=9) == (3, 3, 2)


def test_p40_a_chat_cut_below_its_floor_is_warned_of(stage: Stage) -> None:
    crowd(stage)
    assert not [note for note in stage.explain("tofu", max_chars=60_000)[1]["notes"] if "history_floor" in note]
    prompt, report = stage.explain("tofu", max_chars=1300)
    kept = len(prompt["context"]["history_current_chat"])
    assert kept < 6
    assert [note for note in report["notes"] if "history_floor (6)" in note and f"cut to {kept} of 10" in note]


def test_p53_a_strangers_long_line_in_another_chat_takes_a_quarter(stage: Stage) -> None:
    crowd(stage, 10)
    stage.say("word " * 20_000, "tg/77", "Eve", minutes=5)
    prompt, report = stage.explain("tofu", max_chars=30_000)
    context = prompt["context"]
    assert len(to_json(prompt)) <= 30_000
    assert (len(context["memories"]), len(context["history_current_chat"]), len(context["history_recent"])) == (
        10,
        10,
        10,
    )
    assert 5_000 < max(map(len, context["history_recent"])) <= 7_500
    assert report["shortened"] == [{"section": "history_recent", "reason": "shortened", "id": ""}]


def test_p53_what_is_too_large_loses_items_and_the_room_is_filled(stage: Stage) -> None:
    crowd(stage, 6)
    for n in range(16):
        stage.say(f"line {n} " + "talk " * 40, HERE, minutes=50 - n)
    for limit in (3000, 4000, 5000):
        prompt, report = stage.explain("tofu", max_chars=limit)
        assert 0.93 * limit < report["size"] == len(to_json(prompt)) <= limit
