"""The demo, and a command that is cut off: a closed stdout, an interrupted import."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from core.cli.demo import FILE as DEMO_FILE
from tests.unit.cli.conftest import ROOT, Command

MANY = 6_000


SECRETS = ("coffee pot", "midwife", "cactus", "she must not find out")


def test_demo_finds_what_was_said_long_ago_and_keeps_secrets(run: Command, tmp_path: Path) -> None:
    """With --json the prompt alone, and one file in this folder."""
    ran = run("demo", "--json")
    assert (ran.code, ran.err) == (0, "")
    memories = ran.json["context"]["memories"]
    assert any("Cashews" in hit["snippet"] and hit["timestamp"] < "2025-06-09" for hit in memories)
    assert "Altona" not in ran.out
    assert [secret for secret in SECRETS if secret in ran.out.lower()] == []
    assert [path.name for path in tmp_path.iterdir()] == [DEMO_FILE]
    again = run("demo", "--json").json["context"]
    assert again["history_current_chat"] == ran.json["context"]["history_current_chat"]


def test_demo_tells_a_story_on_one_screen(run: Command) -> None:
    """What was asked, found, seen by whom, left out and sent, in how many ms, and the next command."""
    ran = run("demo")
    assert (ran.code, ran.err) == (0, "")
    assert "117 messages, 6 memories, 2 diary entries" in ran.out and DEMO_FILE in ran.out
    starts = ("Asked by Mara", "Found: ", "Who may see it", "Sent to the model: ", "Next")
    titles = [line for line in ran.out.splitlines() if line and not line.startswith(" ")][1:]
    assert len(titles) == len(starts) and all(map(str.startswith, titles, starts))
    assert "  [2025-06-08 19:20] Lena is Jonas's sister. Cashews are dangerous for her, peanuts are fine.\n" in ran.out
    assert titles[3].endswith(" ms")
    assert "  prompt-engine explain" in ran.out.splitlines()[-1]
    assert [secret for secret in SECRETS if secret in ran.out.lower()] == []
    assert len(ran.out.splitlines()) <= 36 and "\x1b" not in ran.out


def test_demo_removes_nothing_but_what_it_made(run: Command, tmp_path: Path) -> None:
    """A file of the same name may be somebody's."""
    file = tmp_path / DEMO_FILE
    file.write_text("mine")
    ran = run("demo")
    assert (ran.code, ran.out) == (1, "")
    assert "was not made by this demo" in ran.err
    assert file.read_text() == "mine"
    file.unlink()
    assert run("demo").code == 0
    assert run("remember", "tea", "--database", f"sqlite:///{DEMO_FILE}").code == 0
    ran = run("demo")
    assert (ran.code, "are not the demo's" in ran.err) == (1, True)


def _environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "DATABASE_URL": f"sqlite:///{tmp_path / 'own.db'}"}


def test_f79_a_closed_stdout_ends_quietly(tmp_path: Path) -> None:
    """`prompt-engine config list | head -1` is how people look."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "core.cli", "config", "list"],
            cwd=tmp_path, env=_environment(tmp_path), stdout=closed, stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.slow
def test_f79_an_interrupted_import_stops_at_a_whole_transaction(tmp_path: Path) -> None:
    """Ctrl-C in the middle: what is stored is whole, the sentence says how to go on, and going on works."""
    row = {"conversation": "c", "timestamp": "2026-03-10T12:00:00Z", "speaker": "Ann"}
    file = tmp_path / "chat.jsonl"
    texts = [f"line {n} of many about topic{n % 97} and word{n % 1009}" for n in range(MANY)]
    file.write_text("".join(json.dumps({**row, "id": str(n), "text": text}) + "\n" for n, text in enumerate(texts)))
    command = [sys.executable, "-m", "core.cli", "import", str(file)]
    running = subprocess.Popen(
        command, cwd=tmp_path, env=_environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while _count(tmp_path) < 500:
        assert running.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    stored = _count(tmp_path)
    assert running.returncode == 1
    assert json.loads(out)["imported"] == stored
    assert stored % 500 == 0
    assert 0 < stored < MANY
    assert err == f"Stopped after row {stored}. Run the same command again to go on.\n"
    again = subprocess.run(
        command, cwd=tmp_path, env=_environment(tmp_path), capture_output=True, text=True, check=True
    )
    assert json.loads(again.stdout)["imported"] == MANY - stored
    assert _count(tmp_path) == MANY


def _count(tmp_path: Path) -> int:
    try:
        with closing(sqlite3.connect(f"file:{tmp_path / 'own.db'}?mode=ro", uri=True)) as connection:
            return int(connection.execute("SELECT COUNT(*) FROM chat_history_cache").fetchone()[0])
    except sqlite3.Error:
        return 0
