"""`prompt-engine db`: make, check, repair and back up the database."""

from __future__ import annotations

import re
import time
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import StoreError
from ..text.times import parse_time
from . import output
from .run import ForceOption, Run, add_command

if TYPE_CHECKING:
    from ..database.engine import Database
    from ..db import Finding
    from ..upkeep.maintenance import Ran, Script, Value

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Which script; list shows them.", show_default=False)]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A value of the script; may be repeated.")
]
BackupArgument = Annotated[
    Path | None, typer.Argument(metavar="[FILE]", help="Without it prompt-engine-DATE here.", show_default=False)
]
ApplyOption = Annotated[bool, typer.Option("--apply", help="Change, not only count.")]

_STYLES = {"error": "red", "warning": "yellow"}
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")
_NO_ADVICE = "The database's own log may say more."
"""In place of the advice to run the subcommand that is running."""


def init(run: Run) -> None:
    """Make the tables. A database that has them stays as it is."""
    from ..db import migrate as make_tables

    db = run.open_bare()
    done = make_tables(db)
    value = {"database": db.target.shown, "created": done.changed, "messages": list(done.messages)}
    run.answer(value, lambda: output.facts([("Database", db.target.shown), ("Done", " ".join(done.messages))]))


def migrate(run: Run) -> None:
    """Bring the database to the present.

    Each step may run again. When there is nothing to do, nothing is changed.
    """
    from .. import db as door

    run.creates = True
    done = door.migrate(run.open_bare())
    value = {"changed": done.changed, "applied": list(done.applied), "messages": list(done.messages)}
    run.answer(value, lambda: output.lines(done.messages))


def check(run: Run) -> None:
    """List what is wrong, and what repairs it. Changes nothing.

    The exit code is 1 if anything is an error.
    """
    from .. import db as door
    from ..database.failures import LOOK
    from ..upkeep.check import EMPTY

    db = run.open_bare()
    try:
        findings = door.check_server(db)
        if not any(one.severity == "error" or one.what == EMPTY for one in findings):
            findings += _find_model_usage(run, db)
    except StoreError as error:
        if LOOK not in str(error):
            raise
        raise StoreError(str(error).replace(LOOK, _NO_ADVICE), source=error.source, number=error.number) from None
    run.answer([asdict(one) for one in findings], lambda: _print_findings(findings))
    if any(one.severity == "error" for one in findings):
        raise typer.Exit(1)


def _find_model_usage(run: Run, db: Database) -> list[Finding]:
    """Return what was asked of models today, where anything was."""
    from ..llm.table_usage import read_usage
    from ..shapes import Finding

    today = read_usage(db, days=1)
    calls, characters = sum(each.calls for each in today), sum(each.characters for each in today)
    most = run.settings.llm_daily_calls
    text = f"{calls:,} model calls today{f' of {most:,}' if most else ''}, {characters:,} characters"
    if most and calls >= most:
        return [Finding("warning", text, "model_usage", "Wait until tomorrow (UTC), or raise LLM_DAILY_CALLS")]
    return [Finding("note", text, "model_usage", "")] if calls else []


def _print_findings(findings: list[Finding]) -> None:
    from ..upkeep.check import EMPTY

    if not any(one.severity in _STYLES or one.what == EMPTY for one in findings):
        output.say("The database is in order.")
    for one in findings:
        if one.what == EMPTY:
            output.say(f"{one.what}: {one.remedy}")
            continue
        place = f" {one.where}:" if one.where else ""
        output.say(f"{one.severity}:{place} {one.what}", style=_STYLES.get(one.severity, ""))
        if one.remedy:
            output.indented(f"repair: {one.remedy}")


def stats(run: Run) -> None:
    """Count the rows of every table."""
    from ..upkeep import check as checking

    counts = checking.count_rows(run.open_bare())
    nothing = "There are no tables. Make them with: prompt-engine db init"
    run.answer(counts, lambda: output.table(("table", "rows"), list(counts.items()), nothing, right=(1,)))


def reindex(run: Run) -> None:
    """Build the search index again from the rows.

    Others may write meanwhile. Rows changed by SQL are then found by their new text.
    """
    from .. import db as door

    with output.bar() as bar:
        done = door.reindex(run.db, progress=bar)
    run.answer({"done": done}, f"{done} rows were indexed.")


