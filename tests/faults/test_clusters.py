"""Clusters of three nodes: the node that takes writes is killed under load, and two nodes are written at once.

Slow, so they run by themselves: `make test-clusters`. A relay stands for the proxy that leads hosts to it.
"""

import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Self

import pytest
from sqlalchemy.engine import make_url

from core import lifelong
from core.chat_history_cache import save_chat_message
from core.database import schema
from core.scope import Scope
from tests.faults.host import Host
from tests.faults.ledger import wrong
from tests.servers.cluster import Cluster, Galera, Group, Node
from tests.store.relay import Relay
from tests.store.world import index_differences, open_db, rows_of, run_at_once

IS_ASKED = bool(os.environ.get("TEST_CLUSTERS"))
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not IS_ASKED, reason="runs in `make test-clusters`")]
HOSTS = int(os.environ.get("CLUSTER_HOSTS", "4"))
TIMEOUT = 3.0


@pytest.fixture(scope="module", params=["galera", "group"])
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with (Galera if request.param == "galera" else Group)() as made:
        yield made


class _Proxy:
    """Leads to the node that takes writes, and looks every 0.2 s whether it still does."""

    def __init__(self, cluster: Cluster, wire: Relay, first: Node) -> None:
        self.cluster, self.wire, self.node = cluster, wire, first
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.2):
            found = self.cluster.primary()
            if found is not None and found is not self.node and not self.node.running:
                self.node = found
                self.wire.lead_to("127.0.0.1", found.port)


def _url(url: str, database: str) -> str:
    return make_url(url).set(database=database).render_as_string(hide_password=False)


def _stored(hosts: list[Host]) -> int:
    return sum(host.stored() for host in hosts)


def _settled(cluster: Cluster, name: str) -> None:
    deadline = time.monotonic() + 60
    while True:
        running = [node for node in cluster.nodes if node.running]
        counts = {node.scalar(f"SELECT COUNT(*) FROM {name}.chat_history_cache") for node in running}
        if len(counts) == 1:
            return
        assert time.monotonic() < deadline, f"the nodes differ: {counts}"
        time.sleep(0.2)


def test_f55_the_primary_killed_under_load(cluster: Cluster) -> None:
    primary, name = cluster.wait_primary(), "load"
    primary.create_database(name)
    with Relay(primary.url) as wire, _Proxy(cluster, wire, primary) as proxy:
        url = _url(wire.url, name)
        open_db(url).close()
        hosts = [Host(url, "load", f"h{n}", timeout_seconds=TIMEOUT) for n in range(HOSTS)]
        while _stored(hosts) < 60 * HOSTS:
            time.sleep(0.05)
        before = _stored(hosts)
        primary.kill()
        deadline = time.monotonic() + 120
        while _stored(hosts) < before + 40 * HOSTS or proxy.node is primary:
            assert time.monotonic() < deadline, "no writes after the failover"
            time.sleep(0.05)
        told, after = [each for host in hosts for each in host.stop()], proxy.node
    _settled(cluster, name)
    db = open_db(_url(after.url, name))
    assert wrong(db, "load", told) == []
    db.close()
    asked = sorted((each for each in told if each.kind == "prompt"), key=lambda each: each.at)
    prompts = [each.seconds for each in asked[2 * HOSTS :]]  # the first ones of a host load what they need
    assert max(prompts) < TIMEOUT + 1.5
    primary.join(first=False)
    cluster.wait_member(primary)
    _settled(cluster, name)
    db = open_db(_url(primary.url, name))
    assert wrong(db, "load", told) == [], "the node that came back holds something else"
    db.close()


def test_l19_two_nodes_written_at_once(cluster: Cluster) -> None:
    if cluster.NAME != "galera":
        pytest.skip("one node alone takes writes")
    name = "both"
    cluster.wait_primary().create_database(name)
    urls = [_url(node.url, name) for node in cluster.nodes if node.running]
    open_db(urls[0]).close()
    hosts = [Host(urls[n % len(urls)], "both", f"h{n}", timeout_seconds=8.0) for n in range(HOSTS)]
    while _stored(hosts) < 80 * HOSTS:
        time.sleep(0.05)
    told = [each for host in hosts for each in host.stop()]
    _settled(cluster, name)
    db = open_db(urls[1])
    assert wrong(db, "both", told) == []
    db.close()
    states = Counter(each.state for each in told)
    assert states["failed"] + states["unsure"] <= len(told) // 50


def test_l19_one_cycle_at_a_time_on_a_cluster(cluster: Cluster) -> None:
    name, primary = "lease", cluster.wait_primary()
    primary.create_database(name)
    many = cluster.NAME == "galera"
    urls = [_url(node.url, name) for node in cluster.nodes if node.running and (many or node is primary)] * 3
    dbs, scope = [open_db(url) for url in urls], Scope("lease")
    for n in range(30):
        save_chat_message(f"tg/{n % 3}", f"I love house number {n} of Rome", "Ann", "ann", db=dbs[0], scope=scope)
    _settled(cluster, name)
    run_at_once([partial(lifelong.run_cycle, db=db, scope=scope) for db in dbs])
    _settled(cluster, name)
    rows = [row for row in rows_of(dbs[0], schema.memories, "lease") if row.source_message_ids]
    twice = [text for text, number in Counter(row.content for row in rows).items() if number > 1]
    assert twice == [] and len(rows) >= 10 and index_differences(dbs[0], "lease") == []
    for db in dbs:
        db.close()
