"""Find problems of a database and their repairs: server, permissions, tables, rows, index. Changes nothing."""

import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_args

from sqlalchemy import Column, Select, Table, bindparam, func, select

from ..database.dialects import JsonText, Key, StoredBytes, StoredText, Time
from ..database.engine import Database
from ..database.failures import NO_RIGHT
from ..database.registry import REGISTRY
from ..database.schema import TABLES, memories
from ..database.sources import ALL
from ..database.stored_values import count_repairs, from_key, read_json, read_number, read_text, read_time
from ..errors import StoreError
from ..shapes import Finding, Severity
from . import ddl, inspection, migration

MINIMUM = {"MySQL": (8, 0), "MariaDB": (10, 11), "SQLite": (3, 38)}
"""Oldest supported version of each product; OceanBase and TiDB have no minimum."""
PACKET_NEEDED, PACKET_WISHED = 16 * 2**20, 64 * 2**20
RIGHTS_TO_WORK = ("SELECT", "INSERT", "UPDATE", "DELETE")
RIGHTS_TO_INIT = ("CREATE",)
RIGHTS_TO_MIGRATE = (*RIGHTS_TO_INIT, "ALTER", "INDEX", "DROP")
INIT = "prompt-engine db init"
REINDEX = "prompt-engine db reindex"
CHECKED_BYTES = 1 << 30
"""Largest SQLite file in bytes that is checked for damage."""
TRIED_BYTES = 1 << 20
ROWS_AT_ONCE = 1000
SHOWN_ROWS = 10

NO_TABLES = Finding("note", "empty", "", f"run {INIT}")

SETTINGS: tuple[tuple[Severity, str, tuple[str, ...], str, str], ...] = (
    ("error", "read_only", ("on", "1"), "OFF", "the server is read only: nothing is stored"),
    ("error", "binlog_format", ("statement",), "'ROW'", "every write fails with binlog_format STATEMENT (1665)"),
    ("warning", "innodb_flush_log_at_trx_commit", ("0", "2"), "1",
     "up to a second of stored writes is lost in a power cut (innodb_flush_log_at_trx_commit)"),
)  # fmt: skip
"""Server settings to check: severity, name, wrong values, right value, and the sentence of the finding."""


def check_server(db: Database) -> list[Finding]:
    if db.target.is_missing and not db.version:
        return [NO_TABLES]
    facts = inspection.read_facts(db)
    is_empty = inspection.list_names(facts).isdisjoint(TABLES)
    findings = _check_file(db) if db.family == "sqlite" else _check_server(db, is_empty)
    try:
        versions = migration.read_versions(db)
    except StoreError as error:
        if error.number not in NO_RIGHT:
            raise
        return [*findings, Finding("error", "the user may not read it", "schema_version", "Grant SELECT on it")]
    if is_empty:
        return [*(one for one in findings if one.severity == "error"), NO_TABLES]
    findings += _check_tables(db, facts, versions)
    if not any(one.severity == "error" for one in findings):
        findings += [*_check_values(db), *_check_index(db), *_count_findings(db)]
    return sorted(findings, key=lambda one: get_args(Severity).index(one.severity))


def _check_file(db: Database) -> list[Finding]:
    said = str(db.read("SELECT sqlite_version()", (), source="the version")[0][0])
    findings = check_version("SQLite", tuple(map(int, said.split("."))))
    if db.target.in_memory:
        return findings
    file = Path(str(db.target.url.database))
    try:
        mode = file.stat().st_mode
    except OSError as error:
        return [*findings, Finding("error", f"{file} cannot be looked at ({error.strerror})", "", "Check its folder")]
    if not db.target.read_only and not (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)):
        remedy = f"chmod u+w {file} and its folder, as the user that runs this: SQLite makes files beside it"
        findings.append(Finding("error", "the file or its folder may not be written: nothing is stored", "", remedy))
    elif not db.target.read_only:
        try:
            with tempfile.TemporaryFile(dir=file.parent) as tried:
                tried.write(bytes(TRIED_BYTES))
        except OSError as error:
            what = f"nothing can be stored: {error.strerror}"
            findings.append(Finding("error", what, "", "Free space on the disk of the database"))
    if hasattr(os, "getuid") and mode & (stat.S_IROTH | stat.S_IWOTH):  # Windows shows every file as everybody's
        findings.append(Finding("warning", "everybody on this machine may read the file", "", f"chmod o-rwx {file}*"))
    pages = "SELECT page_size * page_count FROM pragma_page_size, pragma_page_count"
    if int(db.read(pages, (), source="the file")[0][0]) <= CHECKED_BYTES and not _is_whole(db):
        remedy = f"Restore a backup; or: sqlite3 {file} .recover | sqlite3 NEW"
        findings.append(Finding("error", "SQLite finds the file damaged (PRAGMA quick_check)", "", remedy))
    return findings


