"""The texts an item had before it was changed (table item_history).

Written in the transaction of the change, by whoever makes it; read by the doors that show what became of an item.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, select

from ..database import rows
from ..database.bulk import chunks
from ..database.engine import Database
from ..database.schema_recent import item_history

_C = item_history.c
NAME_CHARS = 100


class OldText(NamedTuple):
    """One text an item had."""

    item_id: int
    text: str
    reason: str
    changed_by: str
    at: datetime | None


def note(
    connection: Connection,
    db: Database,
    persona: str,
    table: str,
    changes: Iterable[tuple[int, str, str]],
    *,
    changed_by: str,
    now: datetime,
) -> None:
    """Keep what items said before a change, within the transaction that makes it.

    Args:
        table: where the items stand.
        changes: id, text as it was, and the reason, which is cut to its column.
        changed_by: `model`, `file`, or the name of whoever did it.
    """
    made = list(changes)
    entries = [
        {
            "id": row_id,
            "persona_id": persona,
            "item_table": table,
            "item_id": item_id,
            "old_text": text,
            "reason": reason[:NAME_CHARS],
            "changed_by": changed_by[:NAME_CHARS],
            "changed_at": now,
        }
        for row_id, (item_id, text, reason) in zip(db.ids.take(len(made)), made, strict=True)
    ]
    rows.insert_rows(connection, item_history, entries)


_OF = (
    select(_C.item_id, _C.old_text, _C.reason, _C.changed_by, _C.changed_at)
    .where(
        _C.persona_id == bindparam("persona"),
        _C.item_table == bindparam("table"),
        _C.item_id.in_(bindparam("ids", expanding=True)),
    )
    .order_by(_C.id)
)


def of(db: Database, persona: str, table: str, ids: Sequence[int]) -> list[OldText]:
    """Return the texts that items had, in the order they were changed.

    Raises:
        StoreReadError: nothing could be read.
    """
    found: list[OldText] = []
    for part in chunks(sorted(set(ids)), 500):
        values = {"persona": persona, "table": table, "ids": part}
        found += [OldText(*row) for row in db.read(_OF, values, source="item_history")]
    return found
