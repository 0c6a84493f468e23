"""Find what is wrong with a database and what repairs it: server, rights, tables, rows, index. Changes nothing."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..database import registry
from ..database.connections import is_local
from ..database.engine import Database
from ..errors import StoreError
from ..shapes import Finding, Severity
from . import check_rows, ddl, inspection, migration
from .inspection import FoundTable

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")

MINIMUM = {"MySQL": (8, 0), "MariaDB": (10, 11), "SQLite": (3, 38)}
"""Oldest version of each product; OceanBase and TiDB have none written down."""
PACKET_NEEDED, PACKET_WISHED = 16 * 2**20, 64 * 2**20
RIGHTS_TO_WORK = ("SELECT", "INSERT", "UPDATE", "DELETE")
RIGHTS_TO_INIT = ("CREATE",)
RIGHTS_TO_MIGRATE = (*RIGHTS_TO_INIT, "ALTER", "INDEX", "DROP")
MIGRATE = "prompt-engine db migrate"
INIT = "prompt-engine db init"
EMPTY = "empty"
CHECKED_BYTES = 1 << 30
"""A larger SQLite file is not read from end to end."""

_SETTINGS = ("read_only", "innodb_flush_log_at_trx_commit", "log_bin", "binlog_format")
_ON = frozenset({"on", "1", "yes", "true"})


NO_TABLES = Finding("note", EMPTY, "", f"run {INIT}")


def check_server(db: Database) -> list[Finding]:
    """Return everything that is wrong or worth knowing, errors first; an empty list is an empty database in order."""
    if db.target.is_missing:
        return [NO_TABLES]
    found = inspection.read_tables(db)
    versions = migration.read_versions(db)
    is_empty = not set(found) & set(ddl.list_tables())
    listed = _sqlite(db) if db.family == "sqlite" else _server(db, is_empty)
    if is_empty:
        errors = [one for one in listed if one.severity == "error"]
        return [*errors, NO_TABLES]
    listed += _foreign(found, versions) or _schema(db, found, max(versions or (), default=None))
    if not any(one.severity == "error" for one in listed):
        listed += [Finding(*one) for one in check_rows.check_rows(db)]
    return sorted(listed, key=lambda one: SEVERITIES.index(one.severity))


def count_rows(db: Database) -> dict[str, int]:
    """Return the number of rows of every table that is there, in the order of the registry."""
    found = inspection.read_tables(db)
    names = [entry.table for entry in registry.REGISTRY if entry.table in found]
    if not names:
        return {}
    parts = [f"SELECT '{name}', COUNT(*) FROM {ddl.quote(name, db.family)}" for name in names]  # noqa: S608
    return {str(row[0]): int(row[1]) for row in db.read_driver(" UNION ALL ".join(parts), (), source="all tables")}


# SQLite


def _sqlite(db: Database) -> list[Finding]:
    said = str(db.read_driver("SELECT sqlite_version()", (), source="the version")[0][0])
    listed = check_version("SQLite", tuple(map(int, said.split("."))))
    if db.target.in_memory:
        return listed
    file = Path(str(db.target.url.database))
    try:
        mode = file.stat().st_mode
    except OSError as error:
        return [*listed, Finding("error", f"{file} cannot be looked at ({error.strerror})", "", "Check its folder")]
    if not db.target.read_only and not (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)):
        remedy = f"chmod u+w {file} and its folder, as the user that runs this: SQLite makes files beside it"
        listed.append(Finding("error", "the file or its folder may not be written: nothing is stored", "", remedy))
    if mode & (stat.S_IROTH | stat.S_IWOTH):
        listed.append(Finding("warning", "everybody on this machine may read the file", "", f"chmod o-rwx {file}*"))
    size = _pragma(db, "page_size") * _pragma(db, "page_count")
    if size <= CHECKED_BYTES and not _is_whole(db):
        remedy = f"Restore a backup; or: sqlite3 {file} .recover | sqlite3 NEW"
        listed.append(Finding("error", "SQLite finds the file damaged (PRAGMA quick_check)", "", remedy))
    return listed


def _pragma(db: Database, name: str) -> int:
    return int(db.read_driver(f"PRAGMA {name}", (), source="the file")[0][0])


def _is_whole(db: Database) -> bool:
    try:
        said = [str(row[0]) for row in db.read_driver("PRAGMA quick_check(100)", (), source="the file")]
    except StoreError:
        return False
    # A value that a column should not hold is no damage of the file; it is named with its row.
    return all(one == "ok" or one.startswith(("CHECK constraint", "NULL value")) for one in said)


# Servers


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


def check_version(product: str, version: tuple[int, ...]) -> list[Finding]:
    """Return a finding when a product is older than its oldest supported version."""
    least = MINIMUM.get(product)
    if least is None or version[: len(least)] >= least:
        return []
    shown, needed = ".".join(map(str, version)), ".".join(map(str, least))
    remedy = "Upgrade the server" if product != "SQLite" else "Use a Python that is built with a newer SQLite"
    return [Finding("error", f"this is {product} {shown}, and {needed} or later is needed", "", remedy)]


def _server(db: Database, is_empty: bool) -> list[Finding]:
    sql = "SELECT VERSION(), @@version_comment, @@max_allowed_packet, CURRENT_USER(), DATABASE()"
    version, comment, packet, user, name = db.read_driver(sql, (), source="the server")[0]
    listed = check_version(*product_of(_text(version), _text(comment)))
    listed += check_packet(int(packet))
    listed += check_settings(_settings(db)) + _encryption(db)
    try:
        grants = [_text(row[0]) for row in db.read_driver("SHOW GRANTS", (), source="the rights")]
    except StoreError:
        return listed
    return listed + check_rights(grants, _text(name), _text(user), is_empty=is_empty)


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, (bytes, bytearray)) else str(value)


def _settings(db: Database) -> dict[str, str]:
    rows = db.read_driver("SHOW GLOBAL VARIABLES", (), source="the server's settings")
    return {_text(row[0]).lower(): _text(row[1]) for row in rows if _text(row[0]).lower() in _SETTINGS}


def check_settings(found: Mapping[str, str]) -> list[Finding]:
    """Return the settings of a server with which writes fail or get lost, each with the statement that changes it."""
    listed = []
    if found.get("read_only", "").lower() in _ON:
        what = "the server is read only, so that nothing is stored"
        listed.append(Finding("error", what, "", "Connect to the primary; or: SET GLOBAL read_only = OFF;"))
    if found.get("log_bin", "").lower() in _ON and found.get("binlog_format", "").upper() == "STATEMENT":
        what = "binlog_format is STATEMENT, with which every write of this program fails (error 1665)"
        remedy = "SET GLOBAL binlog_format = 'ROW'; and the same in the server's configuration file"
        listed.append(Finding("error", what, "", remedy))
    if found.get("innodb_flush_log_at_trx_commit") in ("0", "2"):
        what = "up to a second of stored writes is lost in a power cut (innodb_flush_log_at_trx_commit)"
        listed.append(Finding("warning", what, "", "SET GLOBAL innodb_flush_log_at_trx_commit = 1;"))
    return listed


def _encryption(db: Database) -> list[Finding]:
    url = db.target.url
    if is_local(url.host) or "unix_socket" in url.query:
        return []
    try:
        rows = db.read_driver("SHOW SESSION STATUS LIKE 'Ssl_cipher'", (), source="the server's state")
    except StoreError:
        return []
    if rows and _text(rows[0][1]):
        return []
    remedy = "Remove ?tls=off from DATABASE_URL; ?tls_ca=FILE names the authority of the server's certificate"
    return [Finding("warning", "password and texts cross the network unencrypted", "", remedy)]


def check_packet(size: int) -> list[Finding]:
    """Return a finding when the longest text, or a batch of rows, does not fit into one packet."""
    if size >= PACKET_WISHED:
        return []
    severity: Severity = "error" if size < PACKET_NEEDED else "warning"
    what = f"max_allowed_packet is {size} bytes, and {PACKET_WISHED} are needed for the longest texts"
    remedy = f"SET GLOBAL max_allowed_packet = {PACKET_WISHED}; and the same in the server's configuration file"
    return [Finding(severity, what, "", remedy)]


def check_rights(grants: Iterable[str], database: str, user: str, *, is_empty: bool = False) -> list[Finding]:
    """Return the rights that the grants do not give, with the GRANT that does; an empty database needs its tables."""
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
    later: tuple[Severity, str, tuple[str, ...]] = ("warning", "to make tables", RIGHTS_TO_MIGRATE)
    if is_empty:
        later = ("error", f"by {INIT}", RIGHTS_TO_INIT)
    groups: tuple[tuple[Severity, str, tuple[str, ...]], ...] = (("error", "to work", RIGHTS_TO_WORK), later)
    for severity, purpose, rights in groups:
        lacking = ", ".join(right for right in rights if right not in held)
        if lacking:
            what = f"{account} lacks the rights {lacking}, needed {purpose}"
            listed.append(Finding(severity, what, "", f"GRANT {lacking} ON `{database}`.* TO {account};"))
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


# Tables


def _foreign(found: Mapping[str, FoundTable], versions: list[str] | None) -> list[Finding]:
    remedy = "Use a database of its own"
    what = "a table of another program has a name that this one needs"
    return [Finding("error", what, name, remedy) for name in migration.list_foreign(found, versions)]


def _schema(db: Database, found: Mapping[str, FoundTable], version: str | None) -> list[Finding]:
    newest = migration.list_revisions()[-1]
    if version != newest:
        remedy = MIGRATE if (version or "") < newest else "Update this program"
        return [Finding("error", f"the database is at version {version}, this program at {newest}", "", remedy)]
    listed: list[Finding] = []
    for one in inspection.list_differences(found, db.family):
        severity: Severity = "error" if one.kind in ("table", "column", "primary key", "engine") else "warning"
        where = one.table if one.kind in ("table", "engine") else f"{one.table}.{one.name}"
        what = f"the {one.kind} is {one.there}, and should be {one.needed}"
        if one.there == "absent":
            what = f"the {one.kind} is missing"
        remedy = f"{one.statement};" if one.statement else "Restore a backup, or copy the table into a new one"
        if one.kind == "table":
            remedy = f"Restore a backup, or run the statements of sql/schema/{db.family}.sql"
        listed.append(Finding(severity, what, where, remedy))
    return listed
