"""The queue (table memory_jobs): insert, end, retry, prune, list and count operations."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, and_, bindparam, case, delete, func, literal, or_, select, update

from ..access import table_conversations
from ..database.compiled import Reader, chunks
from ..database.dialects import Time
from ..database.engine import Database
from ..database.rows import read_list, read_object
from ..database.schema import memory_jobs
from ..shapes import OPEN_STATES, ListedOperation, OperationState
from ..text.times import iso_text
from . import rules

KEPT_DAYS = 7
FAILED_KEPT_DAYS = 30
"""Days for which failed operations are kept: longer than other ended operations, so that somebody can inspect them."""
PART = 500
"""Maximum number of rows changed in one transaction."""
_J = memory_jobs.c

EMPTIED = func.json_replace(_J.payload, "$." + rules.TEXTS, "")
"""SQL expression for the payload of an ended operation, without its texts."""


NOW: Any = bindparam("now", type_=Time())
IS_LEFT: Any = and_(_J.status == "in_progress", or_(_J.lease_until.is_(None), _J.lease_until <= NOW))
"""SQL condition for operations left by a dead worker: stored as in_progress, listed as pending."""
IS_RUNNING: Any = and_(_J.status == "in_progress", _J.lease_until > NOW)

# Inserting


def enqueue(
    connection: Connection,
    db: Database,
    persona: str,
    type: str,  # noqa: A002 - the column's name
    *,
    priority: str = "NORMAL",
    payload: Mapping[str, Any] | None = None,
    conversation: str | None = None,
    participant: str | None = None,
    depends_on: Sequence[int] = (),
    once: bool = False,
) -> int | None:
    """Insert an operation within a transaction and return its id; None with `once` if an equal operation waits."""
    if once:
        hold_conversation(connection, persona, conversation)
        values = {"persona": persona, "conversation": conversation, "type": type}
        if connection.execute(_WAITING, values).first() is not None:
            return None
    now = db.clock()
    job_id = db.ids.one()
    subject: dict[str, Any] = {"persona_id": persona, "conversation_key": conversation, "participant_key": participant}
    work = {"type": type, "payload": dict(payload or {}), "depends_on": sorted(set(depends_on)) or None}
    state = {"priority": rules.number_of(priority), "status": "pending", "tries": 0}
    row = {"id": job_id, **subject, **work, **state, "created_at": now, "updated_at": now}
    connection.execute(memory_jobs.insert().values(row))
    return job_id


def insert(db: Database, persona: str, kind: str, **fields: Any) -> int:
    """Insert an operation in its own transaction and return its id; `fields` are the keyword arguments of `enqueue`."""

    def work(connection: Connection) -> int:
        job_id = enqueue(connection, db, persona, kind, **fields)
        assert job_id is not None, "only `once` puts nothing in"
        return job_id

    def confirm(connection: Connection, job_id: int) -> bool:
        return connection.execute(_FOUND, {"persona": persona, "id": job_id}).first() is not None

    return db.transaction(work, source="memory_jobs", confirm=confirm)


_HERE = (_J.persona_id == bindparam("persona"), _J.conversation_key.is_not_distinct_from(bindparam("conversation")))
_WAITING = select(_J.id).where(*_HERE, _J.type == bindparam("type"), _J.status.in_(rules.TO_DO)).limit(1)


def read_open(read: Reader, persona: str, kind: str, conversation: str) -> dict[int, dict[str, Any]]:
    """Return, by id, the payloads of a conversation's pending and running operations of type `kind`, oldest first."""
    here = (_J.persona_id == persona, _J.conversation_key == conversation, _J.type == kind)
    rows = read(select(_J.id, _J.payload).where(*here, _J.status.in_(OPEN_STATES)).order_by(_J.id), {})
    return {row.id: read_object(row.payload) or {} for row in rows}


def hold_conversation(connection: Connection, persona: str, conversation: str | None) -> None:
    """Lock the conversation's row, so that concurrent callers take turns."""
    if conversation is not None:
        table_conversations.find(connection, persona, conversation, lock=True)


# Ending on request


def cancel(db: Database, persona: str, ids: Sequence[int]) -> int:
    return sum(end(db, persona, part, "cancelled") for part in chunks(sorted(set(ids)), PART))


def end(db: Database, persona: str, ids: Sequence[int], status: OperationState, *, error: str | None = None) -> int:
    """Set the end state `status` of open operations, by ascending id so that transactions lock rows in one order."""
    now = db.clock()
    mine = (_J.persona_id == persona, _J.id.in_(ids))
    change = update(memory_jobs).where(*mine, _J.status.in_(OPEN_STATES))
    change = change.values(status=status, payload=EMPTIED, error=error, lease_until=None, updated_at=now)
    done = and_(*mine, _J.status == status, _J.updated_at == now)

    def confirm(connection: Connection, _: int) -> bool:
        return connection.execute(select(_J.id).where(done).limit(1)).first() is not None

    return db.transaction(lambda connection: connection.execute(change).rowcount, source="memory_jobs", confirm=confirm)


