"""The examples of the data model for stories, conversations, short-term and long-term memory (D19 to D27)."""

from __future__ import annotations

from typing import Any

import pytest

from core import chat_history_cache, lifelong, relationships, short_term, stories
from core.config import Settings
from core.conversations import add_recent_conversation
from core.database import schema
from core.database.engine import Database
from core.scope import Scope
from tests.store.world import own_scope, rows_of

pytestmark = pytest.mark.dialects


@pytest.fixture
def call(db: Database) -> dict[str, Any]:
    """The arguments of every door, for a persona of its own."""
    return {"db": db, "settings": Settings(), "scope": own_scope(conversation="tg/1", participant="tg/ann")}


def say(call: dict[str, Any], text: str) -> int:
    """Save a message and return its row."""
    made = chat_history_cache.save_chat_message("tg/1", text, "Ann", "ann", **call)
    assert made.id is not None
    return made.id


def test_d19_the_message_and_each_alternative_have_a_row(db: Database, call: dict[str, Any]) -> None:
    row = say(call, "hello")
    assert stories.add_alternative(row, "hello again", **call) == 1, "the message itself is alternative 0"
    for number in (0, 1):
        stories.choose_alternative(row, number, **call)
        stories.set_data(row, "memory", f"recap {number}", **call)
    found = rows_of(db, schema.message_recaps, call["scope"].persona)
    assert sorted((one.message_row, one.alternative) for one in found) == [(row, -1), (row, 0)], (
        "-1 is the current alternative, 1"
    )


def test_d20_a_second_break_on_a_message_is_the_first(call: dict[str, Any]) -> None:
    row = say(call, "the end")
    first = stories.add_scene_break(row, **call)
    assert first.stored
    assert stories.add_scene_break(row, **call) == (False, first.id, "duplicate")


def test_d21_deleted_versions_keep_their_rows_and_numbers(db: Database, call: dict[str, Any]) -> None:
    say(call, "hello")
    for number in range(5):
        assert stories.add_running_recap_version(f"version {number}", 1, 0, 0, 0, **call) == number
    for number in (2, 3):
        stories.delete_running_recap_version(number, **call)
    persona = call["scope"].persona
    found = rows_of(db, schema.running_recaps, persona)
    assert len(found) == 5 and sorted(one.version for one in found if one.deleted_at) == [2, 3]
    (conversation,) = rows_of(db, schema.conversations, persona)
    assert (conversation.next_recap_version, conversation.current_recap_version) == (5, 4)


def test_d23_the_same_end_is_one_summary(db: Database, call: dict[str, Any]) -> None:
    say(call, "We fly to Rome on Friday.")
    first = add_recent_conversation(wait=True, **call)
    assert first.stored
    assert add_recent_conversation(wait=True, **call) == (False, first.id, "duplicate")
    assert len(rows_of(db, schema.conversation_summaries, call["scope"].persona)) == 1


def test_d24_two_edits_leave_the_two_texts_before_them(db: Database, call: dict[str, Any]) -> None:
    (row,) = lifelong.add_facts_with_meta(["Ann likes tea"], default_kind="KeyFacts", **call).ids
    for text in ("Ann likes green tea", "Ann likes black tea"):
        lifelong.edit_item(row, text, **call)
    found = rows_of(db, schema.item_history, call["scope"].persona)
    assert [(one.item_id, one.old_text) for one in found] == [(row, "Ann likes tea"), (row, "Ann likes green tea")]


def test_d25_each_persona_has_an_entry_of_its_own(db: Database) -> None:
    there: dict[str, Any] = {"db": db, "settings": Settings()}
    for persona in ("d25", "0"):
        short_term.store_short_term_memory("tg/u1", "tg/c", ["hello"], persona=persona, **there, scope=Scope(persona))
    for persona in ("d25", "0"):
        found = rows_of(db, schema.short_term_memories, persona)
        assert [(one.participant_key, one.channel_id) for one in found] == [("tg/u1", "tg/c")]


def test_d26_affinity_is_bounded(db: Database, call: dict[str, Any]) -> None:
    relationships.adjust("tg/ann", 101, **call)
    relationships.adjust("tg/ann", -1, 5, **call)
    persona = call["scope"].persona
    (one,) = rows_of(db, schema.user_relationships, persona)
    assert (one.affinity, one.trust) == (99, 5)


def test_d27_a_cycle_that_fails_says_so_and_ends_are_counted(db: Database, call: dict[str, Any]) -> None:
    persona = call["scope"].persona
    for n in range(7):
        say(call, f"something was said, number {n}")
        again = Database(db.target.url.render_as_string(hide_password=False), clock=db.clock)
        lifelong.on_stream_end("tg/1", persona, **{**call, "db": again})
        again.close()
    counted = {one.name: one.value for one in rows_of(db, schema.counters, persona)}
    assert counted["stream_end"] == 7
    say(call, "one more line")
    lifelong.consolidate_history("tg/1", conf_uid=persona, model=lambda messages: "sorry", **call)
    runs = rows_of(db, schema.consolidation_runs, persona)
    assert [one.finished_at is not None for one in runs if "unreadable" in (one.error or "")] == [True]
