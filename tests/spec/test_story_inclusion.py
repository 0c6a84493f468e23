"""What is included, hidden and shown, and what a refresh costs (S10 to S16, S34 to S37, D2)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from core import chat_history_cache, stories
from core.config import set_in_file
from core.database.engine import Database
from core.database.schema import chat_history_cache as chat_table
from core.database.schema import message_recaps as recaps_table
from core.database.schema import scenes
from core.jobs.worker import Worker
from core.messages import table_hidden, table_recaps
from core.synth_core_memory import search_memories
from tests.databases import watched
from tests.spec.stage import NOW, reasons, said
from tests.spec.story import Story, by_words
from tests.store.test_plans import catching, explain
from tests.store.world import rows_of


@contextmanager
def statements(story: Story, verbs: tuple[str, ...]) -> Iterator[list[str]]:
    """Collect the statements of these kinds that are sent meanwhile."""
    found: list[str] = []

    def note(statement: str, *_: Any) -> None:
        if statement.lstrip("( ").split(None, 1)[0].upper() in verbs:
            found.append(statement)

    with watched(story.db, note):
        yield found


WRITES = ("INSERT", "UPDATE", "DELETE")


def test_s10_the_reason_a_message_takes_no_part(story: Story) -> None:
    for role in ("system", "narrator", "thought"):
        story.write(f"by {role}", role=role)
    story.write("program", role="system", metadata={"program_message": True})
    story.write("disabled then", metadata={"disabled": True})
    story.write("by Bob", who="Bob")
    story.write("nine words are in this text here and now")
    story.set(story.messages[2], "exclude", True)
    flags = {"INCLUDE_SYSTEM_MESSAGES": 0, "INCLUDE_NARRATOR_MESSAGES": 0, "MESSAGE_LENGTH_THRESHOLD": 10}

    def why(**flags: Any) -> list[str]:
        check = stories.check_message_exclusion
        return [story.call(check, row, counter=by_words, disabled=["Bob"], **flags) for row in story.messages]

    assert why(**flags) == ["system", "narrator", "excluded", "program", "disabled", "disabled", "short"]
    assert why() == ["", "", "excluded", "program", "disabled", "disabled", ""]
    assert why(INCLUDE_USER_MESSAGES=0)[4:] == ["user", "user", "user"]
    assert story.call(stories.check_message_exclusion, story.messages[5]) == ""
    with pytest.raises(Exception, match="There is no such message"):
        story.call(stories.check_message_exclusion, 17)


def test_s11_s12_what_fits_is_told_oldest_first(story: Story) -> None:
    story.recap("one", "two three four five", None, "six seven eight nine", "ten eleven twelve end")
    assert story.included(MESSAGE_RECAP_CONTEXT_LIMIT=10) == [3, 4]
    assert [story.get(row, "include") for row in story.messages] == [
        None, None, None, "Recap of message(s)", "Recap of message(s)",
    ]  # fmt: skip
    assert story.included(MESSAGE_RECAP_CONTEXT_LIMIT=8) == [3, 4]
    assert story.included(MESSAGE_RECAP_CONTEXT_LIMIT=12) == [1, 3, 4]
    text = story.call(stories.get_recap_text)
    assert text == "two three four five\nsix seven eight nine\nten eleven twelve end"
    assert story.call(stories.concatenate_recap, text, story.messages[0]) == "one\n" + text
    assert story.included(MESSAGE_RECAP_CONTEXT_LIMIT=0) == []
    assert story.call(stories.get_recap_text) == ""


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


def hidden_of(story: Story) -> list[int]:
    rows = {r.id: r.hidden for r in rows_of(story.db, chat_table, story.persona)}
    return [at for at, row in enumerate(story.messages) if rows[row]]


def test_s34_s35_the_plan_of_a_story_with_five_scenes(story: Story) -> None:
    story.fill(100)
    for at in (10, 30, 50, 70, 90):
        story.end_scene(story.messages[at])
    plan = stories.auto_hide_plan
    assert [story.call(plan, count)["hide"] for count in (2, 1, 0, 5, 6, -1)] == [
        [(0, 70)], [(0, 90)], [(0, 90)], [(0, 10)], [], [],
    ]  # fmt: skip
    assert story.call(plan, AUTO_HIDE_SCENE_COUNT=2) == {"hide": [(0, 70)], "show": []}
    done = story.refresh(AUTO_HIDE_SCENE_COUNT=2)
    assert (done["hidden"], done["shown"]) == ([(0, 70)], [])
    assert hidden_of(story) == list(range(71))
    last = table_hidden.MessagePosition(story.time(70), story.messages[70])
    work = lambda connection: table_hidden.update_hidden(connection, story.persona, story.path, last)  # noqa: E731
    assert story.db.transaction(work, source="test") == 0
    assert story.call(plan, 2) == {"hide": [], "show": []}
    assert story.call(plan, 5) == {"hide": [], "show": [(11, 70)]}
    story.call(stories.edit_scene_break, story.messages[70], visible=False, AUTO_HIDE_SCENE_COUNT=-1)
    assert story.call(plan, 2) == {"hide": [], "show": [(51, 70)]}
    assert story.refresh(AUTO_HIDE_SCENE_COUNT=-1)["shown"] == []
    assert story.refresh(AUTO_HIDE_SCENE_COUNT=9)["shown"] == [(0, 70)]
    assert hidden_of(story) == []


def test_s36_hidden_messages_leave_the_history_and_are_found_by_search(story: Story) -> None:
    story.write("the cat sat on the mat", "a scene ends", "what now")
    story.end_scene(story.messages[1])
    shown = story.context("cat", CONTEXT_VERBOSITY=5)
    assert said(shown["history_current_chat"]) == ["the cat sat on the mat", "a scene ends", "what now"]
    story.refresh()
    prompt, report = story.explain("cat", CONTEXT_VERBOSITY=5)
    assert said(prompt["context"]["history_current_chat"]) == ["what now"]
    assert reasons(report, "history_current_chat") == ["hidden", "hidden"]
    assert story.messages[0] in [hit["id"] for hit in prompt["context"]["memories"]]
    found = search_memories(keywords=["cat"], db=story.db, settings=story.settings(), scope=story.scope(story.path))
    assert story.messages[0] in [hit["id"] for hit in found]
    assert said(story.context("dog", path="tg/another")["history_recent"]) == ["what now"]


def test_s37_a_second_refresh_writes_nothing(story: Story) -> None:
    story.recap(*(f"recap {n}" for n in range(30)))
    story.end_scene(story.messages[9])
    first = story.refresh(MESSAGE_LENGTH_THRESHOLD=1)
    assert (first["hidden"], len(first["included"])) == ([(0, 9)], 30)
    with statements(story, WRITES) as written:
        second = story.refresh(MESSAGE_LENGTH_THRESHOLD=1)
    assert written == []
    assert (second["hidden"], second["shown"], second["changed"]) == ([], [], 0)
    assert second["included"] == first["included"]
    with statements(story, WRITES) as written:
        assert len(story.refresh(MESSAGE_RECAP_CONTEXT_LIMIT=10)["included"]) == 5
    assert len(written) == 1


def test_f83_no_recap_in_a_prompt_begins_like_a_speakers_line(story: Story) -> None:
    story.recap("They met.", "Ann: I give Eve my key", *(f"recap {n}" for n in range(8)))
    story.refresh()
    recaps = story.context("what", CONTEXT_VERBOSITY=3, ENABLE_MESSAGE_RECAPS=1)["message_recaps"]
    assert "> Ann: I give Eve my key" in recaps.splitlines()


def test_s10_a_message_left_out_later_takes_its_recap_out_of_the_prompt(story: Story) -> None:
    """Who leaves a message out has read its recap in a prompt, and does not know of refreshes."""
    story.recap("one", "two", "three")
    assert story.included() == [0, 1, 2]
    story.set(story.messages[1], "exclude", True)
    assert story.call(stories.get_recap_text) == "one\nthree"
    story.set(story.messages[1], "exclude", None)
    assert story.call(stories.get_recap_text) == "one\ntwo\nthree"


def test_s34_the_break_of_a_deleted_message_moves_to_the_one_before(story: Story) -> None:
    story.write("one", "two", "three", "four")
    for at in (0, 2):
        assert story.call(stories.add_scene_break, story.messages[at], recap=False).stored
    assert said(story.context("what now")["history_current_chat"]) == ["four"]
    for at, shown in ((2, ["four"]), (1, ["four"]), (0, ["four"])):
        assert story.call(chat_history_cache.delete_chat_message, story.messages[at]).stored
        assert said(story.context("what now")["history_current_chat"]) == shown
    assert story.call(stories.list_scenes) == []


WANTED = {
    "chat_history_cache": {"ix_chat_conversation", "ix_chat_audience", "ix_chat_waiting", "PRIMARY", "uq_chat_message"},
    "message_recaps": {"ix_recaps_included", "PRIMARY"},
    "scenes": {"ix_scenes_conversation"},
}


@pytest.mark.slow
@pytest.mark.engines("sqlite", "mariadb", "mysql")
def test_d2_a_refresh_and_a_prompt_use_their_indexes(db: Database) -> None:
    """Of ten conversations of 1,000 messages; nothing is read through, recaps are found by their own index."""
    for n in range(10):
        story = Story(db, "plans", f"bench/{n}", message_recap_context_type="percent", message_recap_context_limit=10)
        story.fill(1000)
        key = {"persona_id": story.persona, "conversation_key": story.path}
        breaks = [{**key, "id": db.ids.one(), "break_row": row} for row in story.messages[39::40]]
        db.transaction(lambda connection, breaks=breaks: connection.execute(scenes.insert(), breaks), source="scenes")  # type: ignore[misc]
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


def test_s34_a_setting_changed_in_the_file_acts_when_a_worker_runs(
    story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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

    assert work(AUTO_HIDE_SCENE_COUNT=2) == [0, 1, 2]
    assert work(AUTO_HIDE_SCENE_COUNT=1) == list(range(7))
    with statements(story, WRITES) as written:
        assert work() == list(range(7)) and written == []
    assert work(AUTO_HIDE_SCENE_COUNT=9) == []
    assert work(MESSAGE_RECAP_CONTEXT_LIMIT=0) == [] and story.call(stories.get_recap_text) == ""
