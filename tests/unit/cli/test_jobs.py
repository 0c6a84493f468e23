"""`prompt-engine worker` and `prompt-engine jobs`: reports, the view of the queue, changing it."""

import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from core import jobs
from core.access.overview import list_conversations
from core.chat_history_cache import save_chat_message, save_message
from core.db import open_database
from core.errors import ModelError
from core.jobs import Operation
from core.jobs import table_claiming as jobs_claiming
from core.jobs.handlers import Tools
from core.scope import Scope
from tests.store.job_world import counted, handled
from tests.unit.cli.conftest import Command


class Queue:
    def __init__(self, folder: Path) -> None:
        self.url = f"sqlite:///{folder / 'own.db'}"

    def __call__(self, kind: str, n: int, *, persona: str = "default", claim: bool = False) -> int:
        """Queue one of conversation tg/1; a claimed one stays in progress."""
        with closing(open_database(self.url)) as db:
            made = jobs.enqueue_operation(kind, metadata={"n": n}, conversation="tg/1", db=db, scope=Scope(persona))
            assert not claim or jobs_claiming.claim(db, persona, made, lease_seconds=600)
        return made


@pytest.fixture
def queue(made: Command, tmp_path: Path) -> Any:
    """The queue of the command's database, with handlers for a type that works and two that fail."""

    def refused(operation: Operation, tools: Tools) -> None:
        raise ModelError("auth", status=401)

    def slow(operation: Operation, tools: Tools) -> None:
        raise ModelError("timeout")

    with handled(COUNTED=counted, REFUSED=refused, SLOW=slow):
        yield Queue(tmp_path)


def test_s47_a_worker_reports_each_operation(run: Command, queue: Queue) -> None:
    first, second = queue("COUNTED", 1), queue("REFUSED", 2, persona="iris")
    queue("COUNTED", 3, persona="other")
    ran = run("worker", "--once", "--persona-id", "default", "--persona-id", "iris")
    assert ran.code == 1
    assert ran.err.startswith("Operations that failed: 1, the last one: ModelError: auth (401). Correct LLM_API_KEY, ")
    assert "`prompt-engine jobs retry --all --persona-id iris`" in ran.err
    lines = [json.loads(line) for line in ran.out.splitlines()]
    fields = ["id", "type", "persona", "conversation", "state", "seconds", "error", "wait_seconds", "server"]
    assert list(lines[0]) == fields
    told = [(each["id"], each["state"], each["error"]) for each in lines]
    assert told == [(first, "completed", ""), (second, "failed", "ModelError: auth (401)")]
    ran = run("worker", "--once", "--text")
    assert ran.code == 0
    assert re.fullmatch(r"COUNTED of tg/1 completed in \d+\.\d s\n", ran.out)
    assert "Working for all personas" in ran.err and "1 operation done." in ran.err


def test_s47_a_conversation_is_named_by_its_key_and_server(run: Command, queue: Queue) -> None:
    """Two servers may use the same key; `forget --conversation` takes it as it is printed."""
    with closing(open_database(queue.url)) as db:
        for server in ("s0", "s1"):
            message = {"text": "hi", "interface_path": "discord/c0", "from_user": {"id": "ann"}, "server_id": server}
            save_message(message, db=db)
        for row in list_conversations(db, "default", "", 9)[0]:
            for _ in range(2):
                jobs.enqueue_operation("COUNTED", conversation=row.key, db=db)
    listed = run("jobs", "list").json["pending"]
    places = [("discord/c0", "s0"), ("discord/c0", "s1")]
    assert sorted({(each["conversation"], each["server"]) for each in listed}) == places
    assert len(re.findall(r"discord/c0 +s[01] ", run("jobs", "list", "--text").out)) == 4
    lines = run("worker", "--once", "--text").out.splitlines()
    assert {line.partition(" completed")[0] for line in lines} == {f"COUNTED of discord/c0 on s{n}" for n in (0, 1)}


