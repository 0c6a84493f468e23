"""Recaps of messages: values, alternatives, what is included, hidden and shown, costs (S1 to S16, S34 to S37)."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import literal, select

from core import build_messages, chat_history_cache, search_memories, stories
from core.config import set_in_file
from core.database.engine import Database
from core.database.schema import TABLES, message_alternatives, message_recaps, running_recaps, scenes
from core.database.schema import chat_history_cache as chat_table
from core.database.schema import message_recaps as recaps_table
from core.errors import MessageError
from core.jobs.worker import Worker
from core.messages import table_hidden, table_recaps
from core.privacy import set_privacy
from core.shapes import WriteResult
from tests.databases import watched
from tests.spec.stage import NOW, at_once, message, reasons, said
from tests.spec.story import Model, Story, by_words
from tests.store.test_plans import catching, explain
from tests.store.world import count, rows_of

WANTED = {
    "chat_history_cache": {"ix_chat_conversation", "ix_chat_audience", "ix_chat_waiting", "PRIMARY", "uq_chat_message"},
    "message_recaps": {"ix_recaps_included", "PRIMARY"},
    "scenes": {"ix_scenes_conversation"},
}


def edit(story: Story, message: int, text: str, **flags: Any) -> Any:
    return story.call(chat_history_cache.edit_chat_message, message, text, **flags)


def test_s1_a_message_queues_its_recap_and_one_detection(db: Database) -> None:
    story = Story(db, recap_on_message=True)
    (first,) = story.write("hello")
    assert story.operations() == [("RECAP", "pending", first), ("SCENE_DETECTION", "pending", None)]
    (second,) = story.write("hi", who="self")
    for role in ("system", "narrator", "thought"):
        story.write(f"by {role}", role=role)
    again = (story.path, "hi", "self", "self", story.time(1))
    assert story.call(chat_history_cache.save_chat_message, *again).reason == "duplicate"
    assert story.operations()[2:] == [("RECAP", "pending", second)]
    off = Story(story.db)
    off.write("hello")
    assert off.operations() == []


def test_s2_the_handler_stores_the_reply_and_refreshes_unless_a_person_wrote_meanwhile(db: Database) -> None:
    story, model = Story(db, recap_on_message=True), Model('<think>short</think>{"recap": "she left"}')
    text = "Ann took her coat and went out of the door."
    message = story.call(chat_history_cache.save_chat_message, story.path, text, None, "ann", story.time(0)).id
    assert [each.state for each in story.run(model) if each.type == "RECAP"] == ["completed"]
    assert f'Said by: "ann"\nMessage: "{text}"' in model.asked[0], "the id of a speaker without a name"
    assert story.get(message) == {"memory": "she left", "include": "Recap of message(s)", "provenance": "model"}
    story = Story(db, recap_on_message=True)
    (message,) = story.write("she stays")

    def meanwhile(messages: Any) -> str:
        story.call(stories.edit_memory, message, "by hand")
        return "by the model"

    assert [each.state for each in story.run(meanwhile) if each.type == "RECAP"] == ["completed"]
    assert story.get(message) == {"memory": "by hand", "edited": True, "provenance": "manual"}


def test_s3_s13_values_are_kept_apart_from_the_message_and_counted(story: Story) -> None:
    message, other = story.write("one", "two")
    assert story.set(message, "memory", "it began") == WriteResult(True, message)
    assert story.set(message, "memory", "it began").reason == "unchanged"
    story.set(other, "memory", "it all began", counter=by_words)
    assert [row.token_count for row in rows_of(story.db, message_recaps, story.persona)][-1] == 3
    story.set(other, "memory", None)
    values = {"prefill": "So", "reasoning": "because", "exclude": True, "auto_scene_break_checked": True}
    for key, value in {"error": "empty", **values}.items():
        assert story.set(message, key, value).stored
    assert story.set(message, "error", None).stored
    assert story.get(message) == {"memory": "it began", "provenance": "manual", **values}
    assert (story.get(message, "prefill"), story.get(message, "error"), story.get(other)) == ("So", None, {})
    with pytest.raises(ValueError, match="Did you mean 'memory'"):
        story.set(message, "memroy", "x")
    for text, stored in (("a\x00b \ud800", "ab \ufffd"), ("  ", None)):
        assert story.set(message, "memory", text).stored and story.memory(message) == stored


@pytest.mark.parametrize(("key", "value"), [("error", None), ("memory", " "), ("include", None), ("include", "x")])
def test_s3_a_value_that_changes_nothing_is_not_stored(story: Story, key: str, value: str | None) -> None:
    """Such as a place in the prompt for a message without a recap."""
    (message,) = story.write("one")
    assert story.set(message, key, value).reason == "unchanged" and story.get(message) == {}


def test_s3_the_keys_of_a_scene_show_it_and_its_functions_change_it(story: Story) -> None:
    (message,) = story.write("one")
    with pytest.raises(ValueError, match="Use add_scene_break"):
        story.set(message, "scene_break", True)
    story.call(stories.add_scene_break, message, "The door", recap=False)
    known = {"scene_break": True, "scene_break_name": "The door"}
    assert story.get(message) == {**known, "scene_break_visible": True}
    story.call(stories.edit_scene_break, message, visible=False)
    for text in ("A", "B"):
        assert story.call(stories.set_scene_recap, message, text).stored
    recap = {"scene_recap_memory": "B", "scene_recap_versions": ["A", "B"], "scene_recap_current_index": 1}
    assert story.get(message) == known | recap


def test_s3_a_message_is_named_by_its_row_or_by_the_platforms_id(story: Story) -> None:
    story.write("one", message_id="m1")
    named = {"interface_path": story.path}
    assert story.set("m1", "memory", "x", **named).stored  # type: ignore[arg-type]
    assert story.call(stories.get_memory, "m1", **named) == "x"
    assert story.set(17, "memory", "x") == WriteResult(False, None, "not_found") and story.get(17) == {}
    with pytest.raises(MessageError, match="row id that saving returned"):
        story.set("m1", "memory", "x")  # type: ignore[arg-type]


@pytest.mark.engines()
@pytest.mark.dialects
def test_s4_s5_d19_a_recap_belongs_to_the_alternative_it_was_made_of(story: Story) -> None:
    (message,) = story.write("once", who="self")
    story.set(message, "memory", "before")
    assert story.call(stories.add_alternative, message, "twice") == 1
    listed = [tuple(each.values()) for each in story.call(stories.list_alternatives, message)]
    assert listed == [(0, "once", True), (1, "twice", False)]

    def stored() -> dict[int, tuple[str, str]]:
        return {r.alternative: (r.memory, r.include) for r in rows_of(story.db, message_recaps, story.persona)}

    story.refresh()
    assert stored() == {-1: ("before", "Recap of message(s)")}
    assert story.call(stories.choose_alternative, message, 1) == WriteResult(True, message)
    assert stored() == {0: ("before", None)} and story.memory(message) is None
    assert [each["text"] for each in story.call(chat_history_cache.load_chat_history, story.path)] == ["twice"]
    story.set(message, "memory", "after")
    assert stored() == {0: ("before", None), -1: ("after", None)}
    assert story.call(stories.choose_alternative, message, 0).stored
    assert stored() == {-1: ("before", "Recap of message(s)"), 1: ("after", None)}
    assert (story.memory(message), story.get(message, "stale")) == ("before", None)


def test_s5_an_alternative_is_chosen_once_and_a_new_one_gets_a_recap(story: Story) -> None:
    (message,) = story.write("once", who="self")
    story.call(stories.add_alternative, message, "twice")
    assert story.call(stories.choose_alternative, message, 0).reason == "unchanged"
    with pytest.raises(ValueError, match=r"There is no alternative 2\. The message has 0 to 1"):
        story.call(stories.choose_alternative, message, 2)
    assert story.call(stories.choose_alternative, message, 1, RECAP_ON_MESSAGE=True).stored
    assert story.operations() == [("RECAP", "pending", message)]


def test_s7_editing_by_hand_marks_it_and_clears_what_a_model_left(story: Story) -> None:
    (message,) = story.recap("she left")
    for key in ("error", "reasoning", "prefill"):
        story.set(message, key, "x")
    assert [story.call(stories.edit_memory, message, "she stayed").reason for _ in range(2)] == ["", "unchanged"]
    assert story.get(message) == {"memory": "she stayed", "edited": True, "provenance": "manual"}
    assert story.call(stories.edit_memory, message, "").stored and story.get(message) == {}


def test_s7_clearing_returns_the_count_per_key(story: Story) -> None:
    rows = story.recap("a", "b", "c")
    story.call(stories.edit_memory, rows[1], "bb")
    other = Story(story.db, story.persona, "tg/other")
    (kept,) = other.recap("kept")
    assert [story.call(stories.clear_all) for _ in range(2)] == [{"memory": 3, "edited": 1}, {}]
    assert ([story.memory(row) for row in rows], other.memory(kept)) == ([None] * 3, "kept")
    values = [(0, "memory", "a"), (0, "exclude", True), (1, "error", "empty"), (1, "include", "by hand")]
    for at, key, value in values:
        story.set(rows[at], key, value)
    assert story.call(stories.clear_all) == {"memory": 1, "error": 1, "exclude": 1}


@pytest.mark.parametrize(
    ("reply", "reason"), [("", "empty"), ("Error: overloaded", "error_like"), ("too short", "shorter")]
)
def test_s8_a_refused_reply_leaves_the_former_recap(db: Database, reply: str, reason: str) -> None:
    story = Story(db, recap_on_message=True)
    (message,) = story.write("a long tale")
    former = "what was known " * 20
    story.set(message, "memory", former)
    (ran,) = [each for each in story.run(Model(reply)) if each.type == "RECAP"]
    assert ran.state == "retrying" and reason in ran.error
    assert (story.memory(message), story.get(message, "error")) == (former, reason)
    story.db.clock.forward(seconds=20)  # type: ignore[attr-defined]
    story.run(Model("a good one " * 10))
    assert (story.memory(message), story.get(message, "error")) == (("a good one " * 10).strip(), None)


def test_s9_an_edited_message_has_a_stale_recap(story: Story) -> None:
    first, second, third = story.recap("one", "two", "three")
    assert story.included() == [0, 1, 2] and edit(story, third, "it was otherwise").stored
    assert story.get(third) == {"memory": "three", "stale": True, "provenance": "manual"}
    assert (story.included(), story.operations()) == ([0, 1], [])
    assert edit(story, second, "so was this", RECAP_ON_MESSAGE=True).stored
    assert story.operations() == [("RECAP", "pending", second)]
    assert story.set(third, "memory", "anew").stored and story.get(third, "stale") is None
    assert story.included() == [0, 2]
    story.set(first, "memory", "by a model", provenance="model")
    edit(story, first, "changed")
    assert story.operations()[1:] == [("RECAP", "pending", first)]


@pytest.mark.engines()
def test_s9_a_deleted_message_takes_along_what_lies_on_it(story: Story) -> None:
    first, second = story.recap("one", "two")
    story.call(stories.add_alternative, first, "other")
    story.end_scene(first)
    assert story.call(chat_history_cache.delete_chat_message, first).stored
    assert [r.message_row for r in rows_of(story.db, message_recaps, story.persona)] == [second]
    assert count(story.db, message_alternatives, story.persona) == 0
    story.add("so far", 0, 0, -1, -1)
    operations = story.operations()
    assert story.call(chat_history_cache.clear_chat_history, story.path) == 1
    assert [count(story.db, table, story.persona) for table in (message_recaps, running_recaps)] == [0, 0]
    assert story.operations() == operations  # nothing is left to make a text of


def test_s1_recaps_of_an_imported_conversation_are_queued_once(story: Story) -> None:
    first, second, third, fourth = story.write("one", "two", "three", "four")
    story.write("a bell", role="narrator")
    story.set(first, "memory", "it began")
    story.set(second, "exclude", True)
    story.set(third, "memory", "old")
    edit(story, third, "changed")
    assert [story.call(stories.queue_recaps) for _ in range(2)] == [2, 0]
    assert story.operations() == [("RECAP", "pending", third), ("RECAP", "pending", fourth)]
    story.run(Model("so it was"))
    assert [story.memory(row) for row in (third, fourth)] == ["so it was"] * 2
    assert story.call(stories.queue_recaps) == 0


@pytest.mark.engines()
def test_s47_two_at_a_time_leave_no_recap_over_the_limit(db: Database) -> None:
    story = Story(db, recap_on_message=True, message_recap_context_limit=3)
    rows = story.write(*(f"message {n}" for n in range(8)))
    at_once(lambda: story.run(lambda messages: "three words here"), 2)
    assert [story.memory(row) for row in rows] == ["three words here"] * 8
    assert [row for row in rows if story.get(row, "include")] == rows[-1:]


def test_f20_nothing_new_is_kept_of_somebody_who_wants_nothing_kept(db: Database) -> None:
    story = Story(db, recap_on_message=True)
    (message,) = story.recap("she came")
    set_privacy("tg/ann", "full", **story.given)
    assert story.set(message, "memory", "she left") == WriteResult(False, message, "privacy")
    assert story.call(stories.edit_memory, message, "she left").reason == "privacy"
    assert story.set(message, "exclude", True).stored and story.set(message, "exclude", None).stored
    assert story.set(message, "memory", None).stored


@contextmanager
def changes(story: Story) -> Iterator[list[str]]:
    """Collect the statements that are sent meanwhile and change rows."""
    found: list[str] = []

    def note(statement: str, *_: Any) -> None:
        if statement.lstrip("( ").upper().startswith(("INSERT", "UPDATE", "DELETE")):
            found.append(statement)

    with watched(story.db, note):
        yield found


def test_s10_the_reason_a_message_takes_no_part_and_gets_no_recap(story: Story) -> None:
    for role in ("system", "narrator", "thought", "system"):
        story.write(f"by {role}", role=role, who="Bob")
    story.write("program", role="system", metadata={"program_message": True})
    story.write("disabled then", metadata={"disabled": True})
    story.write("by Bob", who="Bob")
    story.write("nine words are in this text here and now")
    for row in story.messages[3:5]:
        story.set(row, "exclude", True)
    flags = {"INCLUDE_SYSTEM_MESSAGES": 0, "INCLUDE_NARRATOR_MESSAGES": 0, "MESSAGE_LENGTH_THRESHOLD": 10}

    def why(**flags: Any) -> list[str]:
        check = stories.check_message_exclusion
        return [story.call(check, row, counter=by_words, disabled=["Bob"], **flags) for row in story.messages]

    left_out = ["thought", "excluded", "program", "disabled", "disabled"]
    assert why(**flags) == ["system", "narrator", *left_out, "short"]
    assert why() == ["disabled", "disabled", *left_out, ""] and why(MESSAGE_LENGTH_THRESHOLD=9)[-1] == ""
    assert why(INCLUDE_USER_MESSAGES=0)[5:] == ["user", "user", "user"]
    for disabled, reason in (((), ""), ("Bob", "disabled"), ("Bobby", "")):  # a text is one name
        assert story.call(stories.check_message_exclusion, story.messages[6], disabled=disabled) == reason
    with pytest.raises(Exception, match="There is no such message"):
        story.call(stories.check_message_exclusion, 17)
    story = Story(story.db, recap_on_message=True, include_user_messages=False)
    (message,) = story.write("hello there")
    assert [each.state for each in story.run(lambda messages: "no") if each.type == "RECAP"] == ["completed"]
    assert story.get(message) == {}


def test_s11_s12_what_fits_is_told_oldest_first(story: Story) -> None:
    story.recap("one", "two three four five", None, "six seven eight nine", "ten eleven twelve end")
    assert story.included(MESSAGE_RECAP_CONTEXT_LIMIT=10) == [3, 4]
    assert [story.get(row, "include") for row in story.messages] == [None] * 3 + ["Recap of message(s)"] * 2
    assert [story.included(MESSAGE_RECAP_CONTEXT_LIMIT=limit) for limit in (8, 12)] == [[3, 4], [1, 3, 4]]
    text = story.recap_text()
    assert text == "two three four five\nsix seven eight nine\nten eleven twelve end"
    assert story.call(stories.concatenate_recap, text, story.messages[0]) == "one\n" + text
    assert story.included(MESSAGE_RECAP_CONTEXT_LIMIT=0) == [] and story.recap_text() == ""


def test_s13_a_recap_another_program_wrote_counts_by_its_characters(story: Story) -> None:
    """It has no count of tokens; the limit holds all the same."""
    (message,) = story.write("one")
    row = {"persona_id": story.persona, "message_row": message, "alternative": table_recaps.OWN,
           "conversation_key": story.path, "memory": "it began"}  # fmt: skip
    story.db.transaction(lambda connection: connection.execute(recaps_table.insert(), row), source="message_recaps")
    assert story.included(MESSAGE_RECAP_CONTEXT_LIMIT=7) == []
    assert story.included(MESSAGE_RECAP_CONTEXT_LIMIT=8) == [0]


def test_s16_what_stands_in_the_history_is_not_told_again(story: Story) -> None:
    story.recap(*(f"recap {n}" for n in range(1, 11)))
    story.refresh()
    flags = {"ENABLE_MESSAGE_RECAPS": 1, "CONTEXT_VERBOSITY": 3}
    prompt, report = story.explain("what", **flags)
    context = prompt["context"]
    assert said(context["history_current_chat"]) == ["message 7", "message 8", "message 9"]
    assert context["message_recaps"] == "\n".join(f"recap {n}" for n in range(1, 8))
    assert reasons(report, "message_recaps") == ["visible"] * 3
    assert "message_recaps" not in story.context("what", CONTEXT_VERBOSITY=3)
    assert "message_recaps" not in story.context("what", path="tg/another", ENABLE_MESSAGE_RECAPS=1)
    live = {story.path: [{"text": "message 2", "sender_id": "ann", "sender_name": "Ann", "timestamp": NOW.isoformat()}]}
    assert "recap 3\n" not in story.context("what", live, **flags)["message_recaps"]


def test_s12_a_small_prompt_keeps_the_newest_recaps_one_a_line(story: Story) -> None:
    """They are the ones next to the history."""
    story.recap(*(f"Ann walked to house {n}, where the miller gave her bread.\nIt rained." for n in range(60)))
    story.refresh(MESSAGE_RECAP_CONTEXT_LIMIT=4000)
    flags = {"ENABLE_MESSAGE_RECAPS": 1, "HISTORY_LINES": 1}
    recaps = [f"Ann walked to house {n}, where the miller gave her bread. It rained." for n in range(59)]
    made = build_messages(message("What now?"), max_chars=3000, **story.with_flags(**flags))
    chat = made[-1]["content"].partition("Recaps of messages:\n")[2].partition("\n\n")[0]
    prompt = story.context("What now?", max_chars=3000, settings=story.settings(**flags))
    for shown in (chat.splitlines(), prompt["message_recaps"].splitlines()):
        assert 5 < len(shown) < 40 and shown[0].startswith("…")
        assert shown[1:] == recaps[len(recaps) - len(shown) + 1 :]


def hidden_of(story: Story) -> list[int]:
    rows = {r.id: r.hidden for r in rows_of(story.db, chat_table, story.persona)}
    return [at for at, row in enumerate(story.messages) if rows[row]]


@pytest.mark.engines()
def test_s34_s35_the_plan_of_a_story_with_five_scenes(story: Story) -> None:
    story.fill(100)
    for at in (10, 30, 50, 70, 90):
        story.end_scene(story.messages[at])
    plan = stories.auto_hide_plan
    hidden = {2: [(0, 70)], 1: [(0, 90)], 0: [(0, 90)], 5: [(0, 10)], 6: [], -1: []}
    assert {count: story.call(plan, count)["hide"] for count in hidden} == hidden
    assert story.call(plan, AUTO_HIDE_SCENE_COUNT=2) == {"hide": [(0, 70)], "show": []}
    done = story.refresh(AUTO_HIDE_SCENE_COUNT=2)
    assert (done["hidden"], done["shown"], hidden_of(story)) == ([(0, 70)], [], list(range(71)))
    last = table_hidden.MessagePosition(story.time(70), story.messages[70])
    work = lambda connection: table_hidden.update_hidden(connection, story.persona, story.path, last)  # noqa: E731
    assert story.db.transaction(work, source="test") == 0
    assert [story.call(plan, count)["show"] for count in (2, 5)] == [[], [(11, 70)]]
    assert story.call(plan, 2)["hide"] == story.call(plan, 5)["hide"] == []
    story.call(stories.edit_scene_break, story.messages[70], visible=False, AUTO_HIDE_SCENE_COUNT=-1)
    assert story.call(plan, 2) == {"hide": [], "show": [(51, 70)]}
    assert story.refresh(AUTO_HIDE_SCENE_COUNT=-1)["shown"] == []
    assert story.refresh(AUTO_HIDE_SCENE_COUNT=9)["shown"] == [(0, 70)] and hidden_of(story) == []


@pytest.mark.engines()
def test_s36_hidden_messages_leave_the_history_and_are_found_by_search(story: Story) -> None:
    story.write("the cat sat on the mat", "a scene ends", "what now")
    story.end_scene(story.messages[1])
    shown = story.context("cat", CONTEXT_VERBOSITY=5)
    assert said(shown["history_current_chat"]) == ["the cat sat on the mat", "a scene ends", "what now"]
    story.refresh()
    prompt, report = story.explain("cat", CONTEXT_VERBOSITY=5)
    assert said(prompt["context"]["history_current_chat"]) == ["what now"]
    assert reasons(report, "history_current_chat") == ["hidden", "hidden"]
    for hits in (prompt["context"]["memories"], story.call(search_memories, keywords=["cat"])):
        assert story.messages[0] in [hit["id"] for hit in hits]
    assert said(story.context("dog", path="tg/another")["history_recent"]) == ["what now"]


@pytest.mark.engines()
def test_s37_a_second_refresh_writes_nothing(story: Story) -> None:
    story.recap(*(f"recap {n}" for n in range(30)))
    story.end_scene(story.messages[9])
    first = story.refresh(MESSAGE_LENGTH_THRESHOLD=1)
    assert (first["hidden"], len(first["included"])) == ([(0, 9)], 30)
    with changes(story) as written:
        second = story.refresh(MESSAGE_LENGTH_THRESHOLD=1)
    told = [second[name] for name in ("hidden", "shown", "changed", "included")]
    assert (told, written) == ([[], [], 0, first["included"]], [])
    with changes(story) as written:
        assert len(story.refresh(MESSAGE_RECAP_CONTEXT_LIMIT=10)["included"]) == 5
    assert len(written) == 1


def test_s10_a_message_left_out_later_takes_its_recap_out_of_the_prompt(story: Story) -> None:
    """Who leaves a message out has read its recap in a prompt, and does not know of refreshes."""
    story.recap("one", "two", "three")
    assert story.included() == [0, 1, 2]
    for value, shown in ((True, "one\nthree"), (None, "one\ntwo\nthree")):
        story.set(story.messages[1], "exclude", value)
        assert story.recap_text() == shown


def test_s34_the_break_of_a_deleted_message_moves_to_the_one_before(story: Story) -> None:
    story.write("one", "two", "three", "four")
    for at in (0, 2):
        assert story.call(stories.add_scene_break, story.messages[at], recap=False).stored
    assert said(story.context("what now")["history_current_chat"]) == ["four"]
    for at in (2, 1, 0):
        assert story.call(chat_history_cache.delete_chat_message, story.messages[at]).stored
        assert said(story.context("what now")["history_current_chat"]) == ["four"]
    assert story.call(stories.list_scenes) == []


@pytest.mark.slow
@pytest.mark.engines("sqlite", "mariadb", "mysql")
def test_d2_a_refresh_and_a_prompt_use_their_indexes(db: Database) -> None:
    story = Story(db, "plans", "bench/0", message_recap_context_type="percent", message_recap_context_limit=10)
    story.fill(1000)
    key = {"persona_id": story.persona, "conversation_key": story.path}
    breaks = [{**key, "id": db.ids.one(), "break_row": row} for row in story.messages[39::40]]

    def copy(connection: Any) -> None:
        connection.execute(scenes.insert(), breaks)
        for table, n in itertools.product((TABLES[name] for name in WANTED), range(1, 6)):
            path = table.c.get("conversation_key", table.c.get("interface_path"))
            given = {c.name: c + n * 10**7 for c in table.c if c.name in ("id", "message_row", "break_row")}
            given[path.name] = literal(f"bench/{n}")
            rows = select(*(given.get(c.name, c) for c in table.c)).where(path == story.path)
            connection.execute(table.insert().from_select(list(table.c), rows))

    db.transaction(copy, source="test")
    if db.family != "sqlite":
        with db.engines()[1].connect() as connection:
            for name in WANTED:
                connection.exec_driver_sql(f"ANALYZE TABLE {name}")
    story.call(stories.refresh_memory)
    with catching(db) as caught:
        story.call(stories.refresh_memory)
        context = story.context("what", path=story.path, ENABLE_MESSAGE_RECAPS=True)
        story.call(stories.auto_hide_plan, 2)
    assert context["message_recaps"]
    used: dict[str, set[str]] = {}
    for statement, values in caught:
        for access in explain(db, statement, values):
            if access.table in WANTED:
                assert not access.is_scan, (access, statement)
                used.setdefault(access.table, set()).add(access.index)
    assert all(indexes <= WANTED[table] for table, indexes in used.items()), used
    assert "ix_recaps_included" in used["message_recaps"]


def test_s34_a_setting_of_the_file_acts_later(story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever shows more scenes again sees them in the next prompt, without an operation that happens to refresh."""
    file = tmp_path / "config.yaml"
    monkeypatch.setenv("CONFIG_FILE", str(file))
    story.write(*(f"line {n}" for n in range(10)))
    story.recap("one", "two", "three")
    for at in (2, 6):
        story.end_scene(story.messages[at])

    def work(**flags: int) -> list[int]:
        for name, value in flags.items():
            set_in_file(name, value, file)
        story.db.caches.clear()  # as in another process
        Worker(story.db, personas=[story.persona]).run(once=True)
        return hidden_of(story)

    assert work(AUTO_HIDE_SCENE_COUNT=2) == [0, 1, 2] and work(AUTO_HIDE_SCENE_COUNT=1) == list(range(7))
    with changes(story) as written:
        assert work() == list(range(7)) and written == []
    assert work(AUTO_HIDE_SCENE_COUNT=9) == []
    assert work(MESSAGE_RECAP_CONTEXT_LIMIT=0) == [] and story.recap_text() == ""
