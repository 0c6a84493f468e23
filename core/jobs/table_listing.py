"""The operations of a persona for people to look at (table memory_jobs): listed, and counted by type and state."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, func, select

from ..database.engine import Database
from ..database.rows import read_list
from ..database.schema import memory_jobs
from ..shapes import OPEN_STATES, ListedOperation
from . import rules

_J = memory_jobs.c
_SOURCE = "memory_jobs"


def read_operations(
    db: Database,
    persona: str,
    *,
    states: Sequence[str],
    types: Sequence[str] = (),
    conversation: str | None = None,
    most: int,
) -> list[ListedOperation]:
    """Return operations of these states: those not ended in the order of their turns, ended ones the last
    made first.
    """
    now = db.clock()
    by_state: dict[str, list[ListedOperation]] = {state: [] for state in rules.STATES}
    # One that a dead worker left is stored as in progress and is pending.
    stored = set(states) | ({"in_progress"} if "pending" in states else set())
    for state in [each for each in rules.STATES if each in stored]:
        for row in _read(db, persona, state, types, conversation, most):
            shown = _shown(row, now)
            if shown["state"] in states:
                by_state[shown["state"]].append(shown)
    return [each for state in rules.STATES for each in by_state[state]][:most]


def _read(
    db: Database, persona: str, state: str, types: Sequence[str], conversation: str | None, most: int
) -> Sequence[Any]:
    where = [_J.persona_id == persona, _J.status == state]
    if types:
        where.append(_J.type.in_(types))
    if conversation is not None:
        where.append(_J.conversation_key == conversation)
    order = (_J.priority, _J.created_at, _J.id) if state in OPEN_STATES else (_J.created_at.desc(), _J.id.desc())
    return db.read(select(*_COLUMNS).where(*where).order_by(*order).limit(most), source=_SOURCE)


_COLUMNS = (
    _J.id,
    _J.type,
    _J.status,
    _J.priority,
    _J.conversation_key,
    _J.participant_key,
    _J.tries,
    _J.error,
    _J.depends_on,
    _J.created_at,
    _J.updated_at,
    _J.available_at,
    _J.lease_until,
)


def _shown(row: Any, now: datetime) -> ListedOperation:
    is_waiting = row.status == "retrying"
    return ListedOperation(
        id=row.id,
        type=row.type,
        state=rules.shown_state(row.status, row.lease_until, now),
        priority=rules.name_of(row.priority),
        conversation=row.conversation_key,
        participant=row.participant_key,
        tries=row.tries,
        error=row.error or "",
        depends_on=[each for each in read_list(row.depends_on) if isinstance(each, int)],
        created_at=_text(row.created_at),
        updated_at=_text(row.updated_at),
        available_at=_text(row.available_at) if is_waiting else "",
        lease_until=_text(row.lease_until) if row.status == "in_progress" else "",
    )


def _text(moment: datetime | None) -> str:
    return "" if moment is None else moment.isoformat()


def is_known(db: Database, persona: str, job_id: int) -> bool:
    """Return whether the persona has, or had, an operation of this id."""
    chosen = select(_J.id).where(_J.persona_id == bindparam("persona"), _J.id == bindparam("id"))
    return bool(db.read(chosen, {"persona": persona, "id": job_id}, source=_SOURCE))


def count_by_type(db: Database, persona: str) -> dict[str, dict[str, int]]:
    """Return type to state to how many operations of a persona there are; both in order, states without one
    left out.
    """
    now = db.clock()
    counts: dict[str, dict[str, int]] = {}
    for row in db.read(_COUNTED, {"persona": persona}, source=_SOURCE):
        counts.setdefault(row.type, {})[row.status] = row.n
    for row in db.read(_RUNNING, {"persona": persona}, source=_SOURCE):
        if rules.shown_state(row.status, row.lease_until, now) == "pending":
            states = counts.setdefault(row.type, {})
            states["in_progress"] = states.get("in_progress", 0) - 1
            states["pending"] = states.get("pending", 0) + 1
    return {
        kind: {state: states[state] for state in rules.STATES if states.get(state, 0) > 0}
        for kind, states in sorted(counts.items())
    }


_COUNTED = (
    select(_J.type, _J.status, func.count().label("n"))
    .where(_J.persona_id == bindparam("persona"))
    .group_by(_J.type, _J.status)
)
_RUNNING = select(_J.type, _J.status, _J.lease_until).where(
    _J.persona_id == bindparam("persona"), _J.status == "in_progress"
)
