"""What the tests of stories share: one conversation of one persona, and the doors called for it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from core import chat_history_cache, jobs, stories
from core.config import Settings
from core.database.engine import Database
from core.database.rows import read_object
from core.database.schema import memory_jobs
from core.scope import Scope
from core.shapes import OperationRun
from tests.spec.stage import HERE, NOW, Stage
from tests.store.world import rows_of

FLAGS: dict[str, Any] = {"message_recap_context_type": "absolute",
                         "message_recap_context_limit": 1000}  # fmt: skip


def by_words(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())


class Story:
    """One conversation. Derived data is written at once, so that tests need not wait; `flags` add to that."""

    def __init__(self, stage: Stage, path: str = HERE, **flags: Any) -> None:
        assert stage.db is not None
        self.stage, self.path = stage, path
        self.flags: dict[str, Any] = {**FLAGS, **flags}
        self.messages: list[int] = []

    @property
    def db(self) -> Database:
        """Return the database."""
        assert self.stage.db is not None
        return self.stage.db

    @property
    def scope(self) -> Scope:
        """Return the scope of the conversation."""
        return self.stage.scope(self.path)

    def settings(self, **flags: Any) -> Settings:
        """Return the settings of the story with some changed."""
        return Settings(**{**self.flags, **flags})

    def say(self, *texts: str, who: str = "Ann", **more: Any) -> list[int]:
        """Store messages a minute apart, each with the story's flags, and return their row ids."""
        for text in texts:
            sender = "self" if who == "self" else who.lower()
            at = self.time(len(self.messages))
            result = chat_history_cache.save_chat_message(
                self.path, text, who, sender, at, db=self.db, settings=self.settings(), scope=self.scope, **more,
            )  # fmt: skip
            assert result.stored, result
            assert result.id is not None
            self.messages.append(result.id)
        return self.messages[-len(texts) :]

    def time(self, index: int) -> datetime:
        """Return when the message of an index was said."""
        return NOW - timedelta(days=10) + timedelta(minutes=index)

    def call(self, function: Callable[..., Any], *arguments: Any, **more: Any) -> Any:
        """Call a door of stories; flags in upper case are settings, the rest as the door takes it."""
        flags = {name.lower(): more.pop(name) for name in list(more) if name.isupper()}
        kept = {"db": self.db, "settings": self.settings(**flags), "scope": self.scope}
        return function(*arguments, **{**kept, **more})

    def set(self, message: int, key: str, value: Any, **more: Any) -> Any:
        """Keep a value beside a message."""
        return self.call(stories.set_data, message, key, value, **more)

    def get(self, message: int, key: str | None = None) -> Any:
        """Return what is kept beside a message."""
        return self.call(stories.get_data, message, key)

    def memory(self, message: int) -> str | None:
        """Return the recap of a message."""
        found: str | None = self.call(stories.get_memory, message)
        return found

    def recap(self, *memories: str | None) -> list[int]:
        """Say one message for each recap and store it beside the message; None leaves one without."""
        made = self.say(*(f"message {len(self.messages) + n}" for n in range(len(memories))))
        for row, memory in zip(made, memories, strict=True):
            if memory is not None:
                self.set(row, "memory", memory, counter=by_words)
        return made

    def refresh(self, **more: Any) -> Any:
        """Refresh the conversation, words counted as tokens."""
        return self.call(stories.refresh_memory, self.path, **{"counter": by_words, **more})

    def included(self, **more: Any) -> list[int]:
        """Return the indexes of the messages included after a refresh."""
        return [self.messages.index(row) for row in self.refresh(**more)["included"]]

    def operations(self) -> list[tuple[str, str, int | None]]:
        """Return type, state and message of every operation of the persona, oldest first."""
        found = rows_of(self.db, memory_jobs, self.stage.persona)
        return [(r.type, r.status, (read_object(r.payload) or {}).get("message_id")) for r in found]

    def run(self, model: Any = None, limit: int | None = None, **flags: Any) -> list[OperationRun]:
        """Run what waits in the queue of the persona."""
        settings = self.settings(**{name.lower(): value for name, value in flags.items()})
        ran: list[OperationRun] = jobs.run_pending(
            limit, db=self.db, settings=settings, scope=Scope(self.stage.persona), model=model
        )
        return ran
