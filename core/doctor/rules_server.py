"""What the settings of a MySQL-family server mean for this program, and the statement that changes each."""

from __future__ import annotations

from collections.abc import Mapping

from .rules import Symptom, megabytes

ASKED = (
    "character_set_database", "collation_database", "sql_mode", "time_zone", "transaction_isolation", "tx_isolation",
    "max_allowed_packet", "innodb_buffer_pool_size", "innodb_flush_log_at_trx_commit", "sync_binlog", "log_bin",
    "innodb_lock_wait_timeout", "innodb_file_per_table", "wait_timeout", "max_connections", "read_only",
    "super_read_only", "innodb_read_only", "version",
)  # fmt: skip
"""Variables that are looked at; a server that does not know one leaves it out."""

CONNECTIONS_NEEDED = 40
"""Most connections one process opens: a pool of 8 with an overflow of 32."""
IDLE_SECONDS = 60
_ON = frozenset({"on", "1", "yes", "true"})


def _is_on(settings: Mapping[str, str], name: str) -> bool:
    return settings.get(name, "").lower() in _ON


def _number(settings: Mapping[str, str], name: str) -> int | None:
    text = settings.get(name, "")
    return int(text) if text.isdigit() else None


def settings(found: Mapping[str, str], *, used_bytes: int, connected: int | None) -> list[Symptom]:
    """Return what the settings of a server mean; what is in order is one symptom together."""
    listed = [*_writable(found), *_durable(found), *_roomy(found, used_bytes), *_connections(found, connected)]
    listed += _charset(found)
    if not any(one.level in ("error", "warning") for one in listed):
        said = "The server's settings are in order; time zone, SQL mode and isolation are set by each connection."
        listed.insert(0, Symptom("ok", "server", said))
    return listed


def _writable(found: Mapping[str, str]) -> list[Symptom]:
    on = [name for name in ("read_only", "super_read_only", "innodb_read_only") if _is_on(found, name)]
    if not on:
        return []
    why = "Nothing is stored: every write fails. Prompts are built from what is there."
    mend = "Connect to the primary; or: SET GLOBAL read_only = OFF;"
    return [Symptom("error", "server", f"The server is read only ({', '.join(on)}).", why, mend)]


def _durable(found: Mapping[str, str]) -> list[Symptom]:
    listed = []
    if found.get("innodb_flush_log_at_trx_commit") in ("0", "2"):
        said = f"innodb_flush_log_at_trx_commit is {found['innodb_flush_log_at_trx_commit']}."
        why = "Up to a second of writes that were acknowledged is lost when the machine loses its power."
        listed.append(Symptom("warning", "server", said, why, "SET GLOBAL innodb_flush_log_at_trx_commit = 1;"))
    if _is_on(found, "log_bin") and found.get("sync_binlog") == "0":
        why = "After a crash, replicas may have rows the primary lost, or lack some."
        listed.append(Symptom("note", "server", "sync_binlog is 0.", why, "SET GLOBAL sync_binlog = 1;"))
    return listed


def _roomy(found: Mapping[str, str], used_bytes: int) -> list[Symptom]:
    pool = _number(found, "innodb_buffer_pool_size")
    if pool is None or used_bytes <= pool:
        return []
    wanted = 1 << (used_bytes - 1).bit_length()
    said = f"innodb_buffer_pool_size is {megabytes(pool)}, the database {megabytes(used_bytes)}."
    why = "Searches wait for the disk once what they read does not fit into memory."
    return [Symptom("note", "server", said, why, f"SET GLOBAL innodb_buffer_pool_size = {wanted};")]


def _connections(found: Mapping[str, str], connected: int | None) -> list[Symptom]:
    listed = []
    most = _number(found, "max_connections")
    if most is not None and connected is not None and most - connected < CONNECTIONS_NEEDED:
        said = f"{connected} of {most} connections are taken (max_connections)."
        why = f"A process may want up to {CONNECTIONS_NEEDED}; one that gets none fails."
        mend = f"SET GLOBAL max_connections = {connected + 4 * CONNECTIONS_NEEDED};"
        listed.append(Symptom("warning", "server", said, why, mend))
    idle = _number(found, "wait_timeout")
    if idle is not None and idle < IDLE_SECONDS:
        why = "Connections are cut between two messages; each is made anew, which takes time."
        listed.append(Symptom("note", "server", f"wait_timeout is {idle} s.", why, "SET GLOBAL wait_timeout = 28800;"))
    return listed


def _charset(found: Mapping[str, str]) -> list[Symptom]:
    charset = found.get("character_set_database", "utf8mb4")
    if charset == "utf8mb4":
        return []
    said = f"The database's character set is {charset}."
    why = "The tables of this program name theirs, so they are right; tables made by hand would refuse emoji."
    mend = "ALTER DATABASE CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;"
    return [Symptom("note", "server", said, why, mend)]


def encryption(cipher: str, *, local: bool) -> Symptom:
    """Return whether the connection is encrypted, and what that means."""
    if cipher:
        return Symptom("ok", "encryption", f"The connection is encrypted ({cipher}).")
    if local:
        return Symptom("ok", "encryption", "The connection stays on this machine and is not encrypted.")
    why = "Password and texts cross the network readable."
    mend = "Remove ?tls=off from DATABASE_URL; ?tls_ca=FILE names the authority that signed the server's certificate."
    return Symptom("warning", "encryption", "The connection is not encrypted.", why, mend)
