"""The queue beside a server: a worker in a thread, for who starts no worker of their own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ..base import logs
from ..calls.call import GivenSettings
from ..database.engine import Database
from ..errors import CoreError
from ..jobs import Worker

STOP_SECONDS = 5.0
"""Longest wait for the operation at hand; what is not done by then the next worker does."""


@contextmanager
def run_queue(db: Database, settings: GivenSettings = None) -> Iterator[None]:
    """Let the work in the background be done for the time of the block: recaps, summaries, consolidation when due."""
    worker = Worker(db, settings=settings)
    thread = threading.Thread(target=_work, args=(worker,), name="prompt-engine-worker", daemon=True)
    thread.start()
    try:
        yield
    finally:
        worker.stop()
        thread.join(STOP_SECONDS)


def _work(worker: Worker) -> None:
    try:
        worker.run()
    except CoreError as error:  # a model's server that is named wrongly: the faces go on without
        logs.warning("worker_ended", error=type(error).__name__)
