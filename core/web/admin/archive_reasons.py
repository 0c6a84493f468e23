"""Why an item holds no more, as far as what is stored tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from ...database.engine import Database
from ...lifelong import table_runs
from ...memories.rules_retention import KEPT_KINDS

Why = Literal["replaced", "expired", "pruned", "deleted", "unknown"]
"""replaced: another item says it now. expired: a session item whose time was over. pruned: by a run, for its age or
importance. deleted: by hand, since nothing else archives it. unknown: deleted by hand, or pruned on demand."""

PRUNING = frozenset({"cycle", "deep"})
"""Kinds of runs that prune."""
RUNS = 200
"""Newest runs that are looked at."""


class Former(NamedTuple):
    """What became of an item that holds no more."""

    why: Why
    by: str = ""
    """The kind of the run, `cycle` or `deep`; blank where it is not known."""


def find_cause(
    item: Mapping[str, Any],
    ran: Sequence[Mapping[str, Any]] = (),
) -> Former | None:
    """Return why an item holds no more, None for one that holds."""
    archived_at = _parse_time(item["archived_at"])
    if archived_at is None and item["superseded_by"] is None:
        return None
    if item["superseded_by"] is not None:
        return Former("replaced")
    assert archived_at is not None
    expired_at = _parse_time(item["expires_at"])
    if item["tier"] == "session" and expired_at is not None and expired_at <= archived_at:
        return Former("expired")
    if item["pinned"] or item["kind"] in KEPT_KINDS:
        return Former("deleted")
    run = next(
        (one for one in ran if one["kind"] in PRUNING and one["items_pruned"] and _is_within(one, archived_at)), None
    )
    return Former("unknown") if run is None else Former("pruned", run["kind"])


def _parse_time(said: str) -> datetime | None:
    return datetime.fromisoformat(said).astimezone(UTC) if said else None


def _is_within(run: Mapping[str, Any], went: datetime) -> bool:
    began, ended = run["started_at"], run["finished_at"]
    return began is not None and ended is not None and began <= went <= ended


def find_reasons(db: Database, persona: str, items: Sequence[Mapping[str, Any]]) -> dict[int, Former]:
    """Return what became of those of a list that hold no more; one round trip, none where all of them hold."""
    former = [item for item in items if item["archived_at"] or item["superseded_by"] is not None]
    if not former:
        return {}
    run_rows = [row._mapping for row in table_runs.read_newest(db, persona, RUNS)]
    reasons = {item["id"]: find_cause(item, run_rows) for item in former}
    return {row_id: one for row_id, one in reasons.items() if one is not None}
