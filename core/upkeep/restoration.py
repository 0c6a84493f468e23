"""Puts back what the schema has and a database has not: tables, columns, indexes dropped by hand.

Types and collations that differ are left to the operator: `check_server` names the statement. Called by `migrating`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, Table, bindparam, select, update

from ..database.bulk import chunks
from ..database.engine import Database
from ..database.schema import conversations
from ..database.sources import ALL
from . import ddl
from .adopted_rows import complete, conversation_of
from .inspection import Difference, FoundTable, differences

RANGE = 500
WORKED_OUT = frozenset({"text_folded", "content_hash", "audience_id"})
"""Columns whose values follow from the rest of the row."""
_MENDED = ("table", "column", "index")


def missing(found: Mapping[str, FoundTable], family: str) -> list[Difference]:
    """Return what `restore` would put back."""
    return [one for one in differences(found, family) if one.kind in _MENDED]


def restore(db: Database, listed: Iterable[Difference], keep_lease: Callable[[], None]) -> list[str]:
    """Put back everything listed, one DDL after the other, and return a sentence for each.

    Raises:
        StoreWriteError: the server refused one; those before it stay, and `migrate` goes on from there.
    """
    said: list[str] = []
    columns: dict[str, set[str]] = {}
    for one in listed:
        keep_lease()
        table = ddl.tables()[one.table]
        steps = ddl.create_all(table, db.family) if one.kind == "table" else [one.statement]
        for step in steps:
            ddl.run(db, step, source=f"the {one.kind} {one.table}.{one.name}" if one.kind != "table" else one.table)
        if one.kind == "column":
            columns.setdefault(one.table, set()).add(one.name)
        shown = one.table if one.kind == "table" else f"{one.table}.{one.name}"
        said.append(f"restored the {one.kind} {shown}")
    for name, restored in columns.items():
        said += _refill(db, name, restored, keep_lease)
    return said


def _refill(db: Database, name: str, restored: set[str], keep_lease: Callable[[], None]) -> list[str]:
    """Fill restored columns that follow from the row: folded text, digest, lists, audience of a known conversation."""
    if name not in {source.table.name for source in ALL}:
        return []
    table = ddl.tables()[name]
    lists = {c for c in restored if c in ("tags", "emotions", "context_tags", "involved_users")}
    columns = sorted(restored & WORKED_OUT | lists)
    if not columns:
        return []
    last, done = None, 0
    while True:
        chosen = select(table).order_by(table.c.id).limit(RANGE)
        rows = db.read(chosen if last is None else chosen.where(table.c.id > last), source=name)
        if not rows:
            return [f"filled {name}.{', '.join(columns)} in {done} rows"]
        last, done = rows[-1].id, done + len(rows)
        _write(db, table, columns, [dict(row._mapping) for row in rows])
        keep_lease()


def _write(db: Database, table: Table, columns: list[str], rows: list[dict[str, Any]]) -> None:
    for row in rows:
        complete(table, row)
    change = (
        update(table)
        .where(table.c.persona_id == bindparam("of_persona"), table.c.id == bindparam("of_row"))
        .values({name: bindparam(f"new_{name}") for name in columns})
    )

    def work(connection: Connection) -> None:
        if "audience_id" in columns:
            _audiences(connection, table, rows)
        values = [
            {"of_persona": row["persona_id"], "of_row": row["id"]} | {f"new_{name}": row[name] for name in columns}
            for row in rows
        ]
        connection.execute(change, values)

    db.transaction(work, source=table.name)


def _audiences(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    """Give rows of known conversations their audience back. Others keep 0, which nobody sees: a guess may show them."""
    c = conversations.c
    keys = sorted({key for row in rows if (key := conversation_of(table.name, row))})
    known: dict[tuple[str, str], int] = {}
    for part in chunks(keys, RANGE):
        chosen = select(c.persona_id, c.conversation_key, c.audience_id).where(
            c.persona_id.in_(sorted({row["persona_id"] for row in rows})), c.conversation_key.in_(part)
        )
        known |= {(row[0], row[1]): row[2] for row in connection.execute(chosen)}
    for row in rows:
        row["audience_id"] = known.get((row["persona_id"], conversation_of(table.name, row)), 0)
