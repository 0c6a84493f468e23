"""A cluster of three servers on loopback: Galera for MariaDB, group replication for MySQL.

`Cluster` owns the nodes and knows which of them takes writes; `GaleraNode` and `GroupNode` say how a node starts,
joins, and tells its state. No node is ever filled over the network: all begin as copies of one data folder,
and one that was killed catches up with what it missed. Used by `tests/faults/test_clusters.py` alone.
"""

import contextlib
import re
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import pymysql

from tests.servers.base import Options, ServerError, free_port
from tests.servers.family import MariaDB, MySQL
from tests.servers.packages import obtain

JOIN_SECONDS = 90.0
"""Longest wait for a node to become a member; a loaded machine takes 5 to 20 seconds."""

Node = Any
"""A `GaleraNode` or a `GroupNode`, which take part, tell whether they do, and are killed in the same way."""


class Cluster:
    NAME: ClassVar[str]
    nodes: Sequence[Node]

    def __enter__(self) -> Self:
        try:
            for number, node in enumerate(self.nodes):
                try:
                    node.join(first=number == 0)
                except pymysql.err.Error as error:
                    raise ServerError(f"a node of {self.NAME} did not join ({error}):\n{node.log_tail(60)}") from error
                self.wait_member(node)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        for node in self.nodes:
            node.stop()

    def wait_member(self, node: Node) -> None:
        deadline = time.monotonic() + JOIN_SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(pymysql.err.Error, OSError):
                if node.is_member():
                    return
            time.sleep(0.1)
        raise ServerError(f"a node of {self.NAME} did not join in {JOIN_SECONDS:.0f} s:\n{node.log_tail(60)}")

    def primary(self) -> Node | None:
        for node in self.nodes:
            if node.running:
                with contextlib.suppress(pymysql.err.Error, OSError):
                    if node.is_member() and node.is_primary():
                        return node
        return None

    def wait_primary(self) -> Node:
        deadline = time.monotonic() + JOIN_SECONDS
        while time.monotonic() < deadline:
            found = self.primary()
            if found is not None:
                return found
            time.sleep(0.05)
        raise ServerError(f"{self.NAME} has no primary after {JOIN_SECONDS:.0f} s")


CATCH_UP = """#!/bin/sh
# Called by the servers when a node joins. Nodes only ever catch up, which the library does by itself; all that is left
# to do is that the giving side tells the other up to where.
role= address= gtid= bypass=
while [ $# -gt 0 ]; do
  case $1 in
    --role) role=$2; shift;; --address) address=$2; shift;; --gtid) gtid=$2; shift;; --bypass) bypass=1;;
  esac
  shift
done
told="$(dirname "$0")/$(echo "$address" | sed 's,/.*,,')"
if [ "$role" = joiner ]; then
  rm -f "$told"
  echo "ready $address/there"
  while [ ! -s "$told" ]; do sleep 0.05; done
  cat "$told"
else
  [ -n "$bypass" ] || exit 1
  echo "$gtid" > "$told.new" && mv "$told.new" "$told"
  echo "done $gtid"
fi
"""


def provider() -> Path:
    """Return the replication library, from this machine or unpacked from its Debian package."""
    own = Path("/usr/lib/galera/libgalera_smm.so")
    return own if own.exists() else obtain("galera", "galera-4").root / "usr/lib/galera/libgalera_smm.so"


class GaleraNode(MariaDB):
    """One node. Its ports stay the same over a restart."""

    def __init__(self, cluster: "Galera", number: int) -> None:
        super().__init__(durable=True)
        self.cluster, self.number = cluster, number
        self.port, self.talk_port, self.catch_up_port, self.copy_port = (free_port() for _ in range(4))
        self._first = False
        self._position = ""

    def _replicating(self) -> Options:
        others = [n.talk_port for n in self.cluster.nodes if n is not self]
        where = "" if self._first else ",".join(f"127.0.0.1:{port}" for port in others)
        parts = {
            "gmcast.listen_addr": f"tcp://127.0.0.1:{self.talk_port}",
            "ist.recv_addr": f"127.0.0.1:{self.catch_up_port}", "gcache.size": "64M", "base_host": "127.0.0.1",
            "base_port": str(self.talk_port), "socket.ssl": "no",
        }  # fmt: skip
        found: dict[str, str | int | None] = {
            "binlog_format": "ROW", "default_storage_engine": "InnoDB", "innodb_autoinc_lock_mode": 2, "wsrep_on": "ON",
            "wsrep_provider": str(provider()), "wsrep_provider_options": ";".join(f"{k}={v}" for k, v in parts.items()),
            "wsrep_cluster_name": self.cluster.label, "wsrep_cluster_address": f"gcomm://{where}",
            "wsrep_node_name": f"node{self.number}", "wsrep_node_address": f"127.0.0.1:{self.talk_port}",
            "wsrep_node_incoming_address": f"127.0.0.1:{self.port}", "wsrep_sst_method": "catch_up",
            "wsrep_sst_receive_address": f"127.0.0.1:{self.copy_port}", "wsrep_slave_threads": 4,
        }  # fmt: skip
        if self._first:
            found["wsrep_new_cluster"] = None
        if self._position:
            found["wsrep_start_position"] = self._position
        return found

    def _command(self) -> list[str]:
        self.options = self._replicating()
        return super()._command()

    def _prepare(self) -> None:
        data = self.folder / "data"
        if not data.exists():
            shutil.copytree(self.cluster.origin(), data)
            for left in ("gvwstate.dat", "galera.cache"):
                (data / left).unlink(missing_ok=True)
        self._position = "" if self._first else self._recovered()

    def _environment(self) -> dict[str, str]:
        made = super()._environment()
        return {**made, "PATH": f"{self.cluster.scripts}:{made.get('PATH', '')}"}

    def _recovered(self) -> str:
        """Return where the data of this node stands, as the server reads it from its own log."""
        self._position, self._url = "", self._address()
        words = [*self._command(), "--wsrep-recover"]
        said = subprocess.run(words, capture_output=True, text=True, check=False, cwd=self.folder)
        found = re.findall(r"Recovered position: *(\S+)", said.stdout + said.stderr)
        if not found:
            raise ServerError(f"the position of a node is not known:\n{(said.stdout + said.stderr)[-2000:]}")
        return str(found[-1])

    def join(self, *, first: bool) -> None:
        self._first = first
        self.start()
        self._first = False

    def status(self, name: str) -> str:
        rows = self.execute(f"SHOW STATUS LIKE 'wsrep_{name}'")
        return str(rows[0][1]) if rows else ""

    def is_member(self) -> bool:
        return self.status("ready") == "ON" and self.status("local_state_comment") == "Synced"

    def is_primary(self) -> bool:
        return self.status("cluster_status") == "Primary"


