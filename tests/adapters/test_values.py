"""Values under names: whose they are, what finds them, what takes them along."""

from typing import Any

import pytest

from core import Scope, lifelong, privacy, values
from core.database.engine import Database
from core.errors import MessageError
from core.values import NewValue, RefusedError, StoredValue, open_values
from tests.store.world import run_at_once

pytestmark = pytest.mark.engines()


def put(db: Database, scope: Scope, *new: NewValue, kind: values.table.Kind = "entry") -> None:
    open_values(kind, db=db, scope=scope).change(lambda change: change.write(new))


def list_values(prefix: tuple[str, ...] = (), kind: Any = "entry", *, db: Database, scope: Scope) -> list[StoredValue]:
    return open_values(kind, db=db, scope=scope).list_below(prefix)


def test_r31_a_namespace_is_compared_part_by_part_and_in_case_and_fits_its_column(db: Database, ann: Scope) -> None:
    for first in ("u1", "u10", "U1", "u1\x1fx", "u%", "u_", "u1 "):
        put(db, ann, NewValue((first, "notes", "k"), f'"{first!r}"'))
    assert [value.path[0] for value in list_values(("u1",), db=db, scope=ann)] == ["u1"]
    assert list_values(("u1", "note"), db=db, scope=ann) == []
    with pytest.raises(MessageError, match="key is 513 bytes long"):
        put(db, ann, NewValue(("k" * 513,), "1"))
    with pytest.raises(MessageError, match="namespace is 1001 bytes"):
        put(db, ann, NewValue(("ä" * 500, "k"), "1"))
    assert len(list_values(db=db, scope=ann)) == 7


def test_r30_r31_linked_identities_share_values_and_what_may_be_kept(db: Database, ann: Scope, persona: str) -> None:
    mobile = Scope(persona, "tg/7", "tg/7", privacy="direct")
    put(db, ann, NewValue(("k",), "1"))
    privacy.link_participants("tg/7", "web/ann", db=db, scope=ann)
    assert [value.value for value in list_values(db=db, scope=mobile)] == ["1"]
    privacy.set_privacy("web/ann", "full", db=db, scope=ann)
    with pytest.raises(RefusedError):
        put(db, mobile, NewValue(("other",), "1"))


def test_r31_a_conversation_that_turns_private_takes_its_values_along(db: Database, persona: str) -> None:
    public, other = Scope(persona, "web/room"), Scope(persona, "web/other")
    put(db, public, NewValue(("k",), "1", text="the password is oolong"))
    assert list_values(db=db, scope=other)
    privacy.set_conversation_privacy("web/room", "restricted", db=db, scope=public)
    assert list_values(db=db, scope=other) == [] and list_values(db=db, scope=public)[0].value == "1"


def test_r30_who_deletes_the_item_deletes_the_value(db: Database, ann: Scope) -> None:
    put(db, ann, NewValue(("a.md",), "text", text="text"), kind="file")
    item = list_values((), "file", db=db, scope=ann)[0].memory_id
    assert item is not None
    lifelong.edit_item(item, "another text", db=db, scope=ann)
    assert list_values((), "file", db=db, scope=ann)[0].value == "another text"
    lifelong.delete_items([item], db=db, scope=ann)
    assert list_values((), "file", db=db, scope=ann) == []


def test_r30_changes_of_one_value_at_once_lose_nothing(db: Database, ann: Scope) -> None:
    put(db, ann, NewValue(("n",), "0"))

    def count() -> None:
        def work(change: values.Change) -> None:
            value = change.find([("n",)])[("n",)].value
            change.write([NewValue(("n",), str(int(value or "") + 1))])

        for _ in range(5):
            open_values(db=db, scope=ann).change(work)

    run_at_once([count] * 4)
    assert list_values(db=db, scope=ann)[0].value == "20"
