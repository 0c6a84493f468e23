"""What is wrong with a database and what mends it: server, rights, tables, index, rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import select

from ..database import registry
from ..database.dialects import JsonText, Time, read_time
from ..database.engine import Database
from ..database.schema import search_progress
from ..database.sources import ALL
from ..errors import StoreError
from ..index.entries import Progress
from . import adoption, ddl, inspection, migration
from .adopted_rows import LISTS
from .inspection import FoundTable

Severity = Literal["error", "warning"]
"""error: something does not work or will fail. warning: it works, poorer or not for long."""

MINIMUM = {"MySQL": (8, 0), "MariaDB": (10, 11), "SQLite": (3, 38)}
"""Oldest version of each product; OceanBase and TiDB have none written down."""
PACKET_NEEDED, PACKET_WISHED = 16 * 2**20, 64 * 2**20
RIGHTS_TO_WORK = ("SELECT", "INSERT", "UPDATE", "DELETE")
RIGHTS_TO_MIGRATE = ("CREATE", "ALTER", "INDEX", "DROP")
SCAN_ROWS = 20_000
"""Newest rows of each table that are looked through for broken values."""
SHOWN_ROWS = 10
MIGRATE = "prompt-engine db migrate"
REINDEX = "prompt-engine db reindex"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be."""

    severity: Severity
    what: str
    """version, packet size, right, table, column, index, type, nullable, primary key, collation, engine, migration,
    adoption, search index or row."""
    where: str
    """Table or `table.column`; blank for the server."""
    there: str
    needed: str
    remedy: str
    """The statement or command that mends it, or what to do."""

    def __str__(self) -> str:
        place = f" {self.where}" if self.where else ""
        return f"{self.severity}: {self.what}{place}: {self.there}; needed: {self.needed}. {self.remedy}"


def product_of(version: str, comment: str = "") -> tuple[str, tuple[int, ...]]:
    """Return product and version number of what a server says of itself."""
    both = f"{version} {comment}"
    name = next((n for n in ("MariaDB", "OceanBase", "TiDB") if n.lower() in both.lower()), "MySQL")
    if name == "MariaDB":
        version = version.removeprefix("5.5.5-")  # what it says to clients that know MySQL alone
    elif name in ("TiDB", "OceanBase"):
        found = re.search(rf"{name}\D*?v?(\d+(?:\.\d+)+)", both, re.IGNORECASE)
        version = found[1] if found else "0"
    return name, tuple(int(part) for part in re.findall(r"\d{1,9}", version.split("-")[0]))


def check_server(db: Database, *, texts: bool = False, progress: Progress | None = None) -> list[Finding]:
    """Return everything that is missing or differs, errors first; an empty list is a database in good order."""
    found = inspection.read_tables(db)
    listed = _sqlite(db) if db.family == "sqlite" else _server(db)
    listed += _migrations(db, found)
    listed += _schema(db, found)
    listed += _search_index(db, found)
    listed += _rows(db, found)
    if texts and not any(one.severity == "error" for one in listed):
        listed += _changed(db, progress)
    return sorted(listed, key=lambda one: one.severity != "error")


def count_rows(db: Database) -> dict[str, int]:
    """Return the number of rows of every table that is there, in the order of the registry."""
    found = inspection.read_tables(db)
    names = [entry.table for entry in registry.REGISTRY if entry.table in found]
    if not names:
        return {}
    parts = [f"SELECT '{name}', COUNT(*) FROM {ddl.quote(name, db.family)}" for name in names]  # noqa: S608
    return {str(row[0]): int(row[1]) for row in db.read_driver(" UNION ALL ".join(parts), (), source="all tables")}


def _sqlite(db: Database) -> list[Finding]:
    said = str(db.read_driver("SELECT sqlite_version()", (), source="the version")[0][0])
    return check_version("SQLite", tuple(map(int, said.split("."))))


def check_version(product: str, version: tuple[int, ...]) -> list[Finding]:
    """Return a finding when a product is older than its oldest supported version."""
    least = MINIMUM.get(product)
    if least is None or version[: len(least)] >= least:
        return []
    shown, needed = ".".join(map(str, version)), ".".join(map(str, least))
    remedy = "Upgrade the server." if product != "SQLite" else "Use a Python that is built with a newer SQLite."
    return [Finding("error", "version", "", f"{product} {shown}", f"{product} {needed} or later", remedy)]


