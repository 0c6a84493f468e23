"""T62: what was said before about the next days comes up, to whom it may."""

from __future__ import annotations

from typing import Any

import pytest

from core.config import Settings
from core.forgetting import forget
from core.prompt_engine import build_messages
from tests.spec.stage import ELSEWHERE, HERE, Stage, message
from tests.store.test_search_packed import pack

WEEK = 7 * 1440
FLIGHT = "2026-03-12: [2026-02-17 12:00] Ann: In 23 days I fly to Riga."


def coming(stage: Stage, text: str = "Good morning!", **more: Any) -> Any:
    return stage.context(text, **more).get("upcoming", "absent")


@pytest.mark.parametrize("is_packed", [False, True])
def test_t62_what_was_said_weeks_ago_about_the_next_days_comes_up(stage: Stage, is_packed: bool) -> None:
    stage.say("In 23 days I fly to Riga.", ELSEWHERE, minutes=3 * WEEK)
    stage.remember("Ann's course begins on 17 March.", minutes=2 * WEEK)
    for text, weeks in (
        ("Do I fly on 12 March?", 2), ("I fly to Oslo on 18 March.", 2), ("I flew here on 9 March.", 3),
        ("I fly on 13 March each year.", 60),
    ):  # fmt: skip
        stage.say(text, ELSEWHERE, minutes=weeks * WEEK)
    stage.say("Come on 12 March!", ELSEWHERE, who="self", minutes=WEEK)
    stage.say("Riga on 13 March, hm", ELSEWHERE, who="self", minutes=WEEK, role="thought")
    if is_packed:
        pack(stage.db, stage.scope(HERE))
    first, second = coming(stage, ENABLE_HISTORY_RECENT=0)
    assert first == FLIGHT and second.startswith("2026-03-17: [2026-02-24 12:00] ") and "course" in second
    asked = build_messages(
        message("Good morning!"), db=stage.db, settings=Settings(enable_history_recent=False), scope=stage.scope()
    )
    assert FLIGHT in asked[-1]["content"].splitlines()
    assert coming(stage, ENABLE_HISTORY_RECENT=0, ENABLE_UPCOMING=0) == "absent"


def test_t62_what_another_section_shows_does_not_come_up_twice(stage: Stage) -> None:
    stage.say("In 23 days I fly to Riga.", ELSEWHERE, minutes=3 * WEEK)
    assert coming(stage) == "absent"  # among the lines of other conversations
    assert coming(stage, "Who flies to Riga?", ENABLE_HISTORY_RECENT=0) == "absent"  # among the memories
    stage.say("Tomorrow I sail.", minutes=0, message_id="m-now")
    assert coming(stage, "Tomorrow I sail.") == "absent"


def test_t62_at_most_three_come_up_the_nearest_first(stage: Stage) -> None:
    for day in (14, 11, 13, 12):
        stage.say(f"I sail on {day} March.", ELSEWHERE, minutes=WEEK + day)
    prompt, report = stage.explain("Good morning!", ENABLE_HISTORY_RECENT=0)
    assert [line[:10] for line in prompt["context"]["upcoming"]] == ["2026-03-11", "2026-03-12", "2026-03-13"]
    assert [one["reason"] for one in report["left_out"] if one["section"] == "upcoming"] == ["limit"]


def test_f1_nobody_elses_direct_messages_and_nothing_forgotten_come_up(stage: Stage) -> None:
    stage.say("I fly to Riga on 12 March.", "tg/bob", who="Bob", minutes=WEEK, privacy="direct", participant="tg/bob")
    assert coming(stage, ENABLE_HISTORY_RECENT=0) == "absent"
    own = {"path": "tg/bob", "who": "Bob", "is_private": True}
    assert len(coming(stage, ENABLE_HISTORY_CURRENT_CHAT=0, **own)) == 1
    forget(participant="tg/bob", db=stage.db, scope=stage.scope())
    assert coming(stage, ENABLE_HISTORY_CURRENT_CHAT=0, **own) == "absent"


@pytest.mark.engines("sqlite")
def test_p53_what_comes_up_is_cut_like_any_section(stage: Stage) -> None:
    for day in (11, 12, 13):
        stage.say(f"I sail on {day} March. {'far ' * 60}", ELSEWHERE, minutes=WEEK)
    whole, _ = stage.explain("Good morning!", ENABLE_HISTORY_RECENT=0)
    assert len(whole["context"]["upcoming"]) == 3
    prompt, report = stage.explain("Good morning!", ENABLE_HISTORY_RECENT=0, max_chars=1400)
    assert report["size"] <= 1400 and report["sections"]["upcoming"]["found"] == 3
    assert len("".join(prompt["context"].get("upcoming", ()))) < len("".join(whole["context"]["upcoming"]))
