"""What a model sees of recent conversations and saved memories (C19 to C23, F30, D35, P40)."""

from __future__ import annotations

import json
import logging
import re
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text as sql_text

from core.config import Settings
from core.conversations import (
    add_recent_conversation,
    add_saved_memory,
    get_system_prompt_with_memory,
    get_user_memory_prompt,
    load_memory,
)
from core.conversations.section_saved import choose_saved
from core.conversations.table_saved import SavedText
from tests.spec.stage import HERE, NOW, Stage, failed, reasons, snippets
from tests.store.world import open_db

pytestmark = pytest.mark.engines("sqlite")

PLAIN = Settings()


def talk(stage: Stage, title: str, summary: str = "We spoke.", minutes: float = 60, path: str | None = None) -> None:
    given = [{"text": f"hello {title}", "sender_id": "ann", "timestamp": NOW - timedelta(minutes=minutes)}]
    answer, scope = json.dumps({"title": title, "summary": summary}), stage.scope(path or HERE)
    ended = add_recent_conversation(given, lambda _: answer, wait=True, db=stage.db, settings=PLAIN, scope=scope)
    assert ended.stored, ended


def save(stage: Stage, text: str) -> None:
    assert add_saved_memory(text, **stage.asking(HERE)).stored


def memory(stage: Stage, **flags: Any) -> str | None:
    return get_user_memory_prompt(db=stage.db, settings=Settings(**flags), scope=stage.scope(HERE))


def parts(made: str | None) -> list[str]:
    return re.findall(r"^<(\w+)>$", made or "", re.MULTILINE)


def test_c19_the_two_switches_act_independently(stage: Stage) -> None:
    save(stage, "I like tea")

    def shown(recent: bool, saved: bool) -> list[str]:
        return parts(memory(stage, enable_recent_conversations=recent, enable_saved_memory=saved))

    switches = ((True, True), (True, False), (False, True), (False, False))
    assert [shown(*each) for each in switches] == [["saved_memories"], [], ["saved_memories"], []]
    assert memory(stage, enable_saved_memory=False) is None
    talk(stage, "Trip")
    both = ["recent_conversations", "saved_memories"]
    assert [shown(*each) for each in switches] == [both, both[:1], both[1:], []]


def test_c21_a_part_that_cannot_be_read_is_absent_and_the_other_comes(caplog: pytest.LogCaptureFixture) -> None:
    db = open_db("sqlite://")
    stage = Stage(db)
    talk(stage, "Trip")
    save(stage, "I like tea")
    db.transaction(lambda c: c.execute(sql_text("DROP TABLE conversation_summaries")), source="test")
    with caplog.at_level(logging.WARNING):
        assert parts(memory(stage)) == ["saved_memories"]
    assert "memory_part_not_read source='conversation_summaries'" in caplog.text
    prompt, report = stage.explain("hello")
    assert prompt["context"]["saved_memories"] == ["[2026-03-10] I like tea"]
    assert "recent_conversations" not in prompt["context"] and "conversation_summaries" in failed(report)
    db.close()


def test_c22_a_system_prompt_with_memory(stage: Stage) -> None:
    call = stage.asking(HERE)
    assert get_system_prompt_with_memory("Be kind.", **call) == "Be kind."
    assert load_memory(**call) == {"recent": [], "saved": []} and memory(stage) is None
    save(stage, "I like tea")
    assert get_system_prompt_with_memory("Be kind.", **call) == (
        "Be kind.\n\n<saved_memories>\n- [2026-03-10] I like tea\n</saved_memories>"
    )
    talk(stage, "Trip", "We fly.")
    loaded = load_memory(**call)
    assert [one["text"] for one in loaded["saved"]] == ["I like tea"]
    assert [(one["title"], one["time"], one["summary"]) for one in loaded["recent"]] == [
        ("Trip", "2026-03-10 11:00", "We fly.")
    ]
    assert load_memory(**{**call, "settings": Settings(memory_mode="project")}) == {"recent": [], "saved": []}


def test_c20_the_memory_prompt_selects_as_the_json_prompt_does(stage: Stage) -> None:
    """The first thing a person asked to remember is not lost because of 59 others."""
    save(stage, "I am allergic to nuts")
    for n in range(59):
        save(stage, f"fact {n}")
    shown = [line.removeprefix("- ") for line in (memory(stage) or "").splitlines() if line.startswith("- ")]
    assert shown[0] == "[2026-03-10] I am allergic to nuts"
    assert shown == stage.context("hello")["saved_memories"]
    system = get_system_prompt_with_memory("Base.", **stage.asking(HERE))
    assert "] I am allergic to nuts" in system


def test_c23_the_sections_of_the_prompt(stage: Stage) -> None:
    for n in range(30):
        talk(stage, f"T{n}", minutes=100 - n, path=f"tg/c23-{n}")
        if n < 12:
            save(stage, f"fact {n}")
    prompt, report = stage.explain("hello", SAVED_CHARS=33)
    context = prompt["context"]
    assert [one["title"] for one in context["recent_conversations"]] == [f"T{n}" for n in range(20, 30)]
    assert context["recent_conversations"][-1] == {"title": "T29", "time": "2026-03-10 10:49", "summary": "We spoke."}
    assert context["saved_memories"] == [f"[2026-03-10] fact {n}" for n in range(7, 12)]
    assert reasons(report, "saved_memories") == ["cut"] * 7
    assert report["sections"]["saved_memories"]["found"] == 12 and report["sections"]["saved_memories"]["kept"] == 5
    keys = list(context)
    assert keys.index("recent_conversations") < keys.index("saved_memories")
    alone = (memory(stage, saved_chars=8) or "").splitlines()
    heads = [line for line in alone if line.startswith(("## ", "- "))]
    assert heads == [*(f"## T{n}" for n in range(20, 30)), "- [2026-03-10] fact 11"]
    off, bare = stage.explain("hello", ENABLE_RECENT_CONVERSATIONS=0, ENABLE_SAVED_MEMORY=0)
    assert "recent_conversations" not in off["context"] and "saved_memories" not in off["context"]
    fewer = stage.context("hello", MAX_RECENT_CONVERSATIONS=10)
    assert [one["title"] for one in fewer["recent_conversations"]] == [f"T{n}" for n in range(20, 30)]
    small, report = stage.explain("hello", max_chars=bare["size"] - 45)
    assert "saved_memories" not in small.get("context", {}) and report["sections"]["saved_memories"]["kept"] == 0


def test_p34_a_saved_memory_is_not_recalled_beside_its_own_section(stage: Stage) -> None:
    saved = add_saved_memory("I like quagga tea", **stage.asking())
    stage.remember("quagga at the zoo", ["zoo"], 30)
    prompt, report = stage.explain("quagga")
    assert prompt["context"]["saved_memories"] == ["[2026-03-10] I like quagga tea"]
    assert snippets(prompt["context"]) == ["quagga at the zoo"]
    told = [one["id"] for one in report["left_out"] if one["section"] == "memories" and one["reason"] == "visible"]
    assert any(str(saved.id) in one for one in told)


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
        ended = add_recent_conversation(wait=True, **stage.asking(f"tg/trip{n}"))
        assert ended.stored, ended
    context = stage.context("hello", UNIFIED_HISTORY=0)
    lite = stage.context("hello", PROMPT_LITE_MODE=1, UNIFIED_HISTORY=0)
    assert (len(context["saved_memories"]), len(context["recent_conversations"])) == (40, 4)
    assert lite["saved_memories"] == [f"[2026-03-10] fact {n}" for n in range(30, 40)]
    assert len(lite["recent_conversations"]) == 2