def test_s46_the_view_shows_what_runs_and_what_failed_and_why(run: Command, queue: Queue) -> None:
    assert run("jobs", "list", "--text").out == "Nothing is queued for default.\n"
    queue("COUNTED", 1, persona="mira")
    said = "Nothing is queued for default. Work waits for mira: see --persona-id.\n"
    assert run("jobs", "list", "--text").out == said
    run("worker", "--once")
    failed, tried = queue("REFUSED", 1), queue("SLOW", 2)
    run("worker", "--once")
    running, waiting = queue("COUNTED", 3, claim=True), queue("COUNTED", 4)
    shown = run("jobs", "list").json
    assert list(shown) == ["persona", "counts", "in_progress", "pending", "retrying", "failed"]
    counts = {"COUNTED": {"in_progress": 1, "pending": 1}, "REFUSED": {"failed": 1}, "SLOW": {"retrying": 1}}
    assert shown["counts"] == counts
    assert [shown[state][0]["id"] for state in list(shown)[2:]] == [running, waiting, tried, failed]
    text = run("jobs", "list", "--text").out
    failures = ("ModelError: timeout", "ModelError: auth (401)")
    for said in (*counts, *shown["counts"]["COUNTED"], str(waiting), "retrying", "failed", *failures):
        assert said in text, text
    assert "jobs retry ID" in text and run("jobs", "list", "--persona-id", "iris").json["counts"] == {}


def test_s44_cancelling_clearing_and_retrying(run: Command, queue: Queue) -> None:
    waiting, failed = queue("COUNTED", 1), queue("REFUSED", 2)
    assert run("jobs", "cancel", waiting).json == {"cancelled": 1}
    again = run("jobs", "cancel", waiting, "--text")
    assert again.code == 1 and "has ended" in again.out
    assert run("jobs", "retry", waiting).code == 1
    run("worker", "--once")
    assert run("jobs", "retry", failed).json == {"pending": 1, "refused": 0}
    assert run("jobs", "cancel", "--all").json == {"cancelled": 1} and run("jobs", "cancel", "--all").code == 0
    wrong = run("jobs", "cancel")
    assert wrong.code == 2 and "jobs cancel" in wrong.err
    assert run("jobs", "cansel").code == 2


def test_s46_all_failed_operations_are_put_back_together(run: Command, queue: Queue) -> None:
    for n in range(3):
        queue("REFUSED", n)
    waiting = queue("SLOW", 4)
    assert [run("worker", "--once").code for _ in range(2)] == [1, 1]  # the second finds one that waits for its retry
    assert run("jobs", "retry").code == run("jobs", "retry", waiting, "--all").code == 2
    assert run("jobs", "retry", "--all").json == {"pending": 3, "refused": 0}
    assert run("jobs", "list").json["counts"] == {"REFUSED": {"pending": 3}, "SLOW": {"retrying": 1}}


def test_s47_a_wrong_model_stops_the_worker_alone(run: Command, queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    """A typing error in LLM_BASE_URL must not use up everything that waits; the sentence says what to change."""
    queue("COUNTED", 1)
    monkeypatch.setenv("LLM_BASE_URL", "127.0.0.1:11434")
    for form in ("--json", "--text"):
        ran = run("worker", "--once", form)
        assert ran.code == 1 and "LLM_BASE_URL is '127.0.0.1:11434'" in ran.err, ran
    assert run("jobs", "list").json["counts"] == {"COUNTED": {"pending": 1}}
    monkeypatch.delenv("LLM_BASE_URL")
    assert "texts are extracts" in run("worker", "--once", "--text").err
    monkeypatch.setenv("LLM_BASE_URL", "http://127.0.0.1:9/v1")
    for form in ("--text", "--json"):
        assert run("worker", "--once", form).err.count("LLM_BASE_URL is set and LLM_MODEL is not") == 1


def test_l13_a_worker_consolidates_what_is_due(run: Command, queue: Queue) -> None:
    queue("COUNTED", 1)
    with closing(open_database(queue.url)) as db:
        given = {"db": db, "scope": Scope("default")}
        for n in range(30):
            save_chat_message("tg/1", f"My name is Jonas. {n}", "Jonas", "jonas", message_id=f"m{n}", **given)
    lines = [json.loads(line) for line in run("worker", "--once").out.splitlines()]
    ended = [(each["conversation"], each["state"]) for each in lines if each["type"] == "CONSOLIDATION"]
    assert ended == [("tg/1", "completed")]
    ran = run("worker", "--once", "--text", "--persona-id", "default")
    assert ran.code == 0 and "CONSOLIDATION" not in ran.out
