"""How many items of each kind a prompt holds, and how it is filled (P40, P53, P59)."""

from __future__ import annotations

import pytest

from tests.spec.stage import ELSEWHERE, Stage

pytestmark = pytest.mark.engines("sqlite")


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
