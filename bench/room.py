"""How much room the tables of a database take, for each row that somebody said."""

from __future__ import annotations

from collections.abc import Mapping

from core.database.engine import Database
from core.database.schema import TABLES
from core.upkeep import ddl

_SERVER = (
    "SELECT table_name, data_length + index_length FROM information_schema.tables WHERE table_schema = DATABASE() "
    "AND table_type = 'BASE TABLE'"
)
_SQLITE = (
    "SELECT COALESCE(m.tbl_name, s.name), SUM(s.pgsize) FROM dbstat AS s LEFT JOIN sqlite_master AS m "
    "ON m.name = s.name GROUP BY 1"
)


def bytes_by_table(db: Database) -> dict[str, int]:
    """Return the bytes of each table with its indexes, the largest first; tables that hold nothing are left out."""
    if db.family == "sqlite":
        rows = db.read(_SQLITE, (), source="dbstat")
    else:
        for name in TABLES:
            db.read(f"ANALYZE TABLE {ddl.quote(name, db.family)}", (), source=name)
        rows = db.read(_SERVER, (), source="information_schema.tables")
    found = {str(row[0]): int(row[1] or 0) for row in rows}
    return {name: found[name] for name in sorted(found, key=lambda one: -found[one]) if found[name]}


def describe_room(sizes: Mapping[str, int], rows: int, text_bytes: int) -> str:
    """Return one line: bytes a row in all and over the text itself, and those of tables that hold a hundredth of it.

    >>> describe_room({"chat": 3000, "search_block": 1000}, 10, 500)
    '400 bytes a row, 350 over its text: chat 300, search_block 100'
    """
    total = sum(sizes.values())
    shown = ", ".join(f"{name} {size / rows:,.0f}" for name, size in sizes.items() if 100 * size >= total)
    return f"{total / rows:,.0f} bytes a row, {(total - text_bytes) / rows:,.0f} over its text: {shown}"
