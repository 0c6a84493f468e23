"""Galera: three MariaDB nodes, each of which takes writes."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import uuid
from pathlib import Path
from typing import ClassVar

from sqlalchemy.engine import URL

from tests.servers.base import Options, Reachable, ServerError, free_port
from tests.servers.cluster import Cluster
from tests.servers.mariadb import MariaDB
from tests.servers.packages import HOME, obtain

PACKAGE = "galera-4"

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
    for place in (Path("/usr/lib/galera"), HOME / "galera/root/usr/lib/galera"):
        if (place / "libgalera_smm.so").exists():
            return place / "libgalera_smm.so"
    return obtain("galera", PACKAGE).root / "usr/lib/galera/libgalera_smm.so"


class GaleraNode(MariaDB):
    """One node. Its ports stay the same over a restart."""

    def __init__(self, cluster: Galera, number: int) -> None:
        super().__init__(durable=True)
        self.cluster, self.number = cluster, number
        self.port, self.talk_port, self.catch_up_port, self.copy_port = (free_port() for _ in range(4))
        self._first = False
        self._position = ""

    def as_reachable(self) -> Reachable:
        return self

    def _address(self) -> URL:
        return URL.create("mysql+pymysql", "root", host="127.0.0.1", port=self.port)

    def _replicating(self) -> Options:
        others = [n.talk_port for n in self.cluster.nodes if n is not self]
        where = "" if self._first else ",".join(f"127.0.0.1:{port}" for port in others)
        parts = {
            "gmcast.listen_addr": f"tcp://127.0.0.1:{self.talk_port}",
            "ist.recv_addr": f"127.0.0.1:{self.catch_up_port}",
            "gcache.size": "64M",
            "base_host": "127.0.0.1",
            "base_port": str(self.talk_port),
            "socket.ssl": "no",
        }
        found: dict[str, str | int | None] = {
            "binlog_format": "ROW",
            "default_storage_engine": "InnoDB",
            "innodb_autoinc_lock_mode": 2,
            "wsrep_on": "ON",
            "wsrep_provider": str(provider()),
            "wsrep_provider_options": ";".join(f"{k}={v}" for k, v in parts.items()),
            "wsrep_cluster_name": self.cluster.label,
            "wsrep_cluster_address": f"gcomm://{where}",
            "wsrep_node_name": f"node{self.number}",
            "wsrep_node_address": f"127.0.0.1:{self.talk_port}",
            "wsrep_node_incoming_address": f"127.0.0.1:{self.port}",
            "wsrep_sst_method": "catch_up",
            "wsrep_sst_receive_address": f"127.0.0.1:{self.copy_port}",
            "wsrep_slave_threads": 4,
        }
        if self._first:
            found["wsrep_new_cluster"] = None
        if self._position:
            found["wsrep_start_position"] = self._position
        return found

    def _command(self) -> list[str]:
        self.options = {**self._replicating(), **self.cluster.options}
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

    def __init__(self, options: Options | None = None) -> None:
        self.options = dict(options or {})
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
