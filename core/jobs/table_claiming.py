"""Claims of operations and the results of their runs (table memory_jobs)."""

import os
import secrets
import socket
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, and_, bindparam, or_, select, union_all, update

from ..database.dialects import EPOCH
from ..database.engine import Database, RollbackError
from ..database.rows import read_object
from ..database.schema import memory_jobs
from ..shapes import OPEN_STATES, Operation, OperationState
from . import rules, table
from .rules import Turns, Waiting
from .table import EMPTIED, IS_LEFT, IS_RUNNING, NOW

_J = memory_jobs.c
_P: Any = bindparam("persona")
_SOURCE = "memory_jobs"


class Claim(NamedTuple):
    operation: Operation
    token: str


def read_personas(db: Database, *, working: bool = True) -> list[str]:
    """Return the personas that have operations, sorted; with `working`, only personas with open operations."""
    rows = db.read(_PERSONAS, source=_SOURCE)
    return sorted({row.persona_id for row in rows if not working or row.status in OPEN_STATES})


# the query names the two leading columns of the index: a server skips from pair to pair, past ended operations
_PERSONAS = select(_J.persona_id, _J.status).where(_J.persona_id > "").distinct()


def read_turns(db: Database, persona: str, types: Collection[str], most: int) -> Turns:
    """Return which operations may begin and which must fail; at most `most` operations of each open state are read."""
    values = {"persona": persona, "types": sorted(types), "now": db.clock(), "most": most}
    waiting = [
        Waiting(*row)._replace(created_at=row.created_at or EPOCH, depends_on=table.read_ids(row.depends_on))
        for row in db.read(_next(), values, source=_SOURCE)
    ]
    others = sorted({other for each in waiting for other in each.depends_on})
    rows = db.read(_STATES, {"persona": persona, "ids": others}, source=_SOURCE) if others else ()
    return rules.choose_turns(waiting, {row.id: row.status for row in rows})


_STATES = select(_J.id, _J.status).where(_J.persona_id == _P, _J.id.in_(bindparam("ids", expanding=True)))


@lru_cache(maxsize=1)
def _next() -> Any:
    """Build one SELECT per open state, joined by UNION: each reads in index order, so the server sorts nothing."""
    due = or_(_J.available_at.is_(None), _J.available_at <= NOW)
    branches = []
    for status in OPEN_STATES:
        is_free = IS_LEFT if status == "in_progress" else and_(_J.status == status, due)
        where = (_J.persona_id == _P, _J.type.in_(bindparam("types", expanding=True)), is_free)
        chosen = select(_J.id, _J.type, _J.priority, _J.created_at, _J.depends_on, _J.status, _J.tries).where(*where)
        ordered = chosen.order_by(_J.priority, _J.created_at, _J.id).limit(bindparam("most"))
        branches.append(select(ordered.subquery()))
    return union_all(*branches)


def claim(db: Database, persona: str, job_id: int, *, lease_seconds: float) -> Claim | None:
    """Claim an operation and return the claim; None if another worker claimed it first or it has ended."""
    mine = {"persona": persona, "id": job_id, "token": _make_token()}
    return db.transaction(
        lambda c: _claim(c, db, mine, lease_seconds), source=_SOURCE, confirm=lambda c, _: _is_mine(c, mine)
    )


def begin(
    db: Database,
    persona: str,
    kind: str,
    alone: Sequence[str],
    conversation: str | None,
    payload: Mapping[str, Any],
    lease_seconds: float,
) -> Claim | None:
    """Claim a waiting or new operation of type `kind` and set its payload; None while one of the types `alone` runs."""
    mine: dict[str, Any] = {"persona": persona, "token": _make_token(), "id": 0}
    now = {"now": db.clock()}
    running = select(_J.id).where(_J.persona_id == persona, IS_RUNNING, _J.type.in_(alone))
    if conversation is not None:
        running = running.where(or_(_J.conversation_key.is_(None), _J.conversation_key == conversation))
    here = (_J.persona_id == persona, _J.conversation_key.is_not_distinct_from(conversation), _J.type == kind)
    free = select(_J.id, _J.payload).where(*here, _is_free).order_by(_J.priority, _J.created_at, _J.id)

    def work(connection: Connection) -> Claim | None:
        table.hold_conversation(connection, persona, conversation)
        if connection.execute(running.limit(1), now).first() is not None:
            return None
        waiting = connection.execute(free.limit(1), now).first()
        if waiting is None:
            fields: dict[str, Any] = {"payload": payload, "conversation": conversation}
            mine["id"] = table.enqueue(connection, db, persona, kind, **fields)
        else:
            mine["id"] = waiting.id
            change = update(memory_jobs).where(_J.persona_id == persona, _J.id == waiting.id)
            connection.execute(change.values(payload={**(read_object(waiting.payload) or {}), **payload}))
        return _claim(connection, db, mine, lease_seconds)

    return db.transaction(work, source=_SOURCE, confirm=lambda c, _: _is_mine(c, mine))


