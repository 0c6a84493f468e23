"""Real database servers for tests, benchmarks and developers.

`base` owns a server's life, `packages` how they are downloaded, `session` what a test session does with them; the
others are the servers. From a shell: `python -m tests.servers install`, `list`, or `start mariadb`. From Python:
`SERVERS["mariadb"]()` is a server that is not started yet, and a context manager.
"""

from tests.servers.base import Reachable, Server, ServerError
from tests.servers.family import MariaDB, MySQL
from tests.servers.seekdb import SeekDB

SERVERS: dict[str, type[Server]] = {cls.NAME: cls for cls in (MariaDB, MySQL, SeekDB)}
"""Every kind of server that this package can start, by name."""

__all__ = ["SERVERS", "MariaDB", "MySQL", "Reachable", "SeekDB", "Server", "ServerError"]
