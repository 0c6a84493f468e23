"""Functions a host registers or puts in the place of ours, called with what they accept."""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextvars import Context, copy_context
from queue import SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, CoreError
from ..text.hints import hint_name

if TYPE_CHECKING:
    import asyncio

HOOK_NAMES = ("static_injections", "recon", "history_contributions", "actions", "engine_limit")
"""What `set_hook` takes."""

MAX_WORKERS = 64
"""Threads at most; more can only be asked for when hooks hang, and then a call waits for one to come free."""
IDLE_WORKERS = 8
"""Threads kept for the next call."""

_hooks: dict[str, Callable[..., Any]] = {}


class HookTimeout(CoreError):  # noqa: N818 - names what happened, like the others hosts catch
    """A hook or stand-in gave no answer in time."""

    def __init__(self, name: str, timeout_seconds: float) -> None:
        super().__init__(
            f"The hook {name} gave no answer within {timeout_seconds:g} seconds and was given up. "
            "Make it faster, or raise HOOK_TIMEOUT_SECONDS."
        )
        self.name = name
        self.timeout_seconds = timeout_seconds


class HookAborted(CoreError):  # noqa: N818 - likewise
    """A hook or stand-in ended by something that is no ordinary exception: `sys.exit()`, a cancelled task."""

    def __init__(self, name: str, error: str) -> None:
        super().__init__(f"The hook {name} ended with {error}. It must return or raise an ordinary exception.")
        self.name = name
        self.error = error


def set_hook(name: str, function: Callable[..., Any] | None) -> None:
    """Register the host's function under a name, in place of the one before; None takes it away.

    Args:
        name: one of `HOOK_NAMES`.
        function: sync or async; it gets only the keyword arguments its signature accepts.

    Raises:
        ValueError: unknown name; the nearest known one is named.
        TypeError: the function cannot be called.

    >>> set_hook("engine_limit", lambda: 30000)
    >>> get_hook("engine_limit")()
    30000
    >>> clear_hooks()
    >>> get_hook("engine_limit") is None
    True
    """
    _check_name(name)
    if function is None:
        _hooks.pop(name, None)
        return
    if not callable(function):
        raise TypeError(f"The hook {name} is of type {type(function).__name__}. Pass a function, or None to remove it.")
    _hooks[name] = function


def get_hook(name: str) -> Callable[..., Any] | None:
    """Return the function registered under a name, None where there is none."""
    _check_name(name)
    return _hooks.get(name)


def clear_hooks() -> None:
    """Take all hooks away."""
    _hooks.clear()


def _check_name(name: str) -> None:
    if name in HOOK_NAMES:
        return
    raise ValueError(
        f"{str(name)[:80]!r} is no hook. The hooks are {', '.join(HOOK_NAMES)}.{hint_name(name, HOOK_NAMES)}"
    )


def call(
    function: Callable[..., Any],
    arguments: Mapping[str, Any],
    *,
    timeout_seconds: float,
    direct: bool = False,
    name: str = "",
    group: str = "",
) -> Any:
    """Return what the function gives for those of the arguments its signature accepts."""
    if not timeout_seconds > 0:
        raise ConfigError(
            f"HOOK_TIMEOUT_SECONDS is {timeout_seconds!r}. It must be above 0.", flag="HOOK_TIMEOUT_SECONDS"
        )
    name = name or str(getattr(function, "__name__", type(function).__name__))
    positional, keywords = choose_arguments(function, arguments)
    if not direct:
        return _run(lambda: function(*positional, **keywords), timeout_seconds, name, group)
    result = function(*positional, **keywords)
    return _run(lambda: result, timeout_seconds, name, group) if inspect.isawaitable(result) else result


