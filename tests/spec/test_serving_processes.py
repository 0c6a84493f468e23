"""`prompt-engine serve --processes`: several processes behind one address, each of which may get any request (R11)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs the extra `mcp`")
pytest.importorskip("uvicorn", reason="needs the extra `admin`")

import httpx2

import core.cli
from core.cli import app as command_app
from core.cli import serve as serving
from core.db import open_database
from core.scope import Scope
from core.tokens import add_token, revoke_token
from tests.servers.base import free_port
from tests.spec.mcp_world import ANN, ROOT, environment
from tests.spec.proxy_world import wait_until

needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="lists processes by /proc")


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A database of its own."""
    return f"sqlite:///{tmp_path / 'serve.db'}"


@contextmanager
def served(url: str, *words: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Run the command with two processes; enter when both serve."""
    port = free_port()
    command = [sys.executable, "-m", str(core.cli.__name__), "serve", "--mcp", "--no-admin", "--processes", "2"]
    child = subprocess.Popen([*command, "--port", str(port), *words], env=environment(url), cwd=ROOT)
    try:
        assert wait_until(lambda: len(serving_processes(child.pid)) == 2)
        for pid in serving_processes(child.pid):
            with alone(child.pid, pid):
                assert wait_until(lambda: is_live(f"http://127.0.0.1:{port}"))
        yield child, f"http://127.0.0.1:{port}"
    finally:
        child.kill()
        child.wait(60)


def serving_processes(pid: int) -> list[int]:
    """Return the processes that a command has started to serve."""
    try:
        found = [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        return [each for each in found if b"spawn_main" in Path(f"/proc/{each}/cmdline").read_bytes()]
    except FileNotFoundError:
        return []


@contextmanager
def alone(parent: int, pid: int) -> Iterator[None]:
    """Hold up all serving processes but one."""
    others = [each for each in serving_processes(parent) if each != pid]
    for each in others:
        os.kill(each, signal.SIGSTOP)
    try:
        yield
    finally:
        for each in others:
            os.kill(each, signal.SIGCONT)


def is_live(url: str) -> bool:
    """Return whether somebody answers."""
    try:
        return httpx2.get(f"{url}/health/live", timeout=5).status_code == 200
    except httpx2.TransportError:
        return False


def call(url: str, token: str, name: str, arguments: dict[str, Any]) -> httpx2.Response:
    """Call a tool over a connection of its own."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    return httpx2.post(f"{url}/mcp", json=body, headers=headers, timeout=120)


@pytest.mark.slow
@needs_proc
def test_r11_any_of_several_processes_answers_any_request(url: str) -> None:
    """A program's connections end at any of them: what one stored the other knows, and so with tokens."""
    with closing(open_database(url)) as db:
        made = add_token(db=db, scope=Scope("iris", participant=ANN))
        with served(url) as (child, place):
            first, second = serving_processes(child.pid)
            with alone(child.pid, first):
                done = call(place, made["token"], "memory_save", {"text": "Ann likes green tea."}).json()["result"]
                assert done["structuredContent"]["done"]
            with alone(child.pid, second):
                listed = call(place, made["token"], "memory_list", {}).json()["result"]["content"][0]["text"]
                assert [each["text"] for each in json.loads(listed)["memories"]] == ["Ann likes green tea."]
            assert revoke_token(made["id"], db=db, scope=Scope("iris"))
            for pid in (first, second):
                with alone(child.pid, pid):
                    assert call(place, made["token"], "memory_list", {}).status_code == 401


@pytest.mark.slow
@needs_proc
def test_r11_a_process_that_dies_is_started_anew_and_all_end_together(url: str) -> None:
    with served(url) as (child, place):
        before = serving_processes(child.pid)
        os.kill(before[0], signal.SIGKILL)
        assert is_live(place)
        assert wait_until(lambda: len(set(serving_processes(child.pid)) - {before[0]}) == 2)
        pids = serving_processes(child.pid)
        child.send_signal(signal.SIGTERM)
        assert child.wait(120) == 0
        assert not any(is_running(pid) for pid in pids) and not is_live(place)


@pytest.mark.slow
@needs_proc
def test_r11_processes_end_when_the_one_that_started_them_is_killed(url: str) -> None:
    """Or they would keep the address, and the next start would find it taken."""
    with served(url, "--no-worker") as (child, place):
        pids = serving_processes(child.pid)
        child.kill()
        child.wait(60)
        assert wait_until(lambda: not any(is_running(pid) for pid in pids))
        assert not is_live(place)


def is_running(pid: int) -> bool:
    """Return whether there is such a process; one that has ended and that nobody has asked for is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture
def supervised(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many processes were to be started."""
    counts: list[int] = []
    monkeypatch.setattr(serving, "_run_processes", lambda make_app, listening, count: counts.append(count))
    return counts


def serve(*words: str) -> int:
    """Return how the command ends."""
    return command_app.run_command(["serve", "--port", str(free_port()), *words])


def test_r11_the_queue_runs_once_beside_several_processes(
    url: str, supervised: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    from core.web import background

    begun: list[bool] = []
    monkeypatch.setattr(background.Worker, "run", lambda self: begun.append(True))
    assert serve("--database", url, "--no-admin", "--processes", "3") == 0
    assert (supervised, begun) == ([3], [True])


def test_r11_several_processes_refuse_what_one_of_them_would_keep_for_itself(
    url: str, supervised: list[int], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADMIN_TOKEN", "a-token-of-the-tests-0001")
    assert serve("--database", url, "--processes", "2") == 2
    assert "--no-admin" in " ".join(capsys.readouterr().err.split())
    assert serve("--database", "sqlite://", "--no-admin", "--processes", "2") == 2
    assert "--database" in " ".join(capsys.readouterr().err.split())
    assert not supervised
