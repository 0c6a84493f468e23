"""SEARCH_INDEX 0: the plain predicates alone, in one statement, and no table of an index is written (T24, T40, D15)."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Connection, bindparam, func, select, text
from sqlalchemy.exc import DBAPIError

from core import chat_history_cache, forgetting
from core import search as searching
from core.audience import table as audiences
from core.audience.rules import AudienceKey
from core.config import Settings
from core.database import sources
from core.database.dialects import ID, Key, Time
from core.database.engine import Database
from core.db import check_server, insert_memory, open_database, reindex, verify_index
from core.index import entries as index_entries
from core.index import indexed, keeping, packing, repair
from core.index import table as search_index
from core.scope import Scope
from core.synth_core_memory import explain_search, preview_search, search_memories
from core.upkeep.ddl import list_tables
from tests.spec.stage import ELSEWHERE, Stage
from tests.store.search_world import (
    RECENCY,
    ago,
    all_rows,
    by_recency,
    edited,
    entered,
    ids,
    matching,
    memory,
    open_quick,
    places,
    remember,
    said,
    viewer_of,
)
from tests.store.test_search_fuzz import World
from tests.store.world import own_scope

OFF = Settings(search_index=False, context_reach=0)
ON = Settings(context_reach=0)
QUERIES = 12


SPARED = pytest.mark.spared("seekdb")
"""The statements themselves are tried there too."""


@pytest.fixture
def db(migrated_url: str) -> Iterator[Database]:
    """A database that keeps no index: what decides stands in it, not in the test's settings."""
    handle = open_quick(migrated_url)
    keeping.turn_off(handle)
    yield handle
    handle.close()


@pytest.fixture
def scope() -> Scope:
    """A persona of the test's own."""
    return own_scope()


def count_index(db: Database) -> dict[str, int]:
    """Return the tables of the index that hold anything, with how many rows."""
    tables = [t for t in list_tables().values() if t.name.startswith("search_") and t.name != "search_progress"]
    assert {t.name for t in tables} >= {t.name for t in keeping.TABLES} and len(tables) > 9
    counted = {t.name: db.read(select(func.count()).select_from(t), source=t.name)[0][0] for t in tables}
    return {name: rows for name, rows in counted.items() if rows}


def run_by_hand(db: Database, source: str, shown: dict[str, Any], audiences: tuple[int, ...], here: str) -> list[int]:
    """Return the ids a shown plain statement gives, with what it says is told by the database put in."""
    values = dict(shown["parameters"]) | {"audiences": list(audiences)}
    if ":now" in shown["statement"]:
        values |= {"now": db.clock(), "here": here}
    kinds: dict[str, Any] = {"now": Time(), "since": Time(), "until": Time(), "here": Key(512), "persona": Key(64)}
    lists = {"audiences": ID, "rows": ID, "without": Key(512)}
    bound = [bindparam(name, expanding=True, type_=kind) for name, kind in lists.items() if name in values]
    bound += [bindparam(name, type_=kind) for name, kind in kinds.items() if name in values]
    said = shown["statement"]
    for name in lists:
        said = said.replace(f"(:{name})", f":{name}")  # `text` puts the parentheses around a list itself
    statement = text(said).bindparams(*bound)
    return [row[0] for row in db.read(statement, values, source=source)]


def test_t24_a_search_without_an_index_sends_one_statement_for_the_rows_of_every_source(
    db: Database, scope: Scope
) -> None:
    """Who looks into the server's log sees the whole search in one place, after the statement about who sees what."""
    memory(db, scope, "Tofu is a cat", tags=["cat"])
    said(db, scope, [("where is the cat?", ago(hours=1))])
    entered(db, scope, "The cat sleeps", ago(hours=2))
    with db.traced() as sent:
        hits = search_memories(tags=["cat"], keywords=["tofu", "sleeps"], db=db, scope=scope, settings=OFF)
    assert len(hits) == 3 and len(sent) == 2
    assert "search_progress" in sent[0] and "search_count" not in sent[0] and "search_vocab" not in sent[0]
    assert all(source.table.name in sent[1] for source in sources.ALL)
    assert "LIKE" in sent[1] and "search_" not in sent[1]
    if db.family == "mysql":
        assert "JSON_CONTAINS" in sent[1]


