"""Classifies driver errors: which errors are retried, and what their messages tell people."""

import re
from typing import NoReturn

from sqlalchemy import exc

from ..errors import StoreError, StoreReadError

RETRIED = frozenset({1213, 1205, 1020, 2006, 2013, 1047, 1290, 1040, 1203, 1226, 1180, 3100, 3101})
"""Error numbers that are retried: deadlock, lock wait, record changed, gone away, lost, not ready, read only during a
failover, too many connections, and a commit refused by Galera or group replication."""
CROWDED = frozenset({1040, 1203, 1226})
"""Error numbers for too many connections, of the server or of this account."""
NO_LOGIN = 2059
"""Error number of a login that needs a missing package."""
IN_THE_WAY = frozenset({1213, 1020, 1180, 3101})
"""Error numbers of conflicts with another writer, which the server reports at once, without a lock wait."""
ENDED = frozenset({1053, 1927, 4031})
"""Error numbers of a connection that the server ends: shutdown, killed, idle for too long."""
LOST = frozenset({2003, 2006, 2013, 2055, 0}) | ENDED
LOOK = "Run `prompt-engine db check` to see what is wrong."
REFUSED_AT_COMMIT = 1180
"""Error number of a commit that a cluster refused; the error does not say whether other nodes stored the changes."""
DUPLICATE_KEY = "Another process stored the same at the same moment: try again."
NO_ANSWER = (
    "No answer within DB_TIMEOUT_SECONDS: another session may hold rows that are needed (SHOW PROCESSLIST), or the "
    "server is overloaded. Try again."
)
NO_RIGHT = frozenset({1142, 1143})
UNSURE = "The commit's answer was lost, so it may be stored: look before repeating it."
TOO_LARGE = "The text is larger than the server takes in one packet: raise max_allowed_packet (64 MB takes every text)."
_REMEDY = {
    1146: "The table is missing: run `prompt-engine db migrate`.",
    1054: "A column is missing: run `prompt-engine db migrate`.",
    1290: "The server is read only: connect to the primary, or set read_only to OFF.",
    1836: "The server is read only: connect to the primary, or set read_only to OFF.",
    1021: "The server's disk is full: free space and try again.",
    1114: "The server's table or disk is full: free space and try again.",
    1062: DUPLICATE_KEY,
    1045: "Access denied: check the user and the password in the database address. An account that requires TLS needs "
    "?tls=on on this machine.",
    3159: "The server requires TLS: add ?tls=on to the database address.",
    1044: "The user has no rights on this database: grant them.",
    2003: "The server could not be reached: check host, port and that it is running.",
    1049: "The database does not exist: create it or correct its name in the database address.",
    2026: "The server offers no encryption (TLS): add ?tls=off to the database address if the network is safe without.",
    26: "The file is no SQLite database: correct its name in the database address, or move the file away.",
    2006: "The connection was lost: try again.",
    2013: "The connection was lost: try again.",
    1047: "This node of the cluster is not ready: wait until it is, or lead the address to another node.",
    1205: "Another session holds rows that are needed: end it if that lasts (SHOW PROCESSLIST), and try again.",
    1213: "Writers were in each other's way: try again.",
    1040: "The server takes no more connections: raise max_connections, or run fewer processes.",
    1203: "The account has as many connections as it may have: raise max_user_connections, or run fewer processes.",
    1226: "The account has used up what it may use (connections or queries): raise its limits, or run fewer processes.",
    1665: "binlog_format is STATEMENT, which refuses READ COMMITTED writes: SET GLOBAL binlog_format = 'ROW';",
    1053: "The server is shutting down: try again when it is back.",
    3100: "The group of servers refused it: try again, and look whether this server still belongs to the group.",
    3101: "Writers were in each other's way on two servers: try again.",
    1153: TOO_LARGE,
}
_PACKAGE = "The login of this account needs a package: pip install"
_SAID: tuple[tuple[int | None, str, str], ...] = (
    (NO_LOGIN, "ed25519", f"{_PACKAGE} pynacl."),
    (NO_LOGIN, "", f"{_PACKAGE} 'prompt-engine[mysql]'."),
    (2013, "timed out", NO_ANSWER),
    (None, "insecure transport", _REMEDY[3159]),
    (None, "No space left on device", _REMEDY[1021]),
    (2003, "CERTIFICATE", "Its certificate cannot be verified: name its authority by &tls_ca=FILE, or use ?tls=on."),
)
"""Rows (error number or None for all, words in the server's message, remedy used instead of the error number's)."""
NO_FILE = (
    "The database file cannot be opened: it must be there, and this user must be able to write it and its folder. One "
    "on a read-only medium is opened with ?immutable=1."
)
DISK_FULL = "The disk is full: free space and try again."
NO_SHARED_FILE = "SQLITE_IOERR_SHMSIZE"
"""Name of SQLite's error if a full disk has no room for the `-shm` file, which the first connection creates."""
_SQLITE: tuple[tuple[str, int | None, str], ...] = (
    ("no such table", 1146, ""),
    ("no such column", 1054, ""),
    ("UNIQUE constraint failed", 1062, DUPLICATE_KEY),
    (
        "readonly",
        1290,
        "The database file is read only: let this user write it and its folder, or leave out mode=ro and immutable=1.",
    ),
    ("database is locked", None, "Another program holds the write lock of the file: end what it does, and try again."),
    ("disk is full", 1021, DISK_FULL),
    (NO_SHARED_FILE, 1021, DISK_FULL),
    ("unable to open database file", None, NO_FILE),
    ("file is not a database", 26, "The file is no SQLite database: correct the address, or restore a backup."),
    ("malformed", None, "The file is damaged: restore a backup, or try `sqlite3 FILE .recover`."),
    ("disk I/O error", None, "The disk or the network folder of the file failed: look at its log."),
)
"""Rows (words in SQLite's message, number of that error in MySQL if it has one, remedy)."""
LARGE_BYTES = 1 << 18
"""Minimum bytes of a statement that may be too large for the server, if the connection ends while it is sent."""


