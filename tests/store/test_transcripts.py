"""A list of messages stored on every engine (R17): new lines, edits, alternatives, several writers at once."""

from dataclasses import replace
from typing import Any

import pytest

from core import chat_history_cache, conversations, stories, transcripts
from core.database.engine import Database
from core.database.sources import CHAT
from core.db import forget
from core.errors import MessageError
from core.scope import Scope
from tests.spec.proxy_world import chat
from tests.store.world import rows_of, run_at_once

ANN = Scope("iris", "web/ann", "web/ann", privacy="direct")


@pytest.fixture
def db(own_db: Database) -> Database:
    return own_db


def lines(db: Database, scope: Scope = ANN) -> list[str]:
    return [line["text"] for line in chat_history_cache.load_chat_history(scope.conversation, 1000, db=db, scope=scope)]


def test_r17_a_list_is_stored_once_however_it_comes(db: Database) -> None:
    assert transcripts.save_transcript(chat("a", "b", "c"), "d", db=db, scope=ANN) == (4, 0, 0)
    assert transcripts.save_transcript(chat("a", "b", "c"), "d", db=db, scope=ANN) == (0, 0, 0)
    assert transcripts.save_transcript(chat("c", "d", "e"), "f", db=db, scope=ANN) == (2, 0, 0)
    assert transcripts.save_transcript(chat("a", "b", "c", "d", "e!"), "g", db=db, scope=ANN) == (0, 1, 1)
    assert lines(db) == ["a", "b", "c", "d", "e!", "g"]
    assert transcripts.save_transcript(chat("0", "00", "a", "b", "c"), db=db, scope=ANN) == (2, 0, 0)
    assert lines(db)[:4] == ["0", "00", "a", "b"]


def test_r17_ten_regenerations_are_one_line_with_ten_alternatives(db: Database) -> None:
    versions = [f"version {n}" for n in range(10)]
    for version in versions:
        transcripts.save_transcript(chat("Tell me a tale."), version, db=db, scope=ANN)
    assert lines(db) == ["Tell me a tale.", "version 9"]
    row = rows_of(db, CHAT.table, "iris")[-1].id
    assert [each["text"] for each in stories.list_alternatives(row, db=db, scope=ANN)] == versions
    transcripts.save_transcript(chat("Tell me a tale.", "version 3", "And then?"), "The end.", db=db, scope=ANN)
    assert lines(db) == ["Tell me a tale.", "version 3", "And then?", "The end."]
    assert len(stories.list_alternatives(row, db=db, scope=ANN)) == 10


def test_r17_a_single_line_said_again_after_other_turns_is_a_new_turn(db: Database) -> None:
    def say(text: str, *answers: str | None) -> list[tuple[int, int, int]]:
        db.clock.forward(seconds=1)  # type: ignore[attr-defined]
        return [tuple(transcripts.save_transcript(chat(text), answer, db=db, scope=ANN)) for answer in answers]

    say("a", None, "B")
    say("c", None, "D")
    for number in range(26):  # so that the first line is behind those that are read
        say(f"{number}", "OK")
    assert say("a", None, "E", "E", "F") == [(1, 0, 0), (1, 0, 0), (0, 0, 0), (0, 0, 1)]
    say("c", None)
    say("d", "G")
    assert say("c", "H") == [(1, 0, 0)] and say("c", "I") == [(2, 0, 0)], "an answer that waited, and a new turn"
    assert lines(db)[:4] == ["a", "B", "c", "D"] and lines(db)[56:] == ["a", "F", "c", "d", "G", "H", "c", "I"]
    waiting = [say("e", None), say("f", None)]
    assert [*waiting, say("e", "J"), say("f", "K"), say("f", "L")] == [[(1, 0, 0)]] * 4 + [[(0, 0, 1)]]
    assert lines(db)[64:] == ["e", "f", "J", "L"], "two streams at once: each answer belongs to its own line"
    say("late", None)
    say("d", "G")
    db.clock.forward(minutes=20)  # type: ignore[attr-defined]
    assert say("late", None, "K") == [(1, 0, 0)] * 2, "the first one gets no answer any more"