@SPARED
def test_t39_a_source_that_cannot_be_read_leaves_the_others(db: Database, scope: Scope) -> None:
    """One statement for all of them is no reason to lose all."""
    row = memory(db, scope, "Tofu is a cat")
    with db.engines()[1].connect() as connection:
        connection.execute(text("ALTER TABLE ai_diary RENAME TO elsewhere"))
        connection.commit()
        try:
            hits, report = explain_search(keywords=["tofu"], db=db, scope=scope, settings=OFF)
        finally:
            connection.execute(text("ALTER TABLE elsewhere RENAME TO ai_diary"))
            connection.commit()
    assert ids(hits) == [row] and report["sources"]["ai_diary"]["error"]


@SPARED
def test_t28_the_report_says_that_nothing_is_ranked(db: Database, scope: Scope) -> None:
    """Asked for the best, one gets the newest: nobody should find that out by wondering."""
    old = memory(db, scope, "tofu tofu tofu", ago(days=3))
    new = memory(db, scope, "a long text in which tofu stands once", ago(days=1))
    asked: dict[str, Any] = {"keywords": ["tofu"], "limit": 1, "db": db, "scope": scope}
    hits, report = explain_search(**asked, ranking="relevance", settings=OFF)
    assert ids(hits) == [new] and report["ranking"] == "recency"
    assert any("SEARCH_INDEX is 0" in note for note in report["notes"])
    assert not explain_search(**asked, ranking="recency", settings=OFF)[1]["notes"]
    hits, report = explain_search(**asked, settings=ON)
    assert ids(hits) in ([old], [new]) and any("db reindex" in note for note in report["notes"])


@SPARED
def test_d15_no_table_of_the_index_gets_a_row_whatever_is_done(db: Database) -> None:
    """Saved by every door, edited, deleted, hidden, moved, inserted by SQL, in batches, packed, forgotten."""
    base = own_scope()
    scope = replace(base, conversation="tg/1", participant="tg/7")
    insert_memory("Tofu is a cat", "Ann", "notes", ["cat"], scope, db=db, settings=OFF)
    message = {"message_id": "1", "text": "the cat sleeps", "from_user": {"id": "7", "full_name": "Ann"}}
    chat_history_cache.save_message({**message, "interface_path": "tg/1"}, db=db, scope=scope, settings=OFF)
    remember(db, scope, *({"content": f"row {n} of many"} for n in range(300)))  # so many are packed at once
    row = said(db, scope, [("the dog sleeps", ago(hours=1))])[0]
    edited(
        db, scope, row, "the dog runs", viewer_of(db, scope, searching.prepare(keywords=["x"], settings=OFF)).audiences
    )
    with db.engines()[1].connect() as connection:
        connection.execute(
            text("INSERT INTO memories (persona_id, content) VALUES (:p, 'by hand')"), {"p": scope.persona.encode()}
            if db.family != "sqlite" else {"p": scope.persona},
        )  # fmt: skip
        connection.commit()
    kept = memory(db, base, "the horse sleeps", tags=["horse"])
    gone = memory(db, base, "the cow sleeps", tags=["cow"])

    def change(connection: Connection) -> None:
        direct = audiences.find_or_make(connection, db, base.persona, AudienceKey("direct", "", "tg/8"))
        indexed.move(connection, db, sources.MEMORIES, base.persona, [kept], direct)
        indexed.set_hidden(connection, db, sources.MEMORIES, base.persona, [kept], archived_at=ago(hours=1))
        indexed.set_hidden(connection, db, sources.MEMORIES, base.persona, [kept], archived_at=None)
        indexed.remove(connection, db, sources.MEMORIES, base.persona, [gone])

    db.transaction(change, source="memories")
    entered(db, base, "The mouse sleeps", context_tags=("mouse",))
    assert search_memories(keywords=["by hand"], db=db, scope=scope, settings=OFF)
    assert search_memories(keywords=["dog runs"], db=db, scope=scope, settings=OFF)
    assert packing.pack_all(db) == 0 and count_index(db) == {}
    forgetting.forget(participant="tg/7", db=db, scope=scope, settings=OFF)
    assert not search_memories(keywords=["dog runs"], db=db, scope=scope, settings=OFF)
    assert count_index(db) == {}
    assert verify_index(db) == []
    assert reindex(db, settings=OFF) == 0 and count_index(db) == {}


