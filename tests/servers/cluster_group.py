"""Group replication: three MySQL nodes of which one, the primary, takes writes."""

from __future__ import annotations

import uuid
from typing import ClassVar

from sqlalchemy.engine import URL

from tests.servers.base import Options, Reachable, free_port
from tests.servers.cluster import Cluster
from tests.servers.mysql import MySQL

_MEMBER = (
    "SELECT MEMBER_STATE, MEMBER_ROLE FROM performance_schema.replication_group_members WHERE MEMBER_ID = @@server_uuid"
)


class GroupNode(MySQL):
    """One node. Its ports stay the same over a restart."""

    def __init__(self, cluster: Group, number: int) -> None:
        super().__init__(durable=True)
        self.cluster, self.number = cluster, number
        self.port, self.talk_port = free_port(), free_port()

    def as_reachable(self) -> Reachable:
        return self

    def _address(self) -> URL:
        return URL.create("mysql+pymysql", "root", host="127.0.0.1", port=self.port)

    def _command(self) -> list[str]:
        self.options = {
            "server_id": self.number + 1,
            "performance_schema": "ON",
            "gtid_mode": "ON",
            "enforce_gtid_consistency": "ON",
            "log_bin": "binlog",
            "report_host": "127.0.0.1",
            "report_port": self.port,
            "plugin_load_add": "group_replication.so",
            "loose_group_replication_group_name": self.cluster.label,
            "loose_group_replication_start_on_boot": "OFF",
            "loose_group_replication_local_address": f"127.0.0.1:{self.talk_port}",
            "loose_group_replication_group_seeds": ",".join(f"127.0.0.1:{n.talk_port}" for n in self.cluster.nodes),
            "loose_group_replication_ssl_mode": "DISABLED",
            "loose_group_replication_recovery_use_ssl": "OFF",
            "loose_group_replication_ip_allowlist": "127.0.0.1",
            "loose_group_replication_single_primary_mode": "ON",
            "loose_group_replication_exit_state_action": "READ_ONLY",
            **self.cluster.options,
        }
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

    def __init__(self, options: Options | None = None) -> None:
        self.options = dict(options or {})
        self.label = str(uuid.uuid4())
        self.nodes: list[GroupNode] = [GroupNode(self, number) for number in range(3)]
