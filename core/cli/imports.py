"""`prompt-engine import`: conversations of other programs into the chat history."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer import Argument, BadParameter, Option

from ..errors import TransferError
from . import output
from .run import DryOption, Run, ServerOption, command, read_url, refusals

if TYPE_CHECKING:
    from ..scope import Privacy, Scope
    from ..shapes import Progress
    from ..transfer.cards import CardImport
    from ..transfer.imports import ImportResult
    from ..transfer.items import ItemImport

_SHOWN = 20
_APART = ("errors", "error_count", "notes", "dry_run")
"""Fields of a result that are not in the printed table of fields."""


@command("import", creates=True)
def import_(
    run: Run,
    file: Path | None = Argument(None, metavar="FILE", help="File, folder or zip of an export, messages or memories."),
    from_url: str | None = Option(
        None, "--from", metavar="URL", callback=read_url, help="Database of the original application."
    ),
    interface: str | None = Option(
        None,
        metavar="NAME",
        help="First part of the conversation keys, NAME/conversation. Default: the program, such as discord.",
    ),
    conversation: str | None = Option(None, metavar="KEY", help="Put all messages into this one conversation."),
    persona: str | None = Option(
        None,
        "--persona-speaker",
        metavar="NAME",
        help="Name or id of the persona's speaker. Default: the assistant or character in the file.",
    ),
    user: str = Option("", metavar="ID", help="Your user id, if the export of an assistant does not contain it."),
    private: bool | None = Option(
        None,
        "--private/--public",
        help="New chats, or memories with --conversation, are private. Default: as in the file; JSON lines public.",
    ),
    server: ServerOption = "",
    timezone: str = Option("UTC", metavar="ZONE", help="Time zone of times without an offset."),
    day_first: bool | None = Option(
        None, "--day-first/--month-first", help="Order in dates like 03/04. Default: found from the file."
    ),
    consolidate: bool = Option(
        False, "--consolidate", help="Queue summaries and memories for each imported conversation."
    ),
    dry_run: DryOption = False,
) -> None:
    """Import conversations or memories, each once.

    FILE holds chats of another program, such as ChatGPT, Discord, Telegram, WhatsApp, Character.AI or SillyTavern: the
    file, the folder or the zip archive as it was downloaded. The program is recognised by the content. Or FILE holds
    one JSON object per line: {conversation, session, id, timestamp, speaker, text}; the last three are required.
    Importing the same file again adds nothing, so a stopped import continues when it is run again; a later export adds
    new messages and edits changed ones. Bad rows are listed, good rows imported.

    Or FILE holds memories: a file of `export --items`, a World Info file or character book, an export of mem0 or of the
    memory server of MCP, or a list of memories as text.

    Or FILE is a character card, as PNG, CHARX or JSON: its text becomes the persona's text (PERSONA_FOLDER), and its
    book becomes memories.

    Or FILE is the folder of the two Markdown files that `export --markdown` writes: entries not stored yet are added.
    """
    if (file is None) == (from_url is None):
        raise BadParameter("say either which FILE, or --from which URL")
    from ..conversations.memory_files import NAMES

    with refusals():
        if file is None:
            from ..transfer.original import import_original

            if any((interface, conversation, persona, user, day_first is not None, consolidate, dry_run,
                    timezone != "UTC")):  # fmt: skip
                raise BadParameter("--from goes with --private, --public, --server and --persona-id alone")
            done = import_original(str(from_url), private=private, db=run.db, scope=run.scope(server=server))
            run.answer(asdict(done))
        elif any((file / name).is_file() for name in NAMES):
            from ..conversations import import_markdown

            asking = run.asking(run.scope(conversation, user or None, server))
            run.answer(asdict(import_markdown(file, **asking)))
        elif _import_card(run, file, dry_run=dry_run):
            return
        elif not _holds_chats(file):
            if persona is not None:
                raise BadParameter("--persona-speaker belongs to conversations, and the file holds memories")
            if private and conversation is None:
                raise BadParameter("--private needs --conversation if the file holds memories")
            if private is None and conversation is None and _names_people(file):
                raise BadParameter(
                    "the file's memories name people or conversations, and without one everybody would see them. "
                    "Add --conversation KEY --user ID --private for one person alone, or --public for everybody"
                )
            if user and "/" not in user:
                user = f"{interface or (conversation or 'import').partition('/')[0]}/{user}"
            closed: Privacy = "restricted" if server else "direct"
            said = None if private is None or conversation is None else closed if private else "public"
            scope = replace(run.scope(conversation, user or None, server), privacy=said)
            _import_items(run, file, scope, dry_run=dry_run)
        else:
            options: dict[str, Any] = {"interface": interface, "conversation": conversation, "persona": persona}
            options |= {"user": user, "private": private, "time_zone": timezone, "day_first": day_first}
            options |= {"dry_run": dry_run, "db": run.find_db() if dry_run else run.db}
            options |= {"scope": run.scope(server=server)}
            _import_chats(run, file, options, consolidate=consolidate)


def _holds_chats(file: Path) -> bool:
    """Return whether `import_file` should read the file: it holds chats, or its read error must be reported."""
    from ..transfer.formats import find_export

    try:
        return find_export(file, sys.maxsize) is not None
    except TransferError:
        return True


def _names_people(file: Path) -> bool:
    """Return whether an item of the file names a person or a conversation, as items exported here or from mem0 do."""
    from ..transfer.items.formats import read_items

    with suppress(TransferError):  # the import reports it
        values = [row.value for row in read_items(file).rows if isinstance(row.value, dict)]
        kept = [each["metadata"] for each in values if isinstance(each.get("metadata"), dict)]
        return any(each.get(key) for each in (*values, *kept) for key in ("participant", "conversation", "user_id"))
    return False


def _print_result(result: ImportResult | ItemImport, errors: Sequence[Mapping[str, Any]], next_step: str = "") -> None:
    values = {name: getattr(result, name) for name in result.__dataclass_fields__ if name not in _APART}
    output.show({name: value for name, value in values.items() if value})
    for note in result.notes:
        output.say(output.sentence(f"Note: {note}"))
    if errors:
        output.heading(f"Rows not taken: {result.error_count}")
        output.show(errors[:_SHOWN])
        if result.error_count > _SHOWN:
            output.say(f"... and {result.error_count - _SHOWN} more; --json lists up to 1000.")
    if result.dry_run:
        output.say("Nothing was stored. The same command without --dry-run stores it.")
    elif next_step:
        output.say(next_step)


def _end(result: ImportResult | ItemImport, file: Path, taken: int) -> None:
    """Print the number of rows that were not imported; exit with code 1 if all failed (`taken` is 0)."""
    if result.error_count:
        output.warn(f"Not taken: {output.count(result.error_count, 'row')}; the answer gives the reasons.")
    if not taken:
        from ..transfer.files import WHAT_TO_DO, describe_file

        output.warn(f"Nothing was taken of {str(file)!r}: {describe_file(file)}. {WHAT_TO_DO}")
        raise typer.Exit(1)


@contextmanager
def _says_how_to_go_on() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        output.warn("Interrupted: what was stored is whole. Run the same command again to go on.")
        raise typer.Exit(1) from None


def _import_chats(run: Run, file: Path, options: Mapping[str, Any], *, consolidate: bool) -> None:
    from ..transfer.imports import import_file

    with _says_how_to_go_on(), output.bar() as bar:
        chats = import_file(file, progress=bar, **options)
    queued = 0
    if consolidate and not chats.dry_run:
        with output.bar() as bar:
            queued = _consolidate(run, chats, bar)
    next_step = ""
    if queued:
        next_step = f"Operations that wait: {queued:,}. To do them: prompt-engine worker --once"
    elif chats.imported or chats.edited:
        next_step = "Searchable from now on. The same command with --consolidate makes summaries and memories of it."
    value = {**chats.as_dict(), **({"queued": queued} if consolidate else {})}
    run.answer(value, lambda: _print_result(chats, [each._asdict() for each in chats.errors], next_step))
    taken = chats.imported + chats.edited + chats.duplicates + chats.service + chats.memories + chats.could_import
    _end(chats, file, taken)


def _consolidate(run: Run, result: ImportResult, progress: Progress) -> int:
    from .. import conversations, lifelong

    queued = 0
    for number, key in enumerate(result.conversations, 1):
        asking = run.asking(run.scope(key))
        queued += conversations.add_recent_conversation(**asking).stored
        queued += len(lifelong.trigger_memory_consolidation("import", key, wait=False, **asking).queued)
        progress("queueing", number, len(result.conversations))
    return queued


def _import_card(run: Run, file: Path, *, dry_run: bool) -> bool:
    """Import a character card; return False if the file is not a card."""
    from ..transfer.cards import import_card, read_card

    if read_card(file) is None:
        return False
    done = import_card(file, dry_run=dry_run, **run.asking())
    run.answer(asdict(done), lambda: _print_card(done))
    return True


def _print_card(done: CardImport) -> None:
    where = f"is in {done.file}" if done.file else "was not stored"
    output.say(f"{done.name}: the persona's text of {done.characters:,} characters {where}.")
    output.warn(*(f"{note}." for note in done.notes))
    book = done.items
    if book.imported or book.skipped or book.errors or book.notes:  # the card has a book
        _print_items(book)


def _import_items(run: Run, file: Path, scope: Scope, *, dry_run: bool) -> None:
    from ..transfer.items import import_items

    with _says_how_to_go_on(), output.bar() as bar:
        items = import_items(file, dry_run=dry_run, progress=bar, **run.asking(scope))
    run.answer(asdict(items), lambda: _print_items(items))
    _end(items, file, items.imported + items.duplicates)


def _print_items(result: ItemImport) -> None:
    _print_result(result, [asdict(each) for each in result.errors])
