"""Examples of the data model that no rule of a door repeats: keys of every length (D3)."""

import pytest
from sqlalchemy import select

from core.database import schema
from core.database.engine import Database
from core.errors import MessageError
from tests.store.world import count, own_scope, rows_of, save

pytestmark = pytest.mark.dialects


@pytest.mark.parametrize("others", [[], ["web/ann"]], ids=["alone", "with others"])
def test_d3_a_blank_key_in_a_list_is_found(db: Database, others: list[str]) -> None:
    scope = own_scope()
    save(db, scope, "web/room", "public")
    place = schema.audiences.c
    wanted = (place.persona_id == scope.persona, place.ref.in_(["", *others]), place.server_id.in_([""]))
    assert len(db.read(select(place.audience_id).where(*wanted), source="audiences")) == 1


@pytest.mark.parametrize(("path", "fields", "named"), [
    ("tg/" + "x" * 510, {}, "interface_path"),
    ("tg/" + "猫" * 171, {}, "interface_path"),
    ("tg/1", {"message_id": "x" * 192}, "message_id"),
    ("tg/1", {"sender_id": "x" * 256}, "sender_id"),
    ("t" * 65 + "/1", {}, "interface"),
])  # fmt: skip
def test_d3_a_key_is_never_cut(db: Database, path: str, fields: dict[str, str], named: str) -> None:
    scope = own_scope()
    with pytest.raises(MessageError) as caught:
        save(db, scope, path, "hello", **fields)
    assert any(named in field for field in caught.value.fields)
    assert count(db, schema.chat_history_cache, scope.persona) == 0
    whole = "tg/" + "a" * 255 + "/" + "b" * 253
    assert len(whole) == 512 and save(db, scope, whole, "hello", "x" * 252, message_id="x" * 191).stored
    row = rows_of(db, schema.chat_history_cache, scope.persona)[0]
    assert (row.interface_path, row.message_id, row.sender_id) == (whole, "x" * 191, "x" * 252)
