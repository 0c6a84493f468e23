"""30,000 messages and items, and 6,000 rows of all else, made on the server itself: nine tenths of persona `p1`, most
of them in audience 7.
"""

import contextlib
from collections.abc import Iterator

from core.database.engine import Database
from core.database.sources import MEMORIES
from core.index.entries import Calendar, Stored, place_of
from core.index.packing import pack_entries
from core.index.shapes import Entry

ROWS, FEWER = 30_000, 6_000
LARGE = {"chat_history_cache", "memories"}

_ALONE = (
    (
        "audiences (audience_id, persona_id, kind, server_id, ref) VALUES (1, 'p1', 'persona', '', ''), "
        "(4, 'p1', 'server', '', ''), (7, 'p1', 'server', 's1', '')"
    ),
)
"""What the scope of the tests finds when it searches."""


def _entries() -> Iterator[Entry]:
    """Yield rows that the scope of the tests finds by the index."""
    for n, word in enumerate(("w1723", "w1234", "x"), 200_000):
        yield Stored(n, 7, None, word, ["t5", "t101"], 0, place_of(0, None)).entry(MEMORIES, Calendar())


def fill(db: Database) -> None:
    """Make the rows on the server itself: sending so many would take longer than all the rest."""
    lite = db.family == "sqlite"

    def text(*parts: str) -> str:
        return " || ".join(f"({part})" for part in parts) if lite else f"CONCAT({', '.join(parts)})"

    def at(number: str) -> str:
        if lite:
            return f"strftime('%Y-%m-%d %H:%M:%S', '2024-01-01', ({number}) || ' seconds') || '.000000'"
        return f"DATE_ADD('2024-01-01', INTERVAL ({number}) SECOND)"

    persona, audience = "CASE WHEN n % 10 = 0 THEN 'p2' ELSE 'p1' END", "CASE WHEN n % 5 = 0 THEN n % 200 ELSE 7 END"
    moment, place = at("n * 2000"), text("'tg/'", "n % 700")
    who, digest = text("'tg/u'", "n % 900"), text("'h'", "n % 12000")
    digest = f"CAST({digest} AS BLOB)" if lite else f"LPAD({digest}, 32, '-')"
    content = '\'[0,9,0,"",["","",""],{"w1":1},[]]\''
    if lite:
        content = f"CAST({content} AS BLOB)"
    rows: dict[str, dict[str, str]] = {
        "conversations": {
            "id": "n", "persona_id": persona, "audience_id": audience, "conversation_key": text("'tg/'", "n"),
            "interface": "'tg'", "chat_id": text("n", "''"), "last_message_at": moment,
            "server_id": text("'s'", "n % 6"),
        },
        "participants": {
            "persona_id": persona, "participant_key": text("'tg/u'", "n"), "person_key": text("'tg/u'", "n"),
        },
        "chat_history_cache": {
            "id": "n", "persona_id": persona, "audience_id": audience, "interface_path": place, "timestamp": moment,
            "message_id": text("'m'", "n"), "participant_key": who, "sender_id": text("'u'", "n % 900"),
            "triggered_by": who, "message_text": "'a text'", "text_folded": "'a text'", "indexed": "1",
            "content_hash": digest,
        },
        "memories": {
            "id": "n", "persona_id": persona, "audience_id": audience, "timestamp": moment, "content": "'a text'",
            "text_folded": "'a text'", "indexed": "1", "tags": "'[]'",
            "kind": text("'k'", "n % 5"), "participant_key": who,
            "conversation_key": place, "expires_at": f"CASE WHEN n < 15000 THEN NULL ELSE {moment} END",
            "content_hash": digest,
        },
        "ai_diary": {
            "id": "n", "persona_id": persona, "audience_id": audience, "timestamp": moment, "content": "'a text'",
            "text_folded": "'a text'", "indexed": "1", "context_tags": "'[]'",
            "interface": "'tg'", "chat_id": text("n % 700", "''"),
        },
        "tag_links": {
            "persona_id": persona, "tag": text("'t'", "n % 400"), "related_tag": text("'r'", "n"), "weight": "1",
        },
        "search_fresh": {
            "audience_id": audience, "source": "n % 3", "row_id": "n", "digest": "n",
            "content": content,
        },
        "search_segment": {
            "audience_id": "n + 1000", "segment_id": "1", "stamp": "n", "docs": "128", "head": "'a'", "terms": "'a'",
        },
        "search_block": {
            "audience_id": audience, "segment_id": "9", "kind": "n % 2", "term": text("'w'", "n"), "postings": "'aaa'",
        },
        "tags": {"persona_id": persona, "tag": text("'t'", "n"), "uses": "1"},
    }  # fmt: skip
    few = {name: FEWER for name in rows if name not in LARGE} | {"tags": 400}
    with contextlib.closing(db.engines()[1].raw_connection()) as connection:
        cursor = connection.cursor()
        if lite:
            cursor.execute("PRAGMA synchronous = OFF")
            numbers = f"WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {ROWS}) "
        else:
            numbers = ""
            cursor.execute("CREATE TABLE digits (d INT PRIMARY KEY)")
            cursor.execute("INSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)")
            cursor.execute("CREATE TABLE numbers (n INT PRIMARY KEY)")
            tens = " + ".join(f"d{i}.d * {10**i}" for i in range(5))
            cursor.execute(f"INSERT INTO numbers SELECT {tens} + 1 FROM {', '.join(f'digits d{i}' for i in range(5))}")
        for table, columns in rows.items():
            cursor.execute(
                f"INSERT INTO {table} ({', '.join(columns)}) {numbers}"
                f"SELECT {', '.join(columns.values())} FROM numbers WHERE n <= {few.get(table, ROWS)}"
            )
            connection.commit()
        for row in _ALONE:
            cursor.execute(f"INSERT INTO {row}")
        connection.commit()
    db.transaction(lambda c: pack_entries(c, 7, list(_entries())), source="tests")
    with contextlib.closing(db.engines()[1].raw_connection()) as connection:
        cursor = connection.cursor()
        cursor.execute("ANALYZE" if lite else f"ANALYZE TABLE {', '.join(rows)}")
        connection.commit()
