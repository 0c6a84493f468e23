"""Create the tables of an empty database, and run pending revisions of `sql/migrations`.

| State | Action |
|---|---|
| no tables of this package | create all tables from `database.schema`, and write the version |
| an older version of this package | run the newer revisions with Alembic |
| this version with another fingerprint | raise if the tables differ from `database.schema` |
| this version, tables dropped by hand | create these tables again, without rows |
| a newer version of this package | raise |
| tables with the same names but without a version | raise: they belong to another program |

The first rows of `schema_version` are written before any other table: an interrupted creation continues, no process
takes unfinished tables for another program's, and none opens an unfinished copy.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sqlalchemy import Connection, delete, select, update

from ..base import resources
from ..base.logs import event
from ..database.dialects import insert_ignore
from ..database.engine import Database
from ..database.failures import NO_RIGHT, is_missing_table
from ..database.schema import TABLES, schema_version
from ..errors import StoreError
from ..shapes import Finding
from . import ddl

UNFINISHED = "0000"
"""Version of a database whose tables are still being created."""
COPYING = "copying"
"""Version in a row of `schema_version` that marks an unfinished `db copy` into the database."""
PATIENCE_SECONDS = 6 * 3600.0
"""Time limit of a statement: an index on millions of rows takes minutes, far over DB_TIMEOUT_SECONDS."""
PAUSES = (0.5, 1.0, 2.0, 4.0)
"""Seconds to wait before each retry, if another process may be doing the same work."""
MIGRATE = "Run `prompt-engine db migrate`"
SHOWN_DIFFERENCES = 5
NOTHING = "The database is at the present version. Nothing was changed."


@dataclass(frozen=True, slots=True)
class Migrated:
    """The result of `migrate`."""

    applied: tuple[str, ...] = ()
    """Revisions applied by this run, oldest first."""
    messages: tuple[str, ...] = ()
    """A sentence for each change, or that nothing was changed; then the differences found."""

    @property
    def changed(self) -> bool:
        return NOTHING not in self.messages


def find_folder() -> Path:
    return resources.find("sql/migrations")


def list_revisions() -> list[str]:
    """Return the ids of all revisions, oldest first: the digits after the `v` in their file names."""
    files = (find_folder() / "versions").glob("v[0-9]*.py")
    return sorted(path.name.removeprefix("v").split("_", 1)[0] for path in files)


def read_versions(db: Database) -> dict[str, str] | None:
    """Return `{version: fingerprint}` of `schema_version`; None if that table is missing or has other columns."""
    v = schema_version.c
    try:
        rows = db.read(select(v.version_num, v.fingerprint), source="schema_version")
    except StoreError as error:
        if is_missing_table(error):
            return None
        raise
    return {str(version): str(fingerprint) for version, fingerprint in rows}


def find_version(versions: Mapping[str, str] | None) -> str:
    """Return the latest applied revision; "" if no revision was applied."""
    return max((one for one in versions or () if len(one) == len(UNFINISHED) and one.isdigit()), default="")


def list_pending(db: Database) -> list[str]:
    """Return the pending revisions, oldest first; the newest is pending too if its fingerprint differs."""
    return _list_pending(read_versions(db))


def _list_pending(versions: Mapping[str, str] | None) -> list[str]:
    version, revisions = find_version(versions), list_revisions()
    is_present = (versions or {}).get(revisions[-1]) == ddl.build_fingerprint()
    return [one for one in revisions if one > version] or ([] if is_present else revisions[-1:])


def find_mismatch(versions: Mapping[str, str] | None) -> Finding | None:
    """Return why a database needs a migration or cannot be used; None if the database is empty or current."""
    if COPYING in (versions or ()):
        what = "a copy into the database is under way, or was cut off"
        return Finding("error", what, "schema_version", "Run `prompt-engine db copy` again, with the same source")
    version, revisions = find_version(versions), list_revisions()
    if version in ("", UNFINISHED) or not _list_pending(versions):
        return None
    what = f"the database is at version {version}, this program at {revisions[-1]}"
    remedy = MIGRATE
    if version > revisions[-1]:
        remedy = "A newer program made it: update this program"
    elif version == revisions[-1]:
        what = f"the tables of the database are those of another build at version {version}"
    return Finding("error", what, "schema_version", remedy)


def ensure_present(db: Database) -> None:
    """Create missing tables, migrate a SQLite file, raise for a server's older tables; one round trip if current."""
    versions = read_versions(db)
    mismatch = find_mismatch(versions)
    if mismatch is not None and (db.family != "sqlite" or db.target.read_only or mismatch.remedy != MIGRATE):
        raise _refusal(mismatch)
    if _list_pending(versions):
        migrate(db)
    db.version = list_revisions()[-1]


def _refusal(finding: Finding) -> StoreError:
    what = finding.what[0].upper() + finding.what[1:]
    return StoreError(f"{what}. Nothing was changed. {finding.remedy}.", source=finding.where)


def list_foreign(found: Container[str], versions: Mapping[str, str] | None) -> list[str]:
    """Return this package's table names that another program uses; callers must read `found` before `versions`."""
    if find_version(versions):
        return []
    names = [name for name in TABLES if name in found]
    # another process that creates the tables begins with this table, which is still empty
    return [] if names == ["schema_version"] and versions == {} else names


