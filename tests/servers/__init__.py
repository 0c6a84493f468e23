"""Real database servers for tests, benchmarks and developers.

One module per server; `base` owns a server's life, `family` what MariaDB and MySQL share, `packages` how they are
downloaded, `session` what a test session does with them. From a shell: `python -m tests.servers install`, `list`, or
`start mariadb`. From Python: `SERVERS["mariadb"]()` is a server that is not started yet, and a context manager.
"""

from __future__ import annotations

from tests.servers.base import Reachable, Server, ServerError
from tests.servers.mariadb import MariaDB
from tests.servers.mysql import MySQL
from tests.servers.seekdb import SeekDB

SERVERS: dict[str, type[Server]] = {cls.NAME: cls for cls in (MariaDB, MySQL, SeekDB)}
"""Every kind of server that this package can start, by name."""

__all__ = ["SERVERS", "MariaDB", "MySQL", "Reachable", "SeekDB", "Server", "ServerError"]
