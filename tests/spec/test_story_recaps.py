"""Recaps of messages: values beside a message, alternatives, staleness, the operation that makes them (S1 to S9)."""

from __future__ import annotations

from typing import Any

import pytest

from core import chat_history_cache, stories
from core.database.engine import Database
from core.database.schema import message_alternatives, message_recaps, running_recaps
from core.errors import MessageError
from core.privacy import set_privacy
from core.scope import Scope
from core.shapes import WriteResult
from tests.spec.stage import at_once
from tests.spec.story import Story, by_words
from tests.store.world import count, rows_of


def edit(story: Story, message: int, text: str, **flags: Any) -> Any:
    return story.call(chat_history_cache.edit_chat_message, message, text, **flags)


def test_s1_a_message_queues_its_recap_and_one_detection(db: Database) -> None:
    story = Story(db, recap_on_message=True)
    (first,) = story.write("hello")
    assert story.operations() == [("RECAP", "pending", first), ("SCENE_DETECTION", "pending", None)]
    (second,) = story.write("hi", who="self")
    assert story.operations()[2:] == [("RECAP", "pending", second)]
    for role in ("system", "narrator", "thought"):
        story.write(f"by {role}", role=role)
    assert len(story.operations()) == 3
    again = (story.path, "hi", "self", "self", story.time(1))
    refused = story.call(chat_history_cache.save_chat_message, *again)
    assert refused.reason == "duplicate"
    assert len(story.operations()) == 3
    off = Story(story.db)
    off.write("hello")
    assert off.operations() == []


def test_s2_the_handler_stores_the_reply_and_refreshes(db: Database) -> None:
    story = Story(db, recap_on_message=True)
    (message,) = story.write("Ann took her coat and went out of the door.")
    asked: list[Any] = []

    def model(messages: Any) -> str:
        asked.append(messages)
        return '<think>short</think>{"recap": "she left"}'

    ran = [each for each in story.run(model) if each.type == "RECAP"]
    assert [each.state for each in ran] == ["completed"]
    assert "Ann took her coat" in asked[0][0]["content"]
    assert story.get(message) == {"memory": "she left", "include": "Recap of message(s)", "provenance": "model"}
    assert story.call(stories.get_recap_text) == "she left"


def test_s10_a_message_that_takes_no_part_gets_no_recap(db: Database) -> None:
    story = Story(db, recap_on_message=True, include_user_messages=False)
    (message,) = story.write("hello there")
    assert [each.state for each in story.run(lambda messages: "no") if each.type == "RECAP"] == ["completed"]
    assert story.get(message) == {}


def test_s9_a_text_that_changed_while_the_model_was_asked_is_recapped_anew(db: Database) -> None:
    story = Story(db, recap_on_message=True)
    (message,) = story.write("she stays")

    def model(messages: Any) -> str:
        if "she stays" in messages[0]["content"]:
            edit(story, message, "she leaves", RECAP_ON_MESSAGE=False)
            return "stayed"
        return "left"

    ran = [each.state for each in story.run(model) if each.type == "RECAP"]
    assert ran == ["completed", "completed"]
    assert story.memory(message) == "left"


def test_s2_what_a_person_wrote_while_the_model_was_asked_stays(db: Database) -> None:
    story = Story(db, recap_on_message=True)
    (message,) = story.write("she stays")

    def model(messages: Any) -> str:
        story.call(stories.edit_memory, message, "by hand")
        return "by the model"

    assert [each.state for each in story.run(model) if each.type == "RECAP"] == ["completed"]
    assert story.get(message) == {"memory": "by hand", "edited": True, "provenance": "manual"}


