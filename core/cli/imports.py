"""`prompt-engine import`: conversations of other programs into the chat history."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import TransferError
from ..memories.rules import DEFAULT_KIND
from ..transfer.looks import WHAT_TO_DO, describe_file
from . import output
from .run import DryRunOption, Run, ServerOption, add_command, refusals

if TYPE_CHECKING:
    from ..scope import Scope
    from ..transfer.cards import CardImport
    from ..transfer.imports import ImportResult
    from ..transfer.items import ItemImport

FileArgument = Annotated[
    Path | None,
    typer.Argument(metavar="FILE", help="An export, as a file, folder or zip; or lines or items.", show_default=False),
]
FromOption = Annotated[
    str | None,
    typer.Option("--from", metavar="URL", help="Instead of FILE: a database of the original application, only read."),
]
InterfaceOption = Annotated[
    str | None,
    typer.Option(
        "--interface",
        metavar="NAME",
        help="First part of the conversation keys, NAME/conversation. Without it the program, such as discord.",
        show_default=False,
    ),
]
KeyOption = Annotated[
    str | None, typer.Option("--conversation", metavar="KEY", help="One conversation key for everything instead.")
]
PersonaOption = Annotated[
    str | None,
    typer.Option(
        "--persona-speaker",
        "--persona",
        metavar="NAME",
        help="The speaker who is the persona, by name or id. Without it the assistant or character the file names.",
    ),
]
UserOption = Annotated[
    str, typer.Option("--user", metavar="ID", help="Your id, in an export of an assistant, which does not say it.")
]
PrivateOption = Annotated[
    bool | None,
    typer.Option(
        "--private/--public",
        help="New conversations are direct messages; with several people, restricted channels. Without it those of "
        "SillyTavern are, and lines are public.",
    ),
]
DayFirstOption = Annotated[
    bool | None,
    typer.Option("--day-first/--month-first", help="What 03/04 is in WhatsApp. Without it found from the whole file."),
]
ConsolidateOption = Annotated[
    bool,
    typer.Option("--consolidate", help="Queue the making of summaries and memories of each conversation of an export."),
]
ZoneOption = Annotated[str, typer.Option("--timezone", metavar="ZONE", help="Of times without an offset.")]
KindOption = Annotated[
    str | None, typer.Option("--kind", metavar="KIND", help="Of memories that name none; without it KeyFacts.")
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Exit with 1 if there are rows that cannot be taken; good ones are taken.")
]

_SHOWN = 20
_SHOWN_INSTRUCTIONS = 5
_SHOWN_KEYS = 4


def import_(
    run: Run,
    file: FileArgument = None,
    from_url: FromOption = None,
    interface: InterfaceOption = None,
    conversation: KeyOption = None,
    persona: PersonaOption = None,
    user: UserOption = "",
    private: PrivateOption = None,
    server: ServerOption = "",
    timezone: ZoneOption = "UTC",
    day_first: DayFirstOption = None,
    kind: KindOption = None,
    consolidate: ConsolidateOption = False,
    dry_run: DryRunOption = False,
    strict: StrictOption = False,
) -> None:
    """Import conversations or memories, each once.

    FILE holds chats of another program, such as ChatGPT, Discord, Telegram, WhatsApp, Signal, LINE, Character.AI or
    SillyTavern: the file, the folder or the zip archive as it was downloaded. Which program it is, is found from the
    content. Or it holds one JSON object a line: {conversation, session, id, timestamp, speaker, text}, of which the
    last three must be there. The same file again adds nothing, so an import that was stopped is run again to go
    on; a later export adds what is new and edits what was edited. Bad rows are listed, good ones taken.

    Or it holds memories: what `export --items` writes, a World Info file or character book, an export of mem0, of the
    memory server of MCP or of an Open-LLM-VTuber with a memory, a list of memories as text, or the tables of the
    original application as JSON. Or values, as `export --values` writes them: --conversation, --user and --private say
    whose they are from then on.

    Or it is a character card, as PNG, CHARX or JSON: it becomes the persona's text (PERSONA_FOLDER), its book memories.

    Or it is the folder of the two Markdown files that `export --markdown` writes: what is not stored yet is added.
    """
    if (file is None) == (from_url is None):
        raise typer.BadParameter("say either which FILE, or --from which URL")
    if from_url is not None:
        _import_original(run, from_url)
        return
    assert file is not None
    if _is_memory_folder(file):
        _import_markdown(run, file, run.scope(conversation, user or None, server))
        return
    with refusals():
        is_card = _is_card(file)
        values = None if is_card else _read_values(file)
    if is_card:
        _import_card(run, file, dry_run=dry_run)
        return
    if values is not None:
        scope = run.scope(conversation, user or None, server, privacy="direct" if private else None)
        _import_values(run, values, scope, dry_run=dry_run, strict=strict)
        return
    is_items = not _is_chats(file) and _is_items(file)
    if is_items and (persona is not None or private is not None):
        raise typer.BadParameter("--persona-speaker and --private belong to conversations, and the file holds memories")
    with refusals(), _going_on(), _stoppable() as should_stop, output.bar() as bar:
        if is_items:
            from ..transfer.items import import_items

            items = import_items(
                file,
                default_kind=DEFAULT_KIND if kind is None else kind,
                dry_run=dry_run,
                progress=bar,
                should_stop=should_stop,
                db=run.db,
                scope=run.scope(conversation=conversation, server=server),
            )
        else:
            from ..transfer.imports import import_file

            chats = import_file(
                file,
                interface=interface,
                conversation=conversation,
                persona=persona,
                user=user,
                private=private,
                time_zone=timezone,
                day_first=day_first,
                dry_run=dry_run,
                progress=bar,
                should_stop=should_stop,
                db=None if dry_run else run.db,
                scope=None if dry_run else run.scope(server=server),
            )
    if is_items:
        run.answer(items.as_dict(), lambda: _print_items(items))
        _end(items, file, strict=strict, taken=items.imported + items.duplicates)
        return
    queued = 0
    if consolidate and not dry_run and chats.stopped_after_row is None:
        with _going_on(), output.bar() as bar:
            queued = _consolidate(run, chats, bar)
    facts = {**chats.as_dict(), **({"queued": queued} if consolidate else {})}
    run.answer(facts, lambda: _print_chats(chats, queued))
    taken = chats.imported + chats.edited + chats.duplicates + chats.service + chats.memories + chats.could_import
    _end(chats, file, strict=strict, taken=taken)


def _import_original(run: Run, url: str) -> None:
    from ..transfer.original import import_original

    with _going_on():
        done = import_original(url, db=run.db, scope=run.scope())
    run.answer(done.as_dict(), lambda: output.facts(done.as_dict().items()))


def _end(result: ImportResult | ItemImport, file: Path, *, strict: bool, taken: int) -> None:
    """Say what was not imported; exit with 1 if it was stopped or nothing was, with `strict` also if rows were not."""
    if result.error_count:
        rows = "1 row was" if result.error_count == 1 else f"{result.error_count} rows were"
        output.note(f"{rows} not taken; the answer gives the reasons.", style="yellow")
    if result.stopped_after_row is not None:
        where = f"after row {result.stopped_after_row}" if result.stopped_after_row else "before anything was stored"
        output.note(f"Stopped {where}. Run the same command again to go on.", style="yellow")
        raise typer.Exit(1)
    if not taken and result.stopped_after_row is None:
        output.note(f"Nothing was taken of {str(file)!r}: {describe_file(file)}. {WHAT_TO_DO}", style="yellow")
        raise typer.Exit(1)
    if strict and result.error_count:
        raise typer.Exit(1)


@contextmanager
def _going_on() -> Iterator[None]:
    """Say how to go on after an interrupt that did not wait for the transaction under way."""
    try:
        yield
    except KeyboardInterrupt:
        output.note("Stopped at once, at a whole transaction. Run the same command again to go on.", style="yellow")
        raise typer.Exit(1) from None


@contextmanager
def _stoppable() -> Iterator[Callable[[], bool]]:
    """Let Ctrl-C and a request to end stop the work between two transactions; a second one stops at once."""
    asked = threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _print_rest(result: ImportResult | ItemImport, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print the notes, and the first rows that were not taken."""
    for note in result.notes:
        output.say(output.sentence(f"Note: {output.clean(note)}"))
    if result.error_count:
        output.heading(f"Rows not taken: {result.error_count}")
        output.table(columns, rows, right=(0,))
        if result.error_count > _SHOWN:
            output.say(f"... and {result.error_count - _SHOWN} more; --json lists up to 1000.")


