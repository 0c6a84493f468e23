"""`prompt-engine export`: a conversation for another program, memories, or all rows of a person."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from typer import Argument, BadParameter, Option

from ..errors import TransferError
from . import output
from .run import ForceOption, LocalOption, Run, ServerOption, command, refusals

_STDOUT = "-"
_FORMATS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".yaml": "yaml", ".yml": "yaml"}


@command("export")
def export(
    run: Run,
    file: Path = Argument(metavar="FILE", help="File to write, or - for stdout."),
    chat: str | None = Option(
        None, "--conversation", "--chat", metavar="KEY", help="Conversation: interface/chat[/thread]."
    ),
    items: bool = Option(False, "--items", help="Export the persona's memories, not a conversation."),
    person: str | None = Option(
        None, metavar="KEY", help="Export everything on a person, or with --items their memories: interface/id."
    ),
    kind: str | None = Option(None, metavar="KIND,...", help="Export only memories of these kinds."),
    limit: int | None = Option(None, metavar="N", help="Export only the N oldest memories.", min=1),
    format: str | None = Option(  # noqa: A002 - the option's name
        None,
        metavar="NAME",
        help="For a chat: sillytavern. For memories: json, jsonl or yaml; default by the file's ending.",
    ),
    server: ServerOption = "",
    local: LocalOption = False,
    force: ForceOption = False,
    markdown: bool = Option(
        False, "--markdown", help="Write recent conversations and saved memories as Markdown into folder FILE."
    ),
) -> None:
    """Write a conversation, memories or a person into a file.

    A conversation is written with all messages (hidden ones too), alternatives, recaps, scenes and running recap.
    Imported messages that were not changed are written as in the imported file. An error leaves FILE as it was.

    Memories are written oldest first, 50,000 per file; `import` can read these files. The file of a person is a copy
    to give to them: it lists, by table, every row that names them, with previous texts, recaps and alternatives.
    """
    if markdown:
        from ..conversations import export_markdown

        done = export_markdown(file, db=run.db, settings=run.settings, scope=run.scope(chat, person, server))
        run.answer(asdict(done))
        if not (chat or person or done.recent or done.saved):
            output.warn("Only what everybody sees is written. For one person: --conversation KEY --person KEY")
        return
    if (chat is not None) == (items or person is not None):
        raise BadParameter("name one: a conversation with --conversation, a person with --person, or --items")
    if items:
        _export_items(run, file, kind=kind, person=person, limit=limit, fmt=format, force=force)
        return
    if person is not None:
        _export_person(run, file, person, force=force)
        return
    if format not in (None, "sillytavern"):
        raise BadParameter(f"--format is {format!r}. It must be sillytavern with --conversation.")
    from ..transfer.exports import export_chat

    to_stdout = str(file) == _STDOUT
    with output.bar() as bar:
        result = export_chat(
            sys.stdout.buffer if to_stdout else file,
            conversation=chat,
            overwrite=force,
            progress=bar,
            db=run.db,
            scope=run.scope(server=server, destination="local" if local else None),
        )
    if to_stdout:
        sys.stdout.buffer.flush()
    else:
        run.answer(asdict(result))


def _export_person(run: Run, file: Path, person: str, *, force: bool) -> None:
    from ..access import overview
    from ..privacy import read_rows

    persona = run.scope().persona
    rows = read_rows(run.db, persona, person)
    if not any(rows.values()):
        unknown = overview.name_near(run.db, persona, "participant", person)
        raise TransferError(f"{unknown} A person is named by its key interface/id.")
    value = {"person": person, "persona": persona, "tables": rows}
    with _open(file, force=force) as stream:
        stream.write((json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n").encode())
    if str(file) != _STDOUT:
        run.answer({"file": str(file), "rows": {name: len(each) for name, each in rows.items()}})


def _export_items(
    run: Run, file: Path, *, kind: str | None, person: str | None, limit: int | None, fmt: str | None, force: bool
) -> None:
    """Write memory items, each file no larger than `import` accepts; further files have a number in their names."""
    from ..transfer.items import export_items
    from ..transfer.items.formats import MAX_BYTES, MAX_ITEMS

    options: Any = {"fmt": fmt or _FORMATS.get(file.suffix.lower(), "json"), "max_bytes": MAX_BYTES}
    options |= {"kind": None if kind is None else [each.strip() for each in kind.split(",")]}
    options |= {"participant": person, "db": run.db, "scope": run.scope()}
    count, after = 0, None
    names: list[str] = []
    with refusals(), output.bar() as bar:
        while not names or (after is not None and str(file) != _STDOUT and (limit is None or count < limit)):
            most = MAX_ITEMS if limit is None else min(MAX_ITEMS, limit - count)
            exported = export_items(limit=most, after=after, **options)
            path = file if not names else file.with_name(f"{file.stem}-{len(names) + 1}{file.suffix}")
            with _open(path, force=force) as stream:
                for text in exported:
                    stream.write(text.encode())
                    bar("writing", count + exported.count, 0)
            names.append(str(path))
            count, after = count + exported.count, exported.next_after
    if str(file) != _STDOUT:
        run.answer({"items": count, "files": names, "more": after is not None})
    if after is not None:
        output.warn(f"More than these {count} are there; --limit takes more.")


@contextmanager
def _open(file: Path, *, force: bool) -> Iterator[BinaryIO]:
    """Yield a stream into a file that appears only when it is complete; `-` is stdout. `force` replaces a file."""
    from ..transfer.exports import write_whole

    if str(file) == _STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with write_whole(file, overwrite=force) as stream:
        yield stream
