"""The awaitable names: threads, context, exceptions, and that none is missing (G1, G2)."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from core import aio, synth_core_memory
from core.scope import Scope, current_scope, use_scope
from tests import aio_stub

DOORS = (
    "core.prompt_engine",
    "core.synth_tagging",
    "core.synth_core_memory",
    "core.chat_history_cache",
    "core.conversations",
    "core.ai_diary",
    "core.privacy",
    "core.short_term",
    "core.lifelong",
    "core.stories",
    "core.wishes",
    "core.relationships",
    "core.semantic",
    "core.jobs",
    "core.tokens",
    "core.transcripts",
    "core.transfer.items",
    "core.transfer.values",
    "core.values",
    "core.db",
    "core.doctor",
)
BESIDE = ("core.forgetting", "core.transfer.exports", "core.transfer.imports", "core.config")
"""Modules of which one function is a door."""


class Busy:
    """A stand-in for a search that counts how many of it run at a time."""

    def __init__(self, seconds: float = 0.05) -> None:
        self.seconds = seconds
        self.running = self.most = self.calls = 0
        self.lock = threading.Lock()

    def __call__(self, *, tags: object = None, **rest: Any) -> list[Any]:
        with self.lock:
            self.running += 1
            self.calls += 1
            self.most = max(self.most, self.running)
        time.sleep(self.seconds)
        with self.lock:
            self.running -= 1
        return [tags]


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> Busy:
    """Put a stand-in in the place of search_memories."""
    made = Busy()
    monkeypatch.setattr(synth_core_memory, "search_memories", made)
    return made


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_g1_at_most_aio_workers_run_at_a_time_and_all_answer(
    workers: int, busy: Busy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host with a small database must be able to keep the number of concurrent calls down."""
    monkeypatch.setenv("AIO_WORKERS", str(workers))
    busy.seconds = 0.05 * workers  # a busy machine starts threads late; all of them are to meet

    async def ten() -> list[Any]:
        return await asyncio.gather(*(aio.search_memories(tags=[str(n)]) for n in range(10)))

    answers = asyncio.run(ten())
    assert answers == [[[str(n)]] for n in range(10)]
    assert busy.most == workers


def test_g1_the_settings_of_a_call_choose_the_threads(busy: Busy) -> None:
    """Settings passed to a door act in its awaitable form too."""

    async def four() -> list[Any]:
        return await asyncio.gather(*(aio.search_memories(tags=["a"], settings={"AIO_WORKERS": 1}) for _ in range(4)))

    assert len(asyncio.run(four())) == 4
    assert busy.most == 1


def test_g1_an_exception_arrives_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller handles what the door raises, not a wrapper around it."""
    raised = ValueError("since is 'soon'")

    def fail(**_: Any) -> list[Any]:
        raise raised

    monkeypatch.setattr(synth_core_memory, "search_memories", fail)
    with pytest.raises(ValueError, match="since is 'soon'") as caught:
        asyncio.run(aio.search_memories(tags=["cat"]))
    assert caught.value is raised


def test_g1_positional_arguments_are_refused_as_the_door_refuses_them() -> None:
    """The arguments are those of the door itself (T16)."""
    with pytest.raises(TypeError):
        asyncio.run(aio.search_memories(["cat"]))  # type: ignore[call-arg]


def test_g1_calls_run_with_the_callers_context_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scope of `use_scope` must reach the thread, each task's its own."""
    monkeypatch.setattr(synth_core_memory, "search_memories", lambda **_: [current_scope().persona])

    async def of(persona: str) -> Any:
        with use_scope(Scope(persona)):
            return await aio.search_memories(tags=["cat"])

    async def both() -> list[Any]:
        return await asyncio.gather(of("iris"), of("juno"))

    assert asyncio.run(both()) == [["iris"], ["juno"]]
    assert current_scope().persona == "default"


def test_g1_the_event_loop_goes_on_meanwhile(busy: Busy) -> None:
    """A chat bot must be able to answer others while a prompt is built."""
    busy.seconds = 0.3

    async def beside() -> int:
        call = asyncio.create_task(aio.search_memories(tags=["cat"]))
        ticks = 0
        while not call.done():
            await asyncio.sleep(0.01)
            ticks += 1
        return ticks

    assert asyncio.run(beside()) > 5


