"""What the tests of lasting memory share: a persona whose doors are called with its own database and settings."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from core import jobs, lifelong
from core.config import Settings
from core.database import schema
from core.database.engine import Database
from tests.spec.stage import HERE, NOW, Stage
from tests.store.world import rows_of

MEMORIES, RUNS = schema.memories, schema.consolidation_runs
DAY = timedelta(days=1)
SEED = {"prune_max_age_days": 30, "prune_mode": "any"}
"""What the application of seed 003 prunes by; a preset of the command sets it."""
ANN, BOB = "tg/ann", "tg/bob"


class Life(Stage):
    db: Database

    def __init__(self, stage: Stage, **flags: Any) -> None:
        super().__init__(stage.db, stage.persona)
        self.stage, self.flags = stage, flags
        self.clock: Any = self.db.clock

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a function of the door that is called in this persona; flags in upper case are settings."""
        function = getattr(lifelong, name)

        def call(*arguments: Any, **more: Any) -> Any:
            flags = {key.lower(): more.pop(key) for key in list(more) if key.isupper()}
            where = {key: more.pop(key) for key in ("participant", "server", "privacy") if key in more}
            scope = more.pop("scope", None) or self.stage.scope(more.pop("path", None), **where)
            settings = Settings(**{**self.flags, **flags})
            return function(*arguments, db=self.db, settings=settings, scope=scope, **more)

        return call

    def run(self, model: Any = None, **flags: Any) -> list[Any]:
        return list(jobs.run_pending(model=model, **self.stage.asking(**flags)))

    def item(self, text: str, *, days: float = 0, path: str | None = None, **fields: Any) -> int:
        where = {key: fields.pop(key) for key in ("participant", "privacy", "server") if key in fields}
        entry = {"text": text, "timestamp": NOW - days * DAY, **fields}
        done = self.add_facts_with_meta([entry], path=path, **where)
        assert done == 1, done.reason
        return int(done.ids[0])

    def rows(self, *where: Any, **columns: Any) -> list[Any]:
        """Return the items of the persona; without instructions, which are made by themselves."""
        asked = [*where, *(MEMORIES.c[name] == value for name, value in columns.items())]
        return rows_of(self.db, MEMORIES, self.persona, MEMORIES.c.kind != "instruction", *asked)

    def holding(self) -> list[Any]:
        return self.rows(MEMORIES.c.archived_at.is_(None), MEMORIES.c.superseded_by.is_(None))

    def texts(self) -> list[str]:
        return [row.content for row in self.holding()]

    def runs(self) -> list[Any]:
        return rows_of(self.db, RUNS, self.persona)

    def mark(self, path: str = HERE) -> int | None:
        """Return up to which message a conversation was consolidated."""
        (row,) = rows_of(self.db, schema.conversations, self.persona, schema.conversations.c.conversation_key == path)
        return None if row.consolidated_to is None else int(row.consolidated_to)

    def found(self, *arguments: Any, **more: Any) -> list[str]:
        return [item["text"] for item in self.search_items(*arguments, **more)["items"]]


def said_in(prompt: str) -> list[str]:
    found = [json.loads(line) for line in prompt.splitlines() if line.startswith(('{"n"', '{"id"'))]
    return [each["text"] for each in found]
