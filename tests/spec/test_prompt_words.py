"""What a prompt looks for, what it costs to read, and that nothing is fed back (T9 to T11, T53, F34, D35)."""

from __future__ import annotations

from typing import Any

import pytest

from core import synth_tagging
from core.chat_history_cache import save_chat_message
from core.config import Settings
from core.database.engine import Database
from core.database.schema import chat_history_cache, memories
from core.prompt_engine import build_json_prompt
from core.scope import Scope
from core.synth_core_memory import search_memories, silently_record_memory
from tests.databases import traced
from tests.spec.stage import ELSEWHERE, HERE, NOW, Stage, message, snippets
from tests.store.world import open_db, rows_of

pytestmark = pytest.mark.engines("sqlite")


def test_t10_a_word_of_most_lines_counts_next_to_nothing(stage: Stage) -> None:
    for n in range(120):
        stage.say(f"{'kitchen' if n < 100 else 'other'} number {n}", "tg/crowd", "Zoe", message_id=str(n))
    stage.say("the retrodeck is broken", "tg/crowd", "Zoe", minutes=9000)
    hits = search_memories(query="kitchen retrodeck", limit=1, **stage.asking("tg/crowd"))
    assert [hit["snippet"] for hit in hits] == ["the retrodeck is broken"]
    assert search_memories(query="kitchen", **stage.asking("tg/crowd"))


def test_t11_of_too_many_words_the_rarest_known_stay(stage: Stage) -> None:
    stage.say("the zanzibar trip", ELSEWHERE, "Bob", minutes=500)
    text = " ".join(f"filler{n}q" for n in range(299)) + " zanzibar"
    context, report = stage.explain(text, UNIFIED_HISTORY=0)
    assert len(report["search"]["words"]) == 24
    assert "zanzibar" in report["search"]["words"]
    assert snippets(context["context"]) == ["the zanzibar trip"]


@pytest.mark.slow
def test_t53_f34_what_a_prompt_recalls_is_not_stored_again(stage: Stage) -> None:
    stage.remember("the canary code is 7391", ["code"], 900)
    scope = stage.scope(HERE, participant="tg/ann")
    asked: dict[str, Any] = {"db": stage.db, "settings": Settings()}
    for turn in range(8):
        prompt = build_json_prompt(message("what was the code", message_id=f"q{turn}"), scope=stage.scope(), **asked)
        recalled = snippets(prompt["context"])
        assert any("canary" in text for text in recalled)
        said = {"scope": scope, **asked}
        save_chat_message(HERE, f"what was the code {turn}", "Ann", "ann", NOW, message_id=f"q{turn}", **said)
        save_chat_message(HERE, f"it is what you said {turn}", "self", "self", NOW, message_id=f"a{turn}", **said)
        for text in recalled:
            silently_record_memory(text, "noted", scope=scope, **asked)
    holding = [r for r in rows_of(stage.db, memories, stage.persona) if "canary" in r.content]
    lines = [r for r in rows_of(stage.db, chat_history_cache, stage.persona) if "canary" in r.message_text]
    assert (len(holding), len(lines)) == (1, 0)


@pytest.mark.parametrize("text", ["Where do I work?", "What do I have?", "Was I in the ER?"])
def test_t59_a_message_of_common_words_finds_what_a_search_for_it_finds(stage: Stage, text: str) -> None:
    """`Where do I work?` holds stop words alone, and is what people ask."""
    for fact in ("I work as a nurse", "I have a piano", "I spent the night in the ER"):
        stage.remember(fact, [], 900)
    found = search_memories(query=text, limit=10, **stage.asking(HERE))
    assert found and snippets(stage.context(text)) == [hit["snippet"] for hit in found]


@pytest.mark.parametrize("text", ["How is felix?", "tofu " + " ".join(f"word{n}x" for n in range(40))])
def test_t59_a_message_finds_what_a_search_for_it_finds(stage: Stage, text: str) -> None:
    """One function chooses the words, and both know the tags and aliases that stand in a text."""
    stage.remember("the grey one sleeps a lot", ["cat"], 900)
    stage.remember("Ann cooks tofu", ["food"], 950)
    synth_tagging.add_alias("felix", "cat", **stage.asking())
    found = search_memories(query=text, limit=10, **stage.asking(HERE))
    assert found and snippets(stage.context(text)) == [hit["snippet"] for hit in found]


def world(stage: Stage) -> None:
    for n in range(40):
        stage.say(f"tofu here {n}", minutes=90 - n)
        stage.say(f"tofu there {n}", f"tg/{43 + n % 12}", "Bob", minutes=90 - n)
    stage.remember("Ann cooks pizza and tofu", ["pizza", "tofu"], 900)
    stage.diary("tofu day", personal_thought="hm", context_tags=["tofu"])


def cold(stage: Stage) -> Database:
    """Return a handle of its own: nothing is known to it yet."""
    return open_db(stage.db.target.url.render_as_string(hide_password=False))


@pytest.mark.parametrize(
    "text",
    ["tofu and pizza please", "", "ok", "pizza " * 30, "a " + " ".join(f"word{n}x" for n in range(60)), "数学の宿題"],
)
def test_d35_a_prompt_sends_few_statements_cold_and_warm(stage: Stage, text: str) -> None:
    world(stage)
    fresh = cold(stage)
    asked: dict[str, Any] = {"db": fresh, "settings": Settings(), "scope": Scope(persona=stage.persona)}
    live = {HERE: [{"text": "live", "sender_name": "Ann"}], ELSEWHERE: [{"text": "live", "sender_name": "Bob"}]}
    for _ in range(3):
        with traced(fresh) as statements:
            build_json_prompt(message(text), live, **asked)
        assert len(statements) <= 14
    fresh.close()


def test_t5_the_first_prompt_of_a_process_finds_what_the_later_ones_find(stage: Stage) -> None:
    world(stage)
    stage.remember("night of rounds", ["pizza night"], 2000)
    stage.remember("feline matters", ["pet"], 2100)
    synth_tagging.link_tags("tofu", "pet", db=stage.db, scope=stage.scope())
    fresh = cold(stage)
    asked: dict[str, Any] = {"db": fresh, "settings": Settings(), "scope": Scope(persona=stage.persona)}
    first = build_json_prompt(message("a Pizza  Night with tofu"), **asked)
    assert {"night of rounds", "feline matters"} <= set(snippets(first["context"]))
    assert build_json_prompt(message("a Pizza  Night with tofu"), **asked) == first
    fresh.close()
