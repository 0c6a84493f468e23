"""D5: what the program does not depend on: the server's sql_mode, time zone, collation, isolation, autocommit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from sqlalchemy import text

from core.database.engine import Database
from tests.servers import Server
from tests.store.scenario import differing, expected, play
from tests.store.world import open_db

pytestmark = pytest.mark.dialects

MODES = "NO_BACKSLASH_ESCAPES,ANSI_QUOTES,PIPES_AS_CONCAT,IGNORE_SPACE,HIGH_NOT_PRECEDENCE,NO_ZERO_IN_DATE,NO_ZERO_DATE"
PADDED = "PAD_CHAR_TO_FULL_LENGTH"
LAX = ({"sql_mode": "''", "time_zone": "'+05:00'"}, "READ UNCOMMITTED", "CHARACTER SET latin1")
STRANGE = {
    "time_zone": "'-11:30'", "collation_server": "'utf8mb4_general_ci'",
    "collation_connection": "'latin1_swedish_ci'", "autocommit": "0",
}  # fmt: skip
ODD = ("SERIALIZABLE", "CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
"""Global variables, isolation and the options of the database."""


def _padded(server: Server) -> Iterator[str]:
    """Yield the mode that pads CHAR columns where the server still has it."""
    before = server.scalar("SELECT @@GLOBAL.sql_mode")
    try:
        server.execute(f"SET GLOBAL sql_mode = '{PADDED}'")
    except Exception:  # noqa: BLE001 - this server has no such mode
        return
    server.execute(f"SET GLOBAL sql_mode = '{before}'")
    yield PADDED


@pytest.mark.slow
@pytest.mark.engines("mariadb", "mysql")
def test_d5_behaviour_does_not_depend_on_the_server_s_settings(
    make_server: Callable[..., Server], server_name: str
) -> None:
    """Save, search in both modes, prompt, verify: as on SQLite, whatever the operator has set for everybody."""
    server = make_server(server_name)
    strange = {**STRANGE, "sql_mode": f"'{','.join((MODES, *_padded(server)))}'"}
    for name, (variables, isolation, options) in {"lax": LAX, "strange": (strange, *ODD)}.items():
        for variable, value in variables.items():
            server.execute(f"SET GLOBAL {variable} = {value}")
        server.execute(f"SET GLOBAL TRANSACTION ISOLATION LEVEL {isolation}")
        server.execute(f"CREATE DATABASE d5_{name} {options}")
        with closing(open_db(server.url_for(f"d5_{name}"))) as db:
            assert differing(play(db), expected()) == [], name
            assert _session(db) == ("+00:00", "utf8mb4", True)


def _session(db: Database) -> tuple[str, str, bool]:
    asked = text("SELECT @@time_zone, @@character_set_connection, @@sql_mode LIKE '%STRICT_TRANS_TABLES%'")
    zone, letters, strict = db.read(asked, source="test")[0]
    return zone, letters, bool(strict)


@pytest.mark.engines("mariadb", "mysql", "seekdb")
def test_d5_every_connection_is_set_up(db: Database) -> None:
    assert _session(db) == ("+00:00", "utf8mb4", True)

    def work(connection: Any) -> tuple[Any, ...]:
        zone, mode = connection.exec_driver_sql("SELECT @@time_zone, @@sql_mode").one()
        level = connection.exec_driver_sql("SHOW VARIABLES LIKE 't%%_isolation'").all()[0][1]
        return zone, "STRICT_TRANS_TABLES" in mode, level

    assert db.transaction(work, source="test") == ("+00:00", True, "READ-COMMITTED")
