"""Brings a database to the present: from nothing, an earlier version, the original application's.

| State | What happens |
|---|---|
| none of our tables | all are made from `database.schema`, the version is stamped; a transaction on SQLite |
| an earlier version | the revisions of `sql/migrations` that have not run, then what is still missing |
| the original application's | tables are made, `upkeep.adoption` takes the rows over, the version is stamped |
| the present, with a part dropped by hand | the part is put back |

Making everything from nothing needs no lease: each statement may run twice, at once too. All else runs under a lease in
`counters`, so that of two processes one works and the other waits and finds nothing left to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from sqlalchemy import Connection, delete, insert, select

from ..base import resources
from ..base.logs import event
from ..database.dialects import insert_ignore, upsert
from ..database.engine import Database
from ..database.failures import is_missing_table
from ..database.schema import counters, search_progress
from ..database.sources import ALL
from ..errors import StoreError
from . import adopted_people, adoption, ddl
from .adoption import Adopted, Progress
from .inspection import FoundTable, list_missing, read_tables, restore_parts
from .leases import lease

LEASE = "migrate"
MARK = "adoption"
"""Row of `counters` that is there while an adoption is under way."""
PATIENCE_SECONDS = 6 * 3600.0
"""Longest answer to one statement: an index on millions of rows takes minutes, far over DB_TIMEOUT_SECONDS."""


@dataclass(frozen=True, slots=True)
class Migrated:
    """What `migrate` did."""

    applied: tuple[str, ...] = ()
    """Revisions that this run brought the database past, oldest first."""
    adopted: Mapping[str, Adopted] = field(default_factory=dict)
    """Tables taken over from the original application."""
    messages: tuple[str, ...] = ()
    """A sentence for each thing done, or one that says that there was nothing to do."""

    @property
    def changed(self) -> bool:
        """Return whether anything was done."""
        return bool(self.applied or self.adopted) or self.messages != (NOTHING,)


NOTHING = "The database is at the present version. Nothing was changed."


def find_folder() -> Path:
    """Return the folder of the migrations, in a checkout and in an installed wheel."""
    return resources.find("sql/migrations")


def list_revisions() -> list[str]:
    """Return the ids of all revisions, oldest first: what their file names begin with behind the `v`."""
    files = (find_folder() / "versions").glob("v[0-9]*.py")
    return sorted(path.name.removeprefix("v").split("_", 1)[0] for path in files)


def read_version(db: Database) -> str | None:
    """Return the last revision that ran here, None where none has; one round trip."""
    try:
        rows = db.read(select(ddl.schema_version.c.version_num), source="schema_version")
    except StoreError as error:
        if is_missing_table(error):
            return None
        raise
    return max((str(row[0]) for row in rows), default=None)


def list_pending(db: Database) -> list[str]:
    """Return the revisions that have not run on this database, oldest first; one round trip."""
    ran = read_version(db)
    return [one for one in list_revisions() if ran is None or one > ran]


def ensure_present(db: Database) -> None:
    """Make the database usable at its opening; one round trip when it is at the present."""
    lacking = list_pending(db)
    if not lacking:
        return
    found = read_tables(db)
    if db.family == "sqlite" or not _ours(found) or (read_version(db) is None and not adoption.original_tables(found)):
        migrate(db)
    else:
        raise StoreError(
            f"The database is at version {read_version(db) or 'none'}, this program needs {lacking[-1]}. Run "
            "`prompt-engine db migrate` once; `prompt-engine db migrate --check` shows what it would do.",
            source="schema_version",
        )


def migrate(db: Database, *, progress: Progress | None = None) -> Migrated:
    """Bring the database to the present and return what was done."""
    found = read_tables(db)
    if not _ours(found):
        return _create(db)
    if not _steps(db, found):
        return Migrated(messages=(NOTHING,))
    worker = _patient(db)
    try:
        with lease(worker, LEASE) as keep_lease:
            return _upgrade(worker, progress or _quiet, keep_lease)
    finally:
        if worker is not db:
            worker.close()


def _quiet(what: str, done: int, total: int) -> None:
    pass


def _ours(found: Mapping[str, FoundTable]) -> set[str]:
    return set(found) & set(ddl.list_tables())


def plan_steps(db: Database) -> list[str]:
    """Return what `migrate` would do, in words and order; an empty list is nothing. Reads only."""
    found = read_tables(db)
    return _steps(db, found) if _ours(found) else [f"make {len(ddl.list_tables())} tables"]


def _steps(db: Database, found: Mapping[str, FoundTable]) -> list[str]:
    steps = [f"adopt {name}" for name in adoption.original_tables(found)]
    if not steps:
        steps = [f"restore {one.kind} {one.table}.{one.name}" for one in list_missing(found, db.family)]
    if "schema_version" not in found or list_pending(db):
        steps += [f"revision {one}" for one in list_pending(db)]
    if adoption.is_unfinished(found) or ("counters" in found and not steps and _is_marked(db)):
        steps.append("finish the adoption")
    return steps


def _create(db: Database) -> Migrated:
    """Make every table of the present; safe to run again and at once with others."""
    names = list_revisions()

    def work(connection: Connection) -> None:
        for statement in _creation(db.family):
            connection.exec_driver_sql(statement)
        _stamp(connection, db, names[-1])
        rows = [{"source": source.number, "ready": 1} for source in ALL]
        connection.execute(insert_ignore(search_progress, db.family), rows)

    db.transaction(work, source="the tables of the database")
    event(20, "database_created", version=names[-1], tables=len(ddl.list_tables()))
    return Migrated(tuple(names), {}, (f"Made {len(ddl.list_tables())} tables, version {names[-1]}.",))


@lru_cache(maxsize=2)
def _creation(family: str) -> tuple[str, ...]:
    return tuple(one for table in ddl.list_tables().values() for one in ddl.create_all(table, family))


def _stamp(connection: Connection, db: Database, version: str) -> None:
    connection.execute(delete(ddl.schema_version).where(ddl.schema_version.c.version_num != version))
    connection.execute(insert_ignore(ddl.schema_version, db.family), {"version_num": version})


def _upgrade(db: Database, progress: Progress, keep_lease: Callable[[], None]) -> Migrated:
    """Do all that there is to do, under the lease: what another process did while this one waited is left out."""
    lacking, ran = list_pending(db), read_version(db)
    found = read_tables(db)
    originals = adoption.original_tables(found)
    lost = [one for one in list_missing(found, db.family) if one.kind == "table"]
    said = restore_parts(db, lost, keep_lease)
    if ran is None and said:
        said = [f"made {len(said)} tables"]
    adopted = _adopt(db, read_tables(db), progress, keep_lease) if originals or _is_marked(db) else {}
    said += [f"adopted {name}: {one.rows} rows, {len(one.broken)} values mended" for name, one in adopted.items()]
    for revision in lacking if ran is not None else ():
        run_revision(db, revision)
        keep_lease()
    rest = [one for one in list_missing(read_tables(db), db.family) if one.kind != "table"]
    said += restore_parts(db, rest, keep_lease)
    if ran is None:
        db.transaction(lambda connection: _stamp(connection, db, list_revisions()[-1]), source="schema_version")
    if not originals:
        _progress_rows(db)
    said += [f"version {revision}" for revision in lacking]
    return Migrated(tuple(lacking), adopted, tuple(said) or (NOTHING,))


def _adopt(
    db: Database, found: Mapping[str, FoundTable], progress: Progress, keep_lease: Callable[[], None]
) -> dict[str, Adopted]:
    mark = {"persona_id": adoption.PERSONA, "name": MARK, "value": 1}
    db.transaction(lambda c: c.execute(upsert(counters, db.family, update=["value"]), mark), source="counters")
    adopted = adoption.adopt_tables(db, found, progress, keep_lease)
    adopted_people.finish_people(db, adoption.PERSONA)
    done = delete(counters).where(counters.c.persona_id == adoption.PERSONA, counters.c.name == MARK)
    db.transaction(lambda c: c.execute(done), source="counters")
    return adopted


def _is_marked(db: Database) -> bool:
    chosen = select(counters.c.value).where(counters.c.persona_id == adoption.PERSONA, counters.c.name == MARK)
    return bool(db.read(chosen, source="counters"))


def _progress_rows(db: Database) -> None:
    """Make the rows that say how far the index is; rows that are there already count as not indexed."""
    there = {int(row[0]) for row in db.read(select(search_progress.c.source), source="search_progress")}
    for source in ALL:
        if source.number in there:
            continue
        newest = db.read(select(source.table.c.id).order_by(source.table.c.id.desc()).limit(1), source=source.name)
        row = {"source": source.number, "ready": int(not newest), "until_id": newest[0][0] if newest else 0}
        statement = insert(search_progress).values(row)
        db.transaction(lambda c, statement=statement: c.execute(statement), source="search_progress")  # type: ignore[misc]


def run_revision(db: Database, revision: str) -> None:
    """Run the revisions up to this one by Alembic, in a transaction as far as the server's DDL allows one."""
    from alembic import command  # noqa: PLC0415 - takes longer to load than a database to be made
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(find_folder()).replace("%", "%%"))
    config.set_main_option("path_separator", "os")

    def work(connection: Connection) -> None:
        for statement in ddl.create_all(ddl.schema_version, db.family):
            connection.exec_driver_sql(statement)
        config.attributes.update(connection=connection, ddl=ddl)
        command.upgrade(config, revision)

    db.transaction(work, source=f"the migration {revision}")
    event(20, "migrated", revision=revision)


def _patient(db: Database) -> Database:
    """Return a handle of the same database that waits for long statements; SQLite sets no limit to them."""
    if db.family == "sqlite":
        return db
    url = db.target.url.render_as_string(hide_password=False)
    return Database(url, timeout_seconds=PATIENCE_SECONDS, clock=db.clock)
