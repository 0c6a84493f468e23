"""Memory items out of the database and in: `prompt-engine export --items`, and `prompt-engine import` of such files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer

from ..memories.rules import DEFAULT_KIND
from ..transfer.items import pieces
from . import output
from .options import refusals
from .run import Run

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..transfer.items import ItemExport, ItemImport

_STDOUT = "-"
_SHOWN = 20
_FORMATS = {".yaml": "yaml", ".yml": "yaml", ".jsonl": "jsonl", ".ndjson": "jsonl"}


def is_items(file: Path) -> bool:
    """Return whether a file holds memory items and no conversation; what cannot be read is told as a conversation."""
    from ..errors import TransferError  # noqa: PLC0415 - as below
    from ..transfer.items.reader import is_items as told  # noqa: PLC0415 - kept out of the start of others
    from ..transfer.sources import File  # noqa: PLC0415 - as above

    try:
        return told(File(file, sys.maxsize))
    except TransferError:
        return False


# Out


def export(run: Run, file: Path, *, kind: str | None, limit: int | None, format_name: str | None, force: bool) -> None:
    """Write the persona's memory items into a file; without a limit all of them.

    A file holds no more than `import` takes; what follows goes into further files with a number in their names.
    """
    fmt = format_name or _FORMATS.get(file.suffix.lower(), "json")
    kinds = None if kind is None else [each.strip() for each in kind.split(",")]
    with refusals(), output.bar() as bar:
        if str(file) == _STDOUT:
            made = _part(run, kinds, fmt, limit or pieces.MAX_ITEMS, None)
            sys.stdout.writelines(made)
            count, after = made.count, made.next_after
        else:
            count, after, written = _files(run, file, kinds, fmt, limit, force, bar)
            told = {"items": count, "files": written, "more": after is not None}
            run.answer(told, lambda: output.facts([("Items", count), *(("File", each) for each in written)]))
    if after is not None:
        output.note(f"More than these {count} are there; --limit takes more.", style="yellow")


def _files(
    run: Run, file: Path, kinds: list[str] | None, fmt: str, limit: int | None, force: bool, bar: output.Bar
) -> tuple[int, str | None, list[str]]:
    """Write file after file; return how many items they hold, where more would follow, and their names."""
    count, after = 0, None
    names: list[str] = []
    while not names or (after is not None and (limit is None or count < limit)):
        left = pieces.MAX_ITEMS if limit is None else min(pieces.MAX_ITEMS, limit - count)
        made = _part(run, kinds, fmt, left, after)
        path = file if not names else file.with_name(f"{file.stem}-{len(names) + 1}{file.suffix}")
        with _written(path, force) as stream:
            for text in made:
                stream.write(text)
                bar("writing", count + made.count, 0)
        names.append(str(path))
        count, after = count + made.count, made.next_after
    return count, after, names


def _part(run: Run, kinds: list[str] | None, fmt: str, limit: int, after: str | None) -> ItemExport:
    from ..transfer.items import export_items  # noqa: PLC0415 - as above

    options: Any = {"kind": kinds, "fmt": fmt, "limit": limit, "after": after, "max_bytes": pieces.MAX_BYTES}
    return export_items(**options, db=run.db, scope=run.scope())


@contextmanager
def _written(path: Path, force: bool) -> Iterator[TextIO]:
    """Yield the stream to write to; a file is there whole or not at all."""
    from ..errors import TransferError  # noqa: PLC0415 - as above

    if path.exists() and not force:
        raise TransferError(f"{str(path)!r} is there already. Name another file, or replace it with --force.")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("x", encoding="utf-8", newline="\n") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    except OSError as error:
        raise TransferError(f"{str(path)!r} cannot be written: {error.strerror or type(error).__name__}.") from None
    finally:
        part.unlink(missing_ok=True)


# In


def import_(
    run: Run,
    file: Path,
    *,
    conversation: str | None,
    server: str,
    kind: str | None,
    dry_run: bool,
    strict: bool,
    should_stop: Callable[[], bool],
) -> None:
    """Store the memory items of a file and tell what became of them."""
    from ..transfer.items import import_items  # noqa: PLC0415 - as above

    with refusals(), output.bar() as bar:
        result = import_items(
            file,
            default_kind=DEFAULT_KIND if kind is None else kind,
            dry_run=dry_run,
            progress=bar,
            should_stop=should_stop,
            db=run.db,
            scope=run.scope(conversation=conversation, server=server),
        )
    run.answer(result.as_dict(), lambda: _show(result))
    if result.error_count:
        rows = "1 row was" if result.error_count == 1 else f"{result.error_count} rows were"
        output.note(f"{rows} not taken; the reasons stand in the answer.", style="yellow")
    if result.stopped_after_row is not None:
        where = f"after row {result.stopped_after_row}" if result.stopped_after_row else "before anything was stored"
        output.note(f"Stopped {where}. Run the same command again to go on.", style="yellow")
        raise typer.Exit(1)
    if strict and result.error_count:
        raise typer.Exit(1)


def _show(result: ItemImport) -> None:
    rows: list[tuple[str, object]] = [("Format", result.format)]
    if result.dry_run:
        rows.append(("Items", f"{result.imported} could be imported; nothing was stored"))
    else:
        rows.append(("Imported", result.imported))
    rows += [("There already", result.duplicates)] if result.duplicates else []
    blank = result.skipped - result.duplicates
    rows += [("Blank", blank)] if blank else []
    output.facts(rows)
    for note in result.notes:
        output.say(output.sentence(f"Note: {output.clean(note)}"))
    if result.error_count:
        output.heading(f"Rows not taken: {result.error_count}")
        shown = [(p.row, "" if p.uid is None else p.uid, p.reason) for p in result.errors[:_SHOWN]]
        output.table(("row", "uid", "reason"), shown, right=(0,))
        if result.error_count > _SHOWN:
            output.say(f"... and {result.error_count - _SHOWN} more; --json lists up to 1000.")
