"""The awaitable names: threads, context, exceptions, and that none is missing (G1)."""

import asyncio
import importlib
import inspect
import time
from pathlib import Path
from typing import Any

import pytest

from core import aio
from core.scope import Scope, current_scope, use_scope

MODULES = (
    "prompt_engine synth_tagging synth_core_memory chat_history_cache conversations ai_diary privacy "
    "short_term lifelong stories relationships semantic jobs personas tokens transcripts transfer db"
)


@pytest.mark.parametrize("module", MODULES.split())
def test_g1_every_public_function_has_an_awaitable(module: str) -> None:
    public = importlib.import_module(f"core.{module}")
    found = {name: getattr(public, name) for name in public.__all__}
    functions = {name for name, value in found.items() if inspect.isfunction(value)}
    awaitable = {name for name, _ in inspect.getmembers(aio, inspect.iscoroutinefunction)}
    assert functions - awaitable == {name for name in functions if inspect.isgeneratorfunction(found[name])}


def test_g1_calls_run_with_the_callers_context_variables(tmp_path: Path) -> None:
    """The scope of `use_scope` must reach the thread, each task's its own."""

    async def persona(name: str, db: Any) -> str:
        with use_scope(Scope(name)):
            await aio.insert_memory(f"said to {name}", "Ann", "chat", ["cat"], db=db)
            hits = await aio.search_memories(tags=["cat"], db=db)
        return " ".join(hit["snippet"] for hit in hits)

    async def both() -> list[str]:
        db = await aio.open_database(f"sqlite:///{tmp_path / 'own.db'}")
        texts = await asyncio.gather(persona("iris", db), persona("juno", db))
        db.close()
        return list(texts)

    assert asyncio.run(both()) == ["said to iris", "said to juno"] and current_scope().persona == "default"


def test_g1_the_event_loop_goes_on_meanwhile_and_an_exception_arrives_unchanged() -> None:
    with pytest.raises(ValueError, match="since"):
        asyncio.run(aio.search_memories(tags=["cat"], since="soon"))

    async def beside() -> int:
        call, ticks = asyncio.create_task(aio._awaitable(time.sleep)(0.3)), 0
        while not call.done():
            await asyncio.sleep(0.01)
            ticks += 1
        return ticks

    assert asyncio.run(beside()) > 5
