"""Random histories of several processes with kills, held against the plain model.

    python -m tests.histories [--seconds 60] [--seed N] [--steps 60]

Each history has a database file of its own, three processes and a seed; `--seed` runs one history again, step by step
the same.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import select

from core.database.engine import Database
from core.database.registry import REGISTRY
from core.database.schema import TABLES
from tests.faults.host import ROOT
from tests.histories.actor import step_of
from tests.histories.model import PEOPLE, ROOMS, Model, Room, Text

PROCESSES = 3
START = datetime.fromisoformat("2026-03-10T12:00:00+00:00")
KILL_SHARE = 0.12
"""Share of the steps within which the process is killed."""
DEEPEST_KILL = 24
"""Statements before which a process may be killed: a step has about this many."""
LOOK_EVERY = 4
"""Steps between two looks at what is shown."""


class WrongError(AssertionError):
    """Something is not as the model says."""


class Process:
    def __init__(self, url: str, folder: str) -> None:
        words = [sys.executable, "-m", "tests.histories.actor", url, folder]
        pipe = subprocess.PIPE
        self._child = subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, cwd=ROOT)
        assert self._read() == "ready"

    def do(self, step: dict[str, Any]) -> tuple[bool, Any]:
        """Return whether the step came to its end, and what it gave."""
        assert self._child.stdin is not None
        self._child.stdin.write(json.dumps(step) + "\n")
        self._child.stdin.flush()
        answer = self._read()
        return (False, None) if answer is None else (True, answer)

    def _read(self) -> Any:
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        if line:
            return json.loads(line)
        code = self._child.wait(60)
        if code != -9:
            raise WrongError(f"a process ended with {code}")
        return None

    def stop(self) -> None:
        for pipe in (self._child.stdin, self._child.stdout):
            assert pipe is not None
            pipe.close()
        self._child.wait(60)


@dataclass
class History:
    """One history: its processes, its model, and what was done."""

    seed: int
    url: str
    folder: str
    model: Model = field(default_factory=Model)
    done: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.processes = [Process(self.url, self.folder) for _ in range(PROCESSES)]
        self.number = 0

    def run(self, steps: int) -> None:
        try:
            for at in range(steps):
                self._step()
                if at % LOOK_EVERY == LOOK_EVERY - 1:
                    self._look_from(*self.random.choice(list(self.model.iter_questions())))
            for room, person in self.model.iter_questions():
                self._look_from(room, person)
            self._look_into_tables()
        finally:
            for process in self.processes:
                process.stop()

    # One step

    def _step(self) -> None:
        choices = self._choices()
        names, weights = zip(*((name, weight) for name, weight, _ in choices), strict=True)
        name = self.random.choices(names, weights)[0]
        step, after = next(make for each, _, make in choices if each == name)()
        kill = self.random.randrange(DEEPEST_KILL) if self.random.random() < KILL_SHARE else None
        self.done[name] += 1
        changed = self.model.copy()
        came_to_end, answer = self._do({**step, "kill": kill})
        if came_to_end:
            after(self.model, answer)
            return
        self.done["killed"] += 1
        after(changed, None)
        self._settle(changed, step)

    def _do(self, step: dict[str, Any]) -> tuple[bool, Any]:
        self.number += 1
        moved = {**step, "at": (START + timedelta(minutes=self.number)).isoformat(), "seed": self.random.random()}
        place = self.random.randrange(PROCESSES)
        came_to_end, answer = self.processes[place].do(moved)
        if not came_to_end:
            self.processes[place].stop()
            self.processes[place] = Process(self.url, self.folder)
        return came_to_end, answer

    def _settle(self, changed: Model, step: dict[str, Any]) -> None:
        """Decide what a killed step has done: all of it or nothing; repeat it where it may have done a part."""
        new, old = changed.texts.keys() - self.model.texts.keys(), self.model.texts.keys() - changed.texts.keys()
        if step["do"] in ("forget_person", "forget_room"):  # several transactions: repeated until it ends
            _, _ = self._do(step)
            self.model = changed
            return
        marks = self._find_marks(new | old)
        if new and new <= marks.keys():
            for mark in new:
                changed.texts[mark] = replace(changed.texts[mark], row=marks[mark])
            self.model = changed
        elif old and not new and not (old & marks.keys()):
            self.model = changed
        elif old and new and not (old <= marks.keys()):
            raise WrongError(f"a killed {step['do']} lost {old}")

    def _find_marks(self, marks: set[str]) -> dict[str, int]:
        tables = TABLES
        db, found = Database(self.url), {}
        for name, column in (("chat_history_cache", "message_text"), ("memories", "content")):
            table = tables[name]
            holds = () if name == "chat_history_cache" else (table.c.archived_at.is_(None),)
            for row in db.read(select(table.c.id, table.c[column]).where(*holds).order_by(table.c.id), source=name):
                for mark in marks:
                    if f" {mark} " in (row[1] or ""):
                        found.setdefault(mark, row[0])
        db.close()
        return found

    def _choices(self) -> list[tuple[str, float, Any]]:
        texts = list(self.model.texts.values())
        lines = [text for text in texts if text.kind == "line"]
        saved = [text for text in texts if text.kind == "saved"]
        room = self.random.choice(ROOMS)

        def forget_room(model: Model, _: Any) -> None:
            model.forget_room(room)

        made: list[tuple[str, float, Any]] = [
            ("say", 10, lambda: self._add("say", "line")),
            ("save", 3, lambda: self._add("save", "saved")),
            ("note", 2, lambda: self._add("note", "note")),
            ("consolidate", 2, lambda: (self._of_room("consolidate", room), lambda model, answer: None)),
            ("reindex", 0.5, lambda: (self._of_room("reindex", room), lambda model, answer: None)),
            ("copy_items", 1, lambda: (self._of_room("copy_items", room), lambda model, answer: None)),
            ("forget_room", 0.5, lambda: (self._of_room("forget_room", room), forget_room)),
            ("forget_person", 0.5, self._forget_person),
        ]
        if lines:
            text = self.random.choice(lines)
            made += [
                ("edit", 3, lambda: self._edit(text)),
                ("delete", 3, lambda: (step_of(text, "delete"), lambda model, _: model.remove(text.mark))),
                ("copy_chat", 1, lambda: (step_of(text, "copy_chat"), self._check_copy)),
            ]
        if saved:
            item = self.random.choice(saved)
            made.append(("archive", 2, lambda: (step_of(item, "archive"), lambda model, _: model.archive(item.mark))))
        return made

    def _of_room(self, do: str, room: Room) -> dict[str, Any]:
        return step_of(Text("", "line", room, room.people[0]), do)

    def _mark(self) -> str:
        return f"q{self.number}z{self.random.randrange(10**6)}"

    def _add(self, do: str, kind: str) -> Any:
        room = self.random.choice(ROOMS)
        text = Text(self._mark(), kind, room, self.random.choice(room.people))

        def after(model: Model, row: Any) -> None:
            if row is not None or kind == "line" or text.mark not in model.texts:
                model.add(replace(text, row=row or 0))

        return step_of(text, do), after

    def _edit(self, text: Text) -> Any:
        new = self._mark()
        step = {**step_of(text, "edit"), "text": replace(text, mark=new).words}
        return step, lambda model, _: model.edit(text.mark, new)

    def _forget_person(self) -> Any:
        person = self.random.choice(PEOPLE)
        return {"do": "forget_person", "person": person}, lambda model, _: model.forget_person(person)

    def _check_copy(self, _: Model, counts: Any) -> None:
        if counts is not None and (counts[0] != counts[1] or counts[2]):
            raise WrongError(f"exported, imported, and imported once more: {counts} lines")

    # What is shown, and what is stored

    def _look_from(self, room: Room, person: str) -> None:
        model = self.model
        marks = [*model.texts, *self.random.sample(sorted(model.gone), min(10, len(model.gone))), *model.hidden]
        _, shown = self._do({**self._of_room("look", room), "person": person, "marks": marks or ["nothing"]})
        lines = [line.partition("the ")[2].partition(" ")[0] for line in shown["lines"]]
        if lines != model.lines(room):
            raise WrongError(f"{person} in {room.key}: lines {lines}, should be {model.lines(room)}")
        for mark in marks:
            is_found = any(f" {mark} " in f"{text} " for text in shown["found"])
            if is_found != model.is_seen(mark, room, person):
                text = model.texts.get(mark)
                raise WrongError(f"{person} in {room.key} {'finds' if is_found else 'misses'} {mark}: {text}")

    def _look_into_tables(self) -> None:
        """Look for the words of what was deleted in every table of the database."""
        db = Database(self.url)
        tables = TABLES
        for listed in REGISTRY:
            for row in db.read(select(tables[listed.table]), source=listed.table):
                for value in row:
                    held = bytes(value).decode("utf-8", "replace") if isinstance(value, (bytes, memoryview)) else value
                    if isinstance(held, str) and (left := [mark for mark in self.model.gone if mark in held]):
                        raise WrongError(f"{listed.table} still holds {left}")
        db.close()


def run_history(seed: int, steps: int, url: str = "") -> Counter[str]:
    """Run one history on an empty database, by default a file, and return what was done in it."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="histories-"))
        own = url or f"sqlite:///{Path(folder) / 'history.db'}"
        history = History(seed, own, folder)
        try:
            history.run(steps)
        except Exception as error:
            raise WrongError(f"seed {seed}, step {history.number}: {error}") from error
        return history.done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seed", type=int, help="run this history alone")
    given = parser.parse_args()
    seeds = iter([given.seed]) if given.seed is not None else iter(range(int(time.time()), 1 << 62))
    until, done = time.monotonic() + given.seconds, Counter[str]()
    for count, seed in enumerate(seeds, 1):
        done += run_history(seed, given.steps)
        print(f"\r{count} histories, {sum(done.values())} steps, {done['killed']} kills", end="", flush=True)
        if time.monotonic() > until:
            break
    print("\n" + ", ".join(f"{name} {number}" for name, number in sorted(done.items())))


if __name__ == "__main__":
    main()
