"""Examples of the data model that no rule of a door repeats (D19, D20, D27)."""

from __future__ import annotations

from typing import Any

import pytest

from core import chat_history_cache, lifelong, stories
from core.database import schema
from core.database.engine import Database
from tests.store.world import own_scope, rows_of

pytestmark = pytest.mark.dialects


@pytest.fixture
def call(db: Database) -> dict[str, Any]:
    """The arguments of every door, for a persona of its own."""
    return {"db": db, "scope": own_scope(conversation="tg/1", participant="tg/ann")}


def say(call: dict[str, Any], text: str) -> int:
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
