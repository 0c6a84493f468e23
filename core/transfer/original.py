"""Import the database of the original application without changing it; rows that were imported before are skipped."""

import json
import re
import tempfile
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from ..ai_diary import add_diary_entry
from ..calls.call import Call, CallOptions, open_call
from ..database.connections import find_source
from ..database.engine import Database
from ..database.stored_values import read_json, read_list, read_time
from ..shapes import PERSONA_SENDER
from ..text.hits import content_digest
from . import table_original
from .imports import import_file
from .items.formats import Row
from .items.storage import ItemWriter
from .table_original import read_rows

_MEMORY_COLUMNS = ("content", "author", "source", "scope", "emotion", "intensity", "emotion_state")


@dataclass(frozen=True, slots=True)
class OriginalImport:
    memories: int = 0
    diary: int = 0
    messages: int = 0
    duplicates: int = 0
    """Number of rows that were already stored."""
    left_out: int = 0
    """Number of rows that lack text, conversation or time, or that a privacy level forbids storing."""


def import_original(url: str, *, private: bool | None = None, **options: Unpack[CallOptions]) -> OriginalImport:
    """Import memories, diary and messages from the database of the original application, which is not changed.

    With `private`, new conversations are direct messages, or restricted if several people speak; else they are public.
    """
    call = open_call(**options)
    with closing(Database(find_source(url), timeout_seconds=call.settings.db_timeout_seconds)) as source:
        table_original.check_owner(source)
        counts = _import_memories(source, call) + _import_diary(source, call) + _import_messages(source, call, private)
    return OriginalImport(**counts)


def _import_memories(source: Database, call: Call) -> Counter[str]:
    rows = (Row(number, None, _item(row)) for number, row in enumerate(read_rows(source, "memories"), 1))
    done = ItemWriter(call, "").write(rows, "original")
    left = done.skipped - done.duplicates + done.error_count
    return Counter(memories=done.imported, duplicates=done.duplicates, left_out=left)


def _item(row: dict[str, Any]) -> dict[str, Any]:
    at = read_time(row.get("timestamp"))
    columns = {name: row.get(name) for name in _MEMORY_COLUMNS}
    return columns | {"tags": _read_words(row.get("tags")), "timestamp": at.isoformat() if at else None}


def _read_words(value: Any) -> list[str]:
    """Parse the words of a list stored as JSON, or as text with commas or quotes between the words."""
    words = read_json(value)
    if not isinstance(words, (list, dict)):
        text = words if isinstance(words, str) else str(value or "")
        words = re.split(r"""[,;\n]|(?<!\s)\s+(?=\#)|(?<=["'])\s+(?=["'])""", text)
        words = [word.strip(" \t\r\"'[](){}#") for word in words]
    return [str(word) for word in words if isinstance(word, (str, int)) and word not in ("", "null", "None")]


def _import_diary(source: Database, call: Call) -> Counter[str]:
    there = table_original.list_entries(call.db, call.persona)
    counts: Counter[str] = Counter()
    for row in read_rows(source, "ai_diary"):
        at, content = read_time(row.get("timestamp")), row.get("content") or ""
        if (at, bytes(content_digest(content))) in there:
            counts["duplicates"] += 1
            continue
        done = add_diary_entry(
            content, row.get("personal_thought"), read_list(row.get("emotions")), row.get("interaction_summary"),
            row.get("user_message"), _read_words(row.get("context_tags")), _read_words(row.get("involved_users")),
            row.get("interface"), row.get("chat_id"), row.get("thread_id"), timestamp=at,
            db=call.db, settings=call.settings, scope=call.scope,
        )  # fmt: skip
        counts["diary" if done.stored else "left_out"] += 1
    return counts


def _import_messages(source: Database, call: Call, private: bool | None) -> Counter[str]:
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        files: dict[str, Path] = {}
        answered: set[str] = set()
        for row in read_rows(source, "chat_history_cache"):
            interface, _, chat = str(row.get("interface_path") or "").partition("/")
            at = read_time(row.get("timestamp"))
            if not (interface and chat and at and row.get("message_text")):
                counts["left_out"] += 1
                continue
            sender = row.get("sender_id")
            line = {"speaker": row.get("sender_name") or sender or "unknown", "speaker_id": sender}
            line |= {"conversation": chat, "timestamp": at.isoformat(), "text": row["message_text"]}
            line["id"] = str(row.get("message_id") or f"original-{row['id']}")
            if sender == PERSONA_SENDER:
                answered.add(interface)
            file = files.setdefault(interface, Path(folder) / f"{len(files)}.jsonl")
            with file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(line) + "\n")
        for interface, file in files.items():
            done = import_file(
                file, interface=interface, persona=PERSONA_SENDER if interface in answered else None,
                private=private,
                db=call.db, settings=call.settings, scope=call.scope,
            )  # fmt: skip
            left = sum(done.left_out.values()) + done.error_count + done.skipped
            counts.update(messages=done.imported, duplicates=done.duplicates, left_out=left)
    return counts