def test_s3_s13_values_are_kept_apart_from_the_message_and_counted(story: Story) -> None:
    message, other = story.write("one", "two")
    assert story.set(message, "memory", "it began") == WriteResult(True, message)
    assert story.set(message, "memory", "it began").reason == "unchanged"
    story.set(other, "memory", "it all began", counter=by_words)
    assert [row.token_count for row in rows_of(story.db, message_recaps, story.persona)][-1] == 3
    story.set(other, "memory", None)
    for key, value in (("prefill", "So"), ("reasoning", "because"), ("error", "empty"), ("exclude", True)):
        assert story.set(message, key, value).stored
    assert story.set(message, "auto_scene_break_checked", True).stored
    assert story.set(message, "error", None).stored
    assert story.get(message) == {
        "memory": "it began", "prefill": "So", "reasoning": "because", "exclude": True,
        "auto_scene_break_checked": True, "provenance": "manual",
    }  # fmt: skip
    assert story.get(message, "prefill") == "So"
    assert story.get(message, "error") is None
    assert story.get(other) == {}
    with pytest.raises(ValueError, match="Did you mean 'memory'"):
        story.set(message, "memroy", "x")
    assert story.set(message, "memory", "a\x00b \ud800").stored
    assert story.memory(message) == "ab \ufffd"
    assert story.set(message, "memory", "  ").stored
    assert story.memory(message) is None


def test_s3_the_keys_of_a_scene_show_it_and_its_functions_change_it(story: Story) -> None:
    (message,) = story.write("one")
    with pytest.raises(ValueError, match="Use add_scene_break"):
        story.set(message, "scene_break", True)
    story.call(stories.add_scene_break, message, "The door", recap=False)
    assert story.get(message) == {"scene_break": True, "scene_break_visible": True, "scene_break_name": "The door"}
    story.call(stories.edit_scene_break, message, visible=False)
    for text in ("A", "B"):
        assert story.call(stories.set_scene_recap, message, text).stored
    assert story.get(message) == {
        "scene_break": True, "scene_break_name": "The door", "scene_recap_memory": "B",
        "scene_recap_versions": ["A", "B"], "scene_recap_current_index": 1,
    }  # fmt: skip


def test_s3_a_message_is_named_by_its_row_or_by_the_platforms_id(story: Story) -> None:
    story.write("one", message_id="m1")
    named = {"interface_path": story.path}
    assert story.set("m1", "memory", "x", **named).stored  # type: ignore[arg-type]
    assert story.call(stories.get_memory, "m1", **named) == "x"
    assert story.set(17, "memory", "x") == WriteResult(False, None, "unchanged")
    assert story.get(17) == {}
    with pytest.raises(MessageError, match="row id that saving returned"):
        story.set("m1", "memory", "x")  # type: ignore[arg-type]


def test_f12_a_scope_sees_and_changes_its_own_alone(story: Story) -> None:
    (message,) = story.recap("she left")
    private = Story(story.db, story.persona, "tg/7")
    (hidden,) = private.write("secret", who="Bob")
    elsewhere = story.scope("discord/9", server="s9", participant="discord/eve")
    story.call(chat_history_cache.save_chat_message, "discord/9", "hi", "Eve", "eve", scope=elsewhere)
    for stranger in (elsewhere, Scope("somebody else")):
        for row in (message, hidden):
            assert story.call(stories.get_data, row, scope=stranger) == {}
            assert not story.call(stories.set_data, row, "memory", "mine", scope=stranger).stored
        assert story.call(stories.get_recap_text, story.path, scope=stranger) == ""
        assert story.call(stories.clear_all, story.path, scope=stranger) == {}
    assert story.memory(message) == "she left"


