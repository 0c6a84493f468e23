"""F85: reading a stored value never fails; one bad row never hides others, and `db check` names it."""

import itertools
import re
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from core import chat_history_cache, lifelong, prompt_engine, transfer
from core.database import schema, schema_base, stored_values
from core.database.dialects import Decimal, JsonText, Key, StoredBytes, StoredText, Time, Whole
from core.database.engine import Database
from core.db import check_server, insert_memory, open_database
from core.errors import ItemNotFoundError, MessageError, TransferError
from core.scope import Scope
from core.synth_core_memory import search_memories
from tests.databases import traced, watched
from tests.isolation.readers import READERS
from tests.isolation.world import CANARY, World

HERE = Scope("default", "tg/1", "tg/ann", privacy="public")
ASKED = {"text": "What about tea?", "interface_path": "tg/1", "sender_id": "ann", "username": "ann"}
BAD = {
    "bytes": (b"\xff\xfe tea", (StoredText, Key, JsonText, Time)),
    "text that is not UTF-8": (b"\xc3 tea", (StoredText, Key, JsonText, Time)),
    "the last time": ("9999-12-31T23:59:59-12:00", (Time,)),
    "the first time": ("0001-01-01T00:00:00+12:00", (Time,)),
    "no time": ("soon", (Time,)),
    "half a character": ('["\\ud800 tea"]', (JsonText,)),
    "half a character in an object": ('{"\\udfff": "\\ud800"}', (JsonText,)),
    "broken JSON": ("[1, ", (JsonText,)),
    "deep JSON": ("[" * 100_000, (JsonText,)),
}
TYPED = [
    (table, column)
    for table in schema_base.metadata.sorted_tables
    for column in table.columns
    if isinstance(column.type, (Whole, Decimal, StoredBytes)) and not table.name.startswith("search_")
]
COLUMNS = [
    (table.name, column.name, name)
    for table in (schema.memories, schema.ai_diary, schema.chat_history_cache)
    for column in table.columns
    for name, (_, kinds) in BAD.items()
    if isinstance(column.type, kinds) and column.name != "persona_id"
]


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("f85") / "origin.db"
    said = {"from": "Ann", "sender_id": "ann", "interface_path": "tg/1"}
    with opened(path) as db:
        for number in range(2):
            insert_memory(f"memory {number} of tea", "ann", "chat", ["tea"], HERE, db=db, metadata={"a": 1})
            chat_history_cache.save_message({**said, "text": f"message {number} of tea"}, db=db, scope=HERE)
    return path


@pytest.fixture
def file(origin: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(origin, tmp_path / "own.db"))


def opened(path: Path) -> closing[Database]:
    return closing(open_database(f"sqlite:///{path}"))


