"""100,000 messages and items, and 20,000 rows of all else, made on the server itself: nine tenths of persona `p1`, most
of them in audience 7.
"""

from __future__ import annotations

import contextlib

from core.database.engine import Database

ROWS, FEWER = 100_000, 20_000
LARGE = {"chat_history_cache", "memories"}

# Rows

_ALONE = (
    (
        "audiences (audience_id, persona_id, kind, server_id, ref) VALUES (1, 'p1', 'persona', '', ''), "
        "(4, 'p1', 'server', '', ''), (7, 'p1', 'server', 's1', '')"
    ),
    (
        "search_count (audience_id, kind, term, source, docs) VALUES (7, 0, 'w1723', 0, 9), (7, 0, 'w1234', 0, 9), "
        "(7, 1, 't5', 0, 9), (7, 1, 't101', 0, 9)"
    ),
    "search_vocab (head, part, term) VALUES (0, '234', 'w1234')",
    "search_term (audience_id, term, source, at_us, row_id, tf, words) VALUES (7, 'w1723', 0, 7, 7, 1, 9)",
    "search_tag (audience_id, tag, source, at_us, row_id) VALUES (7, 't5', 0, 7, 7)",
)
"""What the scope of the tests finds when it searches."""


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
    moment, place = at("n * 600"), text("'tg/'", "n % 700")
    who, digest = text("'tg/u'", "n % 3000"), text("'h'", "n % 40000")
    digest = f"CAST({digest} AS BLOB)" if lite else f"LPAD({digest}, 32, '-')"
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
            "message_id": text("'m'", "n"), "participant_key": who, "sender_id": text("'u'", "n % 3000"),
            "triggered_by": who, "message_text": "'a text'", "text_folded": "'a text'",
            "content_hash": digest,
        },
        "memories": {
            "id": "n", "persona_id": persona, "audience_id": audience, "timestamp": moment, "content": "'a text'",
            "text_folded": "'a text'", "tags": "'[]'", "kind": text("'k'", "n % 5"), "participant_key": who,
            "conversation_key": place, "expires_at": f"CASE WHEN n < 50000 THEN NULL ELSE {moment} END",
            "content_hash": digest,
        },
        "ai_diary": {
            "id": "n", "persona_id": persona, "audience_id": audience, "timestamp": moment, "content": "'a text'",
            "text_folded": "'a text'", "context_tags": "'[]'", "interface": "'tg'", "chat_id": text("n % 700", "''"),
        },
        "tag_links": {
            "persona_id": persona, "tag": text("'t'", "n % 400"), "related_tag": text("'r'", "n"), "weight": "1",
        },
        "search_term": {
            "audience_id": audience, "term": text("'w'", "n % 5000"), "source": "n % 3", "at_us": "n", "row_id": "n",
            "tf": "1", "words": "9",
        },
        "search_fresh": {
            "audience_id": audience, "source": "n % 3", "row_id": "n", "at_us": "n", "words": "9",
        },
        "search_tag": {
            "audience_id": audience, "tag": text("'t'", "n % 400"), "source": "n % 2", "at_us": "n", "row_id": "n",
        },
        "search_count": {
            "audience_id": audience, "kind": "n % 2", "term": text("'w'", "n"), "source": "n % 3", "docs": "4",
        },
        "search_vocab": {"head": "1", "part": text("'w'", "n"), "term": text("'w'", "n")},
        "memory_recalls": {"persona_id": persona, "memory_id": "n", "recalled": "1"},
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
        cursor.execute("ANALYZE" if lite else f"ANALYZE TABLE {', '.join(rows)}")
        connection.commit()