_is_free = or_(_J.status.in_(rules.TO_DO), IS_LEFT)


def _make_token() -> str:
    return f"{socket.gethostname()[:25]}:{os.getpid()}:{secrets.token_hex(8)}"


def _claim(connection: Connection, db: Database, mine: Mapping[str, Any], lease_seconds: float) -> Claim | None:
    now = db.clock()
    until = now + timedelta(seconds=lease_seconds)
    change = update(memory_jobs).where(_J.persona_id == mine["persona"], _J.id == mine["id"], _is_free)
    change = change.values(status="in_progress", claimed_by=mine["token"], lease_until=until, updated_at=now)
    if connection.execute(change.values(tries=_J.tries + 1), {"now": now}).rowcount != 1:
        return None
    row = connection.execute(_MINE, mine).one()
    operation = Operation(
        row.id, row.type, mine["persona"], row.conversation_key, row.participant_key, rules.name_of(row.priority),
        read_object(row.payload) or {}, row.tries, row.created_at,
    )  # fmt: skip
    return Claim(operation, mine["token"])


def _is_mine(connection: Connection, mine: Mapping[str, Any]) -> bool:
    return connection.execute(_MINE, mine).first() is not None


_MINE = select(*(column for column in _J if column.name != "depends_on")).where(
    _J.persona_id == _P, _J.id == bindparam("id"), _J.claimed_by == bindparam("token")
)


# Ends of a claim


def renew_lease(db: Database, claimed: Claim, *, lease_seconds: float) -> bool:
    """Extend the lease of a claim; return False if the claim was already lost."""
    # `updated_at` stays the start of the run; extending the lease twice is harmless
    change = _change(claimed).values(lease_until=db.clock() + timedelta(seconds=lease_seconds))
    return db.idempotent_transaction(lambda c: c.execute(change).rowcount == 1, source=_SOURCE)


def _change(claimed: Claim) -> Any:
    """Build an UPDATE of the claimed operation that changes no row once the claim is lost."""
    operation = claimed.operation
    mine = (_J.id == operation.id, _J.status == "in_progress", _J.claimed_by == claimed.token)
    return update(memory_jobs).where(_J.persona_id == operation.persona, *mine)


def settle(
    db: Database,
    claimed: Claim,
    status: OperationState,
    effect: Callable[[Connection], None] | None = None,
    *,
    error: str = "",
    until: datetime | None = None,
    is_try: bool = True,
) -> bool:
    """Run `effect`, which stores the result, and end the claim, in one transaction; return False if the claim was lost.

    `until` is the earliest time of the next try; with `is_try` False this run does not count as a try.
    """
    operation = claimed.operation
    values: dict[str, Any] = {"error": error or None, "available_at": until}
    values |= {} if is_try else {"tries": _J.tries - 1}
    values |= {"payload": EMPTIED} if status in ("completed", "failed") else {}
    change = _change(claimed).values(status=status, lease_until=None, updated_at=db.clock(), **values)

    def work(connection: Connection) -> bool:
        # first, since the row's lock keeps other workers from ending or claiming it
        if connection.execute(change).rowcount != 1:
            raise RollbackError(False)
        if effect is not None:
            effect(connection)
        return True

    def confirm(connection: Connection, _: bool) -> bool:
        mine = {"persona": operation.persona, "id": operation.id, "token": claimed.token}
        row = connection.execute(_MINE, mine).first()
        return row is not None and row.status == status

    return db.transaction(work, source=_SOURCE if effect is None else operation.type, confirm=confirm)
