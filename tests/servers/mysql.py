"""MySQL of the newest line: installed on PATH, or Debian's package from its unstable suite."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import ClassVar

from tests.servers.base import Options, ServerError
from tests.servers.family import Daemon


class MySQL(Daemon):
    NAME: ClassVar[str] = "mysql"
    PROGRAM: ClassVar[str] = "mysqld"
    PACKAGE: ClassVar[str] = "mysql-server-core"
    CLIENTS: ClassVar[tuple[str, str]] = ("mysqldump", "mysql")
    CLIENT_PACKAGES: ClassVar[str] = "mysql-client-core"
    SUITE: ClassVar[str | None] = "unstable"
    REDO_LOG: ClassVar[str] = "innodb_redo_log_capacity"
    EXTRA: ClassVar[Options] = {
        "mysqlx": "OFF",
        "secure_file_priv": "",
        # No keys and certificates at the first start: clients come over loopback, and making them costs a second.
        "auto_generate_certs": "OFF",
        "caching_sha2_password_auto_generate_rsa_keys": "OFF",
    }

    @classmethod
    def is_own_version(cls, line: str) -> bool:
        return "mysqld" in line and "MariaDB" not in line

    @classmethod
    def initialise(cls, data: Path) -> None:
        # Without name resolution a client over loopback is 127.0.0.1, not localhost, so root needs that account.
        with tempfile.NamedTemporaryFile("w", suffix=".sql") as accounts:
            accounts.write("CREATE USER root@'127.0.0.1';\nGRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;\n")
            accounts.flush()
            options = {
                **cls.storage_options(),
                "initialize_insecure": None,
                "init_file": accounts.name,
                "auto_generate_certs": "OFF",
                "caching_sha2_password_auto_generate_rsa_keys": "OFF",
            }
            result = subprocess.run(cls.words(data, options), capture_output=True, text=True, check=False)
        if result.returncode:
            raise ServerError(f"MySQL could not make its system tables:\n{(result.stdout + result.stderr)[-3000:]}")
        # Every copy of the folder makes a server id of its own.
        (data / "auto.cnf").unlink(missing_ok=True)
