"""Ends work between two steps on SIGTERM or Ctrl-C."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stop_on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Within the block, in the main thread, the first SIGTERM or SIGINT calls `stop`; the second signal interrupts."""
    is_stopped = False

    def handle(_number: int, _frame: FrameType | None) -> None:
        nonlocal is_stopped
        if is_stopped:
            raise KeyboardInterrupt
        is_stopped = True
        stop()

    is_main = threading.current_thread() is threading.main_thread()
    before = {each: signal.signal(each, handle) for each in (signal.SIGTERM, signal.SIGINT) if is_main}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