class Galera(Cluster):
    """Three nodes that all take writes; `primary` is the first of them that does."""

    NAME: ClassVar[str] = "galera"

    def __init__(self) -> None:
        self.label = f"test-{uuid.uuid4().hex[:8]}"
        self._origin: Path | None = None
        self.scripts = Path(tempfile.mkdtemp(prefix="test-galera-"))
        script = self.scripts / "wsrep_sst_catch_up"
        script.write_text(CATCH_UP)
        script.chmod(0o755)
        self.nodes: list[GaleraNode] = [GaleraNode(self, number) for number in range(3)]

    def origin(self) -> Path:
        """Return a data folder with the mark of this cluster in it: what every node begins with."""
        if self._origin is None:
            seed = GaleraNode(self, 9)
            seed._first = True
            shutil.copytree(seed.template(), seed.folder / "data")
            self._origin = seed.folder / "data"
            self._seed = seed
            seed.start()
            seed.shut_down()
            state = self._origin / "grastate.dat"
            state.write_text(state.read_text().replace("safe_to_bootstrap: 0", "safe_to_bootstrap: 1"))
        return self._origin

    def stop(self) -> None:
        super().stop()
        if self._origin is not None:
            self._seed.stop()
        shutil.rmtree(self.scripts, ignore_errors=True)


_MEMBER = (
    "SELECT MEMBER_STATE, MEMBER_ROLE FROM performance_schema.replication_group_members WHERE MEMBER_ID = @@server_uuid"
)


class GroupNode(MySQL):
    """One node. Its ports stay the same over a restart."""

    def __init__(self, cluster: "Group", number: int) -> None:
        super().__init__(durable=True)
        self.cluster, self.number = cluster, number
        self.port, self.talk_port = free_port(), free_port()

    def _command(self) -> list[str]:
        self.options = {
            "server_id": self.number + 1, "performance_schema": "ON", "gtid_mode": "ON",
            "enforce_gtid_consistency": "ON", "log_bin": "binlog", "report_host": "127.0.0.1",
            "report_port": self.port, "plugin_load_add": "group_replication.so",
            "loose_group_replication_group_name": self.cluster.label, "loose_group_replication_start_on_boot": "OFF",
            "loose_group_replication_local_address": f"127.0.0.1:{self.talk_port}",
            "loose_group_replication_group_seeds": ",".join(f"127.0.0.1:{n.talk_port}" for n in self.cluster.nodes),
            "loose_group_replication_ssl_mode": "DISABLED", "loose_group_replication_recovery_use_ssl": "OFF",
            "loose_group_replication_ip_allowlist": "127.0.0.1", "loose_group_replication_single_primary_mode": "ON",
            "loose_group_replication_exit_state_action": "READ_ONLY",
        }  # fmt: skip
        return [word for word in super()._command() if word != "--skip-log-bin"]

    def join(self, *, first: bool) -> None:
        self.start()
        self.execute("CHANGE REPLICATION SOURCE TO SOURCE_USER='root' FOR CHANNEL 'group_replication_recovery'")
        if first:
            self.execute("SET GLOBAL group_replication_bootstrap_group = ON")
        self.execute("START GROUP_REPLICATION")
        self.execute("SET GLOBAL group_replication_bootstrap_group = OFF")

    def _role(self) -> tuple[str, str]:
        rows = self.execute(_MEMBER)
        return (str(rows[0][0]), str(rows[0][1])) if rows else ("", "")

    def is_member(self) -> bool:
        return self._role()[0] == "ONLINE"

    def is_primary(self) -> bool:
        return self._role()[1] == "PRIMARY" and self.scalar("SELECT @@super_read_only") == "0"


class Group(Cluster):
    """Three nodes with one primary; the others answer writes with 1290."""

    NAME: ClassVar[str] = "group replication"

    def __init__(self) -> None:
        self.label = str(uuid.uuid4())
        self.nodes: list[GroupNode] = [GroupNode(self, number) for number in range(3)]
