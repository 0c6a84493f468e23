"""`prompt-engine forget`: a participant, a conversation or a memory deleted for good."""

from __future__ import annotations

import difflib
import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from . import output
from .run import Run

if TYPE_CHECKING:
    from ..forgetting import Forgotten

ParticipantOption = Annotated[
    str | None, typer.Option("--participant", metavar="KEY", help="A person: interface/id, with all linked identities.")
]
ConversationOption = Annotated[
    str | None, typer.Option("--conversation", metavar="KEY", help="A conversation: interface/chat[/thread].")
]
MemoryOption = Annotated[int | None, typer.Option("--memory", metavar="ID", help="One memory item.")]
ServerOption = Annotated[
    str | None, typer.Option("--server", metavar="ID", help="A server: all its conversations, and what is its alone.")
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Count only; change nothing.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
FormatOption = Annotated[
    Literal["table", "json"] | None, typer.Option("--format", help="How the counts are shown.", show_default=False)
]


def forget(
    run: Run,
    participant: ParticipantOption = None,
    conversation: ConversationOption = None,
    memory: MemoryOption = None,
    server: ServerOption = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    format_name: FormatOption = None,
) -> None:
    """Delete a person, conversation, memory or server for good.

    It cannot be undone. --dry-run tells how many rows of each table would go; without --yes it is asked before.
    The exit code is 1 where there is nothing of it.
    """
    given = {"participant": participant, "conversation": conversation, "memory": memory, "server": server}
    wanted = {name: value for name, value in given.items() if value is not None}
    if len(wanted) != 1:
        raise typer.BadParameter("name exactly one of --participant, --conversation, --memory and --server")
    if format_name is not None:
        run.as_json = format_name == "json"
    if not dry_run and not yes and not _is_agreed(_count_or_forget(run, wanted, dry_run=True)):
        raise typer.Abort
    done = _count_or_forget(run, wanted, dry_run=dry_run)
    run.answer(done.as_dict(), lambda: _print_counts(done))
    if not done.total:
        ((kind, key),) = wanted.items()
        output.note(name_near(run, kind, str(key)), style="yellow")
        raise typer.Exit(1)


def name_near(run: Run, kind: str, key: str) -> str:
    """Return a sentence that says what is not known, and names what is near it."""
    from ..audience import table_places

    persona = run.scope().persona
    said = f"Nothing is known of the {kind} {output.clean(key)!r} of the persona {persona!r}."
    if kind == "memory":
        return said
    known = table_places.list_keys(run.db, persona, kind)
    ids = {one.rpartition("/")[2]: one for one in known}
    close = difflib.get_close_matches(key, known, n=3, cutoff=0.6)
    close += [ids[one] for one in difflib.get_close_matches(key.rpartition("/")[2], ids, n=3, cutoff=0.8)]
    near = list(dict.fromkeys(close))[:3]
    return f"{said} Near it: {', '.join(map(output.clean, near))}." if near else said


def _count_or_forget(run: Run, wanted: dict[str, str | int], *, dry_run: bool) -> Forgotten:
    from .. import forgetting

    return forgetting.forget(**wanted, dry_run=dry_run, db=run.db, scope=run.scope())  # type: ignore[arg-type]


def _is_agreed(counted: Forgotten) -> bool:
    """Return whether whoever sits there wants it; without anybody there `--yes` is needed.

    Raises:
        BadParameter: nobody can be asked.
    """
    rows = "1 row" if counted.total == 1 else f"{counted.total} rows"
    if not counted.total:
        return True
    if not sys.stdin.isatty():
        raise typer.BadParameter("nobody can be asked here: add --yes to delete, or --dry-run to count")
    return typer.confirm(f"Delete or change {rows} in {sum(map(bool, counted.values()))} tables for good?", err=True)


def _print_counts(done: Forgotten) -> None:
    rows = [(table, count) for table, count in done.items() if count]
    if not rows:
        output.say("There is nothing of it.")
        return
    output.table(("table", "rows"), rows, right=(1,))
    output.say("Nothing was changed." if done.dry_run else f"{done.total} rows were deleted or changed.")
    if done.operations:
        output.say(f"Operations to make texts anew without it: {done.operations}.")
    for path in done.files:
        output.say(f"Written anew: {output.clean(path)}")
    for path in done.out_of_reach:
        output.note(f"Out of reach: {output.clean(path)}", style="yellow")
