"""The demo, and a command that is cut off: a closed stdout, an interrupted import."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core.cli.demo import FILE as DEMO_FILE
from core.messages import table_batches
from tests.unit.cli.conftest import ROOT, Command

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


def test_demo_keeps_what_others_stored_in_its_file(run: Command, tmp_path: Path) -> None:
    """A file of the same name may be somebody's."""
    file = tmp_path / DEMO_FILE
    file.write_text("mine")
    ran = run("demo")
    assert (ran.code, ran.out, "no SQLite database" in ran.err) == (1, "", True)
    assert file.read_text() == "mine"
    file.unlink()
    assert run("demo").code == 0
    assert run("remember", "tea", "--database", f"sqlite:///{DEMO_FILE}").code == 0
    assert "stored by an earlier run" in run("demo").out
    assert run("search", "tea", "--database", f"sqlite:///{DEMO_FILE}").json["hits"]


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


def test_f79_an_interrupted_import_stops_at_a_whole_transaction(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the middle: what is stored is whole, the sentence says how to go on, and going on works."""
    row = {"conversation": "c", "timestamp": "2026-03-10T12:00:00Z", "speaker": "Ann"}
    file = tmp_path / "chat.jsonl"
    file.write_text("".join(json.dumps({**row, "id": str(n), "text": f"line {n}"}) + "\n" for n in range(700)))
    insert = table_batches.insert_messages

    def interrupt(*arguments: Any, **more: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return insert(*arguments, **more)

    with monkeypatch.context() as patched:
        patched.setattr(table_batches, "insert_messages", interrupt)
        ran = run("import", file)
    assert (ran.code, ran.json["imported"]) == (1, 500)
    assert ran.err == "Stopped after row 500. Run the same command again to go on.\n"
    assert run("import", file).json["imported"] == 200