def _server(db: Database) -> list[Finding]:
    sql = "SELECT VERSION(), @@version_comment, @@max_allowed_packet, CURRENT_USER(), DATABASE()"
    version, comment, packet, user, name = db.read_driver(sql, (), source="the server")[0]
    listed = check_version(*product_of(str(version), str(comment)))
    listed += check_packet(int(packet))
    try:
        grants = [str(row[0]) for row in db.read_driver("SHOW GRANTS", (), source="the rights")]
    except StoreError:
        return listed
    return listed + check_rights(grants, str(name), str(user))


def check_packet(size: int) -> list[Finding]:
    """Return a finding when the longest text, or a batch of rows, does not fit into one packet."""
    if size >= PACKET_WISHED:
        return []
    severity: Severity = "error" if size < PACKET_NEEDED else "warning"
    needed = f"{PACKET_WISHED} bytes (at least {PACKET_NEEDED})"
    remedy = f"SET GLOBAL max_allowed_packet = {PACKET_WISHED}; and the same in the server's configuration file."
    return [Finding(severity, "packet size", "", f"max_allowed_packet is {size} bytes", needed, remedy)]


def check_rights(grants: Iterable[str], database: str, user: str) -> list[Finding]:
    """Return the rights on the database that the grants do not give, with the GRANT that does."""
    held: set[str] = set()
    for line in grants:
        match = re.match(r"GRANT (.+?) ON (\S+) TO ", line, re.IGNORECASE)
        if match is None:
            if re.match(r"GRANT [`'\"]", line, re.IGNORECASE):
                return []
            continue
        if _covers(match[2], database):
            held |= {right.strip().upper() for right in re.sub(r"\([^)]*\)", "", match[1]).split(",")}
    if held & {"ALL PRIVILEGES", "ALL"}:
        return []
    account = "@".join(f"'{part}'" for part in user.rsplit("@", 1))
    listed: list[Finding] = []
    groups: tuple[tuple[Severity, tuple[str, ...]], ...] = (("error", RIGHTS_TO_WORK), ("warning", RIGHTS_TO_MIGRATE))
    for severity, rights in groups:
        lacking = [right for right in rights if right not in held]
        if lacking:
            remedy = f"GRANT {', '.join(lacking)} ON `{database}`.* TO {account};"
            purpose = "to work" if severity == "error" else "to migrate"
            listed.append(Finding(severity, "right", "", f"no {', '.join(lacking)}", f"needed {purpose}", remedy))
    return listed


def _covers(target: str, database: str) -> bool:
    """Return whether `ON target` of a GRANT is about the whole database; names there are LIKE patterns."""
    name, _, table = target.rpartition(".")
    if table != "*":
        return False
    name = name.strip("`\"'")
    pattern = re.escape(name).replace("\\\\_", "\x01").replace("\\\\%", "\x02")
    pattern = pattern.replace("_", ".").replace("%", ".*").replace("\x01", "_").replace("\x02", "%")
    return name == "*" or re.fullmatch(pattern, database) is not None or name == database


def _migrations(db: Database, found: Mapping[str, FoundTable]) -> list[Finding]:
    listed: list[Finding] = []
    for name in adoption.original_tables(found):
        needed = "the tables of this program"
        there = "a table of the original application"
        listed.append(Finding("error", "adoption", name, there, needed, f"Stop that application, then: {MIGRATE}"))
    lacking = migration.list_pending(db)
    if lacking:
        ran = migration.read_version(db) or "none"
        listed.append(Finding("error", "migration", "", f"version {ran}", f"version {lacking[-1]}", MIGRATE))
    return listed


def _schema(db: Database, found: Mapping[str, FoundTable]) -> list[Finding]:
    listed: list[Finding] = []
    skipped = set(adoption.original_tables(found))
    for one in inspection.list_differences(found, db.family):
        if one.table in skipped:
            continue
        by_migrate = one.kind in ("table", "column", "index")
        severity: Severity = "error" if one.kind in ("table", "column", "primary key", "engine") else "warning"
        where = one.table if one.kind in ("table", "engine") else f"{one.table}.{one.name}"
        remedy = MIGRATE if by_migrate else f"{one.statement};" if one.statement else "Copy the table into a new one."
        listed.append(Finding(severity, one.kind, where, one.there, one.needed, remedy))
    return listed