def _minute(time: str) -> str:
    return time[:16].replace("T", " ")


def _speakers(result: ImportResult) -> str:
    most = sorted(result.speakers.items(), key=lambda pair: (-pair[1], pair[0]))
    shown = [f"{name}{' (persona)' if name in result.persona else ''} {count}" for name, count in most[:6]]
    return ", ".join([*shown, f"and {len(most) - 6} more"] if len(most) > 6 else shown) or "-"


# Exports of other programs


def _is_memory_folder(path: Path) -> bool:
    """Return whether a path is the folder of the two Markdown files."""
    from ..conversations.memory_files import NAMES

    return any((path / name).is_file() for name in NAMES)


def _import_markdown(run: Run, folder: Path, scope: Scope) -> None:
    """Add what the two Markdown files hold and is not stored."""
    from ..conversations import import_markdown

    with refusals():
        done = import_markdown(folder, db=run.db, settings=run.settings, scope=scope)
    run.answer(asdict(done), lambda: output.facts([("Added", done.added), ("Not taken", len(done.left_out))]))
    for reason in done.left_out:
        output.note(output.clean(reason), style="yellow")


def _is_chats(file: Path) -> bool:
    """Return whether a path holds chats; what cannot be read is refused when it is read."""
    from ..transfer.formats import find_export

    try:
        return find_export(file, sys.maxsize) is not None
    except TransferError:
        return True


