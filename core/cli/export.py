"""`prompt-engine export`: a conversation into a file of another program."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from . import items as item_files
from . import output
from .options import LocalOption, ServerOption, refusals
from .run import Run, command

if TYPE_CHECKING:
    from ..transfer.exports import ExportResult

FileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="File that is written, - for stdout.", show_default=False)
]
ChatOption = Annotated[
    str | None,
    typer.Option("--chat", metavar="CONVERSATION", help="Conversation: interface/chat or interface/chat/thread."),
]
ItemsOption = Annotated[bool, typer.Option("--items", help="The persona's memories in place of a conversation.")]
KindOption = Annotated[str | None, typer.Option("--kind", metavar="KIND,...", help="Memories of these kinds alone.")]
LimitOption = Annotated[
    int | None, typer.Option("--limit", metavar="N", help="Most memories, the oldest; without it all.", min=1)
]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="sillytavern: a chat of SillyTavern. Of memories json, yaml or jsonl; without it by the file's ending.",
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace a file that is there.")]

_STDOUT = "-"


def add_to(app: typer.Typer) -> None:
    """Add `export`."""
    command(app, "export")(export)


def export(
    run: Run,
    file: FileArgument,
    chat: ChatOption = None,
    items: ItemsOption = False,
    kind: KindOption = None,
    limit: LimitOption = None,
    format: FormatOption = None,  # noqa: A002 - the option's name
    server: ServerOption = "",
    local: LocalOption = False,
    force: ForceOption = False,
) -> None:
    """Write a conversation, or the memories of a persona, into a file.

    All messages are written, hidden ones too, with their alternatives, recaps and scenes, and the running recap. What
    was imported from such a file and not changed is written as it was. The file appears whole or not at all.

    Memories are written oldest first, 50,000 a file, and read again by `import`.
    """
    if items == (chat is not None):
        raise typer.BadParameter("name a conversation with --chat, or the memories with --items")
    if items:
        item_files.export(run, file, kind=kind, limit=limit, format_name=format, force=force)
        return
    from ..transfer.exports import export_chat  # noqa: PLC0415 - kept out of the start of other subcommands

    to_stdout = str(file) == _STDOUT
    with refusals(), output.bar() as bar:
        result = export_chat(
            sys.stdout.buffer if to_stdout else file,
            conversation=chat,
            format=cast("Any", format or "sillytavern"),
            overwrite=force,
            progress=bar,
            db=run.db,
            scope=run.scope(server=server, destination="local" if local else None),
        )
    if to_stdout:
        _end_of_line()
    else:
        run.answer(result.as_dict(), lambda: _show(result))
    for note in result.notes:
        output.note(output.sentence(f"Note: {output.clean(note)}"), style="yellow")


def _end_of_line() -> None:
    """End the last line where a person looks at it; into a file or program goes what a file would hold."""
    if sys.stdout.isatty():
        sys.stdout.buffer.write(os.linesep.encode())
    sys.stdout.buffer.flush()


def _show(result: ExportResult) -> None:
    output.facts(
        [
            ("Format", result.format),
            ("Conversation", result.conversation),
            ("File", result.path),
            ("Messages", result.messages),
            ("Bytes", result.bytes),
        ]
    )
