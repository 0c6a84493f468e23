"""Forgetting on every engine: while others write (F47), while an operation is under way, and what is kept elsewhere."""

import itertools
import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from core import conversations, jobs, relationships, short_term, stories
from core.ai_diary import add_diary_entry
from core.chat_history_cache import save_chat_message
from core.config import Settings
from core.database import schema
from core.database.engine import Database
from core.db import forget, insert_memory
from core.errors import MessageError
from core.forgetting import table as forgetting_table
from core.messages.new_message import read_message
from core.messages.table import insert_message
from core.privacy import read_rows, set_privacy
from core.scope import Scope
from core.synth_core_memory import silently_record_memory
from tests.store.world import count, index_differences, of_today, own_scope, rows_of, run_at_once

ANN, GROUP = "tg/ann", "tg/g1"


@pytest.fixture(scope="module")
def db(migrated_url: str) -> Iterator[Database]:
    """One migrated database per engine, with the clock of the system: rows are told apart by their times."""
    with of_today(migrated_url) as handle:
        yield handle


def given(db: Database, scope: Scope) -> dict[str, Any]:
    return {"db": db, "scope": scope}


def say(db: Database, scope: Scope, text: str, path: str = GROUP, who: str = "ann", **more: Any) -> int | None:
    own = Scope(scope.persona, path, None if who == "self" else f"tg/{who}", **more)
    return save_chat_message(path, text, who.title(), who, **given(db, own)).id


@pytest.mark.parametrize("is_stored", ["said", "remembered"])
def test_f40_an_id_without_interface_is_refused_where_some_interface_has_it(db: Database, is_stored: str) -> None:
    """Zeros for `ann` looked like a person of whom nothing was left, while every row of tg/ann stayed."""
    scope = own_scope()
    call = given(db, scope)
    if is_stored == "said":
        say(db, scope, "hello")
    else:
        insert_memory("Ann likes tea", "ann", "chat", [], Scope(scope.persona, GROUP, ANN), db=db)
    for dry_run in (True, False):
        with pytest.raises(MessageError, match=r"participant is 'ann'.* interface/id, such as 'web/ann'") as refused:
            forget(participant="ann", dry_run=dry_run, **call)
        assert refused.value.fields == ("participant",) and "tg/" not in str(refused.value)
    assert forget(participant="ann", **given(db, own_scope())).total == 0  # another persona does not know them
    assert forget(participant="an", **call).total == 0 and forget(participant=ANN, **call).total > 0
    assert forget(participant="ann", **call).total == 0


@pytest.mark.parametrize("key", ["tg/Ann", "discord/Ann", "tg/nobody", "ann"])
def test_f40_an_unknown_key_finds_nothing_by_the_name_of_somebody_else(db: Database, scope: Scope, key: str) -> None:
    """The part of a mistyped key after the slash is an id, never a name: all entries on tg/ann were deleted."""
    say(db, scope, "I bought a kayak")
    reply = {"reply_to_message": {"message_id": "1", "text": "a kayak", "from_user": {"id": "ann"}}}
    save_chat_message(GROUP, "What?", "Bob", "bob", metadata=reply, **given(db, Scope(scope.persona, GROUP, "tg/bob")))
    for here in (scope, Scope(scope.persona, GROUP), Scope(scope.persona, GROUP, ANN)):
        add_diary_entry("Ann told me of her kayak", involved_users=["Ann"], **given(db, here))
    before = [rows_of(db, table, scope.persona) for table in (schema.chat_history_cache, schema.ai_diary)]
    assert read_rows(db, scope.persona, key) == {}
    if key == "ann":
        with pytest.raises(MessageError, match="without its interface"):
            forget(participant=key, **given(db, scope))
    else:
        assert forget(participant=key, **given(db, scope)).total == 0
    assert [rows_of(db, table, scope.persona) for table in (schema.chat_history_cache, schema.ai_diary)] == before
    assert len(read_rows(db, scope.persona, ANN)["ai_diary"]) == 3
    forget(participant=ANN, **given(db, scope))
    assert not rows_of(db, schema.ai_diary, scope.persona)
    assert "kayak" not in str(rows_of(db, schema.chat_history_cache, scope.persona))


