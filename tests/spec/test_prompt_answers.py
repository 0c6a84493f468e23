"""How the model is asked to answer, and what is read of its answer (P13)."""

from __future__ import annotations

from typing import Any

import pytest

from core.prompt_engine import set_hook
from tests.spec.stage import Stage

pytestmark = pytest.mark.engines("sqlite")

ACTIONS = {"message_web": {"brief": "Say something.", "schema": {"text": "text"}, "source": "core"}}


def line(stage: Stage, **flags: Any) -> str:
    made: str = stage.prompt("hello", **flags)["instructions"]
    assert "\n" not in made
    assert "  " not in made
    assert len(made) < 1600
    return made


@pytest.mark.parametrize("lite", [0, 1])
def test_p13_actions_are_asked_for_where_there_are_some(stage: Stage, lite: int) -> None:
    set_hook("actions", lambda: ACTIONS)
    for chosen in ("auto", "actions"):
        shown = line(stage, ANSWER_FORMAT=chosen, PROMPT_LITE_MODE=lite)
        assert all(word in shown for word in ("JSON", "type", "payload", "thread_id", "actions"))
    assert "{" not in line(stage, ANSWER_FORMAT="text", PROMPT_LITE_MODE=lite)


@pytest.mark.parametrize("lite", [0, 1])
@pytest.mark.parametrize("given", [None, {}, {"nameless": {}}], ids=repr)
def test_p13_plain_words_are_asked_for_where_there_are_none(stage: Stage, lite: int, given: Any) -> None:
    set_hook("actions", lambda: given)
    shown = line(stage, PROMPT_LITE_MODE=lite)
    assert "{" not in shown
    assert "actions" not in shown
    assert "JSON" in line(stage, ANSWER_FORMAT="actions")