@pytest.mark.parametrize("place", ["web/ann", "web/ann/7"])
def test_r17_of_the_newest_lines_alone_no_line_and_no_instruction_is_lost(db: Database, place: str) -> None:
    """Short lines and answers repeat, so they are no evidence that another line was edited."""
    scope = Scope("iris", place, "web/ann", privacy="direct")
    asked = ["Always answer in German.", "ok", "My cat is called Tofu.", "ok", "My mother is called Rosa."]
    talk = [text for line in asked for text in (line, "Fine.")]
    for at in range(0, len(talk), 2):
        db.clock.forward(seconds=1)  # type: ignore[attr-defined]
        for answer in (None, "Fine."):
            assert transcripts.save_transcript(chat(*talk[: at + 1][-3:]), answer, db=db, scope=scope)[1:] == (0, 0)
    assert lines(db, scope) == talk
    instructions = conversations.list_saved_memories(kind="instruction", db=db, scope=scope)
    assert [each["text"] for each in instructions] == asked[:1]


def test_r17_a_chat_that_begins_like_another_edits_none_of_its_lines(db: Database) -> None:
    """Without an id all chats of a person are one conversation."""
    for texts in (("a", "B"), ("c", "D"), ("a", "B", "e", "F"), ("c", "D", "g", "H")):
        db.clock.forward(seconds=1)  # type: ignore[attr-defined]
        transcripts.save_transcript(chat(*texts[:-1]), texts[-1], db=db, scope=ANN)
    assert lines(db) == [*"aBcDeFgH"]


def test_r17_in_a_named_conversation_the_first_line_alone_is_answered_anew_or_said_again(db: Database) -> None:
    """A front end that sends whole chats takes back what followed; a program that sends single lines says it again."""
    whole, single = (Scope("iris", f"web/ann/{n}", "web/ann", privacy="separate") for n in (1, 2))
    for scope, more in ((whole, ("a", "B")), (single, ())):
        transcripts.save_transcript(chat("a"), "B", db=db, scope=scope)
        db.clock.forward(seconds=1)  # type: ignore[attr-defined]
        transcripts.save_transcript(chat(*more, "c"), "D", db=db, scope=scope)
        db.clock.forward(seconds=1)  # type: ignore[attr-defined]
        for answer in (None, "E"):
            transcripts.save_transcript(chat("a"), answer, db=db, scope=scope)
    assert lines(db, whole) == ["a", "E", "c", "D"] and lines(db, single) == ["a", "B", "c", "D", "a", "E"]


def test_r17_an_abandoned_branch_stays_out_until_its_lines_are_sent_again(db: Database) -> None:
    """A story rolled back by two turns told the old ones as memories, once the new ones had left the list."""
    scope = Scope("iris", "web/ann/7", "web/ann", privacy="separate")

    def play(*texts: str) -> list[str]:
        for at in range(1, len(texts) + 1, 2):
            transcripts.save_transcript(chat(*texts[:at]), texts[at], db=db, scope=scope)
            db.clock.forward(seconds=1)  # type: ignore[attr-defined]
        return list(texts)

    def replaced(*texts: str) -> set[str]:
        found = transcripts.find_replaced(chat(*texts), db=db, scope=scope)
        return {row.message_text for row in rows_of(db, CHAT.table, "iris") if row.id in found}

    start, old, new = ["camp", "fire"], ["climb", "You fall!", "healer", "Runa"], ["walk", "gate"]
    play(*start, *old)
    said = play(*start, *new, *[f"{'mile' if n % 2 else 'stone'} {n}" for n in range(40)])
    assert replaced(*said, "go on") == replaced(*said[-5:], "go on") == set(old)
    assert not replaced(*start, *old, "go on") & set(old), "the old branch is played again"
    said = play(*start, *old, "limp", "slow", *[f"{'rain' if n % 2 else 'wind'} {n}" for n in range(20)])
    assert not replaced(*said[-5:], "go on") & {*start, *old} and set(new) <= replaced(*said[-5:], "go on")


