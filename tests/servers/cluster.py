"""A cluster of three servers on loopback: Galera for MariaDB, group replication for MySQL.

`Cluster` owns the nodes and knows which of them takes writes; `cluster_galera` and `cluster_group` say how a node
starts, joins, and tells its state. No node is ever filled over the network: all begin as copies of one data folder,
and one that was killed catches up with what it missed. Used by `tests/faults/test_clusters.py` alone.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import pymysql

from tests.servers.base import ServerError

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
        """End every node, each by its own pid, and remove its folder."""
        for node in self.nodes:
            node.stop()

    def wait_member(self, node: Node, seconds: float = JOIN_SECONDS) -> None:
        """Wait until a node takes part; raises ServerError with its log when it does not."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with contextlib.suppress(pymysql.err.Error, OSError):
                if node.is_member():
                    return
            time.sleep(0.1)
        raise ServerError(f"a node of {self.NAME} did not join in {seconds:.0f} s:\n{node.log_tail(60)}")

    def primary(self) -> Node | None:
        for node in self.nodes:
            if node.running:
                with contextlib.suppress(pymysql.err.Error, OSError):
                    if node.is_member() and node.is_primary():
                        return node
        return None

    def wait_primary(self, seconds: float = JOIN_SECONDS) -> tuple[Node, float]:
        """Return the node that takes writes, and the seconds it took to find one."""
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            found = self.primary()
            if found is not None:
                return found, time.monotonic() - began
            time.sleep(0.05)
        raise ServerError(f"{self.NAME} has no primary after {seconds:.0f} s")