def retry(db: Database, persona: str, job_id: int) -> bool | None:
    """Reset a failed operation to pending; return whether it had failed, None if its texts were deleted."""
    rows = db.read(_FOUND, {"persona": persona, "id": job_id}, source="memory_jobs")
    if rows and (read_object(rows[0].payload) or {}).get(rules.TEXTS) == "":
        return None
    change = update(memory_jobs).where(_J.persona_id == persona, _J.id == job_id, _J.status == "failed")
    change = change.values(status="pending", tries=0, error=None, available_at=None, updated_at=db.clock())

    def confirm(connection: Connection, _: bool) -> bool:
        # after a lost commit answer, a second run would find it pending and report that nothing had failed
        row = connection.execute(_FOUND, {"persona": persona, "id": job_id}).first()
        return row is not None and row.status == "pending"

    return db.transaction(lambda c: c.execute(change).rowcount == 1, source="memory_jobs", confirm=confirm)


_FOUND = select(_J.status, _J.payload).where(_J.persona_id == bindparam("persona"), _J.id == bindparam("id"))


def prune(db: Database, persona: str) -> int:
    """Delete one batch of operations that ended long ago; return how many were deleted."""
    now = db.clock()
    removed = 0
    for status, days in (("completed", KEPT_DAYS), ("cancelled", KEPT_DAYS), ("failed", FAILED_KEPT_DAYS)):
        before = now - timedelta(days=days)
        is_old = and_(_J.persona_id == persona, _J.status == status, _J.updated_at <= before)
        # `created_at` is never after `updated_at`: this extra condition uses the queue's index
        led = and_(_J.priority.in_(range(len(rules.PRIORITIES))), _J.created_at <= before)
        rows = db.read(select(_J.id).where(is_old, led).limit(PART), source="memory_jobs")
        if ids := sorted(row.id for row in rows):
            gone = delete(memory_jobs).where(is_old, _J.id.in_(ids))
            removed += db.idempotent_transaction(lambda c, gone=gone: c.execute(gone).rowcount, source="memory_jobs")  # type: ignore[misc]
    return removed


# Listing

_STORED_AS: dict[str, tuple[Any, ...]] = {"in_progress": (IS_RUNNING,), "pending": (_J.status == "pending", IS_LEFT)}
"""SQL conditions of the listed states that differ from the stored state."""


def read_operations(db: Database, persona: str, states: Sequence[str], most: int) -> list[ListedOperation]:
    """Return up to `most` operations: open operations in order of execution, ended operations newest first."""
    listed = (column for column in _J if column.name != "payload")
    chosen = select(*listed).where(_J.persona_id == persona).limit(most)
    now = {"now": db.clock()}
    operations: list[ListedOperation] = []
    # one statement per state, in index order: with several states a server would sort all rows
    with db.request_connection(snapshot=True):
        for state in rules.STATES:
            if state not in states or len(operations) >= most:
                continue
            order = (_J.priority, _J.created_at, _J.id) if state in OPEN_STATES else (_J.id.desc(),)
            rows = [
                row._mapping
                for condition in _STORED_AS.get(state, (_J.status == state,))
                for row in db.read(chosen.where(condition).order_by(*order), now, source="memory_jobs")
            ]
            if state == "pending":
                rows.sort(key=lambda row: (row["priority"], iso_text(row["created_at"]), row["id"]))
            operations += [_build_listed(row, state) for row in rows]
    return operations[:most]


def read_ids(stored: Any) -> tuple[int, ...]:
    return tuple(each for each in read_list(stored) if isinstance(each, int))


def _build_listed(row: Any, state: OperationState) -> ListedOperation:
    return ListedOperation(
        id=row["id"], type=row["type"], state=state, priority=rules.name_of(row["priority"]),
        conversation=row["conversation_key"], server="", participant=row["participant_key"], tries=row["tries"],
        error=row["error"] or "", depends_on=list(read_ids(row["depends_on"])), created_at=iso_text(row["created_at"]),
        updated_at=iso_text(row["updated_at"]),
        available_at=iso_text(row["available_at"]) if state == "retrying" else "",
        lease_until=iso_text(row["lease_until"]) if state == "in_progress" else "",
    )  # fmt: skip


def count_by_type(db: Database, persona: str) -> dict[str, dict[str, int]]:
    """Return the number of operations by type and state, both in order, without zeros."""
    listed_as = case((IS_LEFT, literal("pending", _J.status.type)), else_=_J.status).label("listed_as")
    counted = select(_J.type, listed_as, func.count()).where(_J.persona_id == persona).group_by(_J.type, listed_as)
    counts: dict[str, dict[str, int]] = {}
    for kind, state, number in db.read(counted, {"now": db.clock()}):
        counts.setdefault(kind, {})[state] = number
    in_order = sorted(counts.items())
    return {kind: {state: states[state] for state in rules.STATES if state in states} for kind, states in in_order}