def test_g2_a_stand_in_is_found_at_the_moment_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host replaces the door's function; the awaitable name follows, a sync or async one."""
    call = aio.should_remember
    monkeypatch.setattr(synth_core_memory, "should_remember", lambda *_: "sync")
    assert asyncio.run(call("a", "b")) == "sync"

    async def later(*_: object) -> str:
        return "async"

    monkeypatch.setattr(synth_core_memory, "should_remember", later)
    assert asyncio.run(call("a", "b")) == "async"


@pytest.mark.parametrize("door", DOORS)
def test_g1_every_public_function_of_a_door_has_an_awaitable(door: str) -> None:
    """A name added to a door is missing here until it stands in `core.aio` too."""
    module = importlib.import_module(door)
    public = {
        name
        for name in module.__all__
        if inspect.isfunction(getattr(module, name)) and not inspect.isgeneratorfunction(getattr(module, name))
    }
    assert public - set(aio.__all__) == set()


def test_g1_every_name_is_a_coroutine_function_that_finds_its_door() -> None:
    """A misspelt name would be noticed at its first call only."""
    found = {name for door in (*DOORS, *BESIDE) for name in vars(importlib.import_module(door))} | {"build_context"}
    for name in aio.__all__:
        assert inspect.iscoroutinefunction(getattr(aio, name)), name
        assert getattr(aio, name).__name__ == name
        assert name in found, name
    assert sorted(aio.__all__) == list(aio.__all__)


def test_the_signatures_for_type_checkers_are_those_of_the_doors() -> None:
    """An editor that shows an argument which the door has not, or no more, is worse than one that shows none."""
    assert aio_stub.FILE.read_text(encoding="utf-8") == aio_stub.text(), "run `make docs`"


def test_importing_aio_imports_no_door() -> None:
    """A host that awaits one name does not load all of them."""
    code = f"import sys, core.aio; print([m for m in {DOORS!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_g1_files_and_settings_have_awaitable_names_too(tmp_path: Path) -> None:
    """They were missing, so hosts called them in the loop: an import of minutes, with nobody answered."""
    file = tmp_path / "chat.jsonl"

    async def work() -> tuple[Any, ...]:
        db = await aio.open_database("sqlite://")
        file.write_text(
            '{"conversation": "c1", "speaker": "Ann", "text": "I like tea", "timestamp": "2026-03-10T12:00:00Z"}\n'
        )
        done = await aio.import_file(file, private=False, db=db)
        told = await aio.export_chat(tmp_path / "out.jsonl", conversation="import/c1", db=db)
        return done.imported, told.messages, (await aio.set_value("CONTEXT_VERBOSITY", 4, db)).stored

    assert asyncio.run(work()) == (1, 1, True)


def test_g1_no_call_blocks_the_loop_for_long(tmp_path: Path) -> None:
    """Whatever a call does, it does in a thread: a first one imports packages and opens the database there."""
    longest = 0.0

    async def watch(stop: asyncio.Event) -> None:
        nonlocal longest
        while not stop.is_set():
            before = time.thread_time()
            await asyncio.sleep(0.001)  # all that the loop's thread does meanwhile is done for calls
            longest = max(longest, time.thread_time() - before)

    async def work() -> None:
        stop = asyncio.Event()
        watching = asyncio.create_task(watch(stop))
        await asyncio.sleep(0)  # it watches from before the first call
        db = await aio.open_database(f"sqlite:///{tmp_path / 'own.db'}")
        message = {"message_id": 1, "date": None, "text": "my cat", "interface_path": "tg/1", "from_user": {"id": "7"}}
        for _ in range(20):
            await aio.save_chat_message("tg/1", "my cat is called Tofu", "Ann", "7", db=db)
            await aio.build_json_prompt(message, db=db)
        stop.set()
        await watching

    asyncio.run(work())
    assert longest < 0.02, f"the loop's own thread was busy for {longest * 1000:.0f} ms at once"
