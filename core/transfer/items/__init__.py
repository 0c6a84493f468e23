"""Export and import of memory items, for hosts, the command line and the admin page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from ...base.hints import shown
from ...base.yaml_text import write_value
from ...calls.call import GivenSettings, load_viewer, open_call
from ...conversations import memory_files
from ...database.engine import Database
from ...database.rows import read_json
from ...memories import table_transfer
from ...memories.rules import DEFAULT_KIND, INSTRUCTION
from ...memories.table_reading import item_of
from ...memories.table_transfer import ExportPosition
from ...scope import KEY_BYTES, Scope, key_text
from ...shapes import Progress
from ...text.strict_json import make_strict
from ...text.times import iso_text, parse_time
from ..files import check_bytes
from .formats import MAX_BYTES, MAX_ITEMS, Source, Syntax, read_items
from .storage import ItemImport as ItemImport
from .storage import ItemProblem as ItemProblem
from .storage import ItemWriter, read_kind

DEFAULT_LIMIT = 1000
NOTHING = "nothing was imported: the file holds no items"
MEDIA: dict[Syntax, str] = {"json": "application/json", "jsonl": "application/x-ndjson", "yaml": "application/yaml"}
_PLACE = re.compile(r"(?P<at>[^/]{0,40})/(?P<id>\d{1,19})\Z")


class ItemExport:
    """The text of an export, to be iterated over once, piece by piece."""

    def __init__(self, rows: Iterator[Any], syntax: Syntax, limit: int, max_bytes: int | None) -> None:
        self._rows = rows
        self._syntax: Syntax = syntax
        self._limit = limit
        self._max_bytes = max_bytes
        self.media_type: str = MEDIA[syntax]
        self.count: int = 0
        self.next_after: str | None = None
        """Argument `after` of the next export; None if no item follows, or before the iteration ends."""

    def __iter__(self) -> Iterator[str]:
        """Yield the export's text; raise StoreReadError if a later part cannot be read from the database."""
        if self._syntax == "jsonl":
            yield from (line + "\n" for line in self._lines())
            return
        if self._syntax == "yaml":
            for line in self._lines():
                yield line if self.count > 1 else "items:\n" + line
            yield "" if self.count else "items: []\n"
            return
        yield '{"items": ['
        for number, line in enumerate(self._lines()):
            yield (",\n" if number else "\n") + line
        yield "\n]}\n"

    def _lines(self) -> Iterator[str]:
        size, last = 0, None
        for row in self._rows:
            item = _build_item(row)
            is_yaml = self._syntax == "yaml"
            line = write_value([item]) if is_yaml else json.dumps(item, ensure_ascii=False, allow_nan=False)
            size += len(line.encode()) + 4
            is_full = self._max_bytes is not None and size > self._max_bytes
            if last is not None and (is_full or self.count >= self._limit):
                self.next_after = f"{iso_text(last.timestamp)}/{last.id}"
                return
            last = row
            self.count += 1
            yield line


def _build_item(row: Any) -> dict[str, Any]:
    """Turn a row with `memories.table_transfer.COLUMNS` into an exported item; times are ISO 8601, UTC, or ""."""
    item: dict[str, Any] = make_strict(item_of(row))[0]
    return {name: value for name, value in item.items() if name not in ("archived_at", "superseded_by")} | {
        "id": str(row.id),
        "metadata": make_strict(read_json(row.metadata) or {})[0],  # as stored, so that an import restores it
        "response_text": row.response_text,
        "intensity": row.intensity,
        "emotion_state": row.emotion_state or "",
    }


