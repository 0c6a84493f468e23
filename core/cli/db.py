"""`prompt-engine db`: making, checking and mending the database."""

from __future__ import annotations

import re
import shlex
import time
from collections import Counter
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import StoreError
from ..text.times import parse_time
from . import output
from .run import Run

if TYPE_CHECKING:
    from ..db import Difference, Finding, Migrated
    from ..upkeep.maintenance import Ran, Script, Value

CheckOption = Annotated[bool, typer.Option("--check", help="Change nothing, list what is missing or differs.")]
NameArgument = Annotated[
    str | None, typer.Argument(metavar="[NAME]", help="Which script; without it they are listed.", show_default=False)
]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A value of the script; may be repeated.")
]
BackupArgument = Annotated[Path, typer.Argument(metavar="FILE", help="File that is written.", show_default=False)]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace a file that is there.")]
ChangedOption = Annotated[bool, typer.Option("--changed", help="Only rows whose text or tags somebody changed by SQL.")]
ApplyOption = Annotated[bool, typer.Option("--apply", help="Change, not only count.")]

_SHOWN = 20
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")
_NO_ADVICE = "The database's own log may say more."
"""In place of the advice to run the subcommand that is running."""


def init(run: Run) -> None:
    """Make the tables. A database that has them stays as it is."""
    from .. import db as door
    from ..upkeep import check as checking
    from ..upkeep import migration as migrating

    db = run.open_bare()
    before = checking.count_rows(db)
    if before and migrating.list_pending(db):
        raise StoreError("The tables are of an earlier version. Bring them to the present: prompt-engine db migrate")
    messages = list(door.migrate(db).messages) if not before else ["The tables are there already; nothing was changed."]
    value = {"database": db.target.shown, "created": not before, "messages": messages}
    run.answer(value, lambda: output.facts([("Database", db.target.shown), ("Done", " ".join(messages))]))


def migrate(run: Run, only_check: CheckOption = False) -> None:
    """Bring the database to the present.

    Each step may run again; when there is nothing to do, nothing is changed and that is said.
    """
    from .. import db as door
    from ..upkeep import check as checking

    run.creates = not only_check
    db = run.open_bare()
    if only_check:
        _answer_findings(run, [one for one in checking.check_server(db) if "db migrate" in one.remedy])
        return
    with output.bar() as bar:
        migrated = door.migrate(db, progress=bar)
    run.answer(_migration_facts(migrated), lambda: _print_migrated(migrated))


def _migration_facts(migrated: Migrated) -> dict[str, Any]:
    adopted = {
        name: {"rows": one.rows, "broken": [asdict(broken) for broken in one.broken]}
        for name, one in migrated.adopted.items()
    }
    value = {"changed": migrated.changed, "applied": list(migrated.applied), "adopted": adopted}
    return value | {"messages": list(migrated.messages)}


def _print_migrated(migrated: Migrated) -> None:
    for message in migrated.messages:
        output.say(output.clean(message))
    for name, one in migrated.adopted.items():
        if one.broken:
            output.heading(f"Values mended in {name}: {len(one.broken)}")
            rows = [tuple(asdict(broken).values()) for broken in one.broken[:_SHOWN]]
            output.table(tuple(asdict(one.broken[0])), rows)


def check(run: Run) -> None:
    """List what is missing or wrong, and what mends it.

    The exit code is 1 if anything is an error.
    """
    from .. import db as door
    from ..database.failures import LOOK

    try:
        with output.bar() as bar:
            findings = door.check_server(run.open_bare(), progress=bar)
    except StoreError as error:
        if LOOK not in str(error):
            raise
        raise StoreError(str(error).replace(LOOK, _NO_ADVICE), source=error.source, number=error.number) from None
    _answer_findings(run, findings)


def _answer_findings(run: Run, findings: list[Finding]) -> None:
    run.answer([asdict(one) for one in findings], lambda: _print_findings(findings))
    if any(one.severity == "error" for one in findings):
        raise typer.Exit(1)


