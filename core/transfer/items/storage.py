"""Turn the rows of a file into memories and store them in batches."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

from ...calls.call import Call
from ...errors import MessageError, StoreError, TransferError
from ...memories import new_item, table_transfer
from ...memories.new_item import NewMemory
from ...memories.rules import SAVED, expires_at, kind_of, read_entry
from ...memories.table_transfer import number_item
from ...scope import Scope
from ...shapes import Progress
from ...text.hits import name_persona
from .formats import Row

BATCH = 1000
MAX_LISTED = 1000
PUBLIC = "items that everybody whom the persona talks with may see; a private conversation (--private) hides them"

_OWNERS = {
    "persona": "persona", "persona_id": "persona", "conf_uid": "persona",
    "conversation": "conversation", "conversation_key": "conversation", "history_uid": "conversation",
    "participant": "participant", "participant_key": "participant",
}  # fmt: skip
"""Fields of a file that name an item's owner, and the scope's field that is used in place of each."""
_NOT_READ = frozenset({
    *_OWNERS, "id", "audience_id", "audience", "superseded_by", "archived_at", "created_at", "updated_at", "scope",
    "quarantined",
})  # fmt: skip
_PROVENANCES = ("host", "model", "extract", "manual", "import")
_MACRO = re.compile(r"\{\{\s*(?:(char)|(user))\s*\}\}|<(?:(BOT|CHAR)|(USER))>", re.IGNORECASE)
_USER_NAME = "the user"


@dataclass(frozen=True, slots=True)
class ItemProblem:
    """A rejected row of a file, with the reason, which quotes no part of the row's text."""

    row: int
    """Position in the list of rows, from 1, or line number."""
    reason: str
    uid: str | int | None = None


@dataclass(frozen=True, slots=True)
class ItemImport:
    """Result of an import; `imported + skipped + error_count` is the number of rows in the file."""

    format: str = ""
    """Format of the file: items, lines, list, world_info, character_book, mem0 or mcp_memory."""
    imported: int = 0
    """Number of items stored; in a dry run, of items that would be stored."""
    skipped: int = 0
    """Number of blank items and duplicates."""
    duplicates: int = 0
    """Number of skipped items that were already stored."""
    errors: tuple[ItemProblem, ...] = ()
    """First 1,000 rejected rows with the reason, such as `privacy` or `empty` (a blank entry of a book)."""
    error_count: int = 0
    notes: tuple[str, ...] = ()
    dry_run: bool = field(default=False, compare=False)


class _ReadyItem(NamedTuple):
    row: Row
    number: int
    memory: NewMemory


