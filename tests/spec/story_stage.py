"""What the tests of scenes share: messages in order, a model that answers as told, operations run to the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from core import jobs, stories
from core.config import Settings
from core.messages import new_message as messages
from core.messages import table_batches as chat_batches
from core.shapes import OperationRun
from tests.spec.stage import HERE, Stage
from tests.store.world import NOW

MINUTE = timedelta(minutes=1)


class StoryStage(Stage):
    """A persona of its own whose stories are told."""

    settings = Settings()

    def tell(
        self, count: int, path: str = HERE, texts: Sequence[str] = (), start: timedelta = timedelta(days=9)
    ) -> list[int]:
        """Store messages of Ann and the persona in turn, a minute apart from `start` ago on; return their rows."""
        assert self.db is not None
        scope = self.scope(path)
        made = []
        for at in range(count):
            text = texts[at] if at < len(texts) else f"Ann walks to house {at} in {path}."
            read = messages.read_message(
                scope, path, text, now=NOW, sender_id="ann" if at % 2 else "self",
                sender_name="Ann" if at % 2 else "Iris", timestamp=NOW - start + at * MINUTE,
            )  # fmt: skip
            assert read is not None
            made.append(read)
        results = chat_batches.insert_messages(self.db, scope, made, privacy_default="none")
        assert all(result.stored for result in results)
        return [int(result.id or 0) for result in results]

    @property
    def given(self) -> dict[str, Any]:
        """What every door gets."""
        return {"db": self.db, "settings": self.settings, "scope": self.scope()}

    def with_flags(self, **flags: Any) -> dict[str, Any]:
        """Return what every door gets, with other flags."""
        return {**self.given, "settings": Settings(**flags)}

    def run(self, model: Any = None, **flags: Any) -> list[OperationRun]:
        """Run all operations that may begin now and return their reports."""
        return jobs.run_pending(model=model, **self.with_flags(**flags))

    def states(self) -> list[tuple[str, str]]:
        """Return type and state of the operations that were queued, oldest first."""
        found = jobs.list_operations(db=self.db, settings=self.settings, scope=self.scope())
        return [(each["type"], each["state"]) for each in sorted(found, key=lambda each: each["id"])]

    def storage(self, path: str = HERE) -> stories.RunningRecapStorage:
        """Return the running recap of a conversation."""
        return stories.get_running_recap_storage(path, **self.given)

    def add(self, content: str, *numbers: int, path: str = HERE, **more: Any) -> int | None:
        """Add a version of the running recap."""
        return stories.add_running_recap_version(content, *numbers, conversation=path, **{**self.given, **more})


class Model:
    """A model whose answers are what a function makes of the request; it keeps the requests."""

    def __init__(self, *answers: str | Callable[[str], str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    def __call__(self, messages: list[dict[str, str]]) -> str:
        """Answer; the last answer is given again and again."""
        request = messages[-1]["content"]
        self.asked.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer(request) if callable(answer) else answer
