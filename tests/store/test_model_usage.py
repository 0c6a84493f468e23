"""What workers ask of a model is counted and bounded, and no server is asked without a model."""

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from core import jobs, llm
from core.config import Settings
from core.database.engine import Database
from core.errors import ModelError
from core.jobs import Worker, handlers
from core.llm import table_usage as usage
from core.scope import Scope
from tests.store.world import Clock

_TURNS = itertools.count(1)
ASKED = [{"role": "user", "content": "Sum up."}]


@pytest.fixture
def clock(db: Database) -> Iterator[Clock]:
    """The clock of the database, put back after the test; nothing was asked before it."""
    known: Any = db.clock
    before, known.now = known.now, known.now + timedelta(days=100 * next(_TURNS))
    yield known
    known.now = before


def answer(messages: Any) -> str:
    return "Done."


def test_r41_calls_and_characters_are_counted_by_day_and_bounded(db: Database, clock: Clock) -> None:
    settings = Settings(llm_daily_calls=3)
    model: Any = llm.resolve(answer, settings, db)
    for _ in range(3):
        assert llm.ask(model, ASKED, settings) == "Done."
    with pytest.raises(ModelError, match="LLM_DAILY_CALLS") as caught:
        llm.ask(model, ASKED, settings)
    assert caught.value.reason == "budget" and 0 < (caught.value.retry_after_seconds or 0) <= 86_400
    (today,) = usage.read_usage(db)
    assert (today.calls, today.characters) == (3, 3 * len("Sum up.Done."))
    clock.forward(days=1)
    assert llm.ask(model, ASKED, settings) == "Done." and [each.calls for each in usage.read_usage(db)] == [1, 3]
    assert llm.ask(llm.resolve(answer, settings), ASKED, settings) == "Done."


def test_r41_workers_that_ask_at_the_same_time_stay_within_the_limit(db: Database, clock: Clock) -> None:
    models: list[Any] = [usage.MeteredModel(answer, f"model {number % 4}", db) for number in range(24)]

    def ask(model: Any) -> bool:
        try:
            usage.count_call(model, 5, 8)
        except ModelError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, models)) == 5
    assert sum(each.calls for each in usage.read_usage(db)) == 5


def test_r41_without_llm_model_the_model_of_the_last_request_is_asked(db: Database, clock: Clock) -> None:
    """A request without a model is refused by most servers, or answered by whichever they like."""
    settings = Settings(llm_base_url="http://127.0.0.1:1/v1")
    assert llm.resolve(None, settings, db) is None and llm.resolve(None, settings) is None
    for name in ("llama3", "mistral"):
        usage.note_request(db, name)
        clock.forward(minutes=1)
    assert "model='mistral'" in repr(llm.resolve(None, settings, db))
    assert "model='own'" in repr(llm.resolve(None, settings.replace(llm_model="own"), db))
    assert usage.read_usage(db) == []


def test_r41_what_is_over_the_budget_loses_no_try(db: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def handle(operation: Any, tools: Any) -> None:
        seen.append(llm.ask(tools.model, ASKED, tools.settings))

    monkeypatch.setitem(handlers.HANDLERS, "ASKS_MODEL", handle)
    settings, scope = Settings(llm_daily_calls=1), Scope("iris")
    for _ in "ab":
        jobs.enqueue_operation("ASKS_MODEL", db=db, settings=settings, scope=scope)
    worker = Worker(db, personas=["iris"], settings=settings, model=answer)
    worker.run(once=True)
    assert seen == ["Done."]
    (waiting,) = jobs.list_operations("retrying", db=db, scope=scope)
    assert waiting["tries"] == 0 and "budget" in waiting["error"]
    clock.forward(days=1)
    worker.run(once=True)
    assert seen == ["Done.", "Done."]