def _consolidate(run: Run, result: ImportResult, progress: Callable[[str, int, int], None]) -> int:
    """Queue a summary and the making of memories for every conversation, and return how many operations wait for it."""
    from .. import conversations, lifelong

    queued = 0
    for number, key in enumerate(result.conversations, 1):
        asking: dict[str, Any] = {"db": run.db, "settings": run.settings, "scope": run.scope(conversation=key)}
        queued += conversations.add_recent_conversation(**asking).stored
        queued += len(lifelong.trigger_memory_consolidation("import", None, key, wait=False, **asking).queued)
        progress("queueing", number, len(result.conversations))
    return queued


def _print_chats(result: ImportResult, queued: int) -> None:
    """Print what was imported, in a dry run the first lines, what was not taken, and what to run next."""
    output.say(_paragraph(result))
    for key, lines in result.lines.items():
        output.heading(output.clean(key))
        output.lines([output.clean(line) for line in lines])
    shown = [(p.place or p.row, p.reason) for p in result.errors[:_SHOWN]]
    _print_rest(result, ("place" if result.errors and result.errors[0].place else "row", "reason"), shown)
    following = _following(result, queued)
    if following:
        output.heading("Next")
        output.lines(following)


def _paragraph(result: ImportResult) -> str:
    """Return what an import did, in a few sentences."""
    from ..transfer.formats import TITLES

    program = " and ".join(TITLES.get(name, name) for name in result.format.split("+"))
    count = result.could_import if result.dry_run else result.imported
    chats = len(result.conversations)
    verb = "could be imported; nothing was stored" if result.dry_run else f"{'was' if count == 1 else 'were'} imported"
    of = f"{chats:,} {'conversation' if chats == 1 else 'conversations'}"
    parts = [f"{program}: {count:,} {'message' if count == 1 else 'messages'} of {of} {verb}."]
    if not result.dry_run and (result.duplicates or result.edited):
        parts.append(f"{result.duplicates:,} were there already, {result.edited:,} were edited.")
    if result.first:
        days = "1 day" if result.days == 1 else f"{result.days:,} days"
        parts.append(f"They are from {_minute(result.first)} to {_minute(result.last)} UTC, on {days}.")
    if result.speakers:
        parts.append(f"Who speaks: {_speakers(result)}.")
    closed = result.private_count
    if chats:
        kinds = [(closed, "private"), (chats - closed, "public to their server")]
        seen = " and ".join(f"{number:,} {kind}" for number, kind in kinds if number)
        parts.append(f"Of the conversations {seen}: {_first(result.conversations)}.")
    beside = [(result.service, "lines of the program, kept hidden"), (result.memories, "memories")]
    names = {"alternatives": "alternative versions", "running_recaps": "running recaps"}
    beside += [(count, names.get(what, what)) for what, count in result.story.items()]
    beside += [(result.skipped, "blank")]
    beside += [(number, reason) for reason, number in result.left_out.items()]
    counts = [f"{number:,} {what}" for number, what in beside if number]
    if counts:
        parts.append(f"Besides: {'; '.join(counts)}.")
    if not result.dry_run:
        parts.append(_instructions(result))
    return output.clean(" ".join(parts))


