"""The search tables are written with their rows (D14, G16), whatever becomes of these."""

from __future__ import annotations

from typing import Any

import pytest

from core.database.engine import Database
from core.index import fresh, packing
from core.index.entries import TERMS_PER_ROW, entry, place_of
from core.index.packing import count_differences
from core.scope import Scope
from tests.store.search_world import ago, all_rows, find, ids, memory, said
from tests.store.world import NOW, indexed_rows, remove_items, verify_index


def held(db: Database, scope: Scope, row_id: int) -> Any:
    """Return what the index holds of a row; None for nothing."""
    mine = {row.audience for row in all_rows(db, scope.persona)}
    return next((one for one in indexed_rows(db, mine).values() if one.row_id == row_id), None)


def test_d14_a_row_is_indexed_by_its_words_and_tags(db: Database, scope: Scope) -> None:
    """A memory with tags [cat] and text `my cat`; deleted, nothing of it is left."""
    row = memory(db, scope, "my cat", tags=["cat"])
    memory(db, scope, "stays")
    one = held(db, scope, row)
    assert (one.terms, one.tags, one.words) == ({"my": 1, "cat": 1}, ["cat"], 2)
    remove_items(db, scope.persona, [row])
    assert held(db, scope, row) is None and verify_index(db) == []


def test_d14_a_row_of_very_many_words_is_indexed_for_the_first_of_them() -> None:
    """A word that is too long for a key is left out."""
    nowhere = place_of(0, None)
    many = entry(0, 1, 1, NOW, " ".join(f"w{n}" for n in range(TERMS_PER_ROW + 1)), (), 0, nowhere)
    assert len(many.terms) == TERMS_PER_ROW and many.words == TERMS_PER_ROW + 1
    assert entry(0, 1, 1, NOW, "é" * 81, (), 0, nowhere).terms == {}
    assert entry(0, 1, 1, NOW, "é" * 80, (), 0, nowhere).terms == {"é" * 80: 1}
    assert entry(0, 1, 1, NOW, "?!", (), 0, nowhere).terms == {}


class ProvokedError(Exception):
    """Raised inside a transaction to see that all of it is undone."""


def test_g16_a_fault_in_the_middle_leaves_the_index_as_it_was(
    db: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row and its index are one transaction."""
    memory(db, scope, "before tofu", tags=["food"])
    whole = fresh.write

    def failing(*arguments: Any) -> None:
        whole(*arguments)
        raise ProvokedError

    monkeypatch.setattr(fresh, "write", failing)
    with pytest.raises(ProvokedError):
        memory(db, scope, "after tofu", tags=["food", "new"])
    with pytest.raises(ProvokedError):
        said(db, scope, [("after tofu", NOW)])
    monkeypatch.undo()
    assert [row.text for row in all_rows(db, scope.persona)] == ["before tofu"]
    assert verify_index(db) == []


UNREADABLE = {
    "content": ("text", b"\xff", 5, b"[]", b"[1,2,3,4,5,6,7]"),
    "digest": ("x", 7),
    "row_id": ("x", b"\xff"),
    "source": ("x", 9),
}


@pytest.mark.engines("sqlite")
@pytest.mark.parametrize(
    ("column", "value"), [(name, value) for name, values in UNREADABLE.items() for value in values]
)
def test_f85_an_unreadable_row_of_the_index_hides_no_other(
    db: Database, scope: Scope, column: str, value: object
) -> None:
    """The others are found; `db check` notices it, and packing reads the row again."""
    spoilt, whole = memory(db, scope, "first tofu"), memory(db, scope, "second tofu", ago(hours=1))
    change = f"UPDATE search_fresh SET {column} = ? WHERE row_id = {spoilt}"
    db.transaction(lambda c: c.exec_driver_sql(change, (value,)), source="test")
    assert whole in ids(find(db, scope, query="Where is the tofu?"))
    assert count_differences(db)["memories"] == 1
    audience = all_rows(db, scope.persona)[0].audience
    db.transaction(lambda c: packing.pack_fresh(c, db.family, audience), source="test")
    expected = [whole, spoilt] if column in ("content", "digest") else [whole]
    assert set(expected) == set(ids(find(db, scope, query="Where is the tofu?")))
    db.transaction(lambda c: packing.rebuild(c, family=db.family, audience=audience), source="test")
    assert verify_index(db) == []
