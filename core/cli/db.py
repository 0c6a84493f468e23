"""`prompt-engine db`: create, check, repair, copy and back up the database."""

from __future__ import annotations

import re
import time
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from typer import Argument, BadParameter, Option

from ..errors import StoreError
from ..shapes import Finding
from ..text.times import parse_time
from . import output
from .run import ForceOption, Run, command, read_url

if TYPE_CHECKING:
    from ..database.engine import Database
    from ..upkeep.maintenance import Script, Value

_URL = "sqlite:///FILE or mysql://USER:PASSWORD@HOST/NAME; env:NAME or file:PATH reads it from there."
_STYLES = {"error": "red", "warning": "yellow"}
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")


@command("db init", creates=True)
@command("db migrate", creates=True)
def migrate(run: Run) -> None:
    """Create the tables, or migrate the tables of an earlier version.

    An up-to-date database is not changed.
    """
    from .. import db as door

    db = run.open_bare()
    done = door.migrate(db)
    value = {"database": db.target.shown, "changed": done.changed, "messages": list(done.messages)}
    run.answer(value, lambda: output.lines(done.messages))


@command("db check")
def check(run: Run) -> None:
    """List problems and their repairs. Changes nothing.

    The exit code is 1 if a problem is an error.
    """
    from .. import db as door
    from ..database.failures import LOOK
    from ..upkeep.check import NO_TABLES

    db = run.open_bare()
    try:
        findings = door.check_server(db)
        if NO_TABLES not in findings and not any(one.severity == "error" for one in findings):
            findings += _find_model_usage(run, db)
    except StoreError as error:  # the error usually advises running this subcommand
        text = str(error).replace(LOOK, "The database's own log may say more.")
        raise StoreError(text, source=error.source, number=error.number, server=error.server) from None
    run.answer([asdict(one) for one in findings], lambda: _print_findings(findings))
    if any(one.severity == "error" for one in findings):
        raise typer.Exit(1)


def _find_model_usage(run: Run, db: Database) -> list[Finding]:
    from ..llm import read_usage

    today = read_usage(db, days=1)
    calls, characters = sum(each.calls for each in today), sum(each.characters for each in today)
    most = run.settings.llm_daily_calls
    text = f"{output.count(calls, 'model call')} today{f' of {most:,}' if most else ''}, {characters:,} characters"
    if most and calls >= most:
        return [Finding("warning", text, "model_usage", "Wait until tomorrow (UTC), or raise LLM_DAILY_CALLS")]
    return [Finding("note", text, "model_usage", "")] if calls else []


def _print_findings(findings: list[Finding]) -> None:
    from ..upkeep.check import NO_TABLES

    if NO_TABLES in findings:
        output.say(f"{NO_TABLES.what}: {NO_TABLES.remedy}")
    elif not any(one.severity in _STYLES for one in findings):
        output.say("The database is in order.")
    for one in findings:
        if one == NO_TABLES:
            continue
        place = f" {one.where}:" if one.where else ""
        output.say(f"{one.severity}:{place} {one.what}", style=_STYLES.get(one.severity, ""))
        if one.remedy:
            output.indented(f"repair: {one.remedy}")


@command("db reindex")
def reindex(run: Run) -> None:
    """Build the search index again from the rows.

    Programs may write meanwhile; with SQLite they wait. Afterwards, rows changed by SQL are found by their new text.
    """
    from .. import db as door

    with output.bar() as bar:
        done = door.reindex(run.db, progress=bar)
    run.answer({"done": done}, f"Indexed: {output.count(done, 'row')}.")


@command("db pack")
def pack(run: Run) -> None:
    """Make the search index quicker to read.

    It merges small parts of the index; saving also merges some parts. A step takes seconds, on a busy server tens of
    seconds. Others read meanwhile. Writers of the same audience may wait, with SQLite all writers, at most
    DB_TIMEOUT_SECONDS.
    """
    from .. import db as door

    began = time.monotonic()
    with output.bar() as bar:
        done = door.pack_index(run.db, progress=bar)
    seconds = round(time.monotonic() - began, 1)
    sentence = f"Packed: {output.count(done, 'row')}, in {seconds} seconds." if done else "There was nothing to pack."
    run.answer({"done": done, "seconds": seconds}, sentence)


@command("db backup")
def backup(
    run: Run,
    file: Path | None = Argument(None, metavar="[FILE]", help="File to write; else prompt-engine-DATE here."),
    force: ForceOption = False,
) -> None:
    """Write a consistent copy of the database into a file.

    Only you can read the file. A SQLite file is copied; a server is dumped as SQL by mariadb-dump or mysqldump. Others
    may write meanwhile.
    """
    from ..upkeep.backup import write_backup

    db = run.open_bare()
    ending = "sqlite3" if db.family == "sqlite" else "sql"
    target = file or Path(f"prompt-engine-{db.clock():%Y%m%d-%H%M%S}.{ending}")
    size = write_backup(db, target, overwrite=force)
    run.answer({"file": str(target.resolve()), "bytes": size}, f"{target.resolve()}: {size:,} bytes.")