def _first(keys: Sequence[str]) -> str:
    """Return the first few of them, and how many there are beside.

    >>> _first(["a", "b"]), _first(["a", "b", "c", "d", "e", "f"])
    ('a, b', 'a, b, c, d and 2 more')
    """
    shown = ", ".join(keys[:_SHOWN_KEYS])
    return shown if len(keys) <= _SHOWN_KEYS else f"{shown} and {len(keys) - _SHOWN_KEYS:,} more"


def _instructions(result: ImportResult) -> str:
    """Return the standing instructions that were found, as a sentence."""
    if not result.instructions:
        return "No standing instruction was found in them." if result.imported else ""
    texts = [f"{who}: {text!r}" for who, text in result.instruction_texts[:_SHOWN_INSTRUCTIONS]]
    more = result.instructions - len(texts)
    count = result.instructions
    found = "1 standing instruction was" if count == 1 else f"{count:,} standing instructions were"
    return f"{found} found: {'; '.join(texts)}{f'; and {more:,} more' if more > 0 else ''}."


def _following(result: ImportResult, queued: int) -> list[str]:
    """Return what makes sense after an import, a sentence or a command each."""
    if result.dry_run:
        asked = "" if result.persona else ", and with --persona-speaker NAME where the persona is one of them"
        return [f"The same command without --dry-run{asked}."] if result.could_import else []
    if queued:
        return [f"{queued:,} operations wait. This does them, and shows each:", "    prompt-engine worker --once"]
    if result.imported or result.edited:
        return ["Searched from now on. For summaries and memories of it: the same command with --consolidate.",
                '    prompt-engine search "..."']  # fmt: skip
    return []


# Memory items


def _is_card(file: Path) -> bool:
    from ..transfer.cards import read_card

    return read_card(file) is not None


def _import_card(run: Run, file: Path, *, dry_run: bool) -> None:
    from ..transfer.cards import import_card

    with refusals():
        done = import_card(file, dry_run=dry_run, db=run.db, settings=run.settings, scope=run.scope())
    run.answer(done.as_dict(), lambda: _print_card(done))


def _print_card(done: CardImport) -> None:
    where = f"is in {done.file}" if done.file else "was not stored"
    output.say(output.clean(f"{done.name}: the persona's text of {done.characters:,} characters {where}."))
    _print_items(done.items)


def _read_values(file: Path) -> list[Any] | None:
    """Return the values of a file of values; None where it is none, or cannot be read."""
    from ..transfer.values import read_values

    return read_values(file) if file.is_file() else None


def _import_values(run: Run, values: list[Any], scope: Scope, *, dry_run: bool, strict: bool) -> None:
    from ..transfer.values import import_values

    with refusals():
        done = import_values(values, dry_run=dry_run, db=run.db, scope=scope)
    took = "could be imported; nothing was stored" if dry_run else "imported"
    sentence = f"{done.imported} values {took}, {done.duplicates} there already, {done.error_count} not taken."
    run.answer(done.as_dict(), sentence)
    for each in done.errors[:_SHOWN]:
        output.note(f"Value {each.row}: {output.clean(each.reason)}", style="yellow")
    if strict and done.error_count:
        raise typer.Exit(1)


def _is_items(file: Path) -> bool:
    """Return whether a file holds memory items and no conversation."""
    from ..transfer.items.documents import read_beginning
    from ..transfer.items.formats import is_items

    return is_items(read_beginning(file))


def _print_items(result: ItemImport) -> None:
    rows: list[tuple[str, object]] = [("Format", result.format)]
    if result.dry_run:
        rows.append(("Items", f"{result.imported} could be imported; nothing was stored"))
    else:
        rows.append(("Imported", result.imported))
    rows += [("There already", result.duplicates)] if result.duplicates else []
    blank = result.skipped - result.duplicates
    rows += [("Blank", blank)] if blank else []
    output.facts(rows)
    shown = [(p.row, "" if p.uid is None else p.uid, p.reason) for p in result.errors[:_SHOWN]]
    _print_rest(result, ("row", "uid", "reason"), shown)


def register(app: typer.Typer) -> None:
    """Add the subcommand to the command."""
    add_command(app, "import", import_, creates=True)