def _is_whole(db: Database) -> bool:
    try:
        said = [str(row[0]) for row in db.read("PRAGMA quick_check(100)", (), source="the file")]
    except StoreError:
        return False
    # a constraint violation is not damage of the file; `_check_values` names its row
    return all(one == "ok" or one.startswith(("CHECK constraint", "NULL value")) for one in said)


def product_of(version: str, comment: str = "") -> tuple[str, tuple[int, ...]]:
    """Parse a server's version texts into (product, version number)."""
    both = f"{version} {comment}"
    name = next((n for n in ("MariaDB", "OceanBase", "TiDB") if n.lower() in both.lower()), "MySQL")
    if name == "MariaDB":
        version = version.removeprefix("5.5.5-")  # version prefix for clients that only know MySQL
    elif name in ("TiDB", "OceanBase"):
        found = re.search(rf"{name}\D*?v?(\d+(?:\.\d+)+)", both, re.IGNORECASE)
        version = found[1] if found else "0"
    return name, tuple(int(part) for part in re.findall(r"\d{1,9}", version.split("-")[0]))


def check_version(product: str, version: tuple[int, ...]) -> list[Finding]:
    least = MINIMUM.get(product)
    if least is None or version[: len(least)] >= least:
        return []
    shown, needed = ".".join(map(str, version)), ".".join(map(str, least))
    remedy = "Upgrade the server" if product != "SQLite" else "Use a Python that is built with a newer SQLite"
    return [Finding("error", f"this is {product} {shown}, and {needed} or later is needed", "", remedy)]


def _check_server(db: Database, is_empty: bool) -> list[Finding]:
    sql = "SELECT VERSION(), @@version_comment, @@max_allowed_packet, CURRENT_USER(), DATABASE()"
    version, comment, packet, user, name = db.read(sql, (), source="the server")[0]
    findings = check_version(*product_of(from_key(version), from_key(comment)))
    findings += check_packet(int(packet))
    rows = db.read("SHOW GLOBAL VARIABLES", (), source="the server's settings")
    findings += check_settings({from_key(row[0]).lower(): from_key(row[1]) for row in rows}) + _encryption(db)
    try:
        grants = [from_key(row[0]) for row in db.read("SHOW GRANTS", (), source="the rights")]
    except StoreError:
        return findings
    return findings + check_rights(grants, from_key(name), from_key(user), is_empty=is_empty)


def check_settings(values: Mapping[str, str]) -> list[Finding]:
    if values.get("log_bin", "").lower() not in ("on", "1"):
        values = {**values, "binlog_format": ""}
    return [
        Finding(severity, what, "", f"SET GLOBAL {name} = {right};")
        for severity, name, wrong, right, what in SETTINGS
        if values.get(name, "").lower() in wrong
    ]


def _encryption(db: Database) -> list[Finding]:
    if db.target.is_local:
        return []
    try:
        rows = db.read("SHOW SESSION STATUS LIKE 'Ssl_cipher'", (), source="the server's state")
    except StoreError:
        return []
    if rows and from_key(rows[0][1]):
        return []
    remedy = "Remove ?tls=off from the database address; ?tls_ca=FILE names the authority of the server's certificate"
    return [Finding("warning", "password and texts cross the network unencrypted", "", remedy)]


