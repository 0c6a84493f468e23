"""The generated databases are what the package itself would have written; else the figures would mean nothing."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from core import db as core_db
from core.database.engine import Database
from core.index import entries as index_entries
from core.text.folding import fold
from core.text.hits import content_digest
from tests.bench.generator import CHAT, COLUMNS, DIARY, MEMORIES, NOW, SERVER_AUDIENCE, Generator
from tests.bench.loading import load_sqlite, remove_former
from tests.bench.messages import messages
from tests.bench.room import bytes_by_table
from tests.bench.words import vocabulary, zipf_table
from tests.store.world import verify_index

SIZE = 200


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a small size, with a small vocabulary."""
    folder = tmp_path_factory.mktemp("generated")
    Generator(SIZE, words=3000).write(folder)
    return folder


def lines(folder: Path, table: str) -> list[dict[str, str]]:
    """Return the rows of a table by column."""
    text = (folder / f"{table}.tsv").read_text(encoding="utf-8")
    return [dict(zip(COLUMNS[table], line.split("\t"), strict=True)) for line in text.splitlines()]


def test_every_file_is_the_same_every_time(files: Path, tmp_path: Path) -> None:
    """Figures of two runs can be compared only if the rows are equal."""
    Generator(SIZE, words=3000).write(tmp_path)
    for table in COLUMNS:
        assert (tmp_path / f"{table}.tsv").read_bytes() == (files / f"{table}.tsv").read_bytes(), table


def test_texts_are_folded_and_hashed_as_the_package_does_it(files: Path) -> None:
    """The generator computes both on its own, for speed."""
    for table, text in (("memories", "content"), ("chat_history_cache", "message_text")):
        rows = lines(files, table)
        assert len(rows) == SIZE
        for row in rows:
            assert row["text_folded"] == fold(row[text])
            assert row["content_hash"] == content_digest(row[text]).hex()


def test_search_tables_hold_what_entry_gives(files: Path) -> None:
    """Every posting of every row, and no other; in the order of the primary keys, without which loading is slow."""
    wanted: Counter[tuple[object, ...]] = Counter()
    for number, table in ((MEMORIES, "memories"), (DIARY, "ai_diary"), (CHAT, "chat_history_cache")):
        for row in lines(files, table):
            e = index_entries.entry(number, int(row["id"]), int(row["audience_id"]), NOW, row["text_folded"])
            wanted.update((e.audience_id, term, number, e.row_id, times, e.words) for term, times in e.terms.items())
    found = lines(files, "search_term")
    keys = [(int(r["audience_id"]), r["term"], int(r["source"]), int(r["at_us"]), int(r["row_id"])) for r in found]
    assert keys == sorted(keys)
    there = Counter((k[0], k[1], k[2], k[4], int(r["tf"]), int(r["words"])) for k, r in zip(keys, found, strict=True))
    assert there == wanted


def test_a_loaded_database_has_a_perfect_index(files: Path, tmp_path: Path) -> None:
    """The package's own check finds no difference in any search table."""
    url = f"sqlite:///{tmp_path / 'loaded.db'}"
    db = Database(url, clock=lambda: NOW)
    core_db.migrate(db)
    db.close()
    load_sqlite(tmp_path / "loaded.db", files)
    assert verify_index(db) == []
    db.close()


def test_most_rows_are_seen_and_words_follow_zipf(files: Path) -> None:
    """What is measured is a large audience; rare and common words differ by orders of magnitude."""
    rows = lines(files, "chat_history_cache")
    seen = sum(row["audience_id"] == str(SERVER_AUDIENCE) for row in rows)
    assert seen > 0.85 * SIZE
    table = zipf_table(1000, 100_000)
    counts = Counter(table)
    assert counts[0] > 90 * counts[99] > 0


def test_measured_messages_have_three_different_tags_and_words() -> None:
    """A search of three tags and three words is what is promised."""
    for asked in messages(200):
        assert len({*asked.tags, *asked.words}) >= 5
        assert all(word in asked.text for word in (*asked.tags, *asked.words))


def test_vocabulary_is_made_of_different_words_of_letters() -> None:
    """A word with another sign would be indexed as two."""
    words = vocabulary(5000)
    assert len(set(words)) == 5000
    assert all(word.isascii() and word.isalpha() and len(word) >= 4 for word in words)


def test_only_former_databases_are_removed(tmp_path: Path) -> None:
    """The environments of the peers, and whatever else somebody put beside, stay."""
    current = tmp_path / "v2-0123456789"
    for name in ("v1-0123456789", current.name, "peers", "venv", "v1-notes"):
        (tmp_path / name).mkdir()
    remove_former(tmp_path, current)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["peers", "v1-notes", current.name, "venv"]


def test_the_room_of_each_table_is_told(tmp_path: Path) -> None:
    """All of a database is somebody's."""
    db = core_db.open_database(f"sqlite:///{tmp_path}/room.db")
    found = bytes_by_table(db)
    pages, size = (db.read_driver(f"PRAGMA {what}", (), source="test")[0][0] for what in ("page_count", "page_size"))
    db.close()
    assert {"memories", "search_block"} <= set(found)
    assert sum(found.values()) == pages * size
