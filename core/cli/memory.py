"""`prompt-engine memory`: looking after the memory that lasts, by hand or from a timer."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from . import output
from .run import Run

if TYPE_CHECKING:
    from ..memories.shapes import CycleResult, Pruned

DeepOption = Annotated[
    bool, typer.Option("--deep", help="Prune, then look again over the newest messages for what stays true.")
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show which items it would be, and change nothing.")]
TryOption = Annotated[bool, typer.Option("--dry-run", help="With --deep: show what it would archive, change nothing.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
AgeOption = Annotated[
    int | None, typer.Option("--max-age-days", metavar="DAYS", help="PRUNE_MAX_AGE_DAYS.", show_default=False)
]
ImportanceOption = Annotated[
    float | None, typer.Option("--max-importance", metavar="0-1", help="PRUNE_MAX_IMPORTANCE.", show_default=False)
]
ModeOption = Annotated[str | None, typer.Option("--mode", metavar="any|all", help="PRUNE_MODE.", show_default=False)]

_SHOWN = 20


def consolidate(run: Run, deep: DeepOption = False, dry_run: TryOption = False, yes: YesOption = False) -> None:
    """Make items of what was said since, archive what has expired.

    With --deep it is shown first which long-term items it would archive, and asked.
    """
    from .. import lifelong, llm

    call = run.asking()
    if dry_run and not deep:
        raise typer.BadParameter("--dry-run shows what --deep would archive; add --deep")
    if deep and _is_left(run, lifelong.prune_ltm(dry_run=True, **call), dry_run=dry_run, yes=yes):
        return
    try:
        done = lifelong.deep_consolidation(**call) if deep else lifelong.run_cycle(reason="by hand", **call)
    finally:
        llm.close()
    run.answer(asdict(done), lambda: _print_cycle(done))


def _is_left(run: Run, wanted: Pruned, *, dry_run: bool, yes: bool) -> bool:
    """Show what would be archived and ask; return whether nothing is to be done.

    Raises:
        BadParameter: nobody can be asked.
    """
    if dry_run:
        facts = {"count": int(wanted), "dry_run": True, "items": [{"id": id_, "why": why} for id_, why in wanted.items]}
        run.answer({**facts, "notes": wanted.notes}, lambda: _print_pruned(wanted, dry_run=True))
        return True
    if not wanted or yes:
        return False
    if not sys.stdin.isatty():
        raise typer.BadParameter(
            f"it would archive {int(wanted)} long-term items and nobody can be asked here: add --yes, or --dry-run to "
            "see which"
        )
    _print_pruned(wanted, dry_run=True)
    if not typer.confirm("Archive them?", err=True):
        raise typer.Abort
    return False


def prune(
    run: Run,
    max_age_days: AgeOption = None,
    max_importance: ImportanceOption = None,
    mode: ModeOption = None,
    dry_run: DryRunOption = False,
) -> None:
    """Archive long-term items that are old or matter little.

    Pinned and saved items stay; an archived item can be restored.
    """
    from .. import lifelong

    done = lifelong.prune_ltm(None, max_age_days, max_importance, mode, dry_run=dry_run, **run.asking())
    facts = {"count": int(done), "dry_run": dry_run, "items": [{"id": id_, "why": why} for id_, why in done.items]}
    run.answer({**facts, "notes": done.notes}, lambda: _print_pruned(done, dry_run))


def _print_cycle(done: CycleResult) -> None:
    archived = f"{done.pruned} archived, {done.merged} said before"
    output.say(f"{done.stored} items stored from {done.conversations} conversations, {archived}.")
    if done.reason:
        output.say(output.sentence(f"of a part nothing came: {done.reason}"), style="yellow")


def _print_pruned(done: Pruned, dry_run: bool) -> None:
    output.say(f"{int(done)} items {'would be archived' if dry_run else 'archived'}.")
    if done.items:
        output.table(("item", "because of"), [(id_, ", ".join(why)) for id_, why in done.items[:_SHOWN]])
    if len(done.items) > _SHOWN:
        output.say(f"and {len(done.items) - _SHOWN} more")
