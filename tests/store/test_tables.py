"""D3, D8, D9, F14: what the tables of people and messages keep apart, and who sees the rows of a closed channel."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

from core import ai_diary, chat_history_cache, privacy
from core.config import Settings
from core.database import schema
from core.database.engine import Database
from core.db import insert_memory
from core.errors import MessageError
from core.prompt_engine import build_json_prompt
from core.scope import Scope
from core.synth_core_memory import search_memories
from tests.store.world import NOW, count, own_scope, rows_of

pytestmark = pytest.mark.dialects

DEFAULTS = Settings()


def save(db: Database, scope: Scope, path: str, text: str, who: str = "u1", **fields: Any) -> Any:
    """Store one message."""
    return chat_history_cache.save_chat_message(
        path, text, "Ann", who, NOW, db=db, settings=DEFAULTS, scope=scope, **fields
    )


def test_d8_one_id_on_two_interfaces_is_two_people_until_they_are_linked(db: Database) -> None:
    scope = own_scope()
    save(db, scope, "discord/1", "hello")
    save(db, scope, "telegram_bot/1", "hello")
    rows = rows_of(db, schema.participants, scope.persona)
    assert {(row.participant_key, row.person_key) for row in rows} == {
        ("discord/u1", "discord/u1"), ("telegram_bot/u1", "telegram_bot/u1"),
    }  # fmt: skip
    privacy.link_participants("discord/u1", "telegram_bot/u1", db=db, settings=DEFAULTS, scope=scope)
    rows = rows_of(db, schema.participants, scope.persona)
    assert len(rows) == 2 and len({row.person_key for row in rows}) == 1


def test_d9_no_id_twice_is_two_rows_and_one_id_twice_is_one(db: Database) -> None:
    scope = own_scope()
    for text in ("one", "two"):
        assert save(db, scope, "tg/1", text).stored
    first, second = (save(db, scope, "tg/1", text, message_id="m1") for text in ("three", "four"))
    assert (first.stored, second.stored, second.reason, second.id) == (True, False, "duplicate", first.id)
    elsewhere = save(db, scope, "tg/2", "three", message_id="m1")
    assert elsewhere.stored
    ids = [row.message_id for row in rows_of(db, schema.chat_history_cache, scope.persona)]
    assert sorted(ids, key=str) == [None, None, "m1", "m1"]


def test_d9_a_row_says_who_spoke_and_who_was_answered(db: Database) -> None:
    """participant_key is interface and sender; the persona's lines have none, and name whose turn they answer."""
    scope = own_scope()
    save(db, scope, "tg/1", "hello")
    save(db, scope, "tg/1", "hello yourself", "self", triggered_by="tg/u1")
    said, answered = sorted(
        rows_of(db, schema.chat_history_cache, scope.persona), key=lambda row: row.role, reverse=True
    )
    assert (said.role, said.participant_key, said.sender_id, said.triggered_by) == ("user", "tg/u1", "u1", None)
    assert (answered.role, answered.participant_key, answered.triggered_by) == ("persona", None, "tg/u1")
    assert len(said.content_hash) == 32 and (said.hidden, said.excluded) == (0, 0)


@pytest.mark.parametrize("others", [[], ["web/ann"]], ids=["alone", "with others"])
def test_d3_a_blank_key_in_a_list_is_found(db: Database, others: list[str]) -> None:
    """What everybody may see has a blank owner, and is looked for beside that of others."""
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


CLOSED, HERE, DIRECT, OTHER = "tg/c9", "tg/c1", "tg/ann", "tg/c8"


@pytest.fixture
def told(db: Database) -> Scope:
    """A persona to whom Ann said the word xylofant in the restricted channel c9, with an item and an entry of there."""
    scope = own_scope()
    there = _in(scope, CLOSED, "restricted")
    save(db, there, CLOSED, "the xylofant is a secret", "ann")
    insert_memory("the xylofant of c9", "synth", "chat", ["xylofant"], there, db=db, settings=DEFAULTS)
    ai_diary.add_diary_entry("a xylofant day", context_tags=["xylofant"], db=db, settings=DEFAULTS, scope=there)
    save(db, _in(scope, DIRECT, "direct"), DIRECT, "just us two", "ann")
    save(db, _in(scope, HERE), HERE, "hello everybody", "ann")
    save(db, _in(scope, OTHER, "restricted"), OTHER, "another closed channel", "ann")
    return scope


def _in(scope: Scope, path: str, kept: Any = None) -> Scope:
    server = "" if path == DIRECT else "s1"
    return Scope(persona=scope.persona, conversation=path, participant="tg/ann", server=server, privacy=kept)


def _everything(db: Database, asking: Scope) -> str:
    """Return all that reading doors and a prompt give a scope, as one text."""
    more: dict[str, Any] = {"db": db, "settings": DEFAULTS, "scope": asking}
    message = {
        "message_id": "x", "date": NOW, "text": "what is it?", "interface_path": asking.conversation,
        "from_user": {"id": "ann", "full_name": "Ann"},
    }  # fmt: skip
    parts: list[Any] = [
        search_memories(tags=["xylofant"], keywords=["xylofant"], limit=50, ranking=ranking, **more)
        for ranking in ("recency", "relevance")
    ]
    parts += [ai_diary.get_recent_entries(9, **more), ai_diary.get_entries_by_tags(["xylofant"], **more)]
    parts += [chat_history_cache.load_global_chat_history(50, **more)]
    parts += [chat_history_cache.load_chat_history(CLOSED, 50, **more)]
    parts += [build_json_prompt(message, **more)["context"]]
    return str(parts)


@pytest.mark.parametrize("path", [DIRECT, HERE, OTHER, None])
def test_f14_rows_of_a_closed_channel_are_not_seen_elsewhere(db: Database, told: Scope, path: str | None) -> None:
    """Whoever speaks: Ann herself does not see them in her direct message."""
    asking = _in(told, path) if path else Scope(persona=told.persona, server="s1", conversation="tg/new")
    assert "xylofant" not in _everything(db, asking)


def test_f14_rows_of_a_closed_channel_are_seen_there(db: Database, told: Scope) -> None:
    for who in ("tg/ann", "tg/bob", None):
        asking = Scope(persona=told.persona, conversation=CLOSED, participant=who, server="s1")
        assert _everything(db, asking).count("xylofant") >= 6
