"""The labelled conversations: read from outside of the project, imported whole into a database, questions put to them.

The data may be measured with and not be copied; see its own README. It is looked for in `BENCH_DATA`, else in
`../shared/data` beside the checkout.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

from sqlalchemy import select

from core import db as core_db
from core.calls import defaults
from core.config import Settings
from core.database.engine import Database
from core.database.rows import read_list
from core.database.schema import chat_history_cache, memories
from core.memories.rules import INSTRUCTION
from core.scope import Scope
from core.semantic import embed_rows
from core.transfer.imports import import_file

CHECKOUT = Path(__file__).resolve().parents[1]
SETS = ("locomo.dev", "beam100k.dev", "realmem.dev", "beam500k.dev")
INTERFACE = "bench"
ASSISTANT = "assistant"

Turn = Mapping[str, Any]


def data_folder() -> Path:
    """Return the folder of the data sets, or end the program with a sentence that says where they are looked for."""
    folder = Path(os.environ.get("BENCH_DATA") or CHECKOUT.parent / "shared" / "data")
    if not folder.is_dir():
        raise SystemExit(f"The labelled conversations are not in {folder}. Set BENCH_DATA to their folder.")
    return folder


def load_harness(name: str) -> ModuleType:
    """Return a module that measures, or end the program with a sentence that says where it is looked for."""
    folder = Path(os.environ.get("BENCH_HARNESS") or CHECKOUT.parent / "shared" / "bench")
    path = folder / f"{name}.py"
    if not path.is_file():
        raise SystemExit(f"The harness is not at {path}. Set BENCH_HARNESS to its folder.")
    sys.path.insert(0, str(folder))  # one of them imports another
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = writes
    return module


def read_set(folder: Path, name: str) -> tuple[dict[str, list[Turn]], list[dict[str, Any]]]:
    """Return `({conversation: turns, oldest first}, questions)` of a data set."""
    turns: dict[str, list[Turn]] = {}
    for row in _lines(folder / f"{name}.corpus.jsonl.gz"):
        turns.setdefault(row["conversation"], []).append(row)
    return turns, list(_lines(folder / f"{name}.questions.jsonl.gz"))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def before(turns: Sequence[Turn], session: str | None) -> Sequence[Turn]:
    """Return the turns said before a session begins, all of them for None."""
    if session is None:
        return turns
    return turns[: next(n for n, turn in enumerate(turns) if turn["session"] == session)]


@dataclass
class Clock:
    """A clock that stands a minute after the last turn."""

    now: datetime = datetime(2020, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


class Imported:
    """One conversation in a database of its own, or a persona of its own in a shared one.

    `show` imports what is not there yet, so that questions of growing `until` need no new database.
    """

    def __init__(self, url: str, settings: Settings | None = None) -> None:
        self.clock, self.settings = Clock(), settings
        self.db: Database = core_db.open_database(url, clock=self.clock)
        self._number = 0
        self._ids: list[str] = []
        self.turn_of_row: dict[int, str] = {}
        self.turn_of_wish: dict[int, str] = {}
        """Wishes (RECORD_WISHES) by their id, each with the turn it was said in."""
        self.conversation = ""
        self.speakers: list[str] = []

    @property
    def persona(self) -> str:
        """Return the persona that remembers the conversation at hand."""
        return f"p{self._number}"

    @property
    def scope(self) -> Scope:
        """Return who is asking: the person who speaks with the assistant, or somebody who listens to two people."""
        return Scope(self.persona, self.conversation, f"{INTERFACE}/{self.asker}")

    @property
    def asker(self) -> str:
        """Return the id of who asks."""
        people = [s for s in self.speakers if s.lower() != ASSISTANT]
        return people[0] if len(people) < len(self.speakers) else "asker"

    def show(self, turns: Sequence[Turn]) -> None:
        """Have exactly these turns of one conversation in the database, of all that `scope` sees."""
        ids = [str(turn["id"]) for turn in turns]
        key = f"{INTERFACE}/{turns[0]['conversation']}"
        if key != self.conversation or ids[: len(self._ids)] != self._ids:
            self._number += 1
            self._ids = []
        self.conversation = key
        self.speakers = list(dict.fromkeys(turn["speaker"] for turn in turns))
        new = turns[len(self._ids) :]
        self._ids = ids
        self.clock.now = datetime.fromisoformat(turns[-1]["timestamp"]).replace(tzinfo=UTC) + timedelta(minutes=1)
        if new:
            self._import(new)
            if defaults.process.embedder is not None:
                embed_rows(db=self.db, scope=Scope(self.persona))
        c = chat_history_cache.c
        rows = self.db.read(select(c.id, c.message_id).where(c.persona_id == self.persona), source="chat_history_cache")
        self.turn_of_row = {row[0]: row[1] for row in rows}
        m = memories.c
        kept = select(m.id, m.source_message_ids).where(m.persona_id == self.persona, m.kind == INSTRUCTION)
        for row in self.db.read(kept, source="memories"):
            self.turn_of_wish[row.id] = self.turn_of_row[read_list(row.source_message_ids)[0]]
        # A turn without any text is no message, and is not stored.
        said = {str(turn["id"]) for turn in turns if str(turn["text"]).strip()}
        missing = said - set(self.turn_of_row.values())
        if missing:
            raise RuntimeError(
                f"{len(missing)} of {len(ids)} turns of {key} were not imported, such as {sorted(missing)[:3]}"
            )

    def _import(self, turns: Sequence[Turn]) -> None:
        assistants = [s for s in {turn["speaker"] for turn in turns} if s.lower() == ASSISTANT]
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
            file.writelines(json.dumps(turn) + "\n" for turn in turns)
            file.flush()
            import_file(
                file.name,
                interface=INTERFACE,
                persona=assistants[0] if assistants else None,
                db=self.db,
                settings=self.settings,
                scope=Scope(self.persona),
            )

    def turn_of(self, source: str, row_id: int) -> str | None:
        """Return the turn a hit shows, for a wish the turn it was said in; None for what was said in none."""
        return (self.turn_of_wish if source == "memories" else self.turn_of_row).get(row_id)

    def message(self, qid: str, text: str) -> dict[str, Any]:
        """Return a question as a host hands it over: said in the conversation, after its last turn."""
        return {
            "message_id": f"question-{qid}",
            "date": self.clock.now,
            "text": text,
            "interface_path": self.conversation,
            "chat": {"id": self.conversation.partition("/")[2], "type": "group"},
            "from_user": {"id": self.asker, "full_name": self.asker, "username": self.asker},
        }

    def close(self) -> None:
        """Close the database."""
        self.db.close()
