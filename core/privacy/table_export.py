"""All rows that name a person, of every table, for a file that is handed over to them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import or_, select

from ..access import table_participants
from ..database.engine import Database
from ..database.registry import REGISTRY
from ..database.schema import participants
from ..database.schema_base import metadata

_INNER = frozenset({"text_folded", "content_hash", "token_hash", "audience_id", "version"})
"""Columns that say nothing to people."""


def read_rows(db: Database, persona: str, participant: str) -> dict[str, list[dict[str, Any]]]:
    """Return table to rows that name a person by a key, all linked identities counted; tables without any left out."""
    keys = _read_identities(db, persona, table_participants.checked_key(participant))
    found: dict[str, list[dict[str, Any]]] = {}
    for entry in REGISTRY:
        if not entry.participant:
            continue
        table = metadata.tables[entry.table]
        theirs = select(table).where(or_(*(table.c[name].in_(keys) for name in entry.participant)))
        if entry.persona:
            theirs = theirs.where(table.c[entry.persona] == persona)
        rows = db.read(theirs.order_by(*table.primary_key.columns), source=entry.table)
        if rows:
            found[entry.table] = [_build_row(row._mapping.items()) for row in rows]
    return found


def _read_identities(db: Database, persona: str, key: str) -> list[str]:
    p = participants.c
    me = select(p.person_key).where(p.persona_id == persona, p.participant_key == key)
    linked = select(p.participant_key).where(p.persona_id == persona, p.person_key.in_(me))
    return sorted({key, *(str(row[0]) for row in db.read(linked, source="participants"))})


def _build_row(columns: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
    return {str(name): _read_value(value) for name, value in columns if str(name) not in _INNER and value is not None}


def _read_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
