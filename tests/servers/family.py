"""MariaDB and MySQL: finding the program, a prepared data folder, the options for quick tests."""

import contextlib
import functools
import os
import re
import shutil
import subprocess
import tempfile
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from sqlalchemy.engine import URL

from tests.servers.base import Options, Server, ServerError, free_port
from tests.servers.packages import HOME, Tree, is_debian, obtain

with contextlib.suppress(ImportError):  # Windows, where none of these servers runs
    import fcntl

SYSTEM_FOLDERS = ("/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/mysql/bin")
"""Searched after PATH, which lacks these for most users who are not root."""


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock file, so that two runs do not prepare the same thing at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class Daemon(Server):
    """A MariaDB or MySQL server on a loopback port and a socket, user root without a password."""

    PROGRAM: ClassVar[str]
    PACKAGE: ClassVar[str]
    SUITE: ClassVar[str | None] = None
    CLIENTS: ClassVar[tuple[str, str]]
    """The program that writes a dump, and the one that reads it."""
    CLIENT_PACKAGES: ClassVar[str]
    REDO_LOG: ClassVar[str]
    """Name of the variable that sizes the redo log."""

    EXTRA: ClassVar[Options] = {}
    port: int = 0
    """Port of every start; 0 takes a free one each time."""

    @classmethod
    def installed(cls) -> Path | None:
        path = os.pathsep.join([os.environ.get("PATH", ""), *SYSTEM_FOLDERS])
        found = shutil.which(cls.PROGRAM, path=path)
        # Each of the two comes with links under the other's name.
        return Path(found) if found and cls.is_own_version(_version_line((found,))) else None

    @classmethod
    @abstractmethod
    def is_own_version(cls, line: str) -> bool:
        """Tell from the output of --version whether this is really the server it is named after."""

    @classmethod
    def downloaded(cls) -> Tree | None:
        home = HOME / cls.NAME
        return Tree(home / "root") if (home / "packages.json").exists() else None

    @classmethod
    def available(cls) -> bool:
        return cls.installed() is not None or cls.downloaded() is not None

    @classmethod
    def program(cls) -> list[str]:
        if installed := cls.installed():
            return [str(installed)]
        if tree := cls.downloaded():
            return tree.command(f"usr/sbin/{cls.PROGRAM}")
        how = "run: python -m tests.servers install" if is_debian() else f"put {cls.PROGRAM} on PATH"
        raise ServerError(f"{cls.NAME} is not here; {how}")

    @classmethod
    def base_dir(cls) -> Path:
        return Path(cls.program()[-1]).resolve().parent.parent

    @classmethod
    def program_version(cls) -> str:
        match = re.search(r"Ver (\S+)", _version_line(tuple(cls.program())))
        return match[1] if match else "?"

    @classmethod
    def install(cls, *, refresh: bool = False) -> str:
        with locked(HOME / f"{cls.NAME}.lock"):
            if cls.installed() is None:
                obtain(cls.NAME, cls.PACKAGE, cls.SUITE, refresh=refresh)
            if len(cls.installed_clients()) < len(cls.CLIENTS):
                obtain(f"{cls.NAME}-client", cls.CLIENT_PACKAGES, cls.SUITE, refresh=refresh)
        cls.template()
        where = "installed on this machine" if cls.installed() else f"unpacked from the Debian package {cls.PACKAGE}"
        return f"{cls.NAME} {cls.program_version()}, {where}"

    @classmethod
    def installed_clients(cls) -> dict[str, list[str]]:
        """Return the words that run each client of this family member that is on PATH."""
        paths = {name: path for name in cls.CLIENTS if (path := shutil.which(name))}
        own = {name: ("MariaDB" in _version_line((path,))) == (cls.NAME == "mariadb") for name, path in paths.items()}
        return {name: [path] for name, path in paths.items() if own[name]}

    @classmethod
    def clients(cls) -> dict[str, list[str]]:
        """Return the words that run each client; empty where they are neither installed nor downloaded."""
        home, found = HOME / f"{cls.NAME}-client", cls.installed_clients()
        if len(found) < len(cls.CLIENTS) and (home / "packages.json").exists():
            found = {name: Tree(home / "root").command(f"usr/bin/{name}") for name in cls.CLIENTS}
        return found if len(found) == len(cls.CLIENTS) else {}

    @classmethod
    def template(cls) -> Path:
        """Return a freshly initialised data folder; copying it takes a tenth of making one."""
        folder = HOME / cls.NAME / f"template-{re.sub(r'[^0-9A-Za-z.]', '_', cls.program_version())}"
        with locked(HOME / f"{cls.NAME}.lock"):
            if not folder.exists():
                work = folder.with_name(folder.name + ".new")
                shutil.rmtree(work, ignore_errors=True)
                work.mkdir(parents=True)
                cls.initialise(work)
                work.rename(folder)
        return folder

    @classmethod
    @abstractmethod
    def initialise(cls, data: Path) -> None:
        """Make the system tables in an empty folder."""

    @classmethod
    def words(cls, data: Path, options: Options) -> list[str]:
        base = cls.base_dir()
        fixed: Options = {
            "basedir": str(base), "datadir": str(data), "lc_messages_dir": str(base / "share/mysql"),
            "plugin_dir": str(base / "lib/mysql/plugin"),
        }  # fmt: skip
        if os.geteuid() == 0:
            fixed = {**fixed, "user": "root"}
        named = {key.replace("_", "-"): value for key, value in {**fixed, **options}.items()}
        flags = [f"--{name}" if value is None else f"--{name}={value}" for name, value in named.items()]
        return [*cls.program(), "--no-defaults", *flags]

    @classmethod
    def storage_options(cls) -> Options:
        size = {cls.REDO_LOG: "48M", "innodb_buffer_pool_size": "128M"}
        return {**size, "performance_schema": "OFF", "skip_log_bin": None}

    def _prepare(self) -> None:
        data = self.folder / "data"
        if not data.exists():
            shutil.copytree(self.template(), data)

    def _address(self) -> URL:
        return URL.create("mysql+pymysql", "root", host="127.0.0.1", port=self.port or free_port())

    def _command(self) -> list[str]:
        temporary = self.folder / "tmp"
        temporary.mkdir(exist_ok=True)
        quick = {"innodb_flush_log_at_trx_commit": 2, "innodb_doublewrite": 0, "innodb_flush_method": "nosync"}
        safe = {"innodb_flush_log_at_trx_commit": 1}
        options: Options = {
            **self.storage_options(),
            "bind_address": "127.0.0.1", "port": self._url.port, "socket": str(self.folder / "server.sock"),
            "pid_file": str(self.folder / "server.pid"), "skip_name_resolve": None, "max_connections": 250,
            # One that starts removes the temporary tables it finds, those of others that run there, too.
            "tmpdir": str(temporary), "character_set_server": "utf8mb4",
            **(safe if self.durable else quick), **self.EXTRA, **self.options,
        }  # fmt: skip
        return self.words(self.folder / "data", options)