def spoil(path: Path, table: str, column: str, value: Any) -> None:
    """Write a value into the first row as another program may; text that is not UTF-8 as text and as bytes."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        put = "CAST(? AS TEXT)" if isinstance(value, bytes) and b"\xc3" in value else "?"
        connection.execute(f"UPDATE {table} SET {column} = {put} WHERE id = (SELECT MIN(id) FROM {table})", (value,))


@pytest.mark.parametrize(("table", "column", "name"), [one for one in COLUMNS if one[0] != "ai_diary"])
def test_f85_one_unreadable_value_hides_no_other_row(file: Path, table: str, column: str, name: str) -> None:
    spoil(file, table, column, BAD[name][0])
    with opened(file) as db:
        for ranking in ("relevance", "recency"):
            given: dict[str, Any] = {"db": db, "scope": HERE, "settings": {"MEMORY_RANKING": ranking}}
            said = {hit["snippet"] for hit in search_memories(keywords=["tea"], include_chat=True, **given)}
            assert {"memory 1 of tea", "message 1 of tea"} <= said, (ranking, said)
        assert "memory 1 of tea" in str(prompt_engine.build_json_prompt(ASKED, db=db, scope=HERE))


@pytest.mark.parametrize("value", ["abc", b"\xff\xfe"])
def test_f85_an_export_has_every_item_beside_one_without_a_readable_importance(file: Path, value: Any) -> None:
    spoil(file, "memories", "importance", value)
    with opened(file) as db:
        text = "".join(transfer.export_items(db=db, scope=HERE))
        assert "memory 0 of tea" in text and "memory 1 of tea" in text
        assert {item["importance"] for item in lifelong.search_items(db=db, scope=HERE)["items"]} == {0.0, 0.5}


@pytest.mark.parametrize(
    ("table", "column"), [("memories", "content"), ("memories", "metadata"), ("chat_history_cache", "timestamp")]
)
def test_f85_db_check_names_the_row(file: Path, table: str, column: str) -> None:
    spoil(file, table, column, b"\xc3 secret tea")
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(f"UPDATE {table} SET id = -5 WHERE id = (SELECT MIN(id) FROM {table})")
    with opened(file) as db:
        (found,) = [one for one in check_server(db) if one.where == f"{table}.{column}"]
    assert found.what.endswith("id -5") and "secret" not in str(found)


def test_f85_the_report_of_a_prompt_counts_what_was_repaired(file: Path) -> None:
    spoil(file, "memories", "content", b"\xc3 tea")
    with opened(file) as db:
        _, report = prompt_engine.explain_json_prompt(ASKED, db=db, scope=HERE)
    assert [note for note in report["notes"] if "could not be read as" in note and "db check" in note]


WRONG = ("abc", b"\xff\xfe", 1.5, 7)
EXPLAINED = {"core.prompt_engine.build_json_prompt", "core.prompt_engine.build_messages"}
"""Readers that give a part of what `explain_json_prompt` and `explain_messages` give, by the same steps."""
LISTED = ("memories", "chat_history_cache", "ai_diary", "short_term_memories", "conversations")


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, Path]]:
    path = tmp_path_factory.mktemp("f85") / "own.db"
    with opened(path) as db:
        yield World(db, 1), path


@pytest.mark.slow
def test_f85_a_value_of_a_wrong_type_fails_no_reader(planted: tuple[World, Path]) -> None:
    world, path = planted
    asking = next(a for a in world.askings if a.asker.kind == "direct" and a.asker.person)
    place = next(p for p in world.places if p.conversation == asking.scope.conversation)

    def read(names: Iterable[str]) -> set[str]:
        shown = ""
        for name in names:
            with suppress(MessageError, ItemNotFoundError, TransferError):
                shown += repr(READERS[name].call(world, asking, place))
        return set(CANARY.findall(shown))

    before: dict[str, set[str]] = {}
    sent: dict[str, list[set[str]]] = {}
    for name in READERS.keys() - EXPLAINED:
        world.db.caches.clear()
        with traced(world.db) as statements, watched(world.db, lambda sql, *_, to=statements: to.append(sql)):
            before[name] = read([name])
        sent[name] = [set(re.findall(r"\w+", statement)) for statement in statements]
    wrong = itertools.cycle(WRONG)
    with closing(sqlite3.connect(path)) as file, closing(sqlite3.connect(":memory:")) as kept:
        file.execute("PRAGMA ignore_check_constraints = ON")
        file.backup(kept)
        for table, column in TYPED:
            named = {table.name, column.name}
            concerned = [name for name in sent if any(named <= words for words in sent[name])]
            known = set().union(*(before[name] for name in concerned))
            keys = ", ".join(each.name for each in table.primary_key)
            first = f" WHERE ({keys}) = (SELECT {keys} FROM {table.name} ORDER BY {keys} LIMIT 1)"
            for where in (first, "") if table.name in LISTED else ("",):
                value = next(wrong)
                with suppress(sqlite3.IntegrityError), file:  # the type of a row's number is checked, keys are unique
                    file.execute(f"UPDATE {table.name} SET {column.name} = ?{where}", (value,))
                world.db.caches.clear()
                lost = {world.origins[canary] for canary in known - read(concerned)}
                assert len(lost) <= 1 or not where, (table.name, column.name, value)
                kept.backup(file)


def test_f85_values_are_repaired_in_one_place() -> None:
    before = stored_values.count_repairs()
    assert stored_values.read_text(b"\xfftea") == "\ufffdtea"
    assert stored_values.read_json('["\\ud800a"]') == ["\ufffda"] and stored_values.read_json("[") is None
    assert stored_values.read_number(b"abc") is None
    late = stored_values.read_time("9999-12-31T23:59:59-12:00")
    assert late is not None and late.year == 9998 and stored_values.read_time("soon") is None
    assert stored_values.read_bytes("abc") == b"" and stored_values.read_bytes(b"\xff") == b"\xff"
    assert [stored_values.read_whole(value) for value in ("abc", b"\xff", 1.5, "7", None)] == [0, 0, 1, 7, None]
    assert [stored_values.read_whole(value) for value in (1e308, "9" * 20, -1e19)] == [0, 0, 0]
    assert stored_values.count_repairs() - before == 14
    assert stored_values.read_time("2026-01-02 03:04:05.000006") == datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
    assert stored_values.read_json('{"a": ["\\u00e9"]}') == {"a": ["é"]}
    assert [stored_values.read_number(value) for value in (None, 1, 0.5, "7", "0.5")] == [None, 1, 0.5, 7, 0.5]
    assert stored_values.count_repairs() - before == 14