class ItemWriter:
    def __init__(self, call: Call, kind: str, *, dry_run: bool = False) -> None:
        self._call, self._dry_run = call, dry_run
        self._kind, self._now = kind, call.db.clock()
        self._errors: list[ItemProblem] = []
        self._notes: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()
        self._rows_done = 0
        self._row = 0
        """Number of the last row whose batch is stored."""

    def write(self, rows: Iterable[Row], fmt: str, progress: Progress | None = None, total: int = 0) -> ItemImport:
        """Store the items of all rows in batches; `progress` is called with the number of rows done and `total`."""
        ready = self._read_rows(rows)
        while batch := list(islice(ready, BATCH)):
            self._store(batch)
            if progress:
                progress("storing", self._rows_done, total)
        return ItemImport(
            format=fmt,
            imported=self._counts["stored"],
            skipped=self._counts["blank"] + self._counts["duplicate"],
            duplicates=self._counts["duplicate"],
            errors=tuple(sorted(self._errors, key=lambda problem: problem.row)),
            error_count=self._counts["refused"],
            notes=tuple(f"{text}: {count}" for text, count in self._notes.items()),
            dry_run=self._dry_run,
        )

    def _read_rows(self, rows: Iterable[Row]) -> Iterator[_ReadyItem]:
        seen: Counter[bytes] = Counter()
        for self._rows_done, row in enumerate(rows, 1):
            try:
                if row.reason:
                    raise MessageError(row.reason)
                memory = read_item(
                    self._with_names(row), self._call.scope, self._kind,
                    now=self._now, session_ttl_seconds=self._call.settings.session_ttl_sec,
                )  # fmt: skip
            except (MessageError, TypeError) as error:
                self._refuse(row, str(error).rstrip("."))
                continue
            if memory is None:
                self._counts["blank"] += 1
            else:
                yield _ReadyItem(row, number_item(memory, seen), memory)

    def _with_names(self, row: Row) -> Any:
        """Return the value of a row; in lorebook entries, {{char}} and {{user}} are replaced by names."""
        if row.character is None:
            return row.value
        character = row.character or name_persona(self._call.persona)

        def fill(text: Any) -> Any:
            if not isinstance(text, str):
                return text
            return _MACRO.sub(lambda macro: character if macro[1] or macro[3] else _USER_NAME, text)

        return {**row.value, "text": fill(row.value["text"]), "tags": [fill(tag) for tag in row.value["tags"]]}

    def _refuse(self, row: Row, reason: str) -> None:
        self._counts["refused"] += 1
        if len(self._errors) < MAX_LISTED:
            self._errors.append(ItemProblem(row.number, reason, row.uid))

    def _store(self, batch: list[_ReadyItem]) -> None:
        items = [(ready.number, ready.memory) for ready in batch]
        self._notes.update(note for ready in batch for note in ready.memory.notes)
        try:
            done = table_transfer.store(self._call, items, dry_run=self._dry_run)
        except StoreError as error:
            there = f"All items up to row {self._row} are stored; run the same import again to go on."
            progress = there if self._row and not self._dry_run else "Nothing was imported."
            raise TransferError(f"{error} {progress}", row=self._row or None) from error
        except MessageError as error:
            raise TransferError(f"{error} Nothing was imported.") from error
        for i in sorted(done.private):
            self._refuse(batch[i].row, "privacy")
        if done.is_public and done.stored and batch[0].row.character is None:  # an entry of a book tells no secrets
            self._notes[PUBLIC] += done.stored
        self._counts.update({"stored": done.stored, "duplicate": done.duplicates})
        self._row = batch[-1].row.number


def read_item(value: Any, scope: Scope, kind: str, *, now: datetime, session_ttl_seconds: int) -> NewMemory | None:
    """Convert a value from a file to a memory; None for a blank text. Errors quote nothing of the value."""
    given = {"text": value} if isinstance(value, str) else value
    if not isinstance(given, dict):
        raise MessageError.of_type("the item", given, "a text or an object")
    if given.get("text", given.get("content")) is None:
        raise MessageError("text is missing")
    entry = {name: field for name, field in given.items() if name not in _NOT_READ and field not in ("", [])}
    entry.setdefault("timestamp", given.get("created_at"))
    entry["label"] = given.get("label") or given.get("scope") or "general"
    # captured memories have no kind, which an export writes as a blank one
    arguments = read_entry(entry, "" if given.get("kind") == "" else kind)
    if arguments is None:
        return None
    provenance = arguments.pop("provenance", None)
    if provenance not in (None, *_PROVENANCES):
        arguments["metadata"] = {"provenance": provenance, **(arguments["metadata"] or {})}
        provenance = None
    if arguments["kind"] == SAVED:
        arguments.setdefault("pinned", True)
    memory = new_item.read(**arguments, now=now, provenance=provenance or "import")
    if memory is None:
        return None
    if memory.tier == "session" and "expires_at" not in given:
        memory = replace(memory, expires_at=expires_at(memory.at, session_ttl_seconds))
    notes = [note] if (note := _owner_note(given, scope)) else []
    if memory.expires_at is not None and memory.expires_at <= now:
        notes.append("items that have expired already")
    return replace(memory, notes=(*memory.notes, *notes))


def read_kind(value: Any) -> str:
    """Check and return a memory kind; a blank `value` becomes "", the kind of memories captured from chat."""
    return "" if isinstance(value, str) and not value.strip() else kind_of(value)


def _owner_note(given: Mapping[str, Any], scope: Scope) -> str:
    """Return a note if an item of the file has another owner than the scope; else ""."""
    named = (owner for name, owner in _OWNERS.items() if given.get(name) not in (None, "", getattr(scope, owner)))
    others = dict.fromkeys(named)
    return f"items of another {' and '.join(others)}: they are those of the call" if others else ""