def pack(run: Run) -> None:
    """Make the search index quicker to read.

    It joins small parts into large ones; saving joins some by itself. A step takes seconds, on a busy server tens of
    seconds. Others read meanwhile. Writers of the same audience may wait, with SQLite all writers, at most
    DB_TIMEOUT_SECONDS.
    """
    from .. import db as door

    began = time.monotonic()
    with output.bar() as bar:
        done = door.pack_index(run.db, progress=bar)
    seconds = round(time.monotonic() - began, 1)
    sentence = f"{done} rows were packed, in {seconds} seconds." if done else "There was nothing to pack."
    run.answer({"done": done, "seconds": seconds}, sentence)


def backup(run: Run, file: BackupArgument = None, force: ForceOption = False) -> None:
    """Write a consistent copy of the database into a file.

    Only you can read the file. A SQLite file is copied; of a server mariadb-dump or mysqldump writes SQL. Others may
    write meanwhile.
    """
    from ..upkeep.backup import write_backup

    db = run.open_bare()
    ending = "sqlite3" if db.family == "sqlite" else "sql"
    target = file or Path(f"prompt-engine-{db.clock():%Y%m%d-%H%M%S}.{ending}")
    size = write_backup(db, target, overwrite=force)
    run.answer({"file": str(target.resolve()), "bytes": size}, f"{target.resolve()}: {size:,} bytes.")


# The scripts of an operator, by name


def run_script(run: Run, name: NameArgument, settings: SetOption = None, apply_: ApplyOption = False) -> None:
    """Count, or with --apply change, by a script.

    Every script works on one persona: that of --persona-id, else of PERSONA_ID.
    """
    from ..upkeep import maintenance

    if name == "list":
        _list_scripts(run)
        return
    if name not in maintenance.list_scripts():
        raise typer.BadParameter(f"there is no script {name!r}; known are {', '.join(maintenance.list_scripts())}")
    script = maintenance.get_script(name, run.db.family)
    values = dict(_read_value(script, each) for each in settings or ())
    if "persona" in script.values:
        values.setdefault("persona", run.scope().persona)
    if apply_ and "apply" not in script.values:
        raise typer.BadParameter(f"{name} only counts; there is nothing to apply")
    done = maintenance.run_script(run.db, name, values=values, apply=apply_)
    run.answer(asdict(done), lambda: _print_script(done, script, apply_))


def _read_value(script: Script, text: str) -> tuple[str, Value | datetime]:
    """Return name and value of `NAME=VALUE`, the value of the type the script has there."""
    name, sign, given = text.partition("=")
    if not sign or name not in script.values:
        raise typer.BadParameter(f"--set {text!r}: write NAME=VALUE; names are {', '.join(script.values)}")
    default = script.values[name]
    if isinstance(default, str):
        if not _TIME.match(default):
            return name, given
        time = parse_time(given)
        if time is None:
            raise typer.BadParameter(f"--set {text!r}: {name} is a time such as 2026-01-01 00:00:00, UTC")
        return name, time
    try:
        return name, type(default)(given)
    except ValueError:
        raise typer.BadParameter(f"--set {text!r}: {name} is a number such as {default}") from None


def _list_scripts(run: Run) -> None:
    from ..upkeep import maintenance

    scripts = [maintenance.get_script(name, "sqlite") for name in maintenance.list_scripts()]
    run.answer(
        [{"name": script.name, "values": dict(script.values), "about": script.head} for script in scripts],
        lambda: output.table(
            ("script", "about", "values"),
            [(script.name, script.head.split("\n", 1)[0], ", ".join(script.values)) for script in scripts],
        ),
    )


def _print_script(done: Ran, script: Script, applied: bool) -> None:
    output.table(("counted", "rows"), done.counted.items(), right=(1,))
    if applied:
        output.heading("Changed")
        output.table(("table", "rows"), done.changed.items(), right=(1,))
    elif "apply" in script.values:
        output.say("Nothing was changed. --apply does it.")


def register(app: typer.Typer) -> None:
    """Add the subcommands to the command."""
    group = typer.Typer(help="Make, check, repair and back up the database.")
    add_command(group, "init", init, creates=True)
    add_command(group, "migrate", migrate, creates=True)
    add_command(group, "check", check)
    add_command(group, "stats", stats)
    add_command(group, "reindex", reindex)
    add_command(group, "pack", pack)
    add_command(group, "maintenance", run_script)
    add_command(group, "backup", backup)
    app.add_typer(group, name="db")
