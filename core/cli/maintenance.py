"""`prompt-engine db maintenance`: the scripts of an operator, by name."""

from __future__ import annotations

import re
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from ..text.times import parse_time
from . import output
from .run import Run, command

if TYPE_CHECKING:
    from ..upkeep.maintenance import Ran, Script, Value

NameArgument = Annotated[
    str | None, typer.Argument(metavar="[NAME]", help="Which script; without it they are listed.", show_default=False)
]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A value of the script; may be repeated.")
]
ApplyOption = Annotated[bool, typer.Option("--apply", help="Change, not only count.")]

_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")


def add_to(app: typer.Typer) -> None:
    """Add `maintenance`."""
    command(app, "maintenance")(run_script)


def run_script(run: Run, name: NameArgument = None, settings: SetOption = None, apply_: ApplyOption = False) -> None:
    """Count, or with --apply change, by a script.

    Every script works on one persona: that of --persona-id, else of PERSONA_ID.
    """
    from ..upkeep import maintenance  # noqa: PLC0415 - kept out of the start of other subcommands

    if name is None:
        if settings or apply_:
            raise typer.BadParameter(f"say which script: {', '.join(maintenance.names())}")
        _list(run)
        return
    if name not in maintenance.names():
        raise typer.BadParameter(f"there is no script {name!r}; known are {', '.join(maintenance.names())}")
    script = maintenance.find(name, run.db.family)
    values = dict(_read(script, each) for each in settings or ())
    if "persona" in script.values:
        values.setdefault("persona", run.scope().persona)
    if apply_ and "apply" not in script.values:
        raise typer.BadParameter(f"{name} only counts; there is nothing to apply")
    done = maintenance.run(run.db, name, values=values, apply=apply_)
    run.answer(asdict(done), lambda: _show(done, script, apply_))


def _read(script: Script, text: str) -> tuple[str, Value | datetime]:
    """Return name and value of `NAME=VALUE`, the value of the type the script has there."""
    name, sign, said = text.partition("=")
    if not sign or name not in script.values:
        raise typer.BadParameter(f"--set {text!r}: write NAME=VALUE; names are {', '.join(script.values)}")
    known = script.values[name]
    if isinstance(known, str):
        if not _TIME.match(known):
            return name, said
        time = parse_time(said)
        if time is None:
            raise typer.BadParameter(f"--set {text!r}: {name} is a time such as 2026-01-01 00:00:00, UTC")
        return name, time
    try:
        return name, type(known)(said)
    except ValueError:
        raise typer.BadParameter(f"--set {text!r}: {name} is a number such as {known}") from None


def _list(run: Run) -> None:
    from ..upkeep import maintenance  # noqa: PLC0415 - as above

    scripts = [maintenance.find(name, "sqlite") for name in maintenance.names()]
    run.answer(
        [{"name": script.name, "values": dict(script.values), "about": script.head} for script in scripts],
        lambda: output.table(
            ("script", "about", "values"),
            [(script.name, script.head.split("\n", 1)[0], ", ".join(script.values)) for script in scripts],
        ),
    )


def _show(done: Ran, script: Script, applied: bool) -> None:
    output.table(("counted", "rows"), done.counted.items(), right=(1,))
    if applied:
        output.heading("Changed")
        output.table(("table", "rows"), done.changed.items(), right=(1,))
    elif "apply" in script.values:
        output.say("Nothing was changed. --apply does it.")