def export_items(
    *,
    kind: str | Iterable[str] | None = None,
    participant: str | None = None,
    fmt: Syntax = "json",
    limit: int = DEFAULT_LIMIT,
    after: str | None = None,
    max_bytes: int | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> ItemExport:
    """Return the persona's memory items as a file, oldest first, in pieces of text.

    Instructions, and archived, replaced or expired items, are left out. The export is for an operator: it has the items
    of every audience, local_only items too. If the scope names a conversation, it has only the items that this
    conversation sees.

    Args:
        kind: kind or kinds of the items; None exports all kinds.
        participant: key of a person: only items that this person said or that were saved for them.
        fmt: json, yaml, or jsonl for one item per line.
        limit: maximum number of items, 1 to 50,000.
        after: `next_after` of an export that ended at its limit, to continue it.
        max_bytes: maximum number of bytes of the file, though the first item is always written; an import takes 20 MB.
        db, settings, scope: None uses those of the process; the scope names the persona.

    Returns:
        Pieces of the file's text; `count`, `media_type`, and after the last piece `next_after`.

    Raises:
        ValueError: an invalid format, limit or `after`.
        MessageError: an unknown kind; the error names the nearest known kind.
        StoreReadError: the items could not be read; also raised during iteration.

    >>> import json
    >>> from prompt_engine import Scope, insert_memory, open_database
    >>> from prompt_engine.transfer import export_items
    >>> db, scope = open_database("sqlite://"), Scope("iris")
    >>> _ = insert_memory("Ann likes tea", "synth", "chat", ["tea"], scope, db=db)
    >>> file = json.loads("".join(export_items(db=db, scope=scope)))
    >>> [(item["text"], item["tags"]) for item in file["items"]]
    [('Ann likes tea', ['tea'])]
    """
    _check_syntax(fmt)
    if limit not in range(1, MAX_ITEMS + 1):
        raise ValueError(f"limit is {shown(limit)}. It must be a whole number, 1 to {MAX_ITEMS}.")
    wanted = None if kind is None else [read_kind(each) for each in ([kind] if isinstance(kind, str) else kind)]
    place = None if after is None else _read_place(after)
    person = None if participant is None else key_text(participant, "participant", KEY_BYTES["participant"])
    call = open_call(db, settings, scope)
    stored = [each for each in table_transfer.kinds(call.db, call.persona) if each != INSTRUCTION]
    local = replace(call, scope=replace(call.scope, destination="local"))
    visible = None if call.scope.conversation is None else load_viewer(local).audiences
    kinds = [each for each in stored if wanted is None or each in wanted]
    rows = table_transfer.oldest_first(call, kinds, limit=limit + 1, after=place, seen=visible, participant=person)
    return ItemExport(rows, fmt, limit, max_bytes if max_bytes is None else check_bytes(max_bytes))


def _check_syntax(fmt: str) -> None:
    if fmt not in MEDIA:
        raise ValueError(f"fmt is {fmt[:40]!r}. It must be {', '.join(MEDIA)}.")


def _read_place(after: str) -> ExportPosition:
    match = _PLACE.match(after) if isinstance(after, str) else None
    at = parse_time(match["at"]) if match and match["at"] else None
    if match is None or (match["at"] and at is None) or int(match["id"]) >= 2**63:
        raise ValueError("after is no place in an export. Pass `next_after` of the export that came before.")
    return ExportPosition(at, int(match["id"]))


def import_items(
    source: Source,
    *,
    default_kind: str = DEFAULT_KIND,
    fmt: Syntax | None = None,
    dry_run: bool = False,
    max_bytes: int = MAX_BYTES,
    progress: Progress | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> ItemImport:
    """Import the items of a file. Importing the same file again stores nothing.

    The whole file is checked before the first item is stored. Invalid rows are listed, valid rows stored. Items are
    stored in transactions of 1,000. To continue an interrupted or failed import, run it again. Items are equal if text,
    kind and tier are equal: if a file has an item three times and the database has it once, two are stored. Archived
    items are not compared.

    Args:
        source: a path, bytes, or a binary stream, in a format of `transfer.items.formats`.
        default_kind: kind of items without a kind; blank leaves them without a kind.
        fmt: json, jsonl or yaml; None detects it.
        dry_run: return the same result and store nothing.
        max_bytes: maximum number of bytes of the file; 20 MB by default.
        progress: see `Progress`.
        db, settings, scope: None uses those of the process; every item gets persona, conversation and participant of
            the scope, whatever the file says.

    Returns:
        The result for all rows: their number is `imported + skipped + error_count`.

    Raises:
        TransferError: the whole file is invalid, and nothing was stored; or the database failed, and the error names
            the row up to which everything is stored.
        MessageError: an unknown default kind.
        ValueError: an unknown format.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.transfer import import_items
    >>> result = import_items(b'{"items": ["Ann likes tea", " "]}', db=open_database("sqlite://"), scope=Scope("iris"))
    >>> result.format, result.imported, result.skipped
    ('items', 1, 1)
    """
    if fmt is not None:
        _check_syntax(fmt)
    kind = read_kind(default_kind)
    items = read_items(source, fmt, max_bytes)
    total = len(items.rows)
    if progress:
        progress("looking", total, total)
    call = open_call(db, settings, scope)
    result = ItemWriter(call, kind, dry_run=dry_run).write(items.rows, items.format, progress, total)
    if result.imported and not dry_run:
        memory_files.write_files(call)
    return result if total else replace(result, notes=(*result.notes, NOTHING))
