"""Alternatives of a message (table message_alternatives): other versions of the same reply, one of them current."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, bindparam, case, select, update

from ..database import rows as values
from ..database.readers import Reader
from ..database.schema import message_alternatives
from . import table_lines, table_recaps

_A = message_alternatives.c
_ONE = (_A.persona_id == bindparam("persona"), _A.message_row == bindparam("row"))


@dataclass(frozen=True, slots=True)
class Alternative:
    """One version of a message."""

    number: int
    text: str
    is_current: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)


_ALL = select(_A.alternative, _A.text, _A.is_current, _A.metadata).where(*_ONE).order_by(_A.alternative)


def read_alternatives(reader: Reader, persona: str, row_id: int) -> list[Alternative]:
    """Return the alternatives of a message by number; none for a message that was said once."""
    rows = reader(_ALL, {"persona": persona, "row": row_id})
    return [Alternative(r.alternative, r.text, bool(r.is_current), values.read_object(r.metadata) or {}) for r in rows]


def insert_alternatives(connection: Connection, persona: str, row_id: int, alternatives: Sequence[Alternative]) -> None:
    """Store alternatives of a message; those numbers must be free."""
    ready = [
        {
            "persona_id": persona,
            "message_row": row_id,
            "alternative": each.number,
            "text": each.text,
            "is_current": int(each.is_current),
            "metadata": dict(each.metadata) or None,
        }
        for each in alternatives
    ]
    values.insert_rows(connection, message_alternatives, ready)


def set_current(connection: Connection, persona: str, row_id: int, number: int) -> None:
    """Make one alternative of a message the current one, and its recap that of the message."""
    here = (_A.persona_id == persona, _A.message_row == row_id)
    current = connection.execute(select(_A.alternative).where(*here, _A.is_current == 1)).scalar()
    if current == number:
        return
    chosen = case((_A.alternative == number, 1), else_=0)
    connection.execute(update(message_alternatives).where(*here, _A.is_current != chosen).values(is_current=chosen))
    if current is not None:
        table_recaps.move_recap(connection, persona, row_id, table_lines.OWN, current)
    table_recaps.move_recap(connection, persona, row_id, number, table_lines.OWN)


def set_current_text(connection: Connection, persona: str, row_id: int, text: str) -> int:
    """Give the current alternative of a message the message's new text; return how many there were, 0 or 1."""
    stmt = update(message_alternatives).where(
        _A.persona_id == persona, _A.message_row == row_id, _A.is_current == 1, _A.text != text
    )
    return connection.execute(stmt.values(text=text)).rowcount
