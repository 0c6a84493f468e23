"""`prompt-engine doctor`: what is wrong with this installation, and how it is mended."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from . import output
from .run import Run

if TYPE_CHECKING:
    from ..doctor.rules import Checkup, Symptom

FormatOption = Annotated[
    Literal["text", "json"] | None,
    typer.Option("--format", help="As --text and --json.", show_default=False),
]
ModelsOption = Annotated[bool, typer.Option("--models", help="Ask the configured model for one word, too.")]
AllOption = Annotated[bool, typer.Option("--all", help="Show what is in order, too.")]

_STYLES = {"error": "red", "warning": "yellow"}


def doctor(run: Run, form: FormatOption = None, models: ModelsOption = False, all_: AllOption = False) -> None:
    """Say what is wrong with an installation, and what mends it.

    Nothing is changed. The exit code is 1 if anything is an error.
    """
    from .. import doctor as door

    run.as_json = run.as_json if form is None else form == "json"
    checkup = door.examine(run.url, models=models)
    value = {
        "database": checkup.database,
        "healthy": checkup.healthy,
        "symptoms": [asdict(one) for one in checkup.symptoms],
    }
    run.answer(value, lambda: _print_checkup(checkup, all_=all_))
    if not checkup.healthy:
        raise typer.Exit(1)


def _print_checkup(checkup: Checkup, *, all_: bool) -> None:
    from ..doctor.rules import LEVELS

    for one in checkup.symptoms:
        if one.level != "ok" or all_:
            _print_symptom(one)
    counts = Counter(one.level for one in checkup.symptoms)
    counted = ", ".join(f"{counts[level]} {level}{'' if counts[level] == 1 else 's'}" for level in LEVELS[:-1])
    output.say(f"{counted}, {counts['ok']} in order." + ("" if all_ else " --all shows those in order."))


def _print_symptom(one: Symptom) -> None:
    output.say(output.clean(f"{one.level}: {one.area}: {one.what}"), style=_STYLES.get(one.level, ""))
    if one.why:
        output.indented(one.why)
    if one.mend:
        output.indented(f"mend: {one.mend}")