def test_s4_a_recap_belongs_to_the_alternative_it_was_made_of(story: Story) -> None:
    (message,) = story.write("once", who="self")
    story.set(message, "memory", "before")
    assert story.call(stories.add_alternative, message, "twice") == 1
    assert story.call(stories.list_alternatives, message) == [
        {"number": 0, "text": "once", "is_current": True},
        {"number": 1, "text": "twice", "is_current": False},
    ]

    def stored() -> dict[int, tuple[str, str]]:
        return {r.alternative: (r.memory, r.include) for r in rows_of(story.db, message_recaps, story.persona)}

    story.refresh()
    assert stored() == {-1: ("before", "Recap of message(s)")}
    story.call(stories.choose_alternative, message, 1)
    assert stored() == {0: ("before", None)}
    story.set(message, "memory", "after")
    assert stored() == {0: ("before", None), -1: ("after", None)}
    story.call(stories.choose_alternative, message, 0)
    assert stored() == {-1: ("before", "Recap of message(s)"), 1: ("after", None)}


def test_s5_choosing_an_alternative_loads_its_own_recap(story: Story) -> None:
    (message,) = story.write("once", who="self")
    story.call(stories.add_alternative, message, "twice")
    story.set(message, "memory", "a")
    assert story.call(stories.choose_alternative, message, 1) == WriteResult(True, message)
    assert story.memory(message) is None
    line = chat_history_cache.load_chat_history(
        story.path, db=story.db, scope=story.scope(story.path), settings=story.settings()
    )
    assert [each["text"] for each in line] == ["twice"]
    assert story.call(stories.choose_alternative, message, 0).stored
    assert (story.memory(message), story.get(message, "stale")) == ("a", None)
    assert story.get(message, "include") == "Recap of message(s)"
    assert story.call(stories.choose_alternative, message, 0).reason == "unchanged"
    with pytest.raises(ValueError, match=r"There is no alternative 2\. The message has 0 to 1"):
        story.call(stories.choose_alternative, message, 2)
    assert story.call(stories.choose_alternative, message, 1, RECAP_ON_MESSAGE=True).stored
    assert story.operations() == [("RECAP", "pending", message)]


def test_s7_editing_by_hand_marks_it_and_clears_what_a_model_left(story: Story) -> None:
    (message,) = story.recap("she left")
    for key in ("error", "reasoning", "prefill"):
        story.set(message, key, "x")
    assert story.call(stories.edit_memory, message, "she stayed").stored
    assert story.get(message) == {"memory": "she stayed", "edited": True, "provenance": "manual"}
    assert story.call(stories.edit_memory, message, "she stayed").reason == "unchanged"
    assert story.call(stories.edit_memory, message, "").stored
    assert story.get(message) == {}


def test_s7_clearing_returns_the_count_per_key(story: Story) -> None:
    rows = story.recap("a", "b", "c")
    story.call(stories.edit_memory, rows[1], "bb")
    other = Story(story.db, story.persona, "tg/other")
    (kept,) = other.recap("kept")
    assert story.call(stories.clear_all) == {"memory": 3, "edited": 1}
    assert [story.memory(row) for row in rows] == [None] * 3
    assert other.memory(kept) == "kept"
    assert story.call(stories.clear_all) == {}
    story.set(rows[0], "memory", "a")
    story.set(rows[0], "exclude", True)
    story.set(rows[1], "error", "empty")
    story.set(rows[1], "include", "by hand")
    assert story.call(stories.clear_all) == {"memory": 1, "error": 1, "exclude": 1}


@pytest.mark.parametrize(
    ("reply", "reason"), [("", "empty"), ("Error: overloaded", "error_like"), ("too short", "shorter")]
)
def test_s8_a_refused_reply_leaves_the_former_recap(db: Database, reply: str, reason: str) -> None:
    story = Story(db, recap_on_message=True)
    (message,) = story.write("a long tale")
    former = "what was known " * 20
    story.set(message, "memory", former)
    (ran,) = [each for each in story.run(lambda messages: reply) if each.type == "RECAP"]
    assert ran.state == "retrying"
    assert reason in ran.error
    assert (story.memory(message), story.get(message, "error")) == (former, reason)
    story.db.clock.forward(seconds=20)  # type: ignore[attr-defined]
    story.run(lambda messages: "a good one " * 10)
    assert (story.get(message, "memory"), story.get(message, "error")) == (("a good one " * 10).strip(), None)


