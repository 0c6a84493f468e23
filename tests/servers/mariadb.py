"""MariaDB, of the version that the distribution ships, or of the Debian suite that MARIADB_SUITE names."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import ClassVar

from tests.servers.base import ServerError
from tests.servers.family import Daemon

# The scripts `mariadb-install-db` feeds to the server, without help texts and the sys schema; newer releases have
# renamed some from mysql_ to mariadb_.
SCRIPTS = ("system_tables.sql", "performance_tables.sql", "system_tables_data.sql", "maria_add_gis_sp_bootstrap.sql")


class MariaDB(Daemon):
    NAME: ClassVar[str] = "mariadb"
    PROGRAM: ClassVar[str] = "mariadbd"
    PACKAGE: ClassVar[str] = "mariadb-server-core"
    CLIENTS: ClassVar[tuple[str, str]] = ("mariadb-dump", "mariadb")
    CLIENT_PACKAGES: ClassVar[str] = "mariadb-client mariadb-client-core"
    SUITE: ClassVar[str | None] = os.environ.get("MARIADB_SUITE") or None
    REDO_LOG: ClassVar[str] = "innodb_log_file_size"

    @classmethod
    def is_own_version(cls, line: str) -> bool:
        return "MariaDB" in line

    @classmethod
    def _script(cls, name: str) -> str:
        share = cls.base_dir() / "share"
        for folder in (share / "mysql", share / "mariadb"):
            for prefix in ("mysql_", "mariadb_", ""):
                if (path := folder / f"{prefix}{name}").exists():
                    return path.read_text(errors="replace")
        raise ServerError(f"MariaDB's script {name} is not below {share}; is its server package complete?")

    @classmethod
    def initialise(cls, data: Path) -> None:
        lines = ["CREATE DATABASE mysql;", "USE mysql;", "SET @auth_root_socket=NULL;"]
        for script in SCRIPTS:
            # An account for this machine's host name is of no use where every client comes over loopback.
            lines += [line for line in cls._script(script).splitlines() if "@current_hostname" not in line]
        options = {**cls.storage_options(), "bootstrap": None, "skip_networking": None, "max_allowed_packet": "8M"}
        result = subprocess.run(
            cls.words(data, options), input="\n".join(lines) + "\n", capture_output=True, text=True, check=False
        )
        if result.returncode or "ERROR:" in result.stderr:
            raise ServerError(f"MariaDB could not make its system tables:\n{result.stderr[-3000:]}")