@functools.cache
def _version_line(program: tuple[str, ...]) -> str:
    return subprocess.run([*program, "--version"], capture_output=True, text=True, check=False).stdout.strip()


# The scripts `mariadb-install-db` feeds to the server, without help texts and the sys schema; newer releases have
# renamed some from mysql_ to mariadb_.
SCRIPTS = ("system_tables.sql", "performance_tables.sql", "system_tables_data.sql", "maria_add_gis_sp_bootstrap.sql")


class MariaDB(Daemon):
    """Of the version that the distribution ships, or of the Debian suite that MARIADB_SUITE names."""

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


class MySQL(Daemon):
    """Of the newest line: installed on PATH, or Debian's package from its unstable suite."""

    NAME: ClassVar[str] = "mysql"
    PROGRAM: ClassVar[str] = "mysqld"
    PACKAGE: ClassVar[str] = "mysql-server-core"
    CLIENTS: ClassVar[tuple[str, str]] = ("mysqldump", "mysql")
    CLIENT_PACKAGES: ClassVar[str] = "mysql-client-core"
    SUITE: ClassVar[str | None] = "unstable"
    REDO_LOG: ClassVar[str] = "innodb_redo_log_capacity"
    EXTRA: ClassVar[Options] = {
        "mysqlx": "OFF", "secure_file_priv": "",
        # No keys and certificates at the first start: clients come over loopback, and making them costs a second.
        "auto_generate_certs": "OFF", "caching_sha2_password_auto_generate_rsa_keys": "OFF",
    }  # fmt: skip

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
                **cls.storage_options(), "initialize_insecure": None, "init_file": accounts.name,
                "auto_generate_certs": "OFF", "caching_sha2_password_auto_generate_rsa_keys": "OFF",
            }  # fmt: skip
            result = subprocess.run(cls.words(data, options), capture_output=True, text=True, check=False)
        if result.returncode:
            raise ServerError(f"MySQL could not make its system tables:\n{(result.stdout + result.stderr)[-3000:]}")
        # Every copy of the folder makes a server id of its own.
        (data / "auto.cnf").unlink(missing_ok=True)
