"""The table of F20, cell by cell: what each writer adds for a person at each level, rows counted before and after."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import func, select

from core import jobs, lifelong, short_term, stories
from core.ai_diary import add_diary_entry
from core.chat_history_cache import save_chat_message
from core.config import Settings
from core.conversations import add_saved_memory, close_conversation
from core.database.engine import Database
from core.database.schema import TABLES
from core.privacy import set_privacy
from core.synth_core_memory import silently_record_memory
from tests.spec.stage import Stage
from tests.store.world import open_db

GROUP, ANN, WORD = "tg/g1", "tg/ann", "zqharbour"
FLAGS = Settings(record_wishes=0)
LEVELS = ("none", "partial", "full")


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """The level is asked in the same statements on every engine; those are tested in tests/store/test_privacy.py."""
    made = open_db(f"sqlite:///{tmp_path_factory.mktemp('levels') / 'levels.db'}")
    yield made
    made.close()


class Cell:
    """One persona in which Ann has a level and everybody has spoken before it was set."""

    def __init__(self, stage: Stage, level: str) -> None:
        self.stage = stage
        self.given = {"db": stage.db, "settings": FLAGS, "scope": stage.scope(GROUP, participant=ANN)}
        self.asked: list[str] = []
        stage.say("Bob talks of boats and trains here", GROUP, "Bob", minutes=50)
        self.hers = stage.say(f"Ann talks of the {WORD} and of tea", GROUP, minutes=45)
        self.last = stage.say("Bob has something to add to that", GROUP, "Bob", minutes=40)
        set_privacy(ANN, level, **self.given)

    def model(self, messages: list[dict[str, str]]) -> str:
        """Answer with what was read, so that what a text was made of is seen in it."""
        self.asked.append(messages[-1]["content"])
        said = f"They talk of the {WORD}." if WORD in self.asked[-1] else "They talk of boats."
        keys = ("title", "summary", "recap", "memory")
        return json.dumps({**dict.fromkeys(keys, said), "developments": [said], "key_facts": [said]})

    def count(self, table: str) -> int:
        t = TABLES[table]
        chosen = select(func.count()).select_from(t).where(t.c.persona_id == self.stage.persona)
        return int(self.stage.db.read(chosen, source=table)[0][0])

    def texts(self, table: str) -> str:
        t = TABLES[table]
        return repr(self.stage.db.read(select(t).where(t.c.persona_id == self.stage.persona), source=table))

    def run(self, kind: str, **more: Any) -> None:
        jobs.enqueue_operation(kind, conversation=GROUP, **more, **self.given)
        jobs.run_pending(model=self.model, **self.given)


def _line(cell: Cell) -> None:
    save_chat_message(GROUP, "another line", "Ann", "ann", **cell.given)


def _answer(cell: Cell) -> None:
    save_chat_message(GROUP, "the answer", "Iris", "self", triggered_by=ANN, **cell.given)


def _short_term(cell: Cell) -> None:
    said = [{"role": "user", "content": "hi", "speaker": "Ann", "user_id": "ann"}]
    short_term.store_short_term_memory("ann", GROUP, said, interface="tg", **cell.given)


def _summary(cell: Cell) -> None:
    short_term.update_short_term_memory("ann", GROUP, "They talk of boats and tea.", interface="tg", **cell.given)


def _session(cell: Cell) -> None:
    lifelong.add_facts_with_meta([{"text": "Ann is here", "tier": "session"}], **cell.given)


def _long_term(cell: Cell) -> None:
    lifelong.add_facts_with_meta([{"text": "Ann likes tea", "tier": "long_term"}], **cell.given)


def _diary(cell: Cell) -> None:
    add_diary_entry("a day", user_message=WORD, involved_users=["Ann", "Bob"], **cell.given)


def _scene(cell: Cell) -> None:
    assert stories.add_scene_break(cell.last, **cell.given).stored
    jobs.run_pending(model=cell.model, **cell.given)


WRITERS: dict[str, tuple[str, Callable[[Cell], Any], tuple[int, int, int]]] = {
    "their line": ("chat_history_cache", _line, (1, 1, 0)),
    "the persona's answer": ("chat_history_cache", _answer, (1, 1, 0)),
    "short-term capture": ("short_term_memories", _short_term, (1, 1, 0)),
    "short-term summary": ("short_term_memories", _summary, (1, 1, 0)),
    "session item": ("memories", _session, (1, 1, 0)),
    "captured memory": ("memories", lambda c: silently_record_memory("I like tea", "ok", **c.given), (1, 0, 0)),
    "saved memory": ("memories", lambda c: add_saved_memory("I like tea", **c.given), (1, 0, 0)),
    "long-term item": ("memories", _long_term, (1, 0, 0)),
    "diary entry": ("ai_diary", _diary, (1, 1, 1)),
    "conversation summary": (
        "conversation_summaries",
        lambda c: close_conversation(GROUP, c.model, wait=True, **c.given),
        (1, 1, 1),
    ),
    "message recap": ("message_recaps", lambda c: c.run("RECAP", metadata={"message_id": c.hers}), (1, 1, 0)),
    "scene recap": ("scene_recaps", _scene, (1, 1, 1)),
    "running recap": ("running_recaps", _scene, (1, 1, 1)),
    "consolidated items": ("memories", lambda c: c.run("CONSOLIDATION"), (1, 1, 1)),
}
"""Writer to its table, what it does, and the rows it adds at none, partial and full."""


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("level", LEVELS)
def test_f20_each_cell_of_the_table(db: Database, writer: str, level: str) -> None:
    cell = Cell(Stage(db), level)
    table, write, added = WRITERS[writer]
    before = cell.count(table)
    write(cell)
    assert cell.count(table) - before == added[LEVELS.index(level)]
    told = cell.texts(table) if table != "chat_history_cache" else ""
    holds = {"conversation summary": ("none", "partial"), "message recap": ("none", "partial"),
             "scene recap": ("none", "partial"), "running recap": ("none", "partial"), "diary entry": ("none",),
             "consolidated items": ("none",)}.get(writer)  # fmt: skip
    assert holds is None or (WORD in told) == (level in holds)
    shown = level in (holds or ()) or not cell.asked
    assert shown or not any(WORD in each for each in cell.asked), "not shown to a model either"
    names = [r for r in db.read(select(TABLES["participants"]), source="x") if r.persona_id == cell.stage.persona]
    assert {(r.participant_key, r.display_name) for r in names} >= {(ANN, "" if level == "full" else "Ann")}
    levels = [r for r in db.read(select(TABLES["privacy_levels"]), source="x") if r.participant_key == ANN]
    assert [r.level for r in levels] == [level]