@pytest.mark.parametrize("privacy", ["direct", "separate"])
@pytest.mark.parametrize("other", ["discord/9", "whatsapp/Ann"])
def test_f42_an_entry_of_a_direct_chat_is_of_no_namesake_elsewhere(db: Database, privacy: Any, other: str) -> None:
    scope = own_scope()
    one = Scope(scope.persona, "tg/7", "tg/7", privacy=privacy)
    save_chat_message("tg/7", "I am pregnant, tell nobody", "Ann", "7", **given(db, one))
    interface, _, own_id = other.partition("/")
    room = f"{interface}/g2"
    save_chat_message(room, "hello", "Ann", own_id, **given(db, Scope(scope.persona, room, other)))
    quote = {"reply_to_message": {"sender_id": "7", "sender_name": "Ann", "text": "hello"}}
    save_chat_message(GROUP, "Yes", "Bob", "bob", metadata=quote, **given(db, Scope(scope.persona, GROUP, "tg/bob")))
    secret = add_diary_entry("Ann told me she is pregnant", involved_users=["Ann"], **given(db, one))
    told = add_diary_entry("Gossip of another", involved_users=[other], **given(db, one))
    add_diary_entry("Ann said hello", involved_users=["Ann"], **given(db, Scope(scope.persona, GROUP)))
    assert [row["content"] for row in read_rows(db, scope.persona, other)["ai_diary"]] == ["Ann said hello"]
    forget(participant=other, **given(db, scope))
    assert {row.id for row in rows_of(db, schema.ai_diary, scope.persona)} == {secret.id} != {told.id}
    assert "'sender_id': '7'" in str(rows_of(db, schema.chat_history_cache, scope.persona)).replace('"', "'")
    assert [row["id"] for row in read_rows(db, scope.persona, "tg/7")["ai_diary"]] == [secret.id]
    forget(participant="tg/7", **given(db, scope))
    assert not rows_of(db, schema.ai_diary, scope.persona)


def test_f47_eight_write_and_one_forgets(db: Database, scope: Scope) -> None:
    stop, own = threading.Event(), Scope(scope.persona, GROUP, ANN)

    def write(n: int) -> None:
        for at in itertools.takewhile(lambda _: not stop.is_set(), itertools.count()):
            if n % 4 == 0:
                say(db, scope, f"new place {n} {at}", f"tg/room{n}x{at}")
            elif n % 4 == 1:
                say(db, scope, f"direct {n} {at}", ANN, privacy="direct")
            elif n % 4 == 2:
                silently_record_memory(f"I like tea number {n} {at}", "ok", **given(db, own))
                relationships.adjust(ANN, 1, **given(db, scope))
            else:
                say(db, scope, f"group {n} {at}")
                say(db, scope, f"of Bob {n} {at}", who="bob")

    def forget_ann() -> Any:
        while not any(r.participant_key == ANN for r in rows_of(db, schema.chat_history_cache, scope.persona)):
            stop.wait(0.05)
        stop.wait(0.25)
        began, done = datetime.now(UTC), forget(participant=ANN, **given(db, scope))
        stop.wait(0.05)
        stop.set()
        return began, done

    bob = say(db, scope, "Bob was there first", who="bob")
    began, done = run_at_once([*(partial(write, n) for n in range(8)), forget_ann])[-1]
    assert done["chat_history_cache"]
    theirs = [r for r in rows_of(db, schema.chat_history_cache, scope.persona) if r.participant_key == ANN]
    assert [r.timestamp for r in theirs + rows_of(db, schema.memories, scope.persona) if r.timestamp < began] == []
    assert bob in {row.id for row in rows_of(db, schema.chat_history_cache, scope.persona)}
    assert index_differences(db, scope.persona) == []
    # What they wrote after it is theirs, and is found: no row stands in an audience that is gone.
    known = {row.audience_id for row in rows_of(db, schema.audiences, scope.persona)}
    for table in (schema.chat_history_cache, schema.memories, schema.conversations):
        assert {row.audience_id for row in rows_of(db, table, scope.persona)} <= known
    forget(participant=ANN, **given(db, scope))
    assert not [r for r in rows_of(db, schema.chat_history_cache, scope.persona) if r.participant_key == ANN]


