"""Standing instructions: recognised when said, stored with the message, shown in every prompt, superseded, changed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from core import chat_history_cache, conversations
from core.config import Settings
from core.errors import MessageError, StoreWriteError
from core.memories import section_instructions, table_instructions
from core.privacy import link_participants, set_privacy
from tests.spec.stage import ELSEWHERE, HERE, NOW, Stage

DIRECT = "tg/ann"


def listed(stage: Stage, path: str = HERE, who: str | None = "tg/ann", **more: Any) -> list[str]:
    given = {**stage.asking(path, who), **more}
    return [item["text"] for item in conversations.list_saved_memories(kind="instruction", **given)]


def shown(stage: Stage, path: str = HERE, **more: Any) -> list[str]:
    found: list[str] = stage.context("hello", path=path, **more).get("standing_wishes", [])
    return found


def call(stage: Stage, path: str = HERE, **flags: Any) -> dict[str, Any]:
    return stage.asking(path, "tg/ann", **flags)


def test_c12_a_wish_is_kept_when_it_is_said_and_stands_in_the_next_prompts(stage: Stage) -> None:
    """Words of a question never find `call me Jo`: it has to be there by itself, months later and in other chats."""
    stage.say("Hi there. Please always answer in metric units. See you!", minutes=60 * 24 * 200)
    stage.say("How are you?", minutes=50)
    stage.say("call me Jo", ELSEWHERE, minutes=40)
    assert shown(stage) == listed(stage) == ["Please always answer in metric units.", "call me Jo"]
    item = conversations.list_saved_memories(kind="instruction", **call(stage))[0]
    assert (item["source"], item["archived"]) == ("chat", False)
    assert item["saved_at"] == (NOW - timedelta(days=200)).isoformat()


LATEX = "I have an allergy to latex"
SAID: list[tuple[list[Any], list[str], list[str]]] = [
    # nothing is asked for, or not by a person
    (["call me ", "From now on, please", "Please remember that"], [], []),
    ([("Call me Iris", {"who": "self"}), ("Always answer in French.", {"role": "narrator"})], [], []),
    # a newer one about the same takes the place of an older one; one that is stored late changes nothing
    (["I am vegetarian", "Call me Jo", "I'm vegan now"], ["Call me Jo", "I'm vegan now"], ["I am vegetarian"]),
    (["Call me Jo", ("Call me Jonathan", {"minutes": 500})], ["Call me Jo"], []),
    (["Call me Kim", "Don't call me Jo anymore"], ["Call me Kim", "Don't call me Jo anymore"], []),
    # said again it is one, and what is taken back ends
    (["I am vegan", "i am  vegan"], ["I am vegan"], []),
    (["Call me Jo", LATEX, "Don't call me Jo anymore"], [LATEX], ["Call me Jo"]),
    (["Always answer in German", LATEX, "you can answer in English again"], [LATEX], ["Always answer in German"]),
    (["I am vegetarian", LATEX, "Actually I'm no longer vegetarian."], [LATEX], ["I am vegetarian"]),
    (["Never use emojis", LATEX, "You can use emojis again"], [LATEX], ["Never use emojis"]),
    (["I'm allergic to nuts", LATEX, "I'm not allergic to nuts anymore"], [LATEX], ["I'm allergic to nuts"]),
    (["Nenn mich Jo", LATEX, "Nenn mich bitte nicht mehr Jo"], [LATEX], ["Nenn mich Jo"]),
    (["Appelle-moi Jo", LATEX, "Ne m'appelle plus Jo"], [LATEX], ["Appelle-moi Jo"]),
]  # fmt: skip


@pytest.mark.parametrize(("said", "holding", "ended"), SAID, ids=str)
def test_c12_which_of_the_wishes_that_were_said_hold(
    stage: Stage, said: list[Any], holding: list[str], ended: list[str]
) -> None:
    for n, each in enumerate(said):
        text, more = each if isinstance(each, tuple) else (each, {})
        stage.say(text, **{"minutes": 90 - n, **more})
    items = conversations.list_saved_memories(kind="instruction", archived=True, **call(stage))
    assert shown(stage) == [each for each in listed(stage) if each in holding] == holding
    assert [each["text"] for each in items if each["archived"]] == ended
    if said == ["I am vegan", "i am  vegan"]:
        assert [item["saved_at"] for item in items] == [(NOW - timedelta(minutes=89)).isoformat()]


def test_f12_a_wish_of_a_direct_message_holds_there_alone_and_a_public_one_in_its_server(stage: Stage) -> None:
    """What somebody tells in private is not to be acted upon in front of others."""
    stage.say("Call me Jo", DIRECT, minutes=50)
    stage.say("I am vegan", HERE, minutes=40, server="s1")
    assert shown(stage, "tg/44", scope=stage.scope(server="s1")) == ["I am vegan"]
    assert shown(stage, "tg/45", scope=stage.scope(server="s2")) == []
    assert "Call me Jo" in shown(stage, DIRECT)
    assert listed(stage, HERE) == ["I am vegan"]


def test_c12_whose_wishes_hold_where(stage: Stage) -> None:
    """The newest word counts where private and public differ; linked identities share their wishes."""
    stage.say("Call me Jo", HERE, minutes=50)
    stage.say("Call me Captain", DIRECT, minutes=40)
    stage.say("Call me Bobby", who="Bob")
    assert (shown(stage, DIRECT), shown(stage, HERE)) == (["Call me Captain"], ["Call me Jo"])
    assert shown(stage, who="Bob") == listed(stage, who="tg/bob") == ["Call me Bobby"]
    assert shown(stage, who="Cid") == listed(Stage(stage.db)) == []
    stage.say("Call me Kim", "dc/7", who="Ann", minutes=10)
    link_participants("dc/ann", "tg/ann", **stage.asking())
    assert shown(stage, HERE) == ["Call me Kim"]


@pytest.mark.parametrize(("level", "kept"), [("none", 1), ("partial", 0), ("full", 0)])
def test_f20_who_may_not_be_remembered_has_no_wishes(stage: Stage, level: str, kept: int) -> None:
    set_privacy("tg/ann", level, **stage.asking())
    chat_history_cache.save_chat_message(HERE, "Call me Jo", "Ann", "ann", **call(stage))
    assert len(listed(stage)) == kept
    assert conversations.add_saved_memory("I am vegan", kind="instruction", **call(stage)).reason == (
        "" if kept else "privacy"
    )


def test_c12_only_the_newest_instructions_are_shown_and_the_rest_is_reported(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n, food in enumerate(("pork", "beef", "fish", "garlic")):
        stage.say(f"I don't eat {food}.", minutes=90 - n)
    monkeypatch.setattr(section_instructions, "INSTRUCTIONS_IN_PROMPT", 2)
    prompt, report = stage.explain("hello")
    assert prompt["context"]["standing_wishes"] == ["I don't eat fish.", "I don't eat garlic."]
    cut = [one for one in report["left_out"] if one["section"] == "standing_wishes"]
    assert [one["reason"] for one in cut] == ["cut", "cut"]
    assert "standing_wishes" not in stage.context("hello", MEMORY_MODE="project")


@pytest.mark.parametrize("switch", ["ENABLE_SAVED_MEMORY", "RECORD_WISHES"])
def test_c12_each_switch_neither_stores_nor_shows_wishes(stage: Stage, switch: str) -> None:
    stage.say("Call me Jo")
    assert shown(stage) == ["Call me Jo"] and shown(stage, **{switch: 0}) == []
    off = call(stage, **{switch: False})
    chat_history_cache.save_chat_message(HERE, "I am vegan.", "Ann", "ann", **off)
    assert conversations.add_saved_memory("I don't eat pork", kind="instruction", **off).reason == "disabled"
    assert listed(stage) == ["Call me Jo"]
    context = stage.context("Am I vegan?", CONTEXT_VERBOSITY=0, **{switch: 0})
    assert "saved_memories" not in context and "standing_wishes" not in context


def test_c12_instructions_are_refused_listed_added_deleted_and_restored(stage: Stage) -> None:
    assert conversations.add_saved_memory(" \n ", kind="instruction", **call(stage)).reason == "empty"
    assert conversations.add_saved_memory("x" * 301, kind="instruction", **call(stage)).reason == "too_long"
    with pytest.raises(MessageError):
        conversations.add_saved_memory("x", kind="wish", **call(stage))
    made = conversations.add_saved_memory("  Call me\nJo ", kind="instruction", **call(stage))
    assert made.stored
    again = conversations.add_saved_memory("call me jo", kind="instruction", **call(stage))
    assert again == (False, made.id, "duplicate")
    newer = conversations.add_saved_memory("Call me Kim", kind="instruction", **call(stage))
    assert listed(stage) == ["Call me Kim"]
    assert conversations.list_saved_memories(**call(stage)) == []
    assert conversations.delete_saved_memory(newer.id, **call(stage)) == (True, newer.id, "")
    assert conversations.delete_saved_memory(newer.id, **call(stage)).reason == "unchanged"
    assert listed(stage) == []
    assert conversations.delete_saved_memory(newer.id, restore=True, **call(stage)).stored
    assert conversations.delete_saved_memory(made.id, restore=True, **call(stage)).stored
    assert listed(stage) == ["Call me Jo"], "what is restored takes the place of what held"
    assert conversations.delete_saved_memory(made.id, restore=True, **call(stage)).reason == "unchanged"
    assert len(listed(stage, archived=True)) == 2


def test_c12_a_wish_out_of_sight_is_as_one_that_never_was(stage: Stage) -> None:
    private = conversations.add_saved_memory("Call me Jo", kind="instruction", **call(stage, DIRECT)).id
    for number in (private, 12345, 0):
        for restore in (False, True):
            assert not conversations.delete_saved_memory(number, restore=restore, **call(stage, HERE)).stored
    assert listed(stage, DIRECT) == ["Call me Jo"]


def test_g16_a_wish_and_its_message_are_stored_together_or_not_at_all(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> object:
        raise RuntimeError("no")

    monkeypatch.setattr(table_instructions, "record_instructions", fails)
    with pytest.raises((RuntimeError, StoreWriteError)):
        stage.say("Call me Jo")
    monkeypatch.undo()
    scope = stage.scope(HERE)
    assert chat_history_cache.load_chat_history(HERE, db=stage.db, settings=Settings(), scope=scope) == []
    assert listed(stage) == []


def test_c12_a_wish_that_was_saved_as_well_is_shown_once_and_no_hit_twice(stage: Stage) -> None:
    """The message is read by itself, and the model's tool saves the same words a moment later."""
    stage.say("I am vegan", minutes=20)
    conversations.add_saved_memory("I am  vegan", **call(stage))
    conversations.add_saved_memory("I live in Rome", **call(stage))
    prompt, report = stage.explain("hello")
    assert prompt["context"]["standing_wishes"] == ["I am vegan"]
    assert prompt["context"]["saved_memories"] == ["[2026-03-10] I live in Rome"]
    left_out = [entry["reason"] for entry in report["left_out"] if entry["section"] == "saved_memories"]
    assert left_out == ["duplicate"]
    found = [hit["snippet"] for hit in stage.context("vegan recipes?", CONTEXT_VERBOSITY=5)["memories"]]
    assert found.count("I am vegan") <= 1