def check_packet(size: int) -> list[Finding]:
    if size >= PACKET_WISHED:
        return []
    severity: Severity = "error" if size < PACKET_NEEDED else "warning"
    what = f"max_allowed_packet is {size} bytes, and {PACKET_WISHED} are needed for the longest texts"
    remedy = f"SET GLOBAL max_allowed_packet = {PACKET_WISHED}; and the same in the server's configuration file"
    return [Finding(severity, what, "", remedy)]


def check_rights(grants: Iterable[str], database: str, user: str, *, is_empty: bool = False) -> list[Finding]:
    """Return a finding for missing permissions, with the GRANT that adds them; an empty database needs CREATE."""
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
    findings: list[Finding] = []
    only = f"only for `{INIT}` and `db migrate`, which another account may run"
    later: tuple[Severity, str, tuple[str, ...]] = ("note", only, RIGHTS_TO_MIGRATE)
    if is_empty:
        later = ("error", f"by {INIT}", RIGHTS_TO_INIT)
    groups: tuple[tuple[Severity, str, tuple[str, ...]], ...] = (("error", "to work", RIGHTS_TO_WORK), later)
    for severity, purpose, rights in groups:
        lacking = ", ".join(right for right in rights if right not in held)
        if lacking:
            what = f"{account} lacks the rights {lacking}, needed {purpose}"
            remedy = f"GRANT {lacking} ON `{database}`.* TO {account};" if severity == "error" else ""
            findings.append(Finding(severity, what, "", remedy))
    return findings


def _covers(target: str, database: str) -> bool:
    """Return whether the target of a GRANT covers the whole database; its database names are LIKE patterns."""
    name, _, table = target.rpartition(".")
    if table != "*":
        return False
    name = name.strip("`\"'")
    pattern = re.escape(name).replace("\\\\_", "\x01").replace("\\\\%", "\x02")
    pattern = pattern.replace("_", ".").replace("%", ".*").replace("\x01", "_").replace("\x02", "%")
    return name == "*" or re.fullmatch(pattern, database) is not None or name == database


def _check_tables(db: Database, facts: inspection.Facts, versions: Mapping[str, str] | None) -> list[Finding]:
    foreign = migration.list_foreign(inspection.list_names(facts), versions)
    if foreign:
        what = "a table of another program has a name that this one needs"
        return [Finding("error", what, name, "Use a database of its own") for name in foreign]
    mismatch = migration.find_mismatch(versions)
    if mismatch is None and migration.find_version(versions) in ("", migration.UNFINISHED):
        return [Finding("error", "the tables were not all made: it was cut off", "schema_version", f"Run {INIT} again")]
    if mismatch is None:
        return inspection.list_differences(facts, db.family)
    is_of_program = migration.list_revisions()[-1] in (versions or ())
    return [*(inspection.list_differences(facts, db.family) if is_of_program else ()), mismatch]


# Values that cannot be read

LISTS = frozenset({"tags", "context_tags", "involved_users", "tag", "source_ids"})


class _Kind(NamedTuple):
    """The kind of values in a column: a description, the function that reads a value, and the type it returns."""

    meaning: str
    read: Callable[[Any], Any]
    shape: Any = object


_TEXT = _Kind("UTF-8 text", read_text)
_TIME = _Kind("a time, YYYY-MM-DD HH:MM:SS.ffffff in UTC", read_time)
_NUMBER = _Kind("a number", read_number)
_BYTES = _Kind("bytes", lambda value: value, bytes)
_JSON = _Kind("JSON, or NULL", read_json, (list, dict))
_OBJECT = _Kind("a JSON object, or NULL", read_json, dict)
_TEXTS = _Kind("a JSON list of texts", read_json, list)


def _is_readable(value: Any, kind: _Kind) -> bool:
    """Return whether a value can be read without a repair."""
    before, content = count_repairs(), kind.read(value)
    if value is None or not isinstance(content, kind.shape):
        return value is None
    return count_repairs() == before and (kind is not _TEXTS or all(isinstance(each, str) for each in content))


