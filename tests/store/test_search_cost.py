"""What a search reads: bounded whatever is looked for, in a table where every row holds every word (T27, T30).

Rows are counted by the server itself, while one call shares its connection.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import BigInteger, Connection, bindparam, insert, literal, literal_column, select, update

from core.database.engine import Database
from core.database.schema import chat_history_cache, search_count, search_stats, search_term
from core.index.table import WORD
from core.scope import Scope
from core.search import candidates as gathering
from tests.store.search_world import explain, open_quick, said
from tests.store.world import NOW, own_scope

ROWS = int(os.environ.get("SEARCH_COST_ROWS", "2500"))
MOST = 20_000
"""Index rows that one search may read in its first round."""
MOST_STEPS = 1_000_000
"""Steps of SQLite's machine for as many: an index row with all that is done to it takes some 20."""
SCRIPTS = "mouse café кошка γάτα قطة חתול बिल्ली 猫科 ねこ 고양이 แมว"
STOP = "the and you for not but all any can her was one our out day get has him his how"
SIGNS = ["%", "!", "?", ".", ","]
WORDS = f"{SCRIPTS} {STOP} cat category concat scatter".split()


@pytest.fixture(scope="module")
def scope() -> Scope:
    """The persona whose rows all hold all words."""
    return own_scope()


@pytest.fixture(scope="module")
def db(migrated_url: str, scope: Scope) -> Iterator[Database]:
    """ROWS messages, of which each holds every word: one is stored as ever, the server makes the others like it."""
    handle = open_quick(migrated_url)
    first = said(handle, scope, [(" ".join([*WORDS, *SIGNS]), NOW)])[0]
    said(handle, scope, [(f"row {n}", NOW - timedelta(minutes=n)) for n in range(1, ROWS)])
    handle.transaction(lambda connection: _like_the_first(connection, first), source="test")
    yield handle
    handle.close()


def _like_the_first(connection: Connection, first: int) -> None:
    c, t, n, s = chat_history_cache.c, search_term.c, search_count.c, search_stats.c
    row = connection.execute(select(c.audience_id, c.text_folded).where(c.id == first)).one()
    held = connection.execute(select(t.term, t.words).where(t.audience_id == row.audience_id, t.row_id == first)).all()
    connection.execute(update(chat_history_cache).where(c.audience_id == row.audience_id).values(text_folded=row[1]))
    # The times come from a posting each row has already.
    said_at = search_term.alias("a")
    columns = [t.audience_id, t.term, t.source, t.at_us, t.row_id, t.tf, t.words, t.local_only]
    rows = (said_at.c.audience_id == row.audience_id, said_at.c.term == bindparam("row", type_=t.term.type))
    for term, words in held:
        times: Any = literal_column("1")
        length: Any = literal_column(str(int(words)))
        each = [said_at.c.audience_id, literal(term, t.term.type), said_at.c.source, said_at.c.at_us, said_at.c.row_id]
        made: Any = select(*each, times, length, literal_column("0")).where(*rows)
        connection.execute(insert(search_term).from_select([column.name for column in columns], made), {"row": "row"})
    terms = [term for term, _ in held]
    here = (n.audience_id == row.audience_id, n.kind == WORD, n.term.in_(terms))
    connection.execute(update(search_count).where(*here).values(docs=ROWS))
    of = s.audience_id == row.audience_id
    connection.execute(update(search_stats).where(of).values(words=s.docs * literal(len(terms), BigInteger())))


def read_rows(db: Database) -> int:
    """Return how many index rows the connection has read."""
    found = db.read_driver("SHOW SESSION STATUS LIKE 'Handler_read%%'", (), source="test")
    if not found:
        pytest.skip("this server does not count the rows it reads")
    return sum(int(row[1]) for row in found if "rnd" not in str(row[0]))


def cost(db: Database, scope: Scope, **arguments: Any) -> tuple[int, int]:
    """Return what a search reads, and how many hits it has."""
    if db.family == "mysql":
        with db.one_call():
            before = read_rows(db)
            hits = explain(db, scope, **arguments)[0]
            return read_rows(db) - before, len(hits)
    steps = [0]

    def count() -> int:
        steps[0] += 1
        return 0

    with db.one_call(), db.engines()[0].connect() as connection:
        driver: Any = connection.connection.driver_connection
        db._local.call.connection = connection
        driver.set_progress_handler(count, 100)
        try:
            hits = explain(db, scope, **arguments)[0]
        finally:
            driver.set_progress_handler(None, 0)
            db._local.call.connection = None
    return steps[0] * 100 * MOST // MOST_STEPS, len(hits)


WORST: dict[str, dict[str, Any]] = {
    "stop words only": {"query": STOP},
    "every script": {"query": SCRIPTS},
    "a message of a megabyte": {"query": (" ".join(WORDS) + " ") * (1_000_000 // len(" ".join(WORDS)))},
    "as many words and tags as there may be": {"keywords": [*WORDS, *"abcdefghijklm"], "tags": WORDS * 2},
    "letters": {"keywords": list("abcdefghijklmnopqrstuvwxyz")},
    "letters of a message": {"query": "cat", "keywords": list("abcdefghijklmnopqrstuvwxyz")},
    "words side by side": {"keywords": [f"{a} {b}" for a, b in zip(STOP.split(), STOP.split()[1:], strict=False)]},
    "signs": {"keywords": [*SIGNS, " "]},
    "with a conversation left out": {"query": " ".join(WORDS), "exclude": ["tg/9"]},
    "two hundred hits": {"query": " ".join(WORDS), "limit": 200},
    "words of a day": {"query": f"What was said yesterday about {STOP}?"},
}


@pytest.mark.engines("sqlite", "mariadb", "mysql")  # seekdb does not count the rows it reads
@pytest.mark.parametrize("name", WORST)
def test_t27_a_search_reads_few_index_rows_whatever_the_words(db: Database, scope: Scope, name: str) -> None:
    """All rows hold all words, so that what is not bounded reads words times rows."""
    read, _ = cost(db, scope, **WORST[name])

    assert 0 < read <= MOST


@pytest.mark.engines("sqlite", "mariadb")
def test_t27_the_count_sees_what_is_not_bounded(db: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    """A count that always is small would show nothing."""
    monkeypatch.setattr(gathering, "BUDGET_OF_MESSAGE", 10**6)
    monkeypatch.setattr(gathering, "MOST_INDEX_ROWS", 10**6)
    assert cost(db, scope, query=STOP, keywords=WORDS)[0] > MOST
