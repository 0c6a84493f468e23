"""Run the scripts of `sql/maintenance/` by name; the results equal those of running them in a plain SQL client."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, String, bindparam, or_, select

from ..base import resources
from ..base.yaml_text import read_value
from ..database.compiled import dialect_of
from ..database.dialects import Time
from ..database.engine import Database
from ..database.schema import audiences, memories
from ..database.sources import MEMORIES
from ..index import indexed, packing
from ..tags import table as tags_table
from . import ddl

Value = str | int | float

_LINE = re.compile(r"^(?:SET @(\w+) = (.+);|  (.+) AS (\w+)[,;])$")
_GIVEN = ("DROP TABLE IF EXISTS temp.given;", "CREATE TEMP TABLE given AS SELECT")
"""Lines that precede the script's variables in a script for SQLite."""
_CHANGED = re.compile(r"(?:UPDATE|DELETE FROM|(?:INSERT|REPLACE)(?: OR \w+| IGNORE)? INTO) (\w+)")
PRUNE = "prune"
"""Name of the script after which this program also removes rows from the packed search index."""
_FRAME = frozenset({"START TRANSACTION", "BEGIN IMMEDIATE", "COMMIT"})
"""Transaction statements for plain clients, skipped here: the database handle has its own transaction."""


@dataclass(frozen=True, slots=True)
class Script:
    name: str
    head: str
    """Comment on top: purpose, risk, tables, cost."""
    values: Mapping[str, Value]
    statements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ran:
    name: str
    counted: Mapping[str, int]
    """Counts by name, in the script's order."""
    changed: Mapping[str, int]
    """Number of changed rows per table; all zero unless `apply` was 1."""


def list_scripts() -> list[str]:
    return sorted({path.name.split(".")[0] for path in resources.find("sql/maintenance").glob("*.sql")})


def get_script(name: str, family: str) -> Script:
    text = (resources.find("sql/maintenance") / f"{name}.{family}.sql").read_text(encoding="utf-8")
    head: list[str] = []
    values: dict[str, Value] = {}
    rest: list[str] = []
    for line in text.splitlines():
        found = None if rest else _LINE.match(line)
        if found:
            value: Any = read_value(found[2] or found[3])  # SQL numbers and texts are also valid YAML
            values[found[1] or found[4]] = value
        elif line.startswith("-- ") and not values and not rest:
            head.append(line.removeprefix("-- "))
        elif line.strip() and not line.startswith("--") and (rest or line not in _GIVEN):
            rest.append(line)
    statements = tuple(one for one in ddl.split_statements("\n".join(rest)) if one not in _FRAME)
    return Script(name, "\n".join(head), values, statements)


def run_script(
    db: Database, name: str, *, values: Mapping[str, Value | datetime] | None = None, apply: bool = False
) -> Ran:
    """Run a script in one transaction; return its counts and changes. Its variable `now` defaults to the present."""
    script = get_script(name, db.family)
    given = {"now": db.clock()} | dict(values or {}) | ({"apply": 1} if apply and "apply" in script.values else {})
    bound: dict[str, Value] = {}
    for key, default in script.values.items():
        value = given.get(key, default)
        if isinstance(value, datetime):
            value = str(Time().process_bind_param(value, dialect_of("sqlite")))
        bound[key] = value

    def work(connection: Connection) -> Ran:
        counted: dict[str, int] = {}
        changed: dict[str, int] = {}
        _bind_values(connection, db.family, bound)
        is_prune = name == PRUNE and bound.get("apply") == 1
        counts = [one for one in script.statements if one.startswith("SELECT")]  # they precede the changes
        for statement in counts:
            counted |= {str(row[0]): int(row[1]) for row in connection.exec_driver_sql(statement).fetchall()}
        if is_prune:
            _unindex_expired(connection, db, bound)
        for statement in script.statements[len(counts) :]:
            table = _CHANGED.findall(statement)[0]
            changed[table] = changed.get(table, 0) + max(0, connection.exec_driver_sql(statement).rowcount)
        if is_prune:
            owned = select(audiences.c.audience_id).where(audiences.c.persona_id == bound["persona"])
            packing.purge(connection, list(connection.execute(owned).scalars()))
            tags_table.raise_version(connection, db, str(bound["persona"]))
        if db.family == "sqlite":
            connection.exec_driver_sql("DROP TABLE temp.given")
        return Ran(name, counted, changed)

    return db.transaction(work, source=f"the maintenance script {name}")


def _unindex_expired(connection: Connection, db: Database, values: Mapping[str, Value]) -> None:
    """Remove rows that the script will delete, and their words, from the search index: plain SQL cannot do so."""
    persona, m = str(values["persona"]), memories.c
    limits = {name: bindparam(name, values[name], type_=String()) for name in ("expired_before", "archived_before")}
    going = or_(m.expires_at <= limits["expired_before"], m.archived_at <= limits["archived_before"])
    where = (m.persona_id == persona, m.pinned == 0, m.archived_at.is_(None), going)
    if ids := list(connection.execute(select(m.id).where(*where)).scalars()):
        indexed.set_columns(connection, db, MEMORIES, persona, ids, archived_at=db.clock())


def _bind_values(connection: Connection, family: str, values: Mapping[str, Value]) -> None:
    if family == "mysql":
        for key, value in values.items():
            connection.exec_driver_sql(f"SET @{key} = %s", (value,))
        return
    connection.exec_driver_sql("DROP TABLE IF EXISTS temp.given")
    columns = ", ".join(f":{key} AS {key}" for key in values)  # names come from this package's own files
    connection.exec_driver_sql(f"CREATE TEMP TABLE given AS SELECT {columns}", dict(values))
