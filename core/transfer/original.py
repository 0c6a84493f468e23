"""Reads the database of the original application by its URL and saves its rows like any other import.

The source is only read: a SQLite file is opened with `mode=ro`, a server gets SELECT alone. Rows that are there already
are not stored twice, so an import that was stopped is run again to go on.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..ai_diary import add_diary_entry
from ..calls.call import GivenSettings, open_call
from ..database.bulk import chunks
from ..database.engine import Database
from ..database.stored_values import read_list, read_texts, read_time
from ..scope import Scope
from ..shapes import PERSONA_SENDER
from ..text.hits import content_digest
from . import table_original
from .imports import import_file
from .items import import_items
from .table_original import read_rows

AT_ONCE = 10_000
"""Memories saved as one file."""
_MEMORY_COLUMNS = ("author", "source", "scope", "emotion", "intensity", "emotion_state")


@dataclass(frozen=True, slots=True)
class OriginalImport:
    """What an import from the original application's database stored."""

    memories: int = 0
    diary: int = 0
    messages: int = 0
    duplicates: int = 0
    """Rows that were there already."""
    left_out: int = 0
    """Rows that cannot be taken: without a text, or against somebody's privacy level."""

    def as_dict(self) -> dict[str, int]:
        """Return the counts as plain values."""
        return asdict(self)


def import_original(
    url: str, *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> OriginalImport:
    """Save the memories, the diary and the messages of the original application's database; it is not changed.

    Args:
        url: its connection string.
        db, settings, scope: those of the process where they are None; the scope gives the persona.

    Returns:
        How many rows of each table were stored.

    Raises:
        StoreReadError: the source cannot be read.
        StoreWriteError: a part could not be stored; what was stored stays.
    """
    call = open_call(db, settings, scope)
    source = table_original.open_source(url, call.settings.db_timeout_seconds)
    own = {"db": call.db, "settings": call.settings, "scope": call.scope}
    try:
        parts = [_memories(source, own), _diary(source, call.db, call.scope, own), _messages(source, own)]
    finally:
        source.close()
    names = ("memories", "diary", "messages", "duplicates", "left_out")
    return OriginalImport(**{name: sum(part.get(name, 0) for part in parts) for name in names})


def _memories(source: Database, own: dict[str, Any]) -> dict[str, int]:
    counts = dict.fromkeys(("memories", "duplicates", "left_out"), 0)
    for rows in chunks(read_rows(source, "memories"), AT_ONCE):
        items = [_item(row) for row in rows]
        done = import_items(json.dumps({"memories": items}).encode(), default_kind="", max_bytes=2**40, **own)
        counts["memories"] += done.imported
        counts["duplicates"] += done.duplicates
        counts["left_out"] += done.skipped - done.duplicates + done.error_count
    return counts


def _item(row: dict[str, Any]) -> dict[str, Any]:
    at = read_time(row.get("timestamp"))
    return {
        **{name: row.get(name) for name in _MEMORY_COLUMNS},
        "id": row["id"],
        "content": row.get("content"),
        "tags": read_texts(row.get("tags")),
        "timestamp": at.isoformat() if at else None,
    }


def _diary(source: Database, db: Database, scope: Scope, own: dict[str, Any]) -> dict[str, int]:
    there = table_original.list_entries(db, scope.persona)
    counts = dict.fromkeys(("diary", "duplicates", "left_out"), 0)
    for row in read_rows(source, "ai_diary"):
        at, content = read_time(row.get("timestamp")), row.get("content") or ""
        if (at, bytes(content_digest(content))) in there:
            counts["duplicates"] += 1
            continue
        done = add_diary_entry(
            content, row.get("personal_thought"), read_list(row.get("emotions")), row.get("interaction_summary"),
            row.get("user_message"), read_texts(row.get("context_tags")), read_texts(row.get("involved_users")),
            row.get("interface"), row.get("chat_id"), row.get("thread_id"), timestamp=at, **own,
        )  # fmt: skip
        counts["diary" if done.stored else "left_out"] += 1
    return counts


def _messages(source: Database, own: dict[str, Any]) -> dict[str, int]:
    counts = dict.fromkeys(("messages", "duplicates", "left_out"), 0)
    with tempfile.TemporaryDirectory() as folder:
        files: dict[str, Path] = {}
        for row in read_rows(source, "chat_history_cache"):
            interface, _, chat = str(row.get("interface_path") or "").partition("/")
            at = read_time(row.get("timestamp"))
            if not (interface and chat and at and row.get("message_text")):
                counts["left_out"] += 1
                continue
            line = {
                "conversation": chat,
                "id": str(row.get("message_id") or f"original-{row['id']}"),
                "timestamp": at.isoformat(),
                "speaker": row.get("sender_id") or row.get("sender_name") or "unknown",
                "text": row["message_text"],
            }
            file = files.setdefault(interface, Path(folder) / f"{len(files)}.jsonl")
            with file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(line) + "\n")
        for interface, file in files.items():
            done = import_file(file, interface=interface, persona=PERSONA_SENDER, private=True, **own)
            counts["messages"] += done.imported
            counts["duplicates"] += done.duplicates
            counts["left_out"] += sum(done.left_out.values()) + done.error_count + done.skipped
    return counts
