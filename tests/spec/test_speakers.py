"""T33: who said it stands on every hit."""

from __future__ import annotations

from typing import Any

import pytest

from core import lifelong, stories
from core.chat_history_cache import save_chat_message
from core.config import Settings
from core.conversations import add_saved_memory, close_conversation, list_recent_conversations
from core.db import insert_memory
from core.hooks import set_hook
from core.scope import Scope
from core.synth_core_memory import search_memories, silently_record_memory
from tests.spec.stage import HERE, Stage
from tests.spec.story import Story

pytestmark = pytest.mark.engines("sqlite")

GROUP = "tg/-5"
ALLERGY = "I am allergic to shellfish and my birthday is on 3 May."


def speakers(hits: Any) -> dict[str, str | None]:
    """Return each snippet's first words to its speaker."""
    return {" ".join(hit["snippet"].split()[:3]): hit.get("speaker") for hit in hits}


def test_t33_a_hit_in_anns_prompt_says_that_bob_said_it(stage: Stage) -> None:
    stage.say(ALLERGY, GROUP, "Bob", minutes=9000)
    for number in range(30):
        stage.say(f"line {number} of the day", GROUP, "Cid", minutes=500 - number)
    asked = {"path": GROUP, "is_private": False, "who": "Ann"}
    memories = stage.context("What am I allergic to, and when is my birthday?", **asked)["memories"]
    assert {hit["snippet"]: hit["speaker"] for hit in memories}[ALLERGY] == "Bob"
    assert list(next(hit for hit in memories if hit["snippet"] == ALLERGY)) == [
        "source", "id", "timestamp", "snippet", "tags", "speaker",
    ]  # fmt: skip


def test_t33_the_name_is_that_of_the_history_and_the_personas_own_for_its_own(stage: Stage) -> None:
    stage.say("saffron one", GROUP, 'Bob "B"\nBaker')
    stage.say("saffron two", GROUP, "self", role="persona")
    scope = stage.scope(GROUP)
    save_chat_message(GROUP, "saffron three", "Iris", "self", db=stage.db, scope=scope)
    save_chat_message(GROUP, "saffron four", None, "77", db=stage.db, scope=scope)
    save_chat_message(GROUP, "saffron five", db=stage.db, scope=Scope(stage.persona, GROUP), role="system")
    stage.diary("saffron in the soup today")
    hits = search_memories(keywords=["saffron"], limit=20, ranking="recency", db=stage.db, scope=scope)
    assert speakers(hits) == {
        "saffron one": "Bob 'B' Baker",
        "saffron two": stage.persona,
        "saffron three": "Iris",
        "saffron four": "77",
        "saffron five": None,
        "saffron in the": stage.persona,
    }
    assert all("speaker" not in hit for hit in hits if hit["snippet"] == "saffron five")


def test_t33_a_memory_names_whose_statement_it_is(stage: Stage) -> None:
    stage.say("hello", GROUP, "Bob")
    silently_record_memory("I grow kohlrabi on the roof", scope=stage.scope(GROUP, participant="tg/bob"), db=stage.db)
    silently_record_memory("My kohlrabi died", scope=stage.scope(GROUP, participant="tg/881"), db=stage.db)
    insert_memory("Kohlrabi wants sun.", "Ann", "notes", [], stage.scope(), db=stage.db)
    insert_memory("Kohlrabi is a cabbage.", "synth", "notes", [], stage.scope(), db=stage.db)
    hits = search_memories(keywords=["kohlrabi"], limit=20, db=stage.db, scope=stage.scope(GROUP))
    assert speakers(hits) == {
        "I grow kohlrabi": "Bob",
        "My kohlrabi died": "881",
        "Kohlrabi wants sun.": "Ann",
        "Kohlrabi is a": None,
    }


def test_g2_what_is_captured_is_saved_by_the_hook(stage: Stage) -> None:
    """A host that keeps memories elsewhere saves them itself."""
    saved: list[Any] = []

    def own(content: str, author: str, source: str, tags: Any, scope: str = "general") -> int:
        saved.append((content, author, source, tags, scope))
        return 41 + len(saved)

    set_hook("save", own)
    made = silently_record_memory("I like kale", db=stage.db, scope=stage.scope(GROUP))
    assert (made.stored, made.id) == (True, 42)
    assert saved == [("I like kale", "synth", "chat", ["auto", "interazione"], "general")]
    set_hook("save", None)
    assert silently_record_memory("I like kale", db=stage.db, scope=stage.scope(GROUP)).reason == ""


def test_t33_a_saved_memory_of_somebody_else_names_them_where_several_speak(stage: Stage) -> None:
    """What Bob asked to remember in a group is not Ann's own."""
    add_saved_memory("I drink tea", db=stage.db, scope=stage.scope(GROUP, participant="tg/ann"))
    alone = ["[2026-03-10] I drink tea"]
    assert stage.context("hello", path=GROUP, is_private=False)["saved_memories"] == alone
    stage.say("hello", GROUP, "Bob")
    stage.say("hello", GROUP, "Ann")
    add_saved_memory("I drink bob tea", db=stage.db, scope=stage.scope(GROUP, participant="tg/bob"))
    shown = stage.context("hello", path=GROUP, is_private=False)["saved_memories"]
    assert shown == ["[2026-03-10] Ann: I drink tea", "[2026-03-10] Bob: I drink bob tea"]


@pytest.mark.parametrize(
    ("who", "answer", "summary"),
    [
        ("Bob", "My birthday is on 3 May.", "Ann: I am allergic to shellfish. Bob: My birthday is on 3 May."),
        ("self", "Iris cooks without it.", "I am allergic to shellfish. Iris cooks without it."),
    ],
)
def test_t33_a_summary_names_who_said_what_where_several_speak(
    stage: Stage, who: str, answer: str, summary: str
) -> None:
    stage.say("I am allergic to shellfish.", minutes=60)
    stage.say(answer, who=who, minutes=50)
    known = stage.asking(HERE)
    assert close_conversation(wait=True, **known).stored
    (one,) = list_recent_conversations(**known)
    assert one["summary"] == summary


def test_t33_recaps_name_who_said_it_where_several_speak(stage: Stage) -> None:
    story = Story(stage.db, stage.persona)
    story.write("I sold the red house.", who="Ann")
    story.write("I bought a boat in Genoa.", who="Bob")
    story.write("I stay at home.", who="Ann")
    assert story.call(stories.queue_recaps, story.path)
    assert story.call(stories.add_scene_break, story.messages[-1]).stored
    assert story.run()
    told = [story.get(message, "memory") for message in story.messages]
    assert told == ["I sold the red house.", "Bob: I bought a boat in Genoa.", "Ann: I stay at home."]
    recap = story.get(story.messages[-1], "scene_recap_memory")
    assert recap == "Ann: I sold the red house. Bob: I bought a boat in Genoa. Ann: I stay at home."


def test_t33_an_item_of_consolidation_names_its_person_where_several_speak(stage: Stage) -> None:
    stage.say("My name is Robert.", GROUP, "Bob", minutes=60)
    stage.say("I love rainy days.", GROUP, "Ann", minutes=50)
    known = {"db": stage.db, "settings": Settings()}
    assert lifelong.consolidate_history(GROUP, scope=stage.scope(GROUP), **known) == 2
    items = lifelong.search_items(conversation=GROUP, scope=stage.scope(GROUP), **known)["items"]
    made = sorted(item["text"] for item in items if item["provenance"] == "extract")  # the name is a wish, too
    assert made == ["Ann: I love rainy days.", "Bob: My name is Robert."]
