"""The search tables are written with their rows (D14, G16), whatever becomes of these."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from core.database.engine import Database
from core.database.schema import search_count, search_stats, search_tag, search_term, search_vocab
from core.database.sources import CHAT, MEMORIES
from core.errors import StoreWriteError
from core.index import indexed
from core.index import table as search_index
from core.index.entries import TERMS_PER_ROW, entry
from core.index.lookups import UNLISTED
from core.memories import table as memories
from core.privacy import table_marks as conversation_marks
from core.scope import Scope
from tests.index_check import verify_index
from tests.store.search_world import ago, all_rows, edited, entered, memory, remember, said
from tests.store.world import NOW, index_differences


def stored(db: Database, table: Any, row_id: int) -> list[Any]:
    """Return the postings of a row."""
    return list(db.read(table.select().where(table.c.row_id == row_id), source=table.name))


def test_d14_a_row_has_a_posting_for_each_tag_and_word(db: Database, scope: Scope) -> None:
    """A memory with tags [cat] and text `my cat`; deleted, nothing of it is left."""
    row = memory(db, scope, "my cat", tags=["cat"])
    assert [r.tag for r in stored(db, search_tag, row)] == ["cat"]
    assert sorted(r.term for r in stored(db, search_term, row)) == ["cat", "my"]
    assert {r.words for r in stored(db, search_term, row)} == {2}
    memories.remove(db, scope.persona, [row])
    assert stored(db, search_tag, row) == [] == stored(db, search_term, row)
    mine = {r.audience_id for r in db.read(search_stats.select(), source="search_stats") if r.docs}
    assert not [r for r in db.read(search_count.select(), source="search_count") if r.audience_id not in mine]
    assert verify_index(db) == []


def test_d14_the_vocabulary_knows_a_word_by_its_endings(db: Database, scope: Scope) -> None:
    """That is how words inside words are found."""
    memory(db, scope, "xqylo")
    rows = db.read(search_vocab.select().where(search_vocab.c.term == "xqylo"), source="search_vocab")
    assert sorted((r.head, r.part) for r in rows) == [(0, "qylo"), (0, "ylo"), (1, "xqylo")]
    memory(db, scope, "쥰한국")
    rows = db.read(search_vocab.select().where(search_vocab.c.term == "쥰한국"), source="search_vocab")
    assert sorted((r.head, r.part) for r in rows) == [(0, "국"), (0, "한국"), (1, "쥰한국")]
    memory(db, scope, "xq42")
    rows = db.read(search_vocab.select().where(search_vocab.c.term == "xq42"), source="search_vocab")
    assert sorted((r.head, r.part) for r in rows) == [(0, "2"), (0, "42"), (0, "q42"), (1, "xq42")]


def test_d14_a_row_of_very_many_words_is_marked() -> None:
    """So is one with a word that is too long: what is beyond is compared."""
    many = entry(0, 1, 1, NOW, " ".join(f"w{n}" for n in range(TERMS_PER_ROW + 1)))
    assert len(many.terms) == TERMS_PER_ROW + 1 and many.terms[UNLISTED] == 1 and many.words == TERMS_PER_ROW + 1
    assert entry(0, 1, 1, NOW, "é" * 81).terms == {UNLISTED: 1}
    assert entry(0, 1, 1, NOW, "é" * 80).terms == {"é" * 80: 1}
    assert entry(0, 1, 1, NOW, "?!").terms == {}


class ProvokedError(Exception):
    """Raised inside a transaction to see that all of it is undone."""


FAULTS = ["insert_postings", "teach"]


@pytest.mark.parametrize("fault", FAULTS)
def test_g16_a_fault_in_the_middle_leaves_the_index_as_it_was(
    db: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """A row and its index are one transaction."""
    memory(db, scope, "before tofu", tags=["food"])
    whole = getattr(search_index, fault)

    def failing(*arguments: Any) -> None:
        whole(*arguments)
        raise ProvokedError

    monkeypatch.setattr(search_index, fault, failing)
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
    assert len(stored(db, search_term, row)) == 1 and verify_index(db) == []


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
