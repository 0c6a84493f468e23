"""Which saved memories and ended conversations a prompt shows (C23, P40)."""

from __future__ import annotations

import pytest

from core.chat_history_cache import save_chat_message
from core.config import Settings
from core.conversations import add_recent_conversation, add_saved_memory
from core.conversations.section_saved import choose_saved
from core.conversations.table_saved import SavedText
from tests.spec.stage import ELSEWHERE, HERE, Stage, reasons

pytestmark = pytest.mark.engines("sqlite")

PLAIN = Settings()


def save(stage: Stage, text: str) -> None:
    assert add_saved_memory(text, db=stage.db, settings=PLAIN, scope=stage.scope(HERE)).stored


def end(stage: Stage, path: str) -> None:
    ended = add_recent_conversation(wait=True, db=stage.db, settings=PLAIN, scope=stage.scope(path))
    assert ended.stored, ended


def test_c23_pinned_ones_come_first_then_those_that_match_then_the_newest() -> None:
    texts = ["old pinned", "old tofu", "tofu with rice", "new", "newest"]
    rows = [SavedText(n, text, int(n == 0), None, None, None) for n, text in enumerate(texts)]

    def chosen(chars: int, *words: str) -> list[int]:
        return [row.id for row in choose_saved(rows, words, Settings(saved_chars=chars))]

    assert [chosen(chars, "tofu", "rice") for chars in (10, 24, 32, 38)] == [[0], [0, 2], [0, 1, 2], [0, 1, 2, 4]]
    assert chosen(12) == [0], "a longer one makes room for none"
    assert [row.id for row in choose_saved(rows[1:], (), Settings(saved_chars=9))] == [3, 4]


def test_p40_lite_mode_keeps_ten_saved_memories_and_two_conversations(stage: Stage) -> None:
    for n in range(40):
        save(stage, f"fact {n}")
    for n in range(4):
        stage.say(f"we spoke of trip {n}", f"tg/trip{n}", minutes=5000 - n)
        end(stage, f"tg/trip{n}")
    context, lite = (
        stage.context("hello", UNIFIED_HISTORY=0),
        stage.context("hello", PROMPT_LITE_MODE=1, UNIFIED_HISTORY=0),
    )
    assert (len(context["saved_memories"]), len(context["recent_conversations"])) == (40, 4)
    assert lite["saved_memories"] == [f"fact {n}" for n in range(30, 40)]
    assert len(lite["recent_conversations"]) == 2


def test_c23_a_conversation_whose_lines_are_all_shown_is_not_told_again(stage: Stage) -> None:
    for n in range(3):
        stage.say(f"we fly to Rome on day {n}", minutes=90 - n)
        stage.say(f"they paint the hall on day {n}", ELSEWHERE, "Bob", minutes=60 - n)
    for n in range(30):
        stage.say(f"long talk about boats number {n}", "tg/long", "Bob", minutes=50 - n)
    for path in (HERE, ELSEWHERE, "tg/long"):
        end(stage, path)
    prompt, report = stage.explain("hello", CONTEXT_VERBOSITY=40)
    assert "recent_conversations" not in prompt["context"]
    assert reasons(report, "recent_conversations") == ["visible"] * 3
    prompt, report = stage.explain("hello", CONTEXT_VERBOSITY=4)
    assert len(prompt["context"]["recent_conversations"]) == 2
    assert reasons(report, "recent_conversations") == ["visible"]
    alone = stage.context("hello", HISTORY_LINES=0, ENABLE_HISTORY_RECENT=0)
    assert len(alone["recent_conversations"]) == 3


def test_f83_memories_of_two_people_of_one_name_are_told_apart(stage: Stage) -> None:
    """By the mark that lines use, so that what one Ann asked for is not the other's."""
    for who, text in (("ann", "My cat is Tofu"), ("anna", "My cat is Miso")):
        scope = stage.scope(HERE, participant=f"tg/{who}")
        assert save_chat_message(HERE, f"here is {who}", "Ann", who, db=stage.db, settings=PLAIN, scope=scope).stored
        assert add_saved_memory(text, db=stage.db, settings=PLAIN, scope=scope).stored
    context = stage.context("what is my cat called?")
    label = {}
    for line in context["history_current_chat"]:
        speaker, words = line.split("] ")[-1].split(": ")
        label[words.strip('"')] = speaker
    assert set(label.values()) == {"Ann", "Ann (2)"}
    assert context["saved_memories"] == [
        f"{label['here is ann']}: My cat is Tofu",
        f"{label['here is anna']}: My cat is Miso",
    ]
