"""`prompt-engine db`: making, checking and mending the database."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import StoreError
from . import maintenance as maintaining
from . import output
from .run import Run, command

if TYPE_CHECKING:
    from ..database.engine import Database
    from ..db import Difference, Finding, Migrated

CheckOption = Annotated[bool, typer.Option("--check", help="Change nothing, list what is missing or differs.")]
_SHOWN = 20
_NO_ADVICE = "The database's own log may say more."
"""In place of the advice to run the subcommand that is running."""


def add_to(app: typer.Typer) -> None:
    """Add `db` and what is under it."""
    group = typer.Typer(help="Make, check and mend the database.")
    command(group, "init")(init)
    command(group, "migrate")(migrate)
    command(group, "check")(check)
    command(group, "stats")(stats)
    command(group, "reindex")(reindex)
    command(group, "verify")(verify)
    maintaining.add_to(group)
    app.add_typer(group, name="db")


def _bare(run: Run) -> Database:
    """Return the database as it is: these subcommands also work on one that is not up to date."""
    from ..calls import defaults  # noqa: PLC0415 - kept out of the start of other subcommands

    run.use(defaults.open_bare(run.url))
    return run.db


def init(run: Run) -> None:
    """Make the tables. A database that has them stays as it is."""
    from .. import db as door  # noqa: PLC0415 - as above
    from ..upkeep import check as checking  # noqa: PLC0415 - as above
    from ..upkeep import migration as migrating  # noqa: PLC0415

    db = _bare(run)
    before = checking.stats(db)
    if before and migrating.pending(db):
        raise StoreError("The tables are of an earlier version. Bring them to the present: prompt-engine db migrate")
    messages = list(door.migrate(db).messages) if not before else ["The tables are there already; nothing was changed."]
    value = {"database": db.target.shown, "created": not before, "messages": messages}
    run.answer(value, lambda: output.facts([("Database", db.target.shown), ("Done", " ".join(messages))]))


def migrate(run: Run, only_check: CheckOption = False) -> None:
    """Bring the database to the present.

    Each step may run again; when there is nothing to do, nothing is changed and that is said.
    """
    from .. import db as door  # noqa: PLC0415 - as above

    db = _bare(run)
    if only_check:
        _report(run, [one for one in door.check_server(db) if "db migrate" in one.remedy])
        return
    with output.bar() as bar:
        made = door.migrate(db, progress=bar)
    run.answer(_migrated(made), lambda: _show_migrated(made))


def _migrated(made: Migrated) -> dict[str, Any]:
    adopted = {
        name: {"rows": one.rows, "broken": [asdict(broken) for broken in one.broken]}
        for name, one in made.adopted.items()
    }
    value = {"changed": made.changed, "applied": list(made.applied), "adopted": adopted}
    return value | {"messages": list(made.messages)}


def _show_migrated(made: Migrated) -> None:
    for message in made.messages:
        output.say(output.clean(message))
    for name, one in made.adopted.items():
        if one.broken:
            output.heading(f"Values mended in {name}: {len(one.broken)}")
            rows = [tuple(asdict(broken).values()) for broken in one.broken[:_SHOWN]]
            output.table(tuple(asdict(one.broken[0])), rows)


def check(run: Run) -> None:
    """List what is missing or wrong, and what mends it.

    The exit code is 1 if anything is an error.
    """
    from .. import db as door  # noqa: PLC0415 - as above
    from ..database.failures import LOOK  # noqa: PLC0415 - as above

    try:
        found = door.check_server(_bare(run))
    except StoreError as error:
        if LOOK not in str(error):
            raise
        raise StoreError(str(error).replace(LOOK, _NO_ADVICE), source=error.source, number=error.number) from None
    _report(run, found)


def _report(run: Run, findings: list[Finding]) -> None:
    run.answer([asdict(one) for one in findings], lambda: _show_findings(findings))
    if any(one.severity == "error" for one in findings):
        raise typer.Exit(1)


def _show_findings(findings: list[Finding]) -> None:
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
    from ..upkeep import check as checking  # noqa: PLC0415 - as above

    counts = checking.stats(_bare(run))
    run.answer(
        counts,
        lambda: (
            output.table(("table", "rows"), counts.items(), right=(1,))
            if counts
            else output.say("There are no tables. Make them with: prompt-engine db init")
        ),
    )


def reindex(run: Run) -> None:
    """Complete and mend the search index.

    Others may write meanwhile; interrupted, it goes on where it was when it is run again.
    """
    from .. import db as door  # noqa: PLC0415 - as above

    with output.bar() as bar:
        done = door.reindex(run.db, progress=bar)
    said = f"{done} rows were indexed or mended." if done else "The search index is complete; nothing was changed."
    run.answer({"done": done}, lambda: output.say(said))


def verify(run: Run) -> None:
    """Compare the search index with the rows.

    The exit code is 1 if they differ.
    """
    from .. import db as door  # noqa: PLC0415 - as above

    with output.bar() as bar:
        found = door.verify_index(run.db, progress=bar)
    run.answer([asdict(one) for one in found], lambda: _show_differences(found))
    if found:
        raise typer.Exit(1)


def _show_differences(found: list[Difference]) -> None:
    if not found:
        output.say("The search index agrees with the rows.")
        return
    counts = Counter((one.table, one.kind) for one in found)
    output.say(f"{len(found)} places differ. Mend them with: prompt-engine db reindex")
    output.table(("table", "what", "places"), [(*key, count) for key, count in sorted(counts.items())], right=(2,))