@pytest.mark.parametrize("level", ["partial", "full"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_f42_entries_of_a_closed_person_are_forgotten(db: Database, scope: Scope, level: str, when: str) -> None:
    say(db, scope, "hello")
    say(db, scope, "hello", who="bob")
    if when == "before":
        set_privacy(ANN, level, **given(db, scope))
    in_turn = given(db, Scope(scope.persona, GROUP, ANN))
    add_diary_entry("Xylofant for a pet", user_message="my xylofant", involved_users=["Ann"], **in_turn)
    add_diary_entry("Xylofant, as it was", user_message="a xylofant", **in_turn)
    add_diary_entry("Xylofant of somebody", involved_users=[ANN], **given(db, scope))
    add_diary_entry("Xylofant by name", involved_users=["Ann"], **given(db, scope))
    of_bob = add_diary_entry("A walk", user_message="the xylofant", involved_users=["Bob"], **in_turn)
    of_both = add_diary_entry("Tea", personal_thought="Ann has a xylofant", involved_users=["ann", "Bob"], **in_turn)
    if when == "after":
        set_privacy(ANN, level, **given(db, scope))
    forget(participant=ANN, **given(db, scope))
    left = rows_of(db, schema.ai_diary, scope.persona)
    assert {row.id for row in left} == {of_bob.id, of_both.id}
    assert not any("xylofant" in str(row).casefold() or "tg/ann" in str(row).casefold() for row in left)
    assert index_differences(db, scope.persona) == []


@pytest.mark.parametrize("target", [{"participant": ANN}, {"conversation": GROUP}, {"server": "s1"}])
def test_f47_what_another_process_was_writing_is_deleted(
    migrated_url: str, db: Database, monkeypatch: pytest.MonkeyPatch, target: dict[str, str]
) -> None:
    scope = own_scope()
    own, delete = Scope(scope.persona, GROUP, ANN, "s1"), forgetting_table.forget_target
    with of_today(migrated_url) as other:
        begun = other.ids.one()
        message = read_message(
            own, "tg/new" if "participant" in target else GROUP, "begun before", now=other.clock(), sender_id="ann"
        )
        assert message is not None

        def write_meanwhile(*args: Any, **more: Any) -> Any:
            done = delete(*args, **more)
            assert insert_message(other, own, message, privacy_default="none", row_id=begun).stored
            say(other, scope, "begun after", server="s1")
            return done

        monkeypatch.setattr(forgetting_table, "forget_target", write_meanwhile)
        say(db, scope, "said before", server="s1")
        assert forget(**target, **given(db, scope))["chat_history_cache"] == 2
    assert [row.message_text for row in rows_of(db, schema.chat_history_cache, scope.persona)] == ["begun after"]


def test_f47_what_a_door_was_reading_when_its_person_was_forgotten_is_not_stored(db: Database, scope: Scope) -> None:
    own = Scope(scope.persona, GROUP, ANN)

    class Slow(list[str]):
        """A list that takes long to be read: meanwhile the person is forgotten."""

        def __iter__(self) -> Iterator[str]:
            forget(participant=ANN, **given(db, scope))
            return super().__iter__()

    done = silently_record_memory("I like tea", "ok", recalled=itertools.chain(Slow()), **given(db, own))
    assert (done.stored, done.reason) == (False, "privacy") and count(db, schema.memories, scope.persona) == 0
    entry = add_diary_entry("She likes tea", involved_users=Slow(["Bob", ANN]), **given(db, own))
    assert (entry.stored, entry.reason) == (False, "privacy")
    assert silently_record_memory("I like tea after all", "ok", **given(db, own)).stored


def _break(db: Database, scope: Scope, row: int, *, recap: bool) -> None:
    assert stories.add_scene_break(row, recap=recap, **given(db, scope)).stored
    if not recap:
        assert stories.set_scene_recap(row, "Ann moved to Rome and likes tea", **given(db, scope)).stored


UNDER_WAY: dict[str, Callable[[Database, Scope, int], Any]] = {
    "RECAP": lambda db, s, row: None,
    "CONVERSATION_SUMMARY": lambda db, s, row: conversations.close_conversation(GROUP, **given(db, s)),
    "CONSOLIDATION": lambda db, s, row: jobs.enqueue_operation("CONSOLIDATION", conversation=GROUP, **given(db, s)),
    "SCENE_RECAP": lambda db, s, row: _break(db, s, row, recap=True),
    "RUNNING_SCENE_RECAP": lambda db, s, row: _break(db, s, row, recap=False),
}


@pytest.mark.parametrize("kind", UNDER_WAY)
def test_f47_what_is_under_way_stores_nothing_of_them(db: Database, scope: Scope, kind: str) -> None:
    """The model has read the lines when their person is forgotten: what it answers is not stored."""
    if db.family != "sqlite" and kind != "CONSOLIDATION":
        pytest.skip("the same on every engine: nothing of it is in SQL that differs")
    flags = Settings(recap_on_message=int(kind == "RECAP"))
    own, rows = Scope(scope.persona, GROUP, ANN), []
    say(db, scope, "Bob listens and says something long enough", who="bob")
    for n in range(3):
        text = f"I moved to Rome {n} and like tea"
        rows.append(save_chat_message(GROUP, text, "Ann", "ann", db=db, settings=flags, scope=own).id or 0)
    UNDER_WAY[kind](db, scope, rows[-1])
    asked: list[str] = []

    def model(messages: list[dict[str, str]]) -> str:
        asked.append(messages[-1]["content"])
        if len(asked) == 1:
            forget(participant=ANN, **given(db, scope))
        what = "Ann moved to Rome and likes tea." if "Rome" in asked[-1] else "Bob listens to somebody for a while."
        return json.dumps({"title": what, "summary": what, "recap": what, "developments": [what], "key_facts": [what]})

    jobs.run_pending(model=model, db=db, settings=flags, scope=scope)
    assert "Rome" in asked[0] and not any("Rome" in each for each in asked[1:])
    made = ("message_recaps", "conversation_summaries", "memories", "running_recaps", "scene_recaps")
    assert "Rome" not in str([rows_of(db, schema.TABLES[name], scope.persona) for name in made])
    assert index_differences(db, scope.persona) == []


def test_f45_another_process_answers_nothing(migrated_url: str, db: Database) -> None:
    if db.target.in_memory:
        pytest.skip("one connection, one process")
    scope, other = own_scope(), Database(migrated_url)
    own = Scope(scope.persona, GROUP, ANN)
    said = [{"role": "user", "content": "the code is 7391", "speaker": "Ann", "user_id": "ann"}]
    short_term.store_short_term_memory("ann", GROUP, said, interface="tg", **given(db, own))
    insert_memory("Ann likes tea", "synth", "chat", ["tea"], own, db=other)
    for path in (ANN, f"{ANN}/7"):
        say(other, scope, "hello", path, privacy="direct")
    assert short_term.get_for_user("ann", **given(other, own))
    forget(participant=ANN, **given(db, scope))
    assert not short_term.get_for_user("ann", **given(other, own))
    assert count(db, schema.short_term_memories, scope.persona) == 0
    # What she says from now on stands in an audience that is there, though the other process knew the former one.
    assert say(other, scope, "hello again", ANN, privacy="direct")
    rooms = {row.audience_id for row in rows_of(db, schema.audiences, scope.persona)}
    assert {row.audience_id for row in rows_of(db, schema.chat_history_cache, scope.persona)} <= rooms
    assert index_differences(db, scope.persona) == []
    other.close()
