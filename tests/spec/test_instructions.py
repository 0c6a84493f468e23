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
    scope = stage.scope(path, participant=who)
    given = {"db": stage.db, "settings": Settings(), "scope": scope, **more}
    return [item["text"] for item in conversations.list_saved_memories(kind="instruction", **given)]


def shown(stage: Stage, path: str = HERE, **more: Any) -> list[str]:
    found: list[str] = stage.context("hello", path=path, **more).get("standing_wishes", [])
    return found


def call(stage: Stage, path: str = HERE, who: str | None = "tg/ann", **flags: Any) -> dict[str, Any]:
    return {"db": stage.db, "settings": Settings(**flags), "scope": stage.scope(path, participant=who)}


def test_c12_a_wish_is_kept_when_it_is_said_and_stands_in_the_next_prompts(stage: Stage) -> None:
    """Words of a question never find `call me Jo`: it has to be there by itself, months later and in other chats."""
    stage.say("Hi there. Please always answer in metric units. See you!", minutes=60 * 24 * 200)
    stage.say("How are you?", minutes=50)
    stage.say("call me Jo", ELSEWHERE, minutes=40)
    assert shown(stage) == ["Please always answer in metric units.", "call me Jo"]
    assert listed(stage) == shown(stage)
    item = conversations.list_saved_memories(kind="instruction", **call(stage))[0]
    assert (item["source"], item["archived"]) == ("chat", False)
    assert item["saved_at"] == (NOW - timedelta(days=200)).isoformat()


def test_c12_a_wish_without_content_is_not_stored(stage: Stage) -> None:
    for text in ("call me ", "From now on, please", "Please remember that"):
        stage.say(text)
    assert listed(stage) == []


def test_c12_what_the_persona_or_a_narrator_says_is_no_wish(stage: Stage) -> None:
    stage.say("Call me Iris", who="self")
    stage.say("Always answer in French.", role="narrator")
    assert listed(stage) == []


def test_c12_a_newer_wish_takes_the_place_of_an_older_one_about_the_same(stage: Stage) -> None:
    stage.say("I am vegetarian", minutes=90)
    stage.say("Call me Jo", minutes=80)
    stage.say("I'm vegan now", minutes=70)
    assert shown(stage) == ["Call me Jo", "I'm vegan now"]
    archived = conversations.list_saved_memories(kind="instruction", archived=True, **call(stage))
    assert (archived[0]["text"], archived[0]["archived"]) == ("I am vegetarian", True)
    assert len(archived) == 3


@pytest.mark.parametrize(
    ("wish", "ending"),
    [
        ("Call me Jo", "Don't call me Jo anymore"),
        ("Always answer in German", "you can answer in English again"),
        ("I am vegetarian", "Actually I'm no longer vegetarian."),
        ("Never use emojis", "You can use emojis again"),
        ("I'm allergic to nuts", "I'm not allergic to nuts anymore"),
        ("Nenn mich Jo", "Nenn mich bitte nicht mehr Jo"),
        ("Appelle-moi Jo", "Ne m'appelle plus Jo"),
    ],
)
def test_c12_a_wish_that_is_taken_back_ends(stage: Stage, wish: str, ending: str) -> None:
    stage.say(wish, minutes=90)
    stage.say("I have an allergy to latex", minutes=80)
    assert shown(stage) == [wish, "I have an allergy to latex"]
    stage.say(ending, minutes=70)
    assert shown(stage) == ["I have an allergy to latex"]
    archived = conversations.list_saved_memories(kind="instruction", archived=True, **call(stage))
    assert [each["text"] for each in archived if each["archived"]] == [wish]


def test_c12_another_name_is_not_taken_back(stage: Stage) -> None:
    stage.say("Call me Kim", minutes=90)
    stage.say("Don't call me Jo anymore", minutes=70)
    assert "Call me Kim" in shown(stage)


def test_c12_an_older_message_stored_late_changes_nothing(stage: Stage) -> None:
    """A host that backfills its log must not bring back what has been taken back since."""
    stage.say("Call me Jo", minutes=10)
    stage.say("Call me Jonathan", minutes=500)
    assert shown(stage) == ["Call me Jo"]


def test_c12_a_wish_said_again_is_one_item_with_the_new_time(stage: Stage) -> None:
    stage.say("I am vegan", minutes=90)
    stage.say("i am  vegan", minutes=20)
    items = conversations.list_saved_memories(kind="instruction", archived=True, **call(stage))
    assert [item["saved_at"] for item in items] == [(NOW - timedelta(minutes=20)).isoformat()]


def test_f12_a_wish_of_a_direct_message_holds_there_alone_and_a_public_one_in_its_server(stage: Stage) -> None:
    """What somebody tells in private is not to be acted upon in front of others."""
    stage.say("Call me Jo", DIRECT, minutes=50)
    stage.say("I am vegan", HERE, minutes=40, server="s1")
    assert shown(stage, "tg/44", scope=stage.scope(server="s1")) == ["I am vegan"]
    assert shown(stage, "tg/45", scope=stage.scope(server="s2")) == []
    assert "Call me Jo" in shown(stage, DIRECT)
    assert listed(stage, HERE) == ["I am vegan"]


def test_c12_the_newest_word_counts_where_private_and_public_differ(stage: Stage) -> None:
    stage.say("Call me Jo", HERE, minutes=50)
    stage.say("Call me Captain", DIRECT, minutes=40)
    assert shown(stage, DIRECT) == ["Call me Captain"]
    assert shown(stage, HERE) == ["Call me Jo"]


def test_c12_nobody_elses_wishes_are_shown(stage: Stage) -> None:
    stage.say("Call me Jo", who="Ann")
    stage.say("Call me Bobby", who="Bob")
    assert shown(stage) == ["Call me Jo"]
    assert shown(stage, who="Bob") == ["Call me Bobby"]
    assert shown(stage, who="Cid") == []
    assert listed(stage, who="tg/bob") == ["Call me Bobby"]
    other = Stage(stage.db)
    assert listed(other) == []


def test_c12_linked_identities_share_their_wishes(stage: Stage) -> None:
    stage.say("Call me Jo", "dc/7", who="Ann")
    link_participants("dc/ann", "tg/ann", db=stage.db, settings=Settings(), scope=stage.scope())
    assert shown(stage, HERE) == ["Call me Jo"]


@pytest.mark.parametrize(("level", "kept"), [("none", 1), ("partial", 0), ("full", 0)])
def test_f20_who_may_not_be_remembered_has_no_wishes(stage: Stage, level: str, kept: int) -> None:
    set_privacy("tg/ann", level, db=stage.db, settings=Settings(), scope=stage.scope())
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
    off = call(stage, **{switch.lower(): False})
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