@command("db restore", creates=True, without=("database",))
def restore(
    run: Run,
    file: Path = Argument(metavar="FILE", help="File written by db backup."),
    target: str = Argument(metavar="TARGET", help=_URL, callback=read_url),
) -> None:
    """Read a backup into a new, empty database.

    A SQLite file becomes a SQLite file; SQL is read into a server by the client mariadb or mysql.
    """
    from ..upkeep.backup import restore_backup

    db = run.open_bare(target)
    restore_backup(file, db)
    run.answer({"database": db.target.shown}, f"{db.target.shown} holds what {file} held.")


@command("db copy", without=("database", "persona_id"))
def copy(
    run: Run,
    source: str = Argument(metavar="SOURCE", help=_URL, callback=read_url),
    target: str = Argument(metavar="TARGET", help="URL of an empty database.", callback=read_url),
    tokens: bool = Option(False, "--tokens", help="Also copy the access tokens, which cannot be done later."),
) -> None:
    """Copy everything of every persona to another file or server.

    The source is only read. The rows are compared at the end, and the search index is built at the target. An
    interrupted copy continues when the command is run again.
    """
    from .. import db as door

    with output.bar() as bar:
        done = door.copy_database(source, target, tokens=tokens, progress=bar)
    rows = [(name, f"{count:,}") for name, count in done.rows.items() if count]
    run.answer(asdict(done), lambda: output.table(("table", "rows"), rows, "The source holds no rows.", right=(1,)))
    output.note("The copy is complete.")
    if done.tokens_left:
        number = output.count(done.tokens_left, "access token")
        output.note(f"Not copied: {number}. To copy them too, repeat it with --tokens and an empty database.")
    if done.repaired:
        values = output.count(done.repaired, "value")
        output.note(f"Unreadable in the source: {values}; `prompt-engine db check` names them.")


@command("db maintenance")
def run_script(
    run: Run,
    name: str = Argument(metavar="NAME", help="Name of the script; `list` shows names."),
    settings: list[str] | None = Option(
        None, "--set", metavar="NAME=VALUE", help="Set a variable of the script; may be repeated."
    ),
    apply_: bool = Option(False, "--apply", help="Make the changes; without it only count."),
) -> None:
    """Run a maintenance script; --apply changes rows.

    Every script works on one persona: --persona-id, else PERSONA_ID.
    """
    from ..upkeep import maintenance

    known = maintenance.list_scripts()
    if name == "list":
        scripts = [maintenance.get_script(each, "sqlite") for each in known]
        rows = [(each.name, each.head.partition("\n")[0], ", ".join(each.values)) for each in scripts]
        value = [{"name": each.name, "values": dict(each.values), "about": each.head} for each in scripts]
        run.answer(value, lambda: output.table(("script", "about", "values"), rows))
        return
    if name not in known:
        raise BadParameter(f"there is no script {name!r}; known are {', '.join(known)}")
    script = maintenance.get_script(name, run.db.family)
    values = dict(_read_value(script, each) for each in settings or ())
    if "persona" in script.values:
        values.setdefault("persona", run.scope().persona)
    if apply_ and "apply" not in script.values:
        raise BadParameter(f"{name} only counts; there is nothing to apply")
    done = asdict(maintenance.run_script(run.db, name, values=values, apply=apply_))
    shown = {name: each for name, each in done.items() if apply_ or name != "changed"}
    run.answer(done, lambda: output.show(shown))
    if not run.as_json and not apply_ and "apply" in script.values:
        output.say("Nothing was changed. --apply does it.")
    if not any(done["counted"].values()):
        run.warn_of_persona(str(values.get("persona")))


def _read_value(script: Script, text: str) -> tuple[str, Value | datetime]:
    name, sign, given = text.partition("=")
    names = [each for each in script.values if each != "apply"]  # --apply sets that one
    if not sign or name not in names:
        raise BadParameter(f"--set {text!r}: write NAME=VALUE; names are {', '.join(names)}")
    default = script.values[name]
    if isinstance(default, str) and not _TIME.match(default):
        return name, given
    try:
        value = parse_time(given) if isinstance(default, str) else type(default)(given)
    except ValueError:
        value = None
    if value is None:
        kind = "time such as 2026-01-01 00:00:00, UTC" if isinstance(default, str) else f"number such as {default}"
        raise BadParameter(f"--set {text!r}: {name} is a {kind}")
    return name, value