def test_s9_an_edited_message_has_a_stale_recap(story: Story) -> None:
    first, second, third = story.recap("one", "two", "three")
    assert story.included() == [0, 1, 2]
    assert edit(story, third, "it was otherwise").stored
    assert story.get(third) == {"memory": "three", "stale": True, "provenance": "manual"}
    assert story.included() == [0, 1]
    assert story.operations() == []
    assert edit(story, second, "so was this", RECAP_ON_MESSAGE=True).stored
    assert story.operations() == [("RECAP", "pending", second)]
    assert story.set(third, "memory", "anew").stored
    assert story.get(third, "stale") is None
    assert story.included() == [0, 2]
    story.set(first, "memory", "by a model", provenance="model")
    edit(story, first, "changed")
    assert story.operations()[1:] == [("RECAP", "pending", first)]


def test_s9_a_deleted_message_takes_along_what_lies_on_it(story: Story) -> None:
    first, second = story.recap("one", "two")
    story.call(stories.add_alternative, first, "other")
    story.end_scene(first)
    asked: dict[str, Any] = {"db": story.db, "settings": story.settings(), "scope": story.scope(story.path)}
    assert chat_history_cache.delete_chat_message(first, **asked).stored
    persona = story.persona
    assert [r.message_row for r in rows_of(story.db, message_recaps, persona)] == [second]
    assert count(story.db, message_alternatives, persona) == 0
    stories.add_running_recap_version("so far", 0, 0, -1, -1, conversation=story.path, **asked)
    operations = story.operations()
    assert chat_history_cache.clear_chat_history(story.path, **asked) == 1
    assert [count(story.db, table, persona) for table in (message_recaps, running_recaps)] == [0, 0]
    assert story.operations() == operations  # nothing is left to make a text of


def test_s1_recaps_of_an_imported_conversation_are_queued_once(story: Story) -> None:
    first, second, third, fourth = story.write("one", "two", "three", "four")
    story.write("a bell", role="narrator")
    story.set(first, "memory", "it began")
    story.set(second, "exclude", True)
    story.set(third, "memory", "old")
    edit(story, third, "changed")
    assert story.call(stories.queue_recaps) == 2
    assert story.operations() == [("RECAP", "pending", third), ("RECAP", "pending", fourth)]
    assert story.call(stories.queue_recaps) == 0
    story.run(lambda messages: "so it was")
    assert [story.memory(row) for row in (third, fourth)] == ["so it was"] * 2
    assert story.call(stories.queue_recaps) == 0


def test_s47_two_at_a_time_leave_no_recap_over_the_limit(db: Database) -> None:
    story = Story(db, recap_on_message=True, message_recap_context_limit=3)
    rows = story.write(*(f"message {n}" for n in range(8)))
    at_once(lambda: story.run(lambda messages: "three words here"), 2)
    assert [story.memory(row) for row in rows] == ["three words here"] * 8
    assert [row for row in rows if story.get(row, "include")] == rows[-1:]


def test_f20_nothing_new_is_kept_of_somebody_who_wants_nothing_kept(db: Database) -> None:
    story = Story(db, recap_on_message=True)
    (message,) = story.recap("she came")
    set_privacy("tg/ann", "full", db=story.db, settings=story.settings(), scope=story.scope(story.path))
    assert story.set(message, "memory", "she left") == WriteResult(False, message, "privacy")
    assert story.call(stories.edit_memory, message, "she left").reason == "privacy"
    assert story.set(message, "exclude", True).stored
    assert story.set(message, "exclude", None).stored
    edit(story, message, "changed")
    asked: list[Any] = []
    assert [each.state for each in story.run(asked.append) if each.type == "RECAP"] == ["completed"]
    assert asked == []
    assert story.set(message, "memory", None).stored