@pytest.mark.slow
@SPARED
def test_d15_off_and_on_and_off_again_loses_no_row(db: Database, scope: Scope) -> None:
    """Searches are right before, between and after; what was written meanwhile stands in the index made again."""
    settings = {0: OFF, 1: ON}
    written: list[int] = []

    def look() -> None:
        for known in settings.values():
            found = search_memories(keywords=["tofu"], limit=200, db=db, scope=scope, settings=known)
            assert ids(found) == sorted(written, reverse=True)

    for turn, wanted in enumerate((0, 1, 0, 1)):
        written.append(memory(db, scope, f"tofu before {turn}", ago(minutes=50 - 2 * turn)))
        look()
        done = reindex(db, settings=settings[wanted])
        written.append(memory(db, scope, f"tofu after {turn}", ago(minutes=49 - 2 * turn)))
        look()
        assert verify_index(db) == []
        assert bool(count_index(db)) == bool(wanted) and (done > 0) == (turn > 0)


@SPARED
def test_d15_who_opens_a_database_or_writes_with_the_flag_takes_the_index_away_and_who_searches_does_not(
    fresh_migrated_url: str, scope: Scope
) -> None:
    """To try a setting on one search costs nobody his index."""
    open_quick(fresh_migrated_url).close()
    db = open_database(fresh_migrated_url)
    ids_ = [insert_memory(f"tofu {n}", None, None, [], scope, db=db, settings=ON) for n in range(3)]
    before = count_index(db)
    assert before
    search_memories(keywords=["tofu"], db=db, scope=scope, settings=OFF)
    assert count_index(db) == before
    ids_.append(insert_memory("tofu 3", None, None, [], scope, db=db, settings=OFF))
    assert count_index(db) == {}
    reindex(db, settings=ON)
    assert count_index(db)
    db.close()
    db = open_database(fresh_migrated_url, settings={"SEARCH_INDEX": 0})
    assert count_index(db) == {}
    found = search_memories(keywords=["tofu"], db=db, scope=scope, settings={"SEARCH_INDEX": 0})
    assert ids(found) == ids_[::-1]
    db.close()


@SPARED
def test_d15_two_processes_of_different_settings_are_found_out_and_lose_nothing(
    fresh_migrated_url: str, scope: Scope
) -> None:
    """One is told to keep an index and the other to keep none: both find every row, and the check names it."""
    open_quick(fresh_migrated_url).close()
    one, other = open_database(fresh_migrated_url), open_database(fresh_migrated_url, settings={"SEARCH_INDEX": 0})
    written: list[int] = []

    def look() -> None:
        for db, known in ((one, ON), (other, OFF)):
            assert (
                ids(search_memories(keywords=["tofu"], limit=50, db=db, scope=scope, settings=known)) == written[::-1]
            )

    for _ in range(2):
        written.append(insert_memory(f"tofu {len(written)}", None, None, [], scope, db=one, settings=ON))
        look()
        written.append(insert_memory(f"tofu {len(written)}", None, None, [], scope, db=other, settings=OFF))
        look()
        assert count_index(one) == {}
        assert any("SEARCH_INDEX" in finding.there for finding in check_server(one))
        reindex(one, settings=ON)
        look()
        assert count_index(one) and not any(f.what == "search index" for f in check_server(one))
    # What a process left behind that was ended while it emptied the index goes with the next one that looks.
    keeping.turn_off(other)
    left = index_entries.entry(0, 1, 1, None, "left behind")
    one.transaction(lambda c: search_index.add_postings(c, one.family, [left]), source="test")
    assert count_index(one)
    keeping.turn_off(other)
    assert count_index(one) == {}
    one.close()
    other.close()


