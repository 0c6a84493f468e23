"""Workers that die after their n-th statement, what they are doing at the time, and what the database then holds.

`STORIES` has one entry for each kind of work: what is there before, and the call during which the worker dies. Run by
itself (`python -m tests.faults.steps URL PERSONA NAME STEP`) this is a worker that ends itself with SIGKILL.
"""

import json
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Self

from sqlalchemy import select

from core import jobs, lifelong, stories
from core.database.engine import Database
from core.database.registry import REGISTRY
from core.database.schema import TABLES
from core.upkeep import migration as migrating
from tests.databases import listening, watched
from tests.spec.stage import HERE
from tests.spec.story import Story
from tests.store.world import Clock

DAY = timedelta(days=1)


class DiedError(BaseException):
    """The worker is dead; nothing of it may reach the database any more."""


class Dying:
    """A database handle whose process is dead after so many statements and commits."""

    def __init__(self, db: Database, after: int | None, *, kill: bool = False) -> None:
        self.db, self.after, self.kill = db, after, kill
        self.steps = 0
        self.dead = False
        self.commits: list[int] = []
        """How many steps were done before each commit of something written."""
        self._wrote = False
        self._watched = ExitStack()

    def _step(self, *_: Any, **__: Any) -> None:
        if self.dead or self.steps == self.after:
            self.dead = True
            if self.kill:
                os.kill(os.getpid(), signal.SIGKILL)
            raise DiedError
        self.steps += 1

    def _statement(self, statement: str, *_: Any) -> None:
        self._step()
        self._wrote |= statement.lstrip().startswith(("INSERT", "UPDATE", "DELETE", "REPLACE"))

    def _commit(self, *_: Any) -> None:
        if self._wrote:
            self.commits.append(self.steps)
        self._wrote = False
        self._step()

    def __enter__(self) -> Self:
        self._watched.enter_context(watched(self.db, self._statement))
        for engine in set(self.db.engines()):
            self._watched.enter_context(listening(engine, "commit", self._commit))
        return self

    def __exit__(self, *_: object) -> None:
        self._watched.close()


def model(messages: list[dict[str, str]]) -> str:
    asked = messages[-1]["content"]
    if "sceneBreakAt" in asked:
        return json.dumps({"sceneBreakAt": 14 if "from 9 " in asked else False, "rationale": "they leave"})
    if "source_ids" in asked:
        ids = [int(each) for each in re.findall(r'"id": (\d+)', asked)]
        return json.dumps({"summary": "Ann has cats, Tofu and Miso.", "tags": ["pet"], "source_ids": ids})
    if "key_facts" in asked or "facts" in asked:
        return json.dumps({"key_facts": ["Ann lives in Rome", "Ann has a cat called Tofu"]})
    if '"title"' in asked:
        return json.dumps({"title": "Rome", "summary": "Ann walks through Rome."})
    return "Ann walked from house to house in Rome and met Iris there."


@dataclass(frozen=True, slots=True)
class Work:
    before: Callable[[Story], Any]
    work: Callable[[Story], Any]


def _pending(stage: Story) -> None:
    jobs.run_pending(model=model, **stage.given)


def _told(stage: Story, count: int = 24) -> list[int]:
    return stage.tell(count, texts=[f"I love house {at} in Rome, my cat is Tofu{at}." for at in range(count)])


def _queued(kind: str, count: int = 24, **metadata: Any) -> Callable[[Story], Any]:
    def before(stage: Story) -> None:
        rows = _told(stage, count)
        given = {key: rows[value] for key, value in metadata.items()}
        jobs.enqueue_operation(kind, metadata=given, conversation=HERE, **stage.given)

    return before


def _of_persona(kind: str) -> Callable[[Story], Any]:
    def before(stage: Story) -> None:
        _told(stage)
        jobs.enqueue_operation(kind, **stage.given)

    return before


def _scenes(stage: Story) -> None:
    rows, quiet = _told(stage), stage.with_flags(running_scene_recap_auto_generate=False)
    for at in (9, 18):
        stories.add_scene_break(rows[at], recap=False, **stage.given)
        stories.set_scene_recap(rows[at], f"Scene to {at}.", **quiet)
    jobs.enqueue_operation("RUNNING_SCENE_RECAP", conversation=HERE, **stage.given)