def choose_arguments(function: Callable[..., Any], arguments: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the positional and keyword arguments to call a function with."""
    first = next(iter(arguments), None)
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        return ([] if first is None else [arguments[first]]), {}
    left, positional = dict(arguments), []
    for place, parameter in enumerate(parameters):
        key = _argument_for(parameter, arguments, parameters) if place == 0 else None
        if key is None and parameter.kind is parameter.POSITIONAL_ONLY and parameter.name in left:
            key = parameter.name
        if key is None:
            break
        positional.append(left.pop(key))
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return positional, left
    named = {parameter.name for parameter in parameters if parameter.kind in _BY_NAME}
    return positional, {name: value for name, value in left.items() if name in named}


_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_BY_PLACE = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.VAR_POSITIONAL,
)


def _argument_for(
    parameter: inspect.Parameter, arguments: Mapping[str, Any], parameters: list[inspect.Parameter]
) -> str | None:
    """Return the name of the argument that the first parameter gets by its place only; None when names settle it."""
    first = next(iter(arguments), None)
    fixed = [p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if first is None or first in fixed or parameter.name in arguments or parameter.kind not in _BY_PLACE:
        return None
    if parameter.default is not parameter.empty:  # `lambda limit=30000: limit` has what it needs
        return None
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters)
    return None if takes_all and parameter.kind is parameter.VAR_POSITIONAL else first


class _Job:
    """One call in a worker thread."""

    __slots__ = ("abandoned", "context", "done", "error", "loop", "result", "task", "work")

    def __init__(self, work: Callable[[], Any], context: Context) -> None:
        self.work = work
        self.context = context
        self.done = threading.Event()
        self.abandoned = False
        self.result: Any = None
        self.error: BaseException | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self.task: asyncio.Task[Any] | None = None

    def run(self) -> None:
        try:
            self.result = self.context.run(self.work)
            if inspect.isawaitable(self.result):
                from asyncio import Runner  # noqa: PLC0415 - heavy, and needed for awaitables alone

                with Runner() as runner:
                    self.result = runner.run(self._await(self.result), context=self.context)
        except BaseException as error:  # noqa: BLE001 - carried to the caller, who decides
            self.error = error
        finally:
            self.loop = self.task = None

    async def _await(self, awaitable: Awaitable[Any]) -> Any:
        import asyncio  # noqa: PLC0415 - heavy, and needed for awaitables alone

        self.task = asyncio.current_task()
        self.loop = asyncio.get_running_loop()
        if self.abandoned:
            if inspect.iscoroutine(awaitable):
                awaitable.close()  # or Python complains of one that nobody awaited
            raise asyncio.CancelledError
        return await awaitable

    def abandon(self) -> None:
        """Stop waiting: a coroutine is cancelled, a plain function runs on unheard."""
        self.abandoned = True
        loop, task = self.loop, self.task
        if loop is not None and task is not None:
            try:
                loop.call_soon_threadsafe(task.cancel)
            except RuntimeError:  # it ended meanwhile and closed its loop
                return


class _Workers:
    """Daemon threads that are used again; never joined, so none can hold up the end of the process."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.idle: list[SimpleQueue[_Job]] = []
        self.places = threading.BoundedSemaphore(MAX_WORKERS)
        self.lock = threading.Lock()

    def start(self, job: _Job, timeout_seconds: float) -> bool:
        """Hand the job to a thread; False when all threads were busy until the time was over."""
        if not self.places.acquire(timeout=timeout_seconds):
            return False
        with self.lock:
            queue = self.idle.pop() if self.idle else None
        if queue is None:
            queue = SimpleQueue()
            thread = threading.Thread(target=self._serve, args=(queue,), name="prompt-engine-hook", daemon=True)
            try:
                thread.start()
            except BaseException:
                self.places.release()
                raise
        queue.put(job)
        return True

    def _serve(self, queue: SimpleQueue[_Job]) -> None:
        stay = True
        while stay:
            job = queue.get()
            job.run()
            # Free again before the caller goes on, so that its next call finds this thread and starts no other.
            with self.lock:
                stay = len(self.idle) < IDLE_WORKERS
                if stay:
                    self.idle.append(queue)
            self.places.release()
            job.done.set()
            del job


_workers: dict[str, _Workers] = {}
_workers_lock = threading.Lock()


def _pool(group: str = "") -> _Workers:
    """Return the threads of this process for a group; a forked child has none of its parent's."""
    workers = _workers.get(group)
    if workers is None or workers.pid != os.getpid():
        with _workers_lock:
            workers = _workers.get(group)
            if workers is None or workers.pid != os.getpid():
                workers = _workers[group] = _Workers()
    return workers


def _run(work: Callable[[], Any], timeout_seconds: float, name: str, group: str) -> Any:
    """Run the work in a thread of its own with this thread's context variables, and wait for it."""
    wait_seconds = min(timeout_seconds, threading.TIMEOUT_MAX)
    end = monotonic() + wait_seconds
    job = _Job(work, copy_context())
    if not _pool(group).start(job, wait_seconds) or not job.done.wait(max(0.0, end - monotonic())):
        job.abandon()
        raise HookTimeout(name, timeout_seconds)
    error = job.error
    if error is None:
        return job.result
    job.error = None
    try:
        if isinstance(error, Exception):
            raise error
        raise HookAborted(name, type(error).__name__) from None
    finally:
        del error  # the exception holds this frame, and must not be held by it
