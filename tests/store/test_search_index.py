"""The search tables are written with their rows (D14, G16), whatever becomes of these."""

from __future__ import annotations

import pytest

from core.database.engine import Database
from core.index import packing
from core.index.entries import TERMS_PER_ROW, entry, place_of
from core.index.packing import count_differences
from core.scope import Scope
from tests.store.search_world import ago, all_rows, find, ids, memory
from tests.store.world import NOW, verify_index


def test_d14_a_row_of_very_many_words_is_indexed_for_the_first_of_them() -> None:
    """A word that is too long for a key is left out."""
    nowhere = place_of(0, None)
    many = entry(0, 1, 1, NOW, " ".join(f"w{n}" for n in range(TERMS_PER_ROW + 1)), (), 0, nowhere)
    assert len(many.terms) == TERMS_PER_ROW and many.words == TERMS_PER_ROW + 1
    assert entry(0, 1, 1, NOW, "é" * 81, (), 0, nowhere).terms == {}
    assert entry(0, 1, 1, NOW, "é" * 80, (), 0, nowhere).terms == {"é" * 80: 1}
    assert entry(0, 1, 1, NOW, "?!", (), 0, nowhere).terms == {}


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