def _print_findings(findings: list[Finding]) -> None:
    if not findings:
        output.say("The database is in order.")
    for one in findings:
        place = f" {one.where}" if one.where else ""
        output.say(
            output.clean(f"{one.severity}: {one.what}{place}"), style="red" if one.severity == "error" else "yellow"
        )
        output.indented(f"there: {one.there}; needed: {one.needed}")
        output.indented(f"mend: {one.remedy}")


def stats(run: Run) -> None:
    """Count the rows of every table."""
    from ..upkeep import check as checking

    counts = checking.count_rows(run.open_bare())
    run.answer(
        counts,
        lambda: (
            output.table(("table", "rows"), counts.items(), right=(1,))
            if counts
            else output.say("There are no tables. Make them with: prompt-engine db init")
        ),
    )


def reindex(run: Run, changed: ChangedOption = False) -> None:
    """Complete and mend the search index.

    Others may write meanwhile; interrupted, it goes on where it was when it is run again.
    """
    from .. import db as door

    with output.bar() as bar:
        done = door.reindex(run.db, changed=changed, progress=bar)
    said = f"{done} rows were indexed or mended." if done else "The search index is complete; nothing was changed."
    run.answer({"done": done}, said)


def pack(run: Run) -> None:
    """Make the search index quicker to read.

    Its small parts are joined into large ones. Saving joins some by itself. A step takes seconds, where large parts are
    joined on a busy server tens of seconds. Others read meanwhile; writers of the same audience may wait for its end,
    with SQLite all do, DB_TIMEOUT_SECONDS at most.
    """
    from .. import db as door

    began = time.monotonic()
    with output.bar() as bar:
        done = door.pack_index(run.db, progress=bar)
    seconds = round(time.monotonic() - began, 1)
    said = f"{done} rows were packed, in {seconds} seconds." if done else "There was nothing to pack."
    run.answer({"done": done, "seconds": seconds}, said)


def verify(run: Run) -> None:
    """Compare the search index with the rows.

    The exit code is 1 if they differ.
    """
    from .. import db as door

    with output.bar() as bar:
        differences = door.verify_index(run.db, progress=bar)
    run.answer([asdict(one) for one in differences], lambda: _print_differences(differences))
    if differences:
        raise typer.Exit(1)


def _print_differences(differences: list[Difference]) -> None:
    if not differences:
        output.say("The search index agrees with the rows. Texts changed by SQL: prompt-engine db check.")
        return
    counts = Counter((one.table, one.kind) for one in differences)
    output.say(f"{len(differences)} places differ. Mend them with: prompt-engine db reindex")
    output.table(("table", "what", "places"), [(*key, count) for key, count in sorted(counts.items())], right=(2,))


def backup(run: Run, file: BackupArgument, force: ForceOption = False) -> None:
    """Write a consistent copy of the database.

    Others may write meanwhile. Of a server the command to run is printed.
    """
    db = run.open_bare()
    if db.family != "sqlite":
        url = db.target.url
        place = (f"--host={url.host or 'localhost'}", f"--port={url.port or 3306}", f"--user={url.username or ''}")
        dump = ("mysqldump", "--single-transaction", "--routines=false", *place, "-p", url.database or "")
        command = f"{shlex.join(dump)} > {shlex.quote(str(file))}"
        run.answer({"file": None, "command": command}, lambda: output.lines(["Run this:", f"    {command}"]))
        return
    from ..upkeep.copies import copy_file

    copied = copy_file(db, file, overwrite=force)
    run.answer({"file": str(file), "bytes": copied}, f"{file}: {copied} bytes.")


# The scripts of an operator, by name


def run_script(run: Run, name: NameArgument = None, settings: SetOption = None, apply_: ApplyOption = False) -> None:
    """Count, or with --apply change, by a script.

    Every script works on one persona: that of --persona-id, else of PERSONA_ID.
    """
    from ..upkeep import maintenance

    if name is None:
        if settings or apply_:
            raise typer.BadParameter(f"say which script: {', '.join(maintenance.list_scripts())}")
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
