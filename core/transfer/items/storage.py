"""The items of one file on their way into the database, part by part. Called by `transfer.items`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, NamedTuple

from ...calls import screening
from ...calls.call import Call
from ...errors import MessageError, StoreError, TransferError
from ...memories import table_transfer
from ...memories.new_item import NewMemory
from ...memories.table_transfer import Known
from ...text.hits import name_persona
from .formats import fill_macros
from .rows import NotTakenError, Reading, Row, read

BATCH = 1000
"""Items stored in one transaction."""
MAX_LISTED = 1000
"""Rows not taken that are listed; further ones are counted."""


class ItemProblem(NamedTuple):
    """A row that was not taken. The reason holds nothing of its text."""

    row: int
    """1-based place in its list, or number of its line."""
    reason: str
    uid: str | int | None = None
    """What the file calls it; None where it says nothing."""


@dataclass(frozen=True, slots=True)
class ItemImport:
    """What an import of items did: `imported + skipped + error_count` is the number of rows of the file."""

    format: str = ""
    """items, lines, list, vtuber, world_info, character_book, mem0, mcp_memory or synth."""
    imported: int = 0
    """Items stored; in a dry run those that would be."""
    skipped: int = 0
    """Blank items, and those that were there already."""
    duplicates: int = 0
    """Those of `skipped` that were there already."""
    errors: tuple[ItemProblem, ...] = ()
    """Rows not taken, the first 1,000: what is wrong with them, `empty` for a blank entry of a book, `privacy`."""
    error_count: int = 0
    notes: tuple[str, ...] = ()
    """What was changed on the way, with how often."""
    stopped_after_row: int | None = field(default=None, compare=False)
    """Row of the last item looked at before the import was stopped; None when it came to the end."""
    dry_run: bool = field(default=False, compare=False)

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON values, fields in their order."""
        made = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**made, "errors": [_as_dict(problem) for problem in self.errors], "notes": list(self.notes)}


def _as_dict(problem: ItemProblem) -> dict[str, Any]:
    told: dict[str, Any] = {"row": problem.row, "reason": problem.reason}
    return told if problem.uid is None else {**told, "uid": problem.uid}


class Ready(NamedTuple):
    row: int
    uid: str | int | None
    number: int
    memory: NewMemory


def batches(rows: Iterable[Row], reading: Reading, importing: Importing) -> Iterator[list[Ready]]:
    """Yield what can be stored in parts; what cannot is told to `importing` on the way."""
    made = _ready(rows, reading, importing)
    while batch := list(islice(made, BATCH)):
        yield batch


def _ready(rows: Iterable[Row], reading: Reading, importing: Importing) -> Iterator[Ready]:
    known = Known()
    for row in rows:
        importing.rows_read += 1
        if row.reason:
            importing.refuse(ItemProblem(row.number, row.reason, row.uid))
            continue
        try:
            value = row.value
            if row.character is not None and value is not None:
                character = row.character or name_persona(reading.scope.persona)
                value = fill_macros(value, character, reading.user_name)
            memory = read(value, reading)
        except NotTakenError as error:
            importing.refuse(ItemProblem(row.number, str(error), row.uid))
            continue
        if memory is None:
            importing.blank += 1
            continue
        yield Ready(row.number, row.uid, known.number(memory), memory)


class Importing:
    """What one import has done so far."""

    def __init__(self, call: Call, screen: screening.Screen | None, dry_run: bool) -> None:
        self._call = call
        self._screen = screen
        self._dry_run = dry_run
        self._errors: list[ItemProblem] = []
        self._error_count = 0
        self._notes: Counter[str] = Counter()
        self._imported = self._duplicates = 0
        self.blank = 0
        self.rows_read = 0
        self.rows_done: int = 0
        self.row: int = 0
        """The last row that was stored or found there."""

    def refuse(self, problem: ItemProblem) -> None:
        """List a row that is not taken."""
        self._error_count += 1
        if len(self._errors) < MAX_LISTED:
            self._errors.append(problem)

    def store(self, batch: list[Ready]) -> None:
        """Store what is new of a part of the file, in one transaction."""
        call, items = self._call, [(ready.number, self._screen_memory(ready.memory)) for ready in batch]
        try:
            done = table_transfer.store(
                call.db, call.scope, items, privacy_default=call.settings.privacy_default, dry_run=self._dry_run
            )
        except StoreError as error:
            raise TransferError(f"{error} {self._describe_progress()}", row=self.row or None) from error
        except MessageError as error:
            raise TransferError(f"{error} Nothing was imported.") from error
        for i in sorted(done.private):
            self.refuse(ItemProblem(batch[i].row, "privacy", batch[i].uid))
        self._imported += done.stored
        self._duplicates += done.duplicates
        self.row, self.rows_done = batch[-1].row, self.rows_read

    def _describe_progress(self) -> str:
        if not self.row or self._dry_run:
            return "Nothing was imported."
        return f"All items up to row {self.row} are stored; run the same import again to go on."

    def _screen_memory(self, memory: NewMemory) -> NewMemory:
        flagged, notes = screening.is_flagged(memory.content, "memory", screen=self._screen)
        self._notes.update((*memory.notes, *notes))
        return replace(memory, quarantined=1) if flagged and not memory.quarantined else memory

    def result(self, format_name: str) -> ItemImport:
        """Return what was done."""
        return ItemImport(
            format=format_name,
            imported=self._imported,
            skipped=self.blank + self._duplicates,
            duplicates=self._duplicates,
            errors=tuple(sorted(self._errors, key=lambda problem: problem.row)),
            error_count=self._error_count,
            notes=tuple(f"{text}: {count}" for text, count in self._notes.items()),
            dry_run=self._dry_run,
        )