def error_number(error: BaseException) -> int | None:
    arguments = getattr(getattr(error, "orig", None), "args", ())
    return arguments[0] if arguments and isinstance(arguments[0], int) else None


def is_lost(error: BaseException) -> bool:
    """Return whether the connection is lost; if so, a retry on another connection may succeed."""
    if isinstance(error, exc.DBAPIError) and error.connection_invalidated:
        return True
    return error_number(error) in LOST


def is_passing(error: BaseException) -> bool:
    return is_lost(error) or error_number(error) in RETRIED or says_busy(getattr(error, "orig", ""))


def says_busy(original: object) -> bool:
    """Return whether the driver reports that another process is writing the SQLite file."""
    return "database is locked" in str(original) or "is busy" in str(original)


def is_duplicate(error: BaseException) -> bool:
    return error_number(error) in (1062, 1586) or "UNIQUE constraint failed" in str(getattr(error, "orig", ""))


def is_missing_table(error: StoreError) -> bool:
    return error.number in (1146, 1054)


_NAMED = re.compile(
    r"(?:no such table: |Table '(?:[^'.]*\.)?|denied to user .* for table (?:`[^`]*`\.)?['`])(?:main\.)?"
    r"([a-z_]{1,64})\b",
    re.IGNORECASE,
)

_ESCAPED = (b"'", b'"', b"\\", b"\n", b"\r", b"\0", b"\x1a")
"""Bytes that the driver escapes with a backslash."""
_DENIED = re.compile(r"\b([A-Z][A-Z ,]{0,99}) command denied")


def measure_statement(error: exc.SQLAlchemyError) -> int:
    """Return the approximate size, in bytes, of a failed statement with its values as the driver escaped them."""
    given = getattr(error, "params", None)
    rows = given if isinstance(given, list) else [given]
    values = [value for row in rows for value in (row.values() if isinstance(row, dict) else row or ())]
    sent = [value.encode() if isinstance(value, str) else value for value in values if isinstance(value, (str, bytes))]
    escaped = sum(len(value) + sum(map(value.count, _ESCAPED)) for value in sent)
    return escaped + len(str(getattr(error, "statement", "")))


def raise_store_error(
    kind: type[StoreError], error: exc.SQLAlchemyError, source: str, remedy: str = "", *, server: str
) -> NoReturn:
    """Raise this package's exception for a driver error, without any of the values sent."""
    number = error_number(error)
    original = getattr(error, "orig", error)
    said = f"{original} {getattr(original, 'sqlite_errorname', '')}"
    advice = ""
    if number is None:
        number, advice = next(((each, advice) for words, each, advice in _SQLITE if words in said), (None, ""))
    elif number in NO_RIGHT:
        denied = _DENIED.search(said)  # the server names the command, which is also the missing right
        advice = f"The user lacks the right {denied[1] if denied else 'to do this'}: grant it. {LOOK}"
    else:
        advice = next((each for at, words, each in _SAID if at in (number, None) and words in said), "")
    if number in (1146, 1142) and (named := _NAMED.search(said)):
        source = named[1]  # the table to repair, if the statement reads many
    shown = f" (error {number})" if number is not None else ""
    remedy = remedy or advice or _REMEDY.get(number or 0, LOOK)
    doing = "read" if kind is StoreReadError else "written"
    server = server if number == 2003 else ""
    text = f"{source} could not be {doing}: {type(original).__name__}{shown}. {remedy}"
    raise kind(text, source=source, number=number, server=server) from None