def _ended(stage: Story) -> None:
    from core.conversations import add_recent_conversation

    _told(stage)
    add_recent_conversation(**{**stage.given, "scope": stage.scope(HERE)})


STORIES = {
    "RECAP": Work(_queued("RECAP", message=3), _pending),
    "SCENE_DETECTION": Work(_queued("SCENE_DETECTION", 40), _pending),
    "SCENE_RECAP": Work(lambda stage: stories.add_scene_break(_told(stage)[12], **stage.given), _pending),
    "RUNNING_SCENE_RECAP": Work(_scenes, _pending),
    "CONVERSATION_SUMMARY": Work(_ended, _pending),
    "CONSOLIDATION": Work(_queued("CONSOLIDATION"), _pending),
    "CONSOLIDATION of a persona": Work(_of_persona("CONSOLIDATION"), _pending),
    "DEEP_CONSOLIDATION": Work(_of_persona("DEEP_CONSOLIDATION"), _pending),
    "a cycle": Work(_told, lambda stage: lifelong.run_cycle(model=model, **stage.given)),
    "a deep cycle": Work(_told, lambda stage: lifelong.deep_consolidation(model=model, **stage.given)),
}


def stage_of(url: str, persona: str, *, hours: int = 0) -> Story:
    db = Database(url, clock=Clock())
    db.clock.forward(hours=hours)  # type: ignore[attr-defined]
    migrating.ensure_present(db)
    return Story(db, persona)


VOLATILE = {
    "tries", "claimed_by", "lease_until", "available_at", "started_at", "finished_at", "at_us", "content_hash",
}  # fmt: skip
"""Columns that say who did it, and when."""


def held(db: Database, persona: str, name: str) -> dict[str, Counter[str]]:
    """Return what the tables of a persona hold, without ids and times: two runs that come to the same are equal.

    A consolidation stores its items before its run is recorded: the run after a death counts none of them. A call that
    died before its operation was stored leaves no row of it.
    """
    is_consolidation = not name.isupper() or "CONSOLIDATION" in name
    left_out = {"audiences", "conversations"} | ({"consolidation_runs"} if is_consolidation else set())
    left_out |= set() if name.isupper() or "CONSOLIDATION" in name else {"memory_jobs"}
    found: dict[str, Counter[str]] = {}
    for listed in REGISTRY:
        if listed.persona != "persona_id" or listed.table in left_out:
            continue
        table = TABLES[listed.table]
        columns = [c for c in table.c if c.name not in VOLATILE and "time" not in str(type(c.type)).lower()]
        rows = db.read(select(*columns).where(table.c.persona_id == persona), source=table.name)
        found[table.name] = Counter(_plain(row, persona) for row in rows)
    return found


def _plain(row: Any, persona: str) -> str:
    shown = repr(tuple(bytes(each).hex() if isinstance(each, bytes) else each for each in row))
    shown = re.sub(r"\d{13,}", "#", shown).replace(persona, "P")
    return re.sub(r"2026-03-10[T ][\d:.]+", "NOW", shown)


def differing(one: dict[str, Counter[str]], other: dict[str, Counter[str]]) -> list[str]:
    def more(table: str, there: dict[str, Counter[str]], here: dict[str, Counter[str]]) -> list[str]:
        return sorted((there[table] - here[table]).elements())[:3]

    tables = [table for table in one if one[table] != other[table]]
    return [f"{table}: missing {more(table, one, other)}, too many {more(table, other, one)}" for table in tables]


@contextmanager
def dying(stage: Story, after: int | None) -> Iterator[Dying]:
    stage.db.engines()
    with Dying(stage.db, after) as dying, suppress(DiedError):
        yield dying


def main(url: str, persona: str, name: str, step: str) -> None:
    stage = stage_of(url, persona)
    with Dying(stage.db, int(step), kill=True):
        STORIES[name].work(stage)
    print("survived")


if __name__ == "__main__":
    main(*sys.argv[1:])