@SPARED
def test_d15_a_row_written_while_the_index_is_turned_on_is_not_lost(db: Database, scope: Scope) -> None:
    """A writer that leaves its row out holds off the one who turns the index on until its row is there."""
    if db.family == "sqlite":
        pytest.skip("one writer at a time")
    first = memory(db, scope, "tofu zero")
    holding, go_on = threading.Event(), threading.Event()
    made: list[int] = []

    def write(connection: Connection) -> None:
        from core.audience import table_conversations as conversations
        from core.memories import new_item
        from core.memories import table as memories

        row = new_item.read(content="tofu one", now=db.clock())
        made[:] = db.ids.take(1)
        place = conversations.ensure(connection, db, scope, sender=None)
        memories.write(connection, db, scope, [(made[0], row)], place)  # type: ignore[list-item]
        holding.set()
        assert go_on.wait(60)

    writer = threading.Thread(target=lambda: db.transaction(write, source="memories"))
    turner = threading.Thread(target=lambda: reindex(db, settings=ON))
    writer.start()
    assert holding.wait(60)
    turner.start()
    turner.join(0.3)
    assert turner.is_alive()
    go_on.set()
    writer.join(60)
    turner.join(60)
    assert sorted(ids(search_memories(keywords=["tofu"], db=db, scope=scope, settings=ON))) == [first, *made]
    assert verify_index(db) == [] and count_index(db)


