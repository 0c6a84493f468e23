"""D3, D8, D9, F14: what the tables of people and messages keep apart, and who sees the rows of a closed channel."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

from core import chat_history_cache, privacy
from core.config import Settings
from core.database import schema
from core.database.engine import Database
from core.errors import MessageError
from core.scope import Scope
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
