"""Examples of the data model that no rule of a door repeats: keys of every length, recaps, breaks (D3 to D27)."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

from core import chat_history_cache, lifelong, stories
from core.database import schema
from core.database.engine import Database
from core.errors import MessageError
from core.scope import Scope
from tests.store.world import NOW, count, own_scope, rows_of

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
        lifelong.on_stream_end("tg/1", **{**call, "db": again})
        again.close()
    counted = {one.name: one.value for one in rows_of(db, schema.counters, persona)}
    assert counted["stream_end"] == 7
    say(call, "one more line")
    lifelong.consolidate_history("tg/1", model=lambda messages: "sorry", **call)
    runs = rows_of(db, schema.consolidation_runs, persona)
    assert [one.finished_at is not None for one in runs if "unreadable" in (one.error or "")] == [True]


def save(db: Database, scope: Scope, path: str, text: str, who: str = "u1", **fields: Any) -> Any:
    return chat_history_cache.save_chat_message(path, text, "Ann", who, NOW, db=db, scope=scope, **fields)


@pytest.mark.parametrize("others", [[], ["web/ann"]], ids=["alone", "with others"])
def test_d3_a_blank_key_in_a_list_is_found(db: Database, others: list[str]) -> None:
    scope = own_scope()
    save(db, scope, "web/room", "public")
    place = schema.audiences.c
    wanted = (place.persona_id == scope.persona, place.ref.in_(["", *others]), place.server_id.in_([""]))
    assert len(db.read(select(place.audience_id).where(*wanted), source="audiences")) == 1


@pytest.mark.parametrize(
    ("path", "fields", "named"),
    [
        ("tg/" + "x" * 510, {}, "interface_path"),
        ("tg/" + "猫" * 171, {}, "interface_path"),
        ("tg/1", {"message_id": "x" * 192}, "message_id"),
        ("tg/1", {"who": "x" * 256}, "sender_id"),
        ("t" * 65 + "/1", {}, "interface"),
    ],
)
def test_d3_a_key_is_never_cut(db: Database, path: str, fields: dict[str, str], named: str) -> None:
    """One byte more than the column is refused with its name; what fits exactly is stored whole."""
    scope = own_scope()
    with pytest.raises(MessageError) as caught:
        save(db, scope, path, "hello", **fields)
    assert any(named in field for field in caught.value.fields)
    assert count(db, schema.chat_history_cache, scope.persona) == 0
    whole = "tg/" + "a" * 255 + "/" + "b" * 253
    assert len(whole) == 512 and save(db, scope, whole, "hello", "x" * 252, message_id="x" * 191).stored
    row = rows_of(db, schema.chat_history_cache, scope.persona)[0]
    assert (row.interface_path, row.message_id, row.sender_id) == (whole, "x" * 191, "x" * 252)
