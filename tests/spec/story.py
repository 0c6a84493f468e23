"""What the tests of stories share: one conversation of one persona, the doors called for it, and a model."""

import json
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from core import chat_history_cache, jobs, stories
from core.config import Settings
from core.database.engine import Database
from core.database.rows import read_object
from core.database.schema import memory_jobs, message_recaps
from core.messages import new_message, table_batches
from core.messages.table_recaps import OWN
from core.shapes import OperationRun
from tests.spec.stage import HERE, MINUTE, NOW, Stage
from tests.store.world import rows_of

FLAGS: dict[str, Any] = {"message_recap_context_type": "absolute", "message_recap_context_limit": 1000}


def by_words(text: str) -> int:
    return len(text.split())


class Story(Stage):
    """One conversation of a persona; `flags` are its settings."""

    db: Database

    def __init__(self, db: Database | None, persona: str | None = None, path: str = HERE, **flags: Any) -> None:
        super().__init__(db, persona)
        self.path = path
        self.flags: dict[str, Any] = {**FLAGS, **flags}
        self.messages: list[int] = []

    def settings(self, **flags: Any) -> Settings:
        return Settings(**{**self.flags, **{name.lower(): value for name, value in flags.items()}})

    def with_flags(self, **flags: Any) -> dict[str, Any]:
        return {"db": self.db, "settings": self.settings(**flags), "scope": self.scope()}

    @property
    def given(self) -> dict[str, Any]:
        return self.with_flags()

    def time(self, index: int) -> datetime:
        return NOW - timedelta(days=10) + index * MINUTE

    def write(self, *texts: str, who: str = "Ann", **more: Any) -> list[int]:
        """Store messages a minute apart, each with the story's flags, and return their row ids."""
        for text in texts:
            at = self.time(len(self.messages))
            sender = "self" if who == "self" else who.lower()
            result = self.call(chat_history_cache.save_chat_message, self.path, text, who, sender, at, **more)
            assert result.stored and result.id is not None, result
            self.messages.append(result.id)
        return self.messages[-len(texts) :]

    def tell(self, count: int, path: str = HERE, texts: Sequence[str] = (), start: Any = timedelta(9)) -> list[int]:
        """Store messages of Ann and the persona in turn at once, a minute apart from `start` ago on."""
        made = []
        for at in range(count):
            text = texts[at] if at < len(texts) else f"Ann walks to house {at} in {path}."
            read = new_message.read_message(
                self.scope(path), path, text, now=NOW, sender_id="ann" if at % 2 else "self",
                sender_name="Ann" if at % 2 else "Iris", timestamp=NOW - start + at * MINUTE,
            )  # fmt: skip
            assert read is not None
            made.append(read)
        results = table_batches.insert_messages(self.db, self.scope(path), made, privacy_default="none")
        assert all(result.stored for result in results)
        return [int(result.id or 0) for result in results]

    def fill(self, size: int) -> None:
        self.messages = self.tell(size, self.path, start=timedelta(days=10))
        recaps = [
            {"persona_id": self.persona, "message_row": row, "alternative": OWN, "conversation_key": self.path,
             "memory": f"so it went {n}", "token_count": 4}
            for n, row in enumerate(self.messages)
        ]  # fmt: skip
        self.db.transaction(lambda connection: connection.execute(message_recaps.insert(), recaps), source="test")

    def call(self, function: Callable[..., Any], *arguments: Any, **more: Any) -> Any:
        flags = {name: more.pop(name) for name in list(more) if name.isupper()}
        return function(*arguments, **{**self.with_flags(**flags), "scope": self.scope(self.path), **more})

    def set(self, message: int, key: str, value: Any, **more: Any) -> Any:
        return self.call(stories.set_data, message, key, value, **more)

    def end_scene(self, message: int) -> None:
        assert self.call(stories.add_scene_break, message, recap=False, AUTO_HIDE_SCENE_COUNT=-1).stored

    def break_scenes(self, rows: Sequence[int], *at: int, **more: Any) -> None:
        for index in at:
            assert stories.add_scene_break(rows[index], **self.given, **more).stored

    def work(self, kind: str, model: Any = None, row: int | None = None, **flags: Any) -> list[OperationRun]:
        metadata = {} if row is None else {"message_id": row}
        jobs.enqueue_operation(kind, metadata=metadata, conversation=self.path, **self.given)
        return self.run(model, **flags)

    def get(self, message: int, key: str | None = None) -> Any:
        return self.call(stories.get_data, message, key)

    def memory(self, message: int) -> Any:
        return self.call(stories.get_memory, message)

    def recap(self, *memories: str | None) -> list[int]:
        made = self.write(*(f"message {len(self.messages) + n}" for n in range(len(memories))))
        for row, memory in zip(made, memories, strict=True):
            if memory is not None:
                self.set(row, "memory", memory, counter=by_words)
        return made

    def refresh(self, **more: Any) -> Any:
        return self.call(stories.refresh_memory, self.path, **{"counter": by_words, **more})

    def included(self, **more: Any) -> list[int]:
        return [self.messages.index(row) for row in self.refresh(**more)["included"]]

    def recap_text(self) -> str:
        return "\n".join(self.memory(row) for row in self.messages if self.get(row, "include"))

    def storage(self, path: str = HERE) -> stories.RunningRecapStorage:
        return stories.get_running_recap_storage(path, **self.given)

    def add(self, content: str, *numbers: int, path: str = HERE, **more: Any) -> int | None:
        return stories.add_running_recap_version(content, *numbers, conversation=path, **{**self.given, **more})

    def run(self, model: Any = None, **flags: Any) -> list[OperationRun]:
        return jobs.run_pending(model=model, **self.with_flags(**flags))

    def operations(self) -> list[tuple[str, str, int | None]]:
        found = rows_of(self.db, memory_jobs, self.persona)
        return [(r.type, r.status, (read_object(r.payload) or {}).get("message_id")) for r in found]

    def states(self) -> list[tuple[str, str]]:
        return [(kind, state) for kind, state, _ in self.operations()]


class Model:
    """A model that keeps the requests. It gives its answers in turn, the last one again and again.

    An answer is a text, an error to raise, or what a function makes of the request; without one, the lists as JSON.
    """

    def __init__(self, *answers: Any, **lists: Any) -> None:
        self.answers = list(answers) or [json.dumps(lists)]
        self.asked: list[str] = []

    def __call__(self, messages: list[dict[str, str]]) -> Any:
        assert all(each["role"] == "user" for each in messages)  # F31: what was said stands in no instruction
        request = messages[-1]["content"]
        self.asked.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer(request) if callable(answer) else answer
