"""Probes of the flags of jobs."""

from __future__ import annotations

from typing import Any

from core import jobs
from core.config import Settings
from core.errors import ModelError
from core.jobs import Operation, Tools
from tests.spec.probes import probe
from tests.spec.stage import Stage
from tests.store.job_world import handled


@probe(600, 60)
def _job_lease_seconds(stage: Stage, value: Any) -> object:
    """How long a running operation is its worker's."""
    given: dict[str, Any] = {"db": stage.db, "settings": Settings(job_lease_seconds=value), "scope": stage.scope()}
    seen: list[str] = []

    def look(operation: Operation, tools: Tools) -> None:
        seen.extend(each["lease_until"] for each in jobs.list_operations("in_progress", **given))

    with handled(PROBED=look):
        jobs.enqueue_operation("PROBED", **given)
        jobs.run_pending(**given)
    (lease,) = seen
    return lease


@probe(8, 1)
def _job_max_tries(stage: Stage, value: Any) -> object:
    """Whether a failed try is followed by another."""
    given: dict[str, Any] = {"db": stage.db, "settings": Settings(job_max_tries=value), "scope": stage.scope()}

    def fail(operation: Operation, tools: Tools) -> None:
        raise ModelError("timeout")

    with handled(PROBED=fail):
        jobs.enqueue_operation("PROBED", **given)
        (done,) = jobs.run_pending(**given)
    return done.state
