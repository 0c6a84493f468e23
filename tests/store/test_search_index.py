"""The search tables are written with their rows (D14, G16), whatever becomes of these."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from core.database.engine import Database
from core.database.sources import CHAT, MEMORIES
from core.errors import StoreWriteError
from core.index import fresh, indexed
from core.index import table as search_index
from core.index.entries import TERMS_PER_ROW, entry, place_of
from core.memories import table as memories
from core.privacy import table_marks as conversation_marks
from core.scope import Scope
from tests.store.search_world import ago, all_rows, edited, entered, memory, remember, said
from tests.store.world import NOW, index_differences, indexed_rows, verify_index


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
    memories.remove(db, scope.persona, [row])
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


FAULTS = [(fresh, "write"), (search_index, "count")]


@pytest.mark.parametrize(("module", "fault"), FAULTS)
def test_g16_a_fault_in_the_middle_leaves_the_index_as_it_was(
    db: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch, module: Any, fault: str
) -> None:
    """A row and its index are one transaction."""
    memory(db, scope, "before tofu", tags=["food"])
    whole = getattr(module, fault)

    def failing(*arguments: Any) -> None:
        whole(*arguments)
        raise ProvokedError

    monkeypatch.setattr(module, fault, failing)
    with pytest.raises(ProvokedError):
        memory(db, scope, "after tofu", tags=["food", "new"])
    with pytest.raises(ProvokedError):
        said(db, scope, [("after tofu", NOW)])
    monkeypatch.undo()
    assert [row.text for row in all_rows(db, scope.persona)] == ["before tofu"]
    assert verify_index(db) == []


def test_d15_a_statement_that_the_server_refuses_undoes_the_rest(db: Database, scope: Scope) -> None:
    """Not only exceptions of ours."""
    row = memory(db, scope, "tofu")

    def work(connection: Any) -> None:
        indexed.remove(connection, db, MEMORIES, scope.persona, [row])
        connection.exec_driver_sql("INSERT INTO no_such_table VALUES (1)")

    with pytest.raises(StoreWriteError):
        db.transaction(work, source="memories")
    assert held(db, scope, row).terms == {"tofu": 1} and verify_index(db) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_d15_any_mix_of_changes_leaves_no_difference(db: Database, scope: Scope, seed: int) -> None:
    """Inserts, edits, deletes, moves, archiving and rollbacks, in any order."""
    rng = random.Random(seed)
    inside = replace(scope, conversation="tg/1", participant="tg/7", privacy="public")
    vocabulary = ["tofu", "cat", "Straße", "宿題", "x" * 170, "a_b", "❤️", "one", "two", "three"]

    def text() -> str:
        return " ".join(rng.choices(vocabulary, k=rng.randrange(1, 9)))

    def insert() -> None:
        place = rng.choice((scope, inside))
        remember(
            db, place, *({"content": text(), "tags": rng.sample(vocabulary, 2)} for _ in range(rng.randrange(1, 4)))
        )
        entered(db, place, text(), context_tags=("cat",), user_message=text())
        said(db, inside, [(text(), ago(seconds=rng.randrange(99))) for _ in range(5)])

    def of(source: str, most: int) -> list[int]:
        found = [r.id for r in all_rows(db, scope.persona) if r.source == source]
        return rng.sample(found, min(most, len(found)))

    def change() -> None:
        for row in of("chat_history", 4):
            audiences = {r.audience for r in all_rows(db, scope.persona)}
            edited(db, inside, row, text(), sorted(audiences))

    def delete() -> None:
        memories.remove(db, scope.persona, of("memories", 2))
        rows = of("chat_history", 2)
        db.transaction(lambda c: indexed.remove(c, db, CHAT, scope.persona, rows), source="chat_history_cache")

    def move() -> None:
        conversation_marks.set_privacy(db, scope, "tg/1", rng.choice(("restricted", "public")))

    def hide() -> None:
        rows, value = of("memories", 2), rng.choice((NOW, None))
        db.transaction(
            lambda c: indexed.set_hidden(c, db, MEMORIES, scope.persona, rows, archived_at=value), source="memories"
        )

    def undone() -> None:
        rows = of("memories", 3)

        def work(connection: Any) -> None:
            indexed.remove(connection, db, MEMORIES, scope.persona, rows)
            raise ProvokedError

        with pytest.raises(ProvokedError):
            db.transaction(work, source="memories")

    insert()
    for _ in range(25):
        rng.choice((insert, change, delete, move, hide, undone))()
    assert verify_index(db) == []
    assert index_differences(db, scope.persona) == []
