"""The route for a Prometheus server: how many items and operations there are, and when memory was consolidated last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter
from starlette.responses import PlainTextResponse

from ... import jobs
from ...jobs.rules import STATES
from ...lifelong import table_runs
from ...memories import table_figures
from ...memories.rules import KINDS, TIERS
from ...short_term import table as short_term_table
from ..bodies import Admin
from ..errors import Refused

router: APIRouter = APIRouter(tags=["Metrics"])

_TEXT = {"text/plain": {"schema": {"type": "string"}}}


@router.get(
    "/metrics",
    response_class=PlainTextResponse,
    responses={200: {"description": "Prometheus text.", "content": _TEXT}},
)
def metrics(admin: Admin) -> PlainTextResponse:
    """Return the numbers of one persona in the text form that Prometheus reads."""
    try:
        from prometheus_client import CollectorRegistry, Gauge, generate_latest  # noqa: PLC0415 - an extra of its own
    except ModuleNotFoundError:
        raise Refused(503, "Metrics need the extra `metrics`: pip install 'prompt-engine[metrics]'.") from None
    registry = CollectorRegistry()

    def add(name: str, text: str, labels: tuple[str, ...], rows: Mapping[tuple[str, ...], float]) -> None:
        gauge = Gauge(f"prompt_engine_{name}", text, labels, registry=registry)
        for values, number in sorted(rows.items()):
            (gauge.labels(*values) if labels else gauge).set(number)

    db, persona = admin.call.db, admin.call.persona
    items: Counter[tuple[str, ...]] = Counter({(kind, tier): 0 for kind in KINDS for tier in TIERS})
    for each in table_figures.count_kinds(db, persona):
        items[each.kind if each.kind in KINDS else "other", each.tier if each.tier in TIERS else "other"] += each.items
    add("memory_items", "Memory items that hold.", ("kind", "tier"), items)
    archived = table_figures.count_archived(db, persona)
    add("memory_items_archived", "Memory items that are archived or replaced.", (), {(): archived})
    operations: Counter[tuple[str, ...]] = Counter({(state,): 0 for state in STATES})
    for states in jobs.count_operations(**admin.asking).values():
        operations.update({(state,): number for state, number in states.items()})
    add("operations", "Operations of the queue.", ("state",), operations)
    for name, (text, labels, number) in _describe_last_run(db, persona).items():
        add(f"last_run_{name}", text, ("kind",), {labels: number})
    counts = short_term_table.read_counts(db)
    used: dict[tuple[str, ...], float] = {(name,): counts[name] for name in short_term_table.COUNTED}
    add("short_term", "Reads and writes of short-term entries by this process, of all personas.", ("what",), used)
    repeats: dict[tuple[str, ...], float] = {(str(number or 0),): times for number, times in db.repeats.items()}
    text = "Reads and transactions of this process run again, by the number of the error; 0 is a lost connection."
    add("repeated", text, ("error",), repeats)
    add("up", "1 while the database answers.", (), {(): 1})
    return PlainTextResponse(generate_latest(registry), media_type="text/plain; version=0.0.4; charset=utf-8")


def _describe_last_run(db: Any, persona: str) -> dict[str, tuple[str, tuple[str, ...], Any]]:
    """Return what the last run that has ended came to; nothing where there was none."""
    run = next((row for row in table_runs.read_newest(db, persona, 20) if row.finished_at is not None), None)
    if run is None:
        return {}
    kind = (run.kind,)
    return {
        "finished_timestamp_seconds": ("When the last run ended.", kind, run.finished_at.timestamp()),
        "added": ("Items the last run added.", kind, run.items_added),
        "pruned": ("Items the last run archived.", kind, run.items_pruned),
        "failed": ("1 where the last run noted an error.", kind, int(bool(run.error))),
    }
