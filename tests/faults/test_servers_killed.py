"""Servers that die, hang, refuse, run full, networks that cut anywhere, while several hosts write (F51 to F55, D34).

Hosts are processes of their own that write through every kind of door (`tests.faults.host`); afterwards what they were
told is held against what is stored (`tests.faults.ledger`). FAULT_ROUNDS (1) is how often each fault comes; `make
test-faults` runs many.
"""

import os
import random
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from sqlalchemy.engine import make_url

from core.chat_history_cache import save_chat_message
from core.database.engine import Database
from core.errors import StoreWriteError
from tests.faults.host import Host, Told
from tests.faults.ledger import wrong
from tests.servers import SERVERS, Server
from tests.spec.stage import Stage, failed
from tests.store.relay import Relay
from tests.store.world import open_db

pytestmark = [pytest.mark.engines("mariadb", "mysql"), pytest.mark.slow]

ROUNDS = int(os.environ.get("FAULT_ROUNDS", "1"))
HOSTS = 2 if ROUNDS == 1 else 4
TIMEOUT = 2.0
ASKED = "tofu, and who is Ann?"
MUCH = pytest.mark.skipif(ROUNDS == 1, reason="runs in `make test-faults`, or with FAULT_ROUNDS above 1")


class Place:
    def __init__(self, server: Server, wire: Relay) -> None:
        self.server, self.wire = server, wire
        self._number = 0

    def restart(self) -> None:
        """Start the server again on its data; it listens elsewhere."""
        self.server.start()
        self.wire.lead_to("127.0.0.1", make_url(self.server.url).port or 3306)

    @contextmanager
    def hosts(self) -> Iterator["_Run"]:
        """Let hosts write into an empty database for the time of the block, then check what they were told."""
        self._number += 1
        name = f"faults_{self._number}"
        self.server.create_database(name)
        url = make_url(self.wire.url).set(database=name).render_as_string(hide_password=False)
        open_db(url).close()
        run = _Run(self, name, url, f"p{self._number}")
        try:
            yield run
        finally:
            if not self.server.running:
                self.restart()
            self.wire.heal()
            told = run.stop()
        with closing(open_db(self.server.url_for(name))) as db:
            assert wrong(db, run.persona, told) == []
            assert run.stored > 10 * HOSTS, "the hosts have hardly written"


class _Run:
    def __init__(self, place: Place, name: str, url: str, persona: str) -> None:
        self.place, self.name, self.url, self.persona = place, name, url, persona
        self.hosts = [Host(url, persona, f"h{n}", timeout_seconds=TIMEOUT) for n in range(HOSTS)]
        self.told: list[Told] = []
        self.db = Database(url, timeout_seconds=TIMEOUT)
        self.prompt()

    @property
    def stored(self) -> int:
        return sum(host.stored() for host in self.hosts)

    def write_on(self, more: int = 20, seconds: float = 60.0) -> None:
        goal, deadline = self.stored + more, time.monotonic() + seconds
        while self.stored < goal:
            assert time.monotonic() < deadline, "the hosts do not write any more"
            time.sleep(0.02)

    def prompt(self) -> tuple[float, list[str]]:
        stage, began = Stage(self.db, self.persona), time.monotonic()
        prompt, report = stage.explain(ASKED, {}, path="tg/h00")
        assert list(prompt) == ["context", "input", "instructions", "__pre_reduction_size", "actions"]
        return time.monotonic() - began, failed(report)

    def stop(self) -> list[Told]:
        self.told = [each for host in self.hosts for each in host.stop()]
        self.db.close()
        return self.told


def numbers(told: list[Told]) -> set[str]:
    return {each.error.split()[1] for each in told if each.error}


def in_time(told: list[Told], seconds: float) -> bool:
    prompts = sorted((each for each in told if each.kind == "prompt"), key=lambda each: each.at)
    return all(each.seconds < 2 * seconds for each in prompts[2 * HOSTS :])


@pytest.fixture(scope="module")
def place(server_name: str) -> Iterator[Place]:
    with SERVERS[server_name](durable=True) as server, Relay(server.url) as wire:
        yield Place(server, wire)


def test_f55_a_server_killed_under_hosts_that_write_everything(place: Place) -> None:
    with place.hosts() as run:
        for _ in range(ROUNDS):
            run.write_on(30)
            place.server.kill()
            seconds, sources = run.prompt()
            assert seconds < 2 * TIMEOUT  # it costs the timeout once
            assert {"chat_history_cache", "memories", "ai_diary"} <= set(sources)
            place.restart()
            run.write_on(15)
            assert run.prompt()[1] == []
    assert any(each.state != "stored" for each in run.told), "nobody has noticed"
    assert in_time(run.told, TIMEOUT)


