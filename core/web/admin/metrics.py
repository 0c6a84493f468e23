"""The route for a Prometheus server: how many items and operations there are, and when memory was consolidated last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from fastapi import APIRouter
from starlette.responses import PlainTextResponse

from ... import jobs
from ...jobs.rules import STATES
from ...lifelong import table_runs
from ...memories import table_figures
from ...memories.rules import KINDS, TIERS
from ...short_term import table as short_term_table
from ..bodies import Admin, refusals_beside_text
from ..context import AdminCall
from ..errors import Refused

router: APIRouter = APIRouter(tags=["Metrics"])

_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_NAME = "prompt_engine_"


@router.get(
    "/metrics",
    response_class=PlainTextResponse,
    responses=refusals_beside_text()
    | {200: {"description": "Prometheus text.", "content": {"text/plain": {"schema": {"type": "string"}}}}},
)
def metrics(admin: Admin) -> PlainTextResponse:
    """Return the numbers of one persona in the text form that Prometheus reads."""
    try:
        from prometheus_client import CollectorRegistry, generate_latest  # noqa: PLC0415 - an extra of its own
        from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415 - as above
    except ModuleNotFoundError:
        raise Refused(503, "Metrics need the extra `metrics`: pip install 'prompt-engine[metrics]'.") from None
    families = []
    for name, (words, labels, rows) in collect_families(admin).items():
        family = GaugeMetricFamily(_NAME + name, words, labels=labels)
        for values, number in rows:
            family.add_metric(list(values), number)
        families.append(family)

    class Collected:
        def collect(self) -> Iterable[Any]:
            return families

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Collected())
    return PlainTextResponse(generate_latest(registry), media_type=_TEXT)


Family = tuple[str, tuple[str, ...], list[tuple[tuple[str, ...], float]]]


def collect_families(admin: AdminCall) -> Mapping[str, Family]:
    """Return name to words, labels and numbers."""
    db, persona = admin.call.db, admin.call.persona
    items: Counter[tuple[str, ...]] = Counter({(kind, tier): 0 for kind in KINDS for tier in TIERS})
    for each in table_figures.count_kinds(db, persona):
        kind, tier = each.kind if each.kind in KINDS else "other", each.tier if each.tier in TIERS else "other"
        items[kind, tier] += each.items
    operations: Counter[tuple[str, ...]] = Counter({(state,): 0 for state in STATES})
    for states in jobs.count_operations(**admin.asking).values():
        for state, number in states.items():
            operations[state,] += number
    counted = short_term_table.read_counts(db)
    return {
        "memory_items": ("Memory items that hold.", ("kind", "tier"), _sort_rows(items)),
        "memory_items_archived": (
            "Memory items that are archived or replaced.",
            (),
            [((), float(table_figures.count_archived(db, persona)))],
        ),
        "operations": ("Operations of the queue.", ("state",), _sort_rows(operations)),
        **_describe_last_run(db, persona),
        "short_term": (
            "Reads and writes of short-term entries by this process, of all personas.",
            ("what",),
            [((name,), float(counted[name])) for name in short_term_table.COUNTED],
        ),
        "repeated": (
            "Reads and transactions of this process run again, by the number of the error; 0 is a lost connection.",
            ("error",),
            _sort_rows(Counter({(str(number or 0),): times for number, times in db.repeats.items()})),
        ),
        "up": ("1 while the database answers.", (), [((), 1.0)]),
    }


def _sort_rows(counted: Mapping[tuple[str, ...], int]) -> list[tuple[tuple[str, ...], float]]:
    return [(labels, float(number)) for labels, number in sorted(counted.items())]


def _describe_last_run(db: Any, persona: str) -> dict[str, Family]:
    """Return what the last run that has ended came to; nothing where there was none."""
    done = next((row for row in table_runs.read_newest(db, persona, 20) if row.finished_at is not None), None)
    if done is None:
        return {}
    numbers = {
        "finished_timestamp_seconds": ("When the last run ended.", done.finished_at.timestamp()),
        "added": ("Items the last run added.", done.items_added),
        "pruned": ("Items the last run archived.", done.items_pruned),
        "failed": ("1 where the last run noted an error.", float(bool(done.error))),
    }
    return {f"last_run_{name}": (words, ("kind",), [((done.kind,), float(n))]) for name, (words, n) in numbers.items()}