@SPARED
def test_d15_an_index_that_is_taken_away_while_it_is_made_is_not_taken_for_made(
    fresh_migrated_url: str, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process opens the database with SEARCH_INDEX 0 between two ranges, or within one: no row is lost."""
    db = open_quick(fresh_migrated_url)
    other = open_quick(fresh_migrated_url)
    keeping.turn_off(db)
    rows = remember(db, scope, *({"content": f"tofu {n}", "timestamp": ago(minutes=n)} for n in range(9)))
    monkeypatch.setattr(repair, "RANGE", 3)
    for turn in ("between", "before the range is written"):
        asked = iter(range(3))
        next_ids = repair._next_ids

        def interfere(*arguments: Any, turn: str = turn, asked: Any = asked, next_ids: Any = next_ids) -> list[int]:
            found: list[int] = next_ids(*arguments)
            if next(asked, 2) == 1:
                keeping.turn_off(other)
                return [] if turn == "between" else found
            return found

        with monkeypatch.context() as patch:
            patch.setattr(repair, "_next_ids", interfere)
            reindex(db, settings=ON)
        assert count_index(db) == {} and keeping.find_unkept(db) == {0, 1, 2}, turn
        assert ids(search_memories(keywords=["tofu"], limit=20, db=db, scope=scope, settings=ON)) == rows, turn
    reindex(db, settings=ON)
    assert ids(search_memories(keywords=["tofu"], limit=20, db=db, scope=scope, settings=ON)) == rows
    assert verify_index(db) == [] and count_index(db)
    db.close()
    other.close()


@SPARED
def test_d15_two_who_make_the_index_at_once_count_no_row_twice(
    db: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operator's command and a script of the night: the second finds the range done and leaves it."""
    remember(db, scope, *({"content": f"tofu {n}", "tags": ["cat"]} for n in range(5)))
    keeping.turn_on(db)
    next_ids, first = repair._next_ids, iter([True])

    def interfere(*arguments: Any) -> list[int]:
        found = next_ids(*arguments)
        if next(first, False):
            repair.backfill(db)
        return found

    monkeypatch.setattr(repair, "_next_ids", interfere)
    repair.backfill(db)
    assert verify_index(db) == [] and count_index(db)


@SPARED
def test_f26_who_is_forgotten_stays_in_no_index_that_was_left_behind(db: Database, scope: Scope) -> None:
    """A process that was ended while it emptied the index leaves words behind; forgetting somebody leaves none."""
    said(db, scope, [("tofu is my secret", ago(hours=1))])
    left = index_entries.entry(2, 1, 1, None, "secret")
    db.transaction(lambda c: search_index.add_postings(c, db.family, [left]), source="test")
    assert count_index(db)
    forgetting.forget(participant="tg/7", db=db, scope=scope, settings=ON)
    assert count_index(db) == {}


@SPARED
def test_l_a_prompt_without_an_index_shows_what_was_found_where_it_was_said(db: Database) -> None:
    """In as many round trips as with one; conversations are named as ever."""
    stage = Stage(db)
    stage.say("The lighthouse is in the north", ELSEWHERE, minutes=90, title="Trips")
    stage.remember("Ann likes the lighthouse", ["lighthouse"])
    asked: dict[str, Any] = {"SEARCH_INDEX": 0, "MEMORY_LABELS": 1, "ENABLE_HISTORY_RECENT": 0}
    stage.explain("Where is the lighthouse?", **asked)
    with db.traced() as sent:
        prompt, report = stage.explain("Where is the lighthouse?", **asked)
    shown = [hit["snippet"] for hit in prompt["context"]["memories"]]
    assert any("in the north" in each for each in shown) and any("Ann likes" in each for each in shown)
    assert len(sent) <= 3 and "LIKE" in sent[1] and not any("search_vocab" in each for each in sent)
    assert any("SEARCH_INDEX is 0" in note for note in report["notes"])
    assert "Trips" in str(prompt["context"]["memories"])
    assert count_index(db) == {}


@SPARED
def test_f_a_database_that_cannot_be_written_is_left_and_searched(
    fresh_migrated_url: str, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SEARCH_INDEX 0 on a copy that may only be read is no reason to refuse it."""
    db = open_quick(fresh_migrated_url)
    row = memory(db, scope, "Tofu is a cat")
    before = count_index(db)

    def refused(*_: Any, **__: Any) -> None:
        raise DBAPIError("UPDATE search_progress", {}, Exception("read only"))

    monkeypatch.setattr(db, "_writing", refused)
    keeping.leave_out(db)
    assert count_index(db) == before
    assert ids(search_memories(keywords=["tofu"], db=db, scope=scope, settings=OFF)) == [row]
    db.close()


@SPARED
def test_t37_t26_what_may_not_be_seen_is_not_found_without_an_index_either(db: Database) -> None:
    """Private, local only, quarantined, excluded, of another persona."""
    base = own_scope()
    direct = Scope(base.persona, "tg/2", "tg/8", privacy="direct")
    hidden = said(db, direct, [("tofu in private", ago(hours=1))], "tg/2")
    memory(db, own_scope(), "tofu of another persona")
    remember(
        db, base, {"content": "tofu on this machine", "local_only": True}, {"content": "tofu?", "quarantined": True}
    )
    row, out = memory(db, base, "tofu for all", ago(hours=2)), memory(db, base, "tofu left out", ago(hours=3))
    asked: dict[str, Any] = {"keywords": ["tofu"], "exclude": [("memories", out)], "db": db, "settings": OFF}
    assert ids(search_memories(**asked, scope=base)) == [row]
    assert ids(search_memories(**asked, scope=direct)) == [*hidden, row]
    assert explain_search(**asked, scope=base)[1]["ranking"] == RECENCY


@pytest.mark.slow
def test_t24_without_an_index_the_hits_are_those_of_recency_mode_and_of_the_shown_predicates(db: Database) -> None:
    """What preview_search prints can be run by hand on the server, and gives what the search gives."""
    world = World(db, random.Random(7))
    rows = all_rows(db, world.persona)
    compared = 0
    for number in range(QUERIES):
        arguments = world.query()
        scope = world.rng.choice(world.views)
        query = searching.prepare(**arguments, settings=OFF)
        if query.is_empty:
            continue
        viewer = viewer_of(db, scope, query, OFF)
        wanted = by_recency(matching(rows, query, viewer), query)
        told = (number, scope, arguments)
        assert places(search_memories(**arguments, db=db, scope=scope, settings=OFF)) == wanted, told
        shown = preview_search(**arguments, db=db, scope=scope, settings=OFF)
        chosen = {
            (name, row_id)
            for name, one in shown.items()
            for row_id in run_by_hand(db, name, one, viewer.audiences, scope.conversation or "")
        }
        by_hand = [row for row in matching(rows, query, viewer) if (row.source, row.id) in chosen]
        assert len(by_hand) == len(chosen), told
        assert by_recency(by_hand, query) == wanted, told
        compared += bool(wanted)
    assert compared >= QUERIES // 3
    assert count_index(db) == {}
