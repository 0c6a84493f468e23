"""Read the tables of the original application."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from sqlalchemy import select, text

from ..database.engine import Database
from ..database.failures import is_missing_table
from ..database.schema import ai_diary, schema_version
from ..database.stored_values import read_text
from ..errors import StoreError, TransferError

TABLES = ("memories", "ai_diary", "chat_history_cache")

RANGE = 1000


def check_owner(source: Database) -> None:
    """Raise TransferError if the database belongs to prompt-engine or has no tables of the original application."""
    shown = source.target.shown
    if _has_table(source, schema_version.name, "version_num"):
        raise TransferError(
            f"{shown!r} is a database of prompt-engine, whose rows say who may see them; an import would drop that. "
            "Copy it: prompt-engine db copy SOURCE TARGET."
        )
    if not any(_has_table(source, table, "id") for table in TABLES):
        what = f"{shown!r} holds none of the tables {', '.join(TABLES)}. Name the database of the original application."
        raise TransferError(what)


def _has_table(source: Database, table: str, column: str) -> bool:
    try:
        source.read(text(f"SELECT {column} FROM {table} LIMIT 1"), source=table)  # noqa: S608 - names of this module
    except StoreError as error:
        if is_missing_table(error):
            return False
        raise
    return True


def list_entries(db: Database, persona: str) -> set[tuple[datetime | None, bytes]]:
    """Return (time, hash of the text) for every diary entry of a persona."""
    d = ai_diary.c
    rows = db.read(select(d.timestamp, d.content_hash).where(d.persona_id == persona), source="ai_diary")
    return {(row[0], bytes(row[1] or b"")) for row in rows}


def read_rows(source: Database, table: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table with the known columns that it has; nothing if the table is missing."""
    sql = text(f"SELECT * FROM {table} WHERE id > :above ORDER BY id LIMIT {RANGE}")  # noqa: S608 - one of three names
    if not _has_table(source, table, "id"):
        return
    above = -1
    while rows := source.read(sql, {"above": above}, source=table):
        yield from ({name: read_text(value) for name, value in row._mapping.items()} for row in rows)
        above = rows[-1]._mapping["id"]
