"""Standing wishes: recognised when said, stored with the message, shown in every prompt, superseded, changed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from core import chat_history_cache, conversations, wishes
from core.calls import screening
from core.config import Settings
from core.errors import MessageError, StoreWriteError
from core.privacy import link_participants, set_privacy
from core.wishes import table as store
from tests.spec.stage import ELSEWHERE, HERE, NOW, Stage

DIRECT = "tg/ann"


def listed(stage: Stage, path: str = HERE, who: str | None = "tg/ann", **more: Any) -> list[str]:
    scope = stage.scope(path, participant=who)
    return [item["text"] for item in wishes.list_wishes(db=stage.db, settings=Settings(), scope=scope, **more)]


def shown(stage: Stage, path: str = HERE, **more: Any) -> list[str]:
    found: list[str] = stage.context("hello", path=path, **more).get("standing_wishes", [])
    return found


def call(stage: Stage, path: str = HERE, who: str | None = "tg/ann", **flags: Any) -> dict[str, Any]:
    return {"db": stage.db, "settings": Settings(**flags), "scope": stage.scope(path, participant=who)}


def test_a_wish_is_kept_when_it_is_said_and_stands_in_the_next_prompts(stage: Stage) -> None:
    """Words of a question never find `call me Jo`: it has to be there by itself, months later and in other chats."""
    stage.say("Hi there. Please always answer in metric units. See you!", minutes=60 * 24 * 200)
    stage.say("How are you?", minutes=50)
    stage.say("call me Jo", ELSEWHERE, minutes=40)
    assert shown(stage) == ["Please always answer in metric units.", "call me Jo"]
    assert listed(stage) == shown(stage)
    item = wishes.list_wishes(**call(stage))[0]
    assert {k: item[k] for k in ("topic", "kind", "participant", "former")} == {
        "topic": "units", "kind": "instruction", "participant": "tg/ann", "former": False,
    }  # fmt: skip
    assert item["said_at"] == (NOW - timedelta(days=200)).isoformat()


def test_what_the_persona_or_a_narrator_says_is_no_wish(stage: Stage) -> None:
    stage.say("Call me Iris", who="self")
    stage.say("Always answer in French.", role="narrator")
    assert listed(stage, everyone=True) == []


def test_a_newer_wish_takes_the_place_of_an_older_one_about_the_same(stage: Stage) -> None:
    stage.say("I am vegetarian", minutes=90)
    stage.say("Call me Jo", minutes=80)
    stage.say("Actually I'm no longer vegetarian.", minutes=70)
    assert shown(stage) == ["Call me Jo", "Actually I'm no longer vegetarian."]
    former = wishes.list_wishes(former=True, **call(stage))
    assert (former[0]["text"], former[0]["former"]) == ("I am vegetarian", True)
    assert len(former) == 3


def test_an_older_message_stored_late_changes_nothing(stage: Stage) -> None:
    """A host that backfills its log must not bring back what has been taken back since."""
    stage.say("Call me Jo", minutes=10)
    stage.say("Call me Jonathan", minutes=500)
    assert shown(stage) == ["Call me Jo"]


def test_a_wish_said_again_is_one_item_with_the_new_time(stage: Stage) -> None:
    stage.say("I am vegan", minutes=90)
    stage.say("i am  vegan", minutes=20)
    items = wishes.list_wishes(former=True, **call(stage))
    assert [item["said_at"] for item in items] == [(NOW - timedelta(minutes=20)).isoformat()]


def test_f12_a_wish_of_a_direct_message_holds_there_alone_and_a_public_one_in_its_server(stage: Stage) -> None:
    """What somebody tells in private is not to be acted upon in front of others."""
    stage.say("Call me Jo", DIRECT, minutes=50)
    stage.say("I am vegan", HERE, minutes=40, server="s1")
    assert shown(stage, "tg/44", scope=stage.scope(server="s1")) == ["I am vegan"]
    assert shown(stage, "tg/45", scope=stage.scope(server="s2")) == []
    assert "Call me Jo" in shown(stage, DIRECT)
    assert listed(stage, HERE) == ["I am vegan"]


def test_the_newest_word_counts_where_private_and_public_differ(stage: Stage) -> None:
    stage.say("Call me Jo", HERE, minutes=50)
    stage.say("Call me Captain", DIRECT, minutes=40)
    assert shown(stage, DIRECT) == ["Call me Captain"]
    assert shown(stage, HERE) == ["Call me Jo"]


def test_nobody_elses_wishes_are_shown(stage: Stage) -> None:
    """In a group everybody wishes; the answer is for one of them."""
    stage.say("Call me Jo", who="Ann")
    stage.say("Call me Bobby", who="Bob")
    assert shown(stage) == ["Call me Jo"]
    assert shown(stage, who="Bob") == ["Call me Bobby"]
    assert shown(stage, who="Cid") == []
    assert listed(stage, everyone=True) == ["Call me Jo", "Call me Bobby"]
    other = Stage(stage.db)
    assert listed(other, everyone=True) == []


def test_linked_identities_share_their_wishes(stage: Stage) -> None:
    stage.say("Call me Jo", "dc/7", who="Ann")
    link_participants("dc/ann", "tg/ann", db=stage.db, settings=Settings(), scope=stage.scope())
    assert shown(stage, HERE) == ["Call me Jo"]


@pytest.mark.parametrize(("level", "kept"), [("none", 1), ("partial", 0), ("full", 0)])
def test_f20_who_may_not_be_remembered_has_no_wishes(stage: Stage, level: str, kept: int) -> None:
    set_privacy("tg/ann", level, db=stage.db, settings=Settings(), scope=stage.scope())
    chat_history_cache.save_chat_message(HERE, "Call me Jo", "Ann", "ann", **call(stage))
    assert len(listed(stage)) == kept
    assert wishes.add_wish("I am vegan", **call(stage)).reason == ("" if kept else "privacy")


def test_f36_a_wish_that_the_hosts_screen_flags_is_not_shown(stage: Stage) -> None:
    """Standing instructions are what an attacker would leave behind."""
    stage.say("Call me Jo", minutes=90)
    screening.set_screen(lambda text, kind: "Boss" in text)
    try:
        stage.say("Call me Boss", minutes=80)
    finally:
        screening.set_screen(None)
    assert shown(stage) == ["Call me Jo"]


def test_record_wishes_off_keeps_none(stage: Stage) -> None:
    save = chat_history_cache.save_chat_message
    save(HERE, "Call me Jo", "Ann", "ann", **call(stage, record_wishes=False))
    save(HERE, "I am vegan", "Ann", "ann", **call(stage, memory_mode="basic"))
    assert listed(stage) == []


def test_wishes_in_prompt_is_the_most_that_are_shown_and_the_rest_is_reported(stage: Stage) -> None:
    for n, food in enumerate(("pork", "beef", "fish", "garlic")):
        stage.say(f"I don't eat {food}.", minutes=90 - n)
    prompt, report = stage.explain("hello", WISHES_IN_PROMPT=2)
    assert prompt["context"]["standing_wishes"] == ["I don't eat fish.", "I don't eat garlic."]
    cut = [one for one in report["left_out"] if one["section"] == "standing_wishes"]
    assert [one["reason"] for one in cut] == ["cut", "cut"]
    assert "standing_wishes" not in stage.context("hello", WISHES_IN_PROMPT=0)
    assert "standing_wishes" not in stage.context("hello", MEMORY_MODE="project")


@pytest.mark.parametrize("switch", ["ENABLE_SAVED_MEMORY", "RECORD_WISHES"])
def test_c12_each_switch_neither_stores_nor_shows_wishes(stage: Stage, switch: str) -> None:
    stage.say("Call me Jo")
    assert shown(stage) == ["Call me Jo"] and shown(stage, **{switch: 0}) == []
    off = call(stage, **{switch.lower(): False})
    chat_history_cache.save_chat_message(HERE, "I am vegan.", "Ann", "ann", **off)
    assert wishes.add_wish("I don't eat pork", **off).reason == "disabled"
    assert listed(stage) == ["Call me Jo"]
    context = stage.context("Am I vegan?", CONTEXT_VERBOSITY=0, **{switch: 0})
    assert "saved_memories" not in context and "standing_wishes" not in context


def test_c12_two_wishes_in_one_sentence_are_two(stage: Stage) -> None:
    stage.say("@Iris I'm vegan and allergic to nuts")
    assert [item["topic"] for item in wishes.list_wishes(**call(stage))] == ["diet", "allergy:nuts"]
    assert shown(stage) == ["I'm vegan and allergic to nuts"]


def test_wishes_are_listed_added_changed_deleted_and_restored(stage: Stage) -> None:
    """What is kept about somebody can be seen and put right."""
    made = wishes.add_wish("  Serve tea\nfirst ", topic="tea", **call(stage))
    assert made.stored
    assert wishes.add_wish("serve tea first", topic="tea", **call(stage)) == (False, made.id, "duplicate")
    changed = wishes.change_wish(made.id, "Serve coffee first", **call(stage))
    assert changed.stored
    assert changed.id != made.id
    assert listed(stage) == ["Serve coffee first"]
    assert wishes.change_wish(made.id, "again", **call(stage)).reason == "unchanged"
    assert wishes.delete_wish(changed.id, **call(stage)) == (True, changed.id, "")
    assert wishes.delete_wish(changed.id, **call(stage)).reason == "unchanged"
    assert listed(stage) == []
    assert wishes.restore_wish(changed.id, **call(stage)).stored
    assert wishes.restore_wish(made.id, **call(stage)).stored
    assert listed(stage) == ["Serve tea first"], "what is restored takes the place of what held"
    assert wishes.restore_wish(made.id, **call(stage)).reason == "unchanged"
    assert len(listed(stage, former=True)) == 2


def test_a_wish_out_of_sight_is_as_one_that_never_was(stage: Stage) -> None:
    private = wishes.add_wish("Call me Jo", **call(stage, DIRECT)).id
    for number in (private, 12345, 0, 2**70):
        for function in (wishes.delete_wish, wishes.restore_wish):
            assert function(number, **call(stage, HERE)).notes == (store.NO_SUCH,)
        assert wishes.change_wish(number, "x", **call(stage, HERE)).notes == (store.NO_SUCH,)
    assert listed(stage, DIRECT) == ["Call me Jo"]


def test_bad_wishes_are_refused_with_a_reason(stage: Stage) -> None:
    assert wishes.add_wish(" \n ", **call(stage)).reason == "empty"
    assert wishes.add_wish("x" * 301, **call(stage)).reason == "too_long"
    for wrong in (
        {"text": 3},
        {"text": "x", "topic": " "},
        {"text": "x", "topic": "t" * 81},
        {"text": "x", "topic": 3},
    ):
        with pytest.raises(MessageError):
            wishes.add_wish(**wrong, **call(stage))
    with pytest.raises(MessageError):
        wishes.delete_wish("7", **call(stage))


def test_g16_a_wish_and_its_message_are_stored_together_or_not_at_all(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> object:
        raise RuntimeError("no")

    monkeypatch.setattr(store, "record_wishes", fails)
    with pytest.raises((RuntimeError, StoreWriteError)):
        stage.say("Call me Jo")
    monkeypatch.undo()
    scope = stage.scope(HERE)
    assert chat_history_cache.load_chat_history(HERE, db=stage.db, settings=Settings(), scope=scope) == []
    assert listed(stage) == []


def test_a_wish_is_no_hit_twice(stage: Stage) -> None:
    """It is found like any memory, and the message it was said in is the same text."""
    stage.say("I am vegetarian", minutes=90)
    found = [hit["snippet"] for hit in stage.context("vegetarian recipes?", CONTEXT_VERBOSITY=5)["memories"]]
    assert found.count("I am vegetarian") <= 1


def test_a_wish_that_was_saved_as_well_is_shown_once(stage: Stage) -> None:
    """The message is read by itself, and the model's tool saves the same words a moment later."""
    stage.say("I am vegan", minutes=20)
    conversations.add_saved_memory("I am  vegan", **call(stage))
    conversations.add_saved_memory("I live in Rome", **call(stage))
    prompt, report = stage.explain("hello")
    assert prompt["context"]["standing_wishes"] == ["I am vegan"]
    assert prompt["context"]["saved_memories"] == ["I live in Rome"]
    left_out = [entry["reason"] for entry in report["left_out"] if entry["section"] == "saved_memories"]
    assert left_out == ["duplicate"]
