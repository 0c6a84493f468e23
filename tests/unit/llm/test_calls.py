"""G21: anything that takes messages and gives a text is a model; everything else it does is a failure with a reason."""

import asyncio
import logging
import subprocess
import sys
import time
from collections.abc import Iterator
from contextvars import ContextVar
from functools import partial
from typing import Any

import pytest

from core import llm
from core.calls import defaults
from core.config import Settings
from core.db import configure
from core.errors import ModelError

ASKED = [{"role": "system", "content": "Sum up."}, {"role": "user", "content": "canary"}]
PLAIN = Settings()


@pytest.fixture(autouse=True)
def own_default() -> Iterator[None]:
    yield
    configure(None)


class Object:
    def complete(self, messages: list[dict[str, Any]], max_tokens: int = 0) -> str:
        return f"{messages[0]['role']} {max_tokens}"

    def __call__(self) -> str:
        raise AssertionError("complete is asked")


class Awaited:
    async def complete(self, messages: list[dict[str, Any]], **options: Any) -> str:
        await asyncio.sleep(0)
        return f"{len(messages)} {sorted(options)}"


async def coroutine(messages: list[dict[str, Any]]) -> str:
    await asyncio.sleep(0.01)
    return "later"


MODELS: dict[str, tuple[Any, str]] = {
    "a lambda": (lambda messages: "ok", "ok"), "another name": (lambda said: said[1]["role"], "user"),
    "by keyword": (lambda *, messages, temperature: f"{len(messages)} {temperature}", "2 0.5"),
    "all keywords": (lambda **given: f"{sorted(given)}", "['max_tokens', 'messages', 'temperature']"),
    "with a default": (lambda history=(): f"{len(history)}", "2"),
    "positional": (lambda *given: f"{len(given)} {len(given[0])}", "1 2"),
    "a partial": (partial(lambda prefix, messages: prefix + messages[0]["role"], "> "), "> system"),
    "an object": (Object(), "system 50"), "an async object": (Awaited(), "2 ['max_tokens', 'temperature']"),
    "a coroutine": (coroutine, "later"), "a blank beginning": (lambda messages: "  ok\n", "  ok\n"),
    "NUL and surrogates": (lambda messages: "a\x00b\ud800", "ab�"),
}  # fmt: skip


@pytest.mark.parametrize(("model", "text"), MODELS.values(), ids=MODELS.keys())
def test_g21_a_model_gets_the_messages_and_the_options_it_accepts(model: Any, text: str) -> None:
    assert llm.ask(llm.resolve(model, PLAIN), ASKED, PLAIN, max_tokens=50, temperature=0.5) == text


def test_g3_g12_g21_a_model_sees_the_callers_context_variables_and_cannot_change_the_messages_or_loop() -> None:
    seen: ContextVar[str] = ContextVar("seen", default="")
    seen.set("here")
    before = [dict(message) for message in ASKED]

    def greedy(messages: list[dict[str, Any]]) -> str:
        messages[0].clear()
        messages.clear()
        return seen.get()

    assert llm.ask(greedy, ASKED, PLAIN) == "here" and before == ASKED

    async def host() -> str:
        return llm.ask(coroutine, ASKED, PLAIN)

    assert asyncio.run(host()) == "later", "it is run apart from the caller's loop"


class StatusError(Exception):
    def __init__(self, status_code: object) -> None:
        super().__init__("canary sk-canary")
        self.status_code = status_code


def raising(error: BaseException) -> Any:
    def fail(messages: Any) -> str:
        raise error

    return fail


FAILURES: dict[str, tuple[Any, str, str]] = {
    "None": (lambda messages: None, "no_text", "NoneType"), "bytes": (lambda messages: b"ok", "no_text", "bytes"),
    "an object": (lambda messages: {"content": "ok"}, "no_text", "dict"),
    "a generator": (lambda messages: (part for part in "ok"), "no_text", "generator"),
    "an empty text": (lambda messages: "", "empty", ""), "a blank text": (lambda messages: " \n\x00", "empty", ""),
    "an exception": (raising(ValueError("canary")), "error", "ValueError"),
    "the end of the process": (raising(SystemExit("canary")), "error", "SystemExit"),
    "a timeout of its own": (raising(TimeoutError("canary")), "timeout", "TimeoutError"),
    "a refused key": (raising(StatusError(401)), "auth", "StatusError"),
    "a busy server": (raising(StatusError(429)), "error", "StatusError"),
    "a strange status": (raising(StatusError("canary")), "error", "StatusError"),
    "our own error": (raising(ModelError("auth", status=403)), "auth", ""),
    "no parameters": (lambda: "ok", "error", "TypeError"),
}  # fmt: skip


@pytest.mark.parametrize(("model", "reason", "error"), FAILURES.values(), ids=FAILURES.keys())
def test_g21_all_but_a_text_is_a_failure(model: Any, reason: str, error: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), pytest.raises(ModelError) as raised:
        llm.ask(model, ASKED, PLAIN)
    assert (raised.value.reason, raised.value.error) == (reason, error)
    assert "canary" not in f"{raised.value!r} {raised.value.__cause__!r} {raised.value.__context__!r} {caplog.text}"


def test_g21_no_answer_in_time_is_a_failure() -> None:
    began = time.perf_counter()
    for model in (lambda messages: time.sleep(60), lambda messages: asyncio.sleep(60)):
        with pytest.raises(ModelError) as raised:
            llm.ask(model, ASKED, Settings(llm_timeout_seconds=0.1))
        assert raised.value.reason == "timeout"
    assert time.perf_counter() - began < 30


def test_g4_the_model_passed_goes_before_that_of_the_process_and_that_before_the_server() -> None:
    known = Settings(llm_base_url="http://127.0.0.1:1/v1", llm_model="small")
    mine, ours = (lambda messages: "mine"), (lambda messages: "ours")
    assert llm.resolve(None, PLAIN) is None
    assert repr(llm.resolve(None, known)) == "ChatClient('http://127.0.0.1:1/v1/chat/completions', model='small')"
    configure(None, model=ours)
    assert llm.resolve(None, PLAIN) is llm.resolve(None, known) is ours and llm.resolve(mine, known) is mine
    configure(None)
    assert llm.resolve(None, PLAIN) is defaults.process.model is None
    for model in ("gpt-4o", 7, {"model": "x"}, object()):  # what cannot be asked is refused where it is passed
        for use in (lambda it: llm.resolve(it, PLAIN), lambda it: configure(None, model=it)):
            with pytest.raises(TypeError, match=r"complete\(messages"):
                use(model)
    assert defaults.process.model is None


def test_g21_a_prompt_loads_no_model_package() -> None:
    code = (
        "import sys, core.prompt_engine; print([m for m in sys.modules if m.startswith(('core.llm', 'httpx'))])\n"
        "import core.prompt.pipeline, core.llm; print('httpx2' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "False"]