def test_r17_several_threads_and_processes_at_once_store_one_turn(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_at_once([lambda: transcripts.save_transcript(chat("a", "b", "c"), "d", db=db, scope=ANN)] * 6)
    assert lines(db) == ["a", "b", "c", "d"]
    read = transcripts._Transcript._read_stored
    for answer, came in (("d", (0, 0, 0)), ("e", (0, 0, 1))):
        early: list[Any] = [[]]
        monkeypatch.setattr(transcripts._Transcript, "_read_stored", lambda self, e=early: e.pop() if e else read(self))
        assert transcripts.save_transcript(chat("a", "b", "c"), answer, db=db, scope=ANN) == came
    monkeypatch.setattr(transcripts._Transcript, "_read_stored", read)
    assert lines(db) == ["a", "b", "c", "e"]


@pytest.mark.parametrize("how", ["participant", "conversation", "message", "clear"])
def test_f45_what_was_deleted_does_not_come_back_with_a_list(db: Database, how: str) -> None:
    room, speakers = Scope("iris", "web/room", "web/ben", privacy="restricted"), ("ben", "ann", "", "ben", "", "ben")
    there = [{"role": "user" if who else "assistant", "content": f"{n}", "name": who}
             for n, who in enumerate(speakers, 1)]  # fmt: skip
    transcripts.save_transcript(there[:2], "3", db=db, scope=replace(room, participant="web/ann"))
    transcripts.save_transcript(there[:4], "5", db=db, scope=room)
    transcripts.save_transcript(chat("a", "b", "c"), "d", db=db, scope=ANN)
    if how == "message":
        (row,) = rows_of(db, CHAT.table, "iris", CHAT.table.c.message_text == "a")
        chat_history_cache.delete_chat_message(row.id, db=db, scope=ANN)
    elif how == "clear":
        chat_history_cache.clear_chat_history("web/ann", db=db, scope=ANN)
    else:
        forget(**{how: "web/ann"}, db=db, scope=Scope("iris"))
    transcripts.save_transcript(chat("a", "b", "c", "d", "e"), "f", db=db, scope=ANN)
    transcripts.save_transcript(chat("a", "b", "c", "d", "e", "f", "g"), "h", db=db, scope=ANN)
    assert lines(db) == [*("bcd" if how == "message" else ""), *"efgh"]
    transcripts.save_transcript(there, "7", db=db, scope=room)
    assert lines(db, room) == [*("1" if how == "participant" else "123"), *"4567"]


def test_r17_lines_of_others_are_theirs(db: Database) -> None:
    room = Scope("iris", "discord/7", "discord/2", "s1", privacy="public")
    messages = [
        {"role": "user", "content": "one", "name": "1"}, {"role": "assistant", "content": "two"},
        {"role": "user", "content": "three", "name": "2"},
    ]  # fmt: skip
    transcripts.save_transcript(messages, "four", name="Ben", persona_name="Iris", db=db, scope=room)
    stored = chat_history_cache.load_chat_history("discord/7", db=db, scope=room)
    assert [(each["sender_id"], each["sender_name"], each["text"]) for each in stored] == [
        ("1", "1", "one"), ("self", "Iris", "two"), ("2", "Ben", "three"), ("self", "Iris", "four"),
    ]  # fmt: skip


@pytest.mark.parametrize("messages", ["text", 7, {"role": "user"}, ["text"], [None]])
def test_r17_what_is_no_list_of_messages_is_refused(db: Database, messages: Any) -> None:
    with pytest.raises(MessageError):
        transcripts.save_transcript(messages, db=db, scope=ANN)
    with pytest.raises(MessageError):
        transcripts.save_transcript([], db=db, scope=Scope("iris"))
    assert transcripts.save_transcript([{"role": "user", "content": 7}, {}], "x", db=db, scope=ANN) == (0, 0, 0)
