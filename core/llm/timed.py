"""Calls a host's model or embedder, plain or async, for a limited time."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Mapping
from contextvars import copy_context
from typing import Any

from ..errors import CoreError
from ..hooks import accepted_keywords


class AbortedError(CoreError):
    """A model or embedder ended by something that is no ordinary exception, such as `sys.exit()`."""

    def __init__(self, error: str) -> None:
        super().__init__(f"The model ended with {error}. It must return or raise an ordinary exception.")
        self.error = error


def call_timed(function: Callable[..., Any], first: str, arguments: Mapping[str, Any], timeout_seconds: float) -> Any:
    """Return what the function gives for those of the arguments it accepts; the one named `first` it always gets.

    Raises TimeoutError after `timeout_seconds`; a function that hangs stays behind in a daemon thread.
    """
    keywords = accepted_keywords(function, arguments)
    positional = () if first in keywords else (arguments[first],)
    answers: list[Any] = []
    errors: list[BaseException] = []

    async def wait(awaitable: Any) -> Any:
        return await awaitable

    def work() -> None:
        try:
            answer = function(*positional, **keywords)
            if inspect.isawaitable(answer):
                import asyncio  # noqa: PLC0415 - heavy, and needed for awaitables alone

                answer = asyncio.run(wait(answer))
            answers.append(answer)
        except BaseException as error:  # noqa: BLE001 - foreign code; carried to the caller
            errors.append(error)

    thread = threading.Thread(target=copy_context().run, args=(work,), name="prompt-engine-model", daemon=True)
    thread.start()
    thread.join(min(timeout_seconds, threading.TIMEOUT_MAX))
    if thread.is_alive():
        raise TimeoutError
    for error in errors:
        raise error if isinstance(error, Exception) else AbortedError(type(error).__name__)
    return answers[0]