def _check_values(db: Database) -> Iterator[Finding]:
    """Yield a finding for each column with values that are repaired when read, with the ids of the rows."""
    for entry in REGISTRY:
        if entry.persona == "audience_id":
            continue
        table = TABLES[entry.table]
        kinds = {c.name: _choose_kind(c) for c in table.columns}
        keys = list(table.primary_key.columns.keys())
        bad: dict[str, list[str]] = {}
        for row in _walk(db, table, keys, kinds):
            for name, value in zip(kinds, row[len(keys) :], strict=True):
                if not _is_readable(value, kinds[name]):
                    bad.setdefault(name, []).append("/".join(map(from_key, row[: len(keys)])))
        for name, rows in bad.items():
            shown = ", ".join(rows[:SHOWN_ROWS]) + (", ..." if len(rows) > SHOWN_ROWS else "")
            what = f"{len(rows)} rows hold a value that cannot be read as it is: {', '.join(keys)} {shown}"
            where = f"{table.name}.{name}"
            yield Finding("warning", what, where, f"Write {kinds[name].meaning} into {where} of these rows")


_KINDS = {Time: _TIME, Key: _TEXT, StoredText: _TEXT, StoredBytes: _BYTES}


def _choose_kind(column: Column[Any]) -> _Kind:
    if isinstance(column.type, JsonText):
        return _TEXTS if column.name in LISTS else _OBJECT if column.name == "metadata" else _JSON
    return _KINDS.get(type(column.type), _NUMBER)


def _walk(db: Database, table: Table, keys: list[str], kinds: Mapping[str, _Kind]) -> Iterator[tuple[Any, ...]]:
    """Yield key and columns of all rows as the driver returns them, in pages if the key is `id`."""
    columns = [ddl.quote(name, db.family) for name in keys]
    for name, kind in kinds.items():
        quoted = ddl.quote(name, db.family)
        # cast to bytes: SQLite's driver would decode texts
        columns.append(f"CAST({quoted} AS BLOB)" if db.family == "sqlite" and kind is not _BYTES else quoted)
    sql = f"SELECT {', '.join(columns)} FROM {ddl.quote(table.name, db.family)}"  # noqa: S608 - names of the schema
    if keys != ["id"]:
        yield from db.read(sql, (), source=table.name)
        return
    mark, above = "?" if db.family == "sqlite" else "%s", -(2**63)
    sql += f" WHERE id > {mark} ORDER BY id LIMIT {ROWS_AT_ONCE}"
    while rows := db.read(sql, (above,), source=table.name):
        yield from rows
        above = rows[-1][0]


def _check_index(db: Database) -> Iterator[Finding]:
    from ..index import packing  # noqa: PLC0415 - loads numpy

    try:
        differences = packing.count_differences(db)
    except ValueError as error:
        yield Finding("error", f"the search index cannot be read ({error})", "search_segment", REINDEX)
        return
    for table, count in differences.items():
        if count:
            yield Finding("error", f"the search index holds {count} rows too many or too few", table, REINDEX)


def _count_findings(db: Database) -> Iterator[Finding]:
    """Yield findings for rows that are not indexed yet, are orphaned, or have expired."""
    for severity, counted, what, where, remedy in _list_counts(db):
        count = int(db.read(counted, source=where)[0][0])
        if count:
            yield Finding(severity, f"{count} {what}", where, remedy)


def _list_counts(db: Database) -> Iterator[tuple[Severity, Select[Any], str, str, str]]:
    for source in ALL:
        waiting = select(func.count()).select_from(source.table).where(source.table.c.indexed == 0)
        yield "warning", waiting, "rows that were inserted by SQL wait to be indexed", source.table.name, REINDEX
    for entry in REGISTRY:
        if entry.row_of:
            here, there = TABLES[entry.table], TABLES[entry.row_table]
            link = here.c[entry.row_of]
            lost = select(func.count()).where(link.is_not(None), ~select(there.c.id).where(there.c.id == link).exists())
            remedy = f"delete the rows of {here.name} whose {link.name} is no id of {there.name}"
            yield "warning", lost, f"rows belong to rows of {there.name} that are gone", here.name, remedy
    m = memories.c
    is_over = m.expires_at <= bindparam("now", db.clock(), type_=Time())
    expired = select(func.count()).where(m.tier == "session", m.archived_at.is_(None), is_over)
    remedy = "prompt-engine memory consolidate, or: prompt-engine worker"
    yield "note", expired, "session items have expired and still take space", "memories", remedy