def _search_index(db: Database, found: Mapping[str, FoundTable]) -> list[Finding]:
    needed = {"source", "ready", "until_id"}
    if "search_progress" not in found or not found["search_progress"].columns.keys() >= needed:
        return []
    p = search_progress.c
    ready = {int(row[0]) for row in db.read(select(p.source, p.ready), source="search_progress") if row[1]}
    return [
        Finding("warning", "search index", one.table.name, "not built, searches read the rows", "built", REINDEX)
        for one in ALL
        if one.number not in ready
    ]


def _changed(db: Database, progress: Progress | None) -> list[Finding]:
    from ..index import changed  # noqa: PLC0415 - loads numpy

    try:
        found = changed.find_changed(db, progress)
    except ValueError as error:
        return [Finding("error", "search index", "search_segment", str(error), "segments that can be read", REINDEX)]
    needed = "found by what they say now"
    return [
        Finding("error", "row", source.table.name, f"{len(found[source.number])} rows were changed by SQL", needed,
                f"{REINDEX} --changed")
        for source in ALL
        if found.get(source.number)
    ]  # fmt: skip


def _rows(db: Database, found: Mapping[str, FoundTable]) -> list[Finding]:
    """Look for values that reading has to put right, in the newest rows of each table."""
    listed: list[Finding] = []
    for source in ALL:
        table, there = source.table, found.get(source.table.name)
        kinds = {c.name: c.type for c in table.columns if isinstance(c.type, (JsonText, Time))}
        if there is None or not {"id", *kinds} <= set(there.columns):
            continue
        names = ["id", *kinds]
        columns = ", ".join(ddl.quote(name, db.family) for name in names)
        mark = "?" if db.family == "sqlite" else "%s"
        sql = f"SELECT {columns} FROM {ddl.quote(table.name, db.family)} ORDER BY id DESC LIMIT {mark}"  # noqa: S608
        rows = db.read_driver(sql, (SCAN_ROWS,), source=table.name)
        for place, name in enumerate(names[1:], 1):
            is_time = isinstance(kinds[name], Time)
            bad = [int(row[0]) for row in rows if not (_is_time if is_time else _is_json(name))(row[place])]
            if bad:
                listed.append(_broken(table.name, name, sorted(bad), is_time=is_time))
    return listed


def _broken(table: str, column: str, rows: list[int], *, is_time: bool) -> Finding:
    shown = ", ".join(map(str, rows[:SHOWN_ROWS])) + (", ..." if len(rows) > SHOWN_ROWS else "")
    needed = "a time" if is_time else "a JSON list of texts" if column in LISTS else "a JSON object"
    empty = "'[]'" if column in LISTS and not is_time else "NULL"
    ids = ", ".join(map(str, rows[:SHOWN_ROWS]))
    remedy = f"UPDATE {table} SET {column} = {empty} WHERE id IN ({ids});"  # noqa: S608
    if is_time:
        remedy = "Write the right time into these rows, `YYYY-MM-DD HH:MM:SS.ffffff` in UTC."
    there = f"{len(rows)} of the newest {SCAN_ROWS} rows cannot be read ({shown})"
    return Finding("warning", "row", f"{table}.{column}", there, needed, remedy)


def _is_time(value: Any) -> bool:
    return value is None or read_time(value) is not None


def _is_json(column: str) -> Any:
    def is_list(value: Any) -> bool:
        made = _loaded(value)
        return value is None or (isinstance(made, list) and all(isinstance(one, str) for one in made))

    def is_object(value: Any) -> bool:
        return value is None or isinstance(_loaded(value), (dict, type(None)) if column == "metadata" else (dict, list))

    return is_list if column in LISTS and column != "emotions" else is_object


def _loaded(value: Any) -> Any:
    try:
        return json.loads(value if isinstance(value, (str, bytes)) else "x")
    except (ValueError, RecursionError):
        return ValueError
