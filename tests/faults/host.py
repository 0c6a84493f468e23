"""A host as a process: it writes through every kind of door until it is told to stop, and tells what was acknowledged.

`Host` starts one; what it prints is read into `Told`, one for each call. It goes on after every failure, as hosts do;
only this package's own exceptions are expected.
"""

import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from core import conversations, db, jobs, prompt_engine, relationships, short_term, stories
from core.ai_diary import add_diary_entry
from core.chat_history_cache import save_chat_message
from core.config import Settings
from core.database.engine import Database
from core.errors import CoreError, StoreWriteError
from core.lifelong import consolidate_history, on_stream_end
from core.scope import Scope
from core.transfer.imports import import_file

ROOT = Path(__file__).resolve().parents[2]
CONVERSATIONS = 2
PERSON = "tg/shared"
"""Every host moves the relationship to this person."""


@dataclass(frozen=True, slots=True)
class Told:
    kind: str
    state: str
    """stored: acknowledged. failed: refused. unsure: refused, and the error says that it may be stored."""
    text: str
    """A text nobody else has written; for a prompt the sources that failed, with commas."""
    id: int | None
    seconds: float
    at: float
    """When it ended, by `time.time()`."""
    error: str = ""
    """Class and number of what was raised."""


class Host:
    def __init__(self, url: str, persona: str, name: str, *, timeout_seconds: float = 2.0) -> None:
        self.told: list[Told] = []
        words = [sys.executable, "-m", "tests.faults.host", url, persona, name, str(timeout_seconds)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=ROOT)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.told.append(Told(**json.loads(line)))

    def stored(self) -> int:
        return sum(each.state == "stored" and each.kind != "prompt" for each in tuple(self.told))

    def stop(self) -> list[Told]:
        """Let it end the call under way, and return all it was told; raises AssertionError when it broke down."""
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin is not None and stdout is not None and stderr is not None
        stdin.close()
        try:
            code = self._process.wait(120)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._reader.join(10)
        said = stderr.read()
        stdout.close()
        stderr.close()
        assert code == 0, said[-3000:]
        return self.told


class _Program:
    def __init__(self, url: str, persona: str, name: str, timeout_seconds: float) -> None:
        self.db = Database(url, timeout_seconds=timeout_seconds)
        self.name, self.persona = name, persona
        self.settings = Settings(memory_mode="agent", db_timeout_seconds=timeout_seconds)
        self.number = 0
        self.scope_of = lambda path: Scope(persona, path, f"tg/{name}")
        self.folder = Path(tempfile.mkdtemp(prefix="test-host-"))

    def run(self, stopped: threading.Event) -> None:
        kinds, chosen = list(KINDS), random.Random(self.name)
        while not stopped.is_set():
            self.number += 1
            self._do(kinds[self.number - 1] if self.number <= len(kinds) else chosen.choice(kinds))
        self.db.close()

    def _do(self, kind: str) -> None:
        path = f"tg/{self.name}{self.number % CONVERSATIONS}"
        text = f"I love tofu number {self.number} of {self.name} x{self.number}q{self.name}"
        more = {"db": self.db, "settings": self.settings, "scope": self.scope_of(path)}
        began = time.monotonic()
        row_id, state, error, failed = None, "stored", "", ""
        try:
            found = KINDS[kind](self, path, text, more)
            row_id, failed = (None, found) if kind == "prompt" else (found, "")
            if row_id is None and kind not in ("prompt", "cycle"):
                state = "none"
        except CoreError as failure:
            unsure = "answer was lost" in str(failure) or kind in UNTOLD
            state, error = "unsure" if unsure else "failed", _named(failure)
            time.sleep(0.02)
        seconds = round(time.monotonic() - began, 3)
        told = Told(kind, state, failed if kind == "prompt" else text, row_id, seconds, time.time(), error)
        print(json.dumps(asdict(told)), flush=True)


def _named(failure: BaseException) -> str:
    return f"{type(failure).__name__} {getattr(failure, 'number', None)} {getattr(failure, 'source', '')}"