@MUCH
def test_f52_connections_cut_anywhere_lose_nothing(place: Place) -> None:
    chosen = random.Random(ROUNDS)
    with place.hosts() as run:
        for _ in range(ROUNDS):
            run.write_on(5)
            cuts = place.wire.cuts
            place.wire.budget = lambda: chosen.randrange(60, 40_000)
            place.wire.cut_all()
            deadline = time.monotonic() + 60
            while place.wire.cuts - cuts < 6:
                assert time.monotonic() < deadline, "nothing was cut"
                time.sleep(0.05)
            place.wire.heal()
            run.write_on(5)
    assert in_time(run.told, TIMEOUT)


@MUCH
def test_f51_a_wire_that_goes_silent_costs_the_time_and_nothing_else(place: Place) -> None:
    chosen = random.Random(7)
    with place.hosts() as run:
        for _ in range(max(1, ROUNDS // 2)):
            run.write_on(10)
            place.wire.half_open = True
            place.wire.budget = lambda: chosen.randrange(200, 60_000)
            place.wire.cut_all()
            time.sleep(6.0)
            place.wire.silent = True
            seconds, sources = run.prompt()
            assert seconds < 2 * TIMEOUT  # it costs the timeout once
            assert {"chat_history_cache", "memories", "ai_diary"} <= set(sources)
            place.wire.heal()
            run.write_on(10)
    assert in_time(run.told, TIMEOUT)


@MUCH
def test_f51_a_slow_server_is_waited_for(place: Place) -> None:
    with place.hosts() as run:
        place.wire.delay_seconds = 0.02
        run.write_on(10 * HOSTS, seconds=120)
    assert {each.state for each in run.told} <= {"stored", "none"}
    assert all(each.text == "" for each in run.told if each.kind == "prompt")


@MUCH
def test_f53_a_session_that_holds_locks_is_waited_for(place: Place) -> None:
    """A person with a shell holds rows that every write needs, for longer than a lock is waited for once."""
    with place.hosts() as run:
        run.write_on(20)
        with place.server.connect(run.name, autocommit=False) as other, other.cursor() as cursor:
            cursor.execute("SELECT * FROM counters FOR UPDATE")
            cursor.execute("SELECT * FROM user_relationships FOR UPDATE")
            cursor.execute("SELECT * FROM conversations FOR UPDATE")
            time.sleep(2.5)
            assert run.prompt()[1] == []
            other.rollback()
        run.write_on(20)
    assert numbers(run.told) <= {"1205", "1213", "2013", "None"}, numbers(run.told)
    assert in_time(run.told, TIMEOUT)


@MUCH
def test_f54_a_full_disk_refuses_with_the_remedy_and_loses_nothing(server_name: str) -> None:
    options: dict[str, Any] = {"innodb_data_file_path": "ibdata1:12M:autoextend:max:34M", "innodb_file_per_table": 0}
    with Fresh(server_name, options) as server:
        db = open_db(server.create_database("full"))
        stage = Stage(db)
        acknowledged: set[int] = set()
        caught: StoreWriteError | None = None
        more = {"db": db, "scope": stage.scope("tg/1")}
        for number in range(400):
            try:
                text = f"line {number} " + " ".join(f"w{number}x{n}" for n in range(3000))
                made = save_chat_message("tg/1", text, "Ann", "ann", **more)  # type: ignore[arg-type]
            except StoreWriteError as error:
                caught = error
                break
            acknowledged.add(made.id or 0)
        assert caught is not None and caught.number in (1114, 1021), caught
        assert "full" in str(caught) and "w1x1" not in str(caught)
        assert failed(stage.explain("line", path="tg/1")[1]) == []
        assert {int(row[0]) for row in server.execute("SELECT id FROM full.chat_history_cache")} == acknowledged
        db.close()


class Fresh:
    """A server whose data folder is laid out anew, since its options say how."""

    def __init__(self, name: str, options: dict[str, Any]) -> None:
        self.server = SERVERS[name](options=options)

    def __enter__(self) -> Server:
        data = self.server.folder / "data"
        data.mkdir(parents=True)
        kind = type(self.server)
        before = kind.storage_options  # type: ignore[attr-defined]
        kind.storage_options = classmethod(  # type: ignore[attr-defined]
            lambda cls: {**before(), **self.server.options, "innodb_buffer_pool_size": "32M"}
        )
        try:
            kind.initialise(data)  # type: ignore[attr-defined]
        finally:
            kind.storage_options = before  # type: ignore[attr-defined]
        return self.server.start()

    def __exit__(self, *_: object) -> None:
        self.server.stop()