def migrate(db: Database, *, copying: bool = False) -> Migrated:
    """Create or migrate the tables; with `copying`, new tables are marked as an unfinished copy from the start."""
    if db.family == "sqlite":  # its statements have no time limit, its transactions wait for each other
        return _migrate(db, db, copying)
    url = db.target.url.render_as_string(hide_password=False)
    with closing(Database(url, timeout_seconds=PATIENCE_SECONDS, clock=db.clock)) as patient:
        return _migrate(db, patient, copying)


def _work_beside_others(db: Database, work: Callable[[], object]) -> None:
    """Run `work`; if another process may be doing the same work, retry until either has succeeded."""
    for pause in PAUSES:
        try:
            work()
        except StoreError as error:
            if db.family == "sqlite" or error.number in NO_RIGHT:
                raise
            time.sleep(pause)
            if find_version(read_versions(db)) == list_revisions()[-1]:
                return
        else:
            return
    work()


def _migrate(db: Database, patient: Database, copying: bool) -> Migrated:
    from . import inspection  # noqa: PLC0415 - not needed if the database is current

    db.version, names = list_revisions()[-1], inspection.list_names(inspection.read_facts(db))
    versions = read_versions(db)
    foreign = list_foreign(names, versions)
    if foreign:
        raise StoreError(
            f"The database has tables or views of another program with names that this one needs: "
            f"{', '.join(foreign)}. Nothing was changed. Use a database of its own.",
            source=foreign[0],
        )
    version, pending, mismatch = find_version(versions), _list_pending(versions), find_mismatch(versions)
    if version in ("", UNFINISHED) and (copying or mismatch is None):
        return _create(db, (COPYING,) if copying else ())
    if mismatch is not None and mismatch.remedy != MIGRATE:
        raise _refusal(mismatch)
    if version < list_revisions()[-1]:
        _work_beside_others(db, lambda: run_revisions(patient))
    # Read again: another process may have made the tables between the two reads above.
    differences = inspection.list_differences(inspection.read_facts(db), db.family)
    lost = [] if pending else [one.where for one in differences if one.severity == "error"]
    if lost and TABLES.keys() >= set(lost):
        db.transaction(lambda c: ddl.create_tables(c, db.family, [TABLES[name] for name in lost]), source=lost[0])
        differences = inspection.list_differences(inspection.read_facts(db), db.family)
    if any(one.severity == "error" for one in differences) or (pending and differences):
        named = "; ".join(f"{one.where}: {one.what}" for one in differences[:SHOWN_DIFFERENCES])
        raise StoreError(
            f"{len(differences)} parts of the tables are not as this program needs them: {named}. Run `prompt-engine "
            "db check`, which names the statement that repairs each; then run `prompt-engine db migrate` again.",
            source=differences[0].where,
        )
    if not pending:
        made = [f"Made the missing table {name}, without rows. A backup may have those it held." for name in lost]
        return Migrated(messages=(*(made or [NOTHING]), *map(str, differences)))
    v = schema_version.c
    change = update(schema_version).where(v.version_num == pending[-1]).values(fingerprint=ddl.build_fingerprint())
    db.idempotent_transaction(lambda connection: connection.execute(change), source="schema_version")
    event(20, "migrated", version=pending[-1])
    return Migrated(tuple(pending), tuple(f"version {one}" for one in pending))


def mark_unfinished(db: Database, *marks: str) -> None:
    """Create the table `schema_version` before all others, with rows for UNFINISHED and `marks`."""

    def mark(connection: Connection) -> None:
        ddl.create_tables(connection, db.family, [schema_version])
        connection.execute(insert_ignore(schema_version, db.family), [{"version_num": n} for n in (UNFINISHED, *marks)])

    db.version = ""  # no table holds it yet
    _work_beside_others(db, partial(db.transaction, mark, source="the tables of the database"))


def _create(db: Database, marks: Sequence[str]) -> Migrated:
    """Create every table, `schema_version` first, with rows for UNFINISHED and `marks`; safe to repeat."""
    names = list_revisions()
    row = {"version_num": names[-1], "fingerprint": ddl.build_fingerprint()}

    def work(connection: Connection) -> None:
        ddl.create_tables(connection, db.family, TABLES.values())
        connection.execute(insert_ignore(schema_version, db.family), row)
        connection.execute(delete(schema_version).where(schema_version.c.version_num == UNFINISHED))

    mark_unfinished(db, *marks)
    _work_beside_others(db, partial(db.transaction, work, source="the tables of the database"))
    db.version = names[-1]
    if not db.target.in_memory:  # the commands make such databases for themselves
        event(20, "database_created", version=names[-1], tables=len(TABLES))
    return Migrated(tuple(names), (f"Made {len(TABLES)} tables, version {names[-1]}.",))


def run_revisions(db: Database) -> None:
    """Run pending revisions with Alembic; in one transaction if the server can roll back DDL."""
    from alembic import command  # noqa: PLC0415 - slow to load
    from alembic.config import Config  # noqa: PLC0415
    from alembic.util import CommandError  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(find_folder()).replace("%", "%%"))
    config.set_main_option("path_separator", "os")

    def work(connection: Connection) -> None:
        ddl.create_tables(connection, db.family, [schema_version])
        config.attributes.update(connection=connection, ddl=ddl)
        try:
            command.upgrade(config, "head")
        except CommandError as error:  # another process changed the version meanwhile
            raise StoreError(f"The migration failed: {error}.", source="schema_version") from error

    db.transaction(work, source="the migration")