def _message(host: _Program, path: str, text: str, more: dict[str, Any]) -> int | None:
    made = save_chat_message(path, text, "Ann", "ann", **more)
    return made.id if made.stored else None


def _item(host: _Program, path: str, text: str, more: dict[str, Any]) -> int:
    given = {name: more[name] for name in ("db", "settings")}
    return db.insert_memory(text, "synth", "chat", ["tofu", f"t{host.number % 5}"], more["scope"], **given)


def _turn(host: _Program, path: str, text: str, more: dict[str, Any]) -> int | None:
    said, channel = {"messages": [{"role": "user", "content": text}]}, f"{path}-{host.number}"
    made = short_term.write_turn(said, [{"text": "oh"}], user=f"tg/{host.name}", channel=channel, **more)
    if made.reason == "error":
        raise StoreWriteError("The turn was not kept; the answer was lost, or it was refused.")
    return made[0] or None


def _person(host: _Program, path: str, text: str, more: dict[str, Any]) -> int | None:
    return 1 if relationships.adjust(PERSON, 1 if host.number % 2 else -1, 0, **more).stored else None


def _stream(host: _Program, path: str, text: str, more: dict[str, Any]) -> int:
    on_stream_end(wait=False, **more)  # one transaction; run in the call, what follows the count may fail alone
    return 1


def _import(host: _Program, path: str, text: str, more: dict[str, Any]) -> int | None:
    file = host.folder / "chat.jsonl"
    line = {"conversation": "old", "session": 1, "id": f"{host.name}-{host.number}", "speaker": "Ann", "text": text}
    file.write_text(json.dumps({**line, "timestamp": "2025-01-02T03:04:05Z"}) + "\n")
    return import_file(file, interface="tg", conversation=f"{path}/old", **more).imported or None


def _break(host: _Program, path: str, text: str, more: dict[str, Any]) -> int | None:
    row = _message(host, path, text, more)
    return stories.add_scene_break(row, **more).id if row else None


def _version(host: _Program, path: str, text: str, more: dict[str, Any]) -> int | None:
    made = stories.add_running_recap_version(text, provenance="manual", **more)
    return None if made is None else made + 1


def _prompt(host: _Program, path: str, text: str, more: dict[str, Any]) -> str:
    asked = {
        "message_id": f"p{host.number}", "date": datetime.now(UTC), "text": text, "interface_path": path,
        "from_user": {"id": host.name, "full_name": "Ann", "username": "ann"},
    }  # fmt: skip
    prompt, report = prompt_engine.explain_json_prompt(asked, **{**more, "scope": Scope(host.persona)})
    assert list(prompt) == ["context", "input", "instructions", "__pre_reduction_size", "actions"], list(prompt)
    return ",".join(dict.fromkeys(e["source"] for e in report["errors"]))


KINDS: dict[str, Callable[[_Program, str, str, dict[str, Any]], Any]] = {
    "message": _message,
    "item": _item,
    "entry": lambda host, path, text, more: add_diary_entry(text, None, [], None, None, ["tofu"], ["ann"], **more).id,
    "turn": _turn,
    "job": lambda host, path, text, more: jobs.enqueue_operation("RECAP", "LOW", {"text": text}, **more),
    "end": lambda host, path, text, more: conversations.add_recent_conversation(**more).id,
    "person": _person,
    "stream": _stream,
    "cycle": lambda host, path, text, more: consolidate_history(path, **more) and None,
    "import": _import,
    "break": _break,
    "version": _version,
    "saved": lambda host, path, text, more: conversations.add_saved_memory(text, **more).id,
    "prompt": _prompt,
}
UNTOLD = ("import", "break", "cycle")
"""Made of several transactions: of what failed a part may be stored."""


def main(url: str, persona: str, name: str, timeout_seconds: str) -> None:
    stopped = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        stopped.set()

    threading.Thread(target=wait, daemon=True).start()
    _Program(url, persona, name, float(timeout_seconds)).run(stopped)


if __name__ == "__main__":
    main(*sys.argv[1:])
