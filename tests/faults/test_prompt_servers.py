"""A prompt and a server that hangs, loses connections, is read only (F51 to F54); killed: `test_servers_killed`."""

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import text as sql

from core import chat_history_cache
from core.database.engine import Database
from core.errors import StoreReadError, StoreWriteError
from core.prompt_engine import explain_json_prompt, set_hook
from core.upkeep import migration
from tests.faults.conftest import fill
from tests.faults.test_prompt_faults import ASKED, KEYS, ROUNDS, no_canary
from tests.servers import Server
from tests.spec.stage import NOW, Stage, failed, message, said
from tests.store.world import open_db

FEW = ("mariadb",) if ROUNDS == 1 else ("mariadb", "mysql")
"""Servers for what is the same on either."""


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that takes connections and never says a word, as an address behind a broken firewall does."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        yield listener.getsockname()[1]


@pytest.mark.slow
def test_f51_a_silent_server_costs_the_timeout_once(silent_port: int, live: dict[str, Any]) -> None:
    explain_json_prompt(message("what is loaded at the first call counts for nothing"), db=open_db("sqlite://"))
    db = Database(f"mysql://root@127.0.0.1:{silent_port}/none", timeout_seconds=3.0)
    for is_private, mode in ((False, "agent"), (True, "plus")):  # looks its key up first, and saves what is asked
        asked = message(f"Remember that {ASKED}", is_private=is_private)
        started = time.monotonic()
        prompt, report = explain_json_prompt(asked, live, db=db, settings={"memory_mode": mode})
        assert time.monotonic() - started < 5.9  # twice would be 6.0
        assert list(prompt) == KEYS and said(prompt["context"]["history_current_chat"]) == ["canary live here"]
        assert {"chat_history_cache", "memories", "ai_diary"} <= set(failed(report))
    started = time.monotonic()
    with pytest.raises(StoreReadError) as caught:
        chat_history_cache.load_chat_history("tg/42", db=db)
    assert time.monotonic() - started < 8.9  # the stored settings are asked for first
    no_canary(caught.value)
    db.close()


@pytest.mark.slow
@pytest.mark.engines(*FEW)
def test_f51_a_server_that_stops_in_between_costs_the_timeout_once(
    make_server: Callable[..., Server], server_name: str, live: dict[str, Any]
) -> None:
    server = make_server(server_name)
    db = Database(server.create_database("faults"), timeout_seconds=2.0, clock=lambda: NOW)
    migration.ensure_present(db)
    stage = Stage(db)
    fill(stage)
    stage.prompt(ASKED)
    os.kill(server.pid, signal.SIGSTOP)
    try:
        started = time.monotonic()
        prompt, report = stage.explain(ASKED, live)
        assert time.monotonic() - started < 3.9  # twice would be 4.0
        assert said(prompt["context"]["history_current_chat"]) == ["canary live here"]
        assert {"chat_history_cache", "memories", "ai_diary"} <= set(failed(report))
    finally:
        os.kill(server.pid, signal.SIGCONT)
    prompt, report = stage.explain(ASKED, live)
    assert failed(report) == [] and len(prompt["context"]["history_current_chat"]) == 5
    db.close()


@pytest.mark.engines("mariadb", "mysql", "seekdb")
def test_f52_a_connection_killed_while_a_hook_runs_is_not_noticed(own: Stage) -> None:
    db = own.db

    def kill_all() -> dict[str, Any]:
        with db.engines()[1].connect() as other:
            mine = other.execute(sql("SELECT CONNECTION_ID()")).scalar_one()
            for row in other.execute(sql("SHOW PROCESSLIST")).fetchall():
                if row[0] != mine and row[3] == db.target.url.database:
                    other.execute(sql(f"KILL {row[0]}"))
        return {"weather": "rain"}

    undisturbed = own.prompt(ASKED)
    set_hook("context", kill_all)
    for _ in range(2):
        prompt, report = own.explain(ASKED)
        assert failed(report) == [] and prompt["context"] == {**undisturbed["context"], "weather": "rain"}


@pytest.mark.engines("mariadb")
def test_f54_a_read_only_server_refuses_the_write_alone(make_server: Callable[..., Server], server_name: str) -> None:
    server = make_server(server_name)
    url = server.create_database("faults")
    db = open_db(url)
    stage = Stage(db)
    fill(stage)
    undisturbed = stage.prompt(ASKED)
    server.execute("CREATE USER 'plain'@'127.0.0.1'")
    server.execute("GRANT ALL ON faults.* TO 'plain'@'127.0.0.1'")
    server.execute("SET GLOBAL read_only = ON")
    plain = Database(url.replace("root@", "plain@"), clock=lambda: NOW, timeout_seconds=3)
    stage.db = plain
    prompt, report = stage.explain(ASKED)
    assert failed(report) == [] and prompt == undisturbed
    with pytest.raises(StoreWriteError, match="read only") as caught:
        stage.say("canary refused")
    assert caught.value.number in (1290, 1836)
    no_canary(caught.value)
    plain.close()
    db.close()


@pytest.mark.slow
@pytest.mark.engines("sqlite", "mariadb")
def test_f51_a_prompt_that_registers_its_conversation_waits_for_no_rows(fresh_url: str, engine_name: str) -> None:
    """Somebody else holds what it has to write: the one write of a prompt is given no more time than its reads."""
    open_db(fresh_url).close()
    holder, db = Database(fresh_url), Database(fresh_url, timeout_seconds=3.0)
    stage = Stage(db)
    stage.say("canary tofu")
    stage.prompt(ASKED)
    writing = holder.engines()[1]
    if engine_name != "sqlite":  # holds the gaps between the rows too, so that none can be added
        writing = writing.execution_options(isolation_level="REPEATABLE READ")
    with writing.connect() as other:
        if engine_name == "sqlite":
            other.execute(sql("BEGIN IMMEDIATE"))
        other.execute(sql("UPDATE conversations SET title = 'held'"))
        other.execute(sql("SELECT * FROM conversations" + ("" if engine_name == "sqlite" else " FOR UPDATE"))).all()
        started = time.monotonic()
        prompt, report = stage.explain(ASKED, path="tg/new", is_private=True)
        assert time.monotonic() - started < 9.5  # 5 tries of 2 seconds each, and the pauses, take more than 10
        other.rollback()
    assert list(prompt) == KEYS and "conversations" in failed(report)
    assert failed(stage.explain(ASKED, path="tg/new", is_private=True)[1]) == []
    db.close()
    holder.close()
