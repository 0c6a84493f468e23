"""Background work: queue, run, cancel, retry, list and count operations.

A handler `handle(operation, tools) -> effect` reads, asks the model, and returns its writes as a function of a
connection. The queue runs the function and completes the operation in one transaction, so that it takes effect once
even if a worker dies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Unpack

from ..access import overview
from ..access.rules import plain_key
from ..base.hints import hint_name, shown
from ..base.wire_ids import find_whole
from ..calls.call import CallOptions, open_call
from ..errors import MessageError
from ..scope import Scope
from ..shapes import ListedOperation, Operation, OperationRun, WriteResult
from ..text.host_values import all_items
from ..text.strict_json import make_strict
from . import handlers, rules, table
from .table import read_operations as read_operations
from .table_claiming import read_personas as read_personas

if TYPE_CHECKING:
    from .worker import Worker

__all__ = ["ListedOperation", "Operation", "OperationRun", "Worker", "cancel", "count_operations", "enqueue_operation",
           "list_operations", "retry_operation", "run_pending"]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load the worker on first use: it imports models, which a process that only queues work does not need."""
    if name != "Worker":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .worker import Worker  # noqa: PLC0415

    return Worker


def enqueue_operation(
    type: str,  # noqa: A002 - the name of the specification
    priority: str = "NORMAL",
    metadata: Mapping[str, Any] | None = None,
    depends_on: Iterable[int] = (),
    *,
    conversation: str | None = None,
    participant: str | None = None,
    **options: Unpack[CallOptions],
) -> int:
    """Queue an operation for the scope's persona and return its id, which is above 0.

    Args:
        type: RECAP, SCENE_DETECTION, CONSOLIDATION or another of the package.
        priority: HIGH, NORMAL or LOW.
        metadata: plain JSON, such as `{"message_id": row_id}` for a RECAP.
        depends_on: ids of operations that must complete first. If one of them fails or is cancelled, this operation
            fails too, unless it is a SCENE_RECAP, which then runs. An unknown id counts as completed.
        conversation, participant: keys of the operation's subject; None uses those of the scope.

    Raises ValueError for an unknown type or priority, MessageError for metadata that is not plain JSON.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.jobs import count_operations, enqueue_operation
    >>> db = open_database("sqlite://")
    >>> first = enqueue_operation("CONSOLIDATION", conversation="telegram/42", db=db)
    >>> second = enqueue_operation("DEEP_CONSOLIDATION", "LOW", depends_on=[first], db=db)
    >>> count_operations(db=db)
    {'CONSOLIDATION': {'pending': 1}, 'DEEP_CONSOLIDATION': {'pending': 1}}
    """
    types = sorted(handlers.HANDLERS)
    if type not in types:
        raise ValueError(f"type is {shown(type)}. It must be one of {', '.join(types)}." + hint_name(type, types))
    rules.number_of(priority)
    payload, changed = make_strict(metadata or {})
    if changed or not isinstance(payload, dict):
        raise MessageError(
            f"metadata is no mapping of plain JSON ({changed[0] if changed else repr(payload)[:40]}). "
            "Use texts, numbers, lists and mappings.",
            fields=("metadata",),
        )
    others = _read_ids(depends_on, "depends_on")
    call = open_call(**options)
    conversation = call.scope.conversation if conversation is None else conversation
    own = Scope(call.persona, conversation, call.scope.participant if participant is None else participant)
    keys = {"conversation": own.conversation, "participant": own.participant}
    return table.insert(call.db, own.persona, type, priority=priority, payload=payload, depends_on=others, **keys)


def run_pending(limit: int | None = None, *, model: Any = None, **options: Unpack[CallOptions]) -> list[OperationRun]:
    """Run all queued operations of the scope's persona that may begin now; return a report for each.

    Operations queued meanwhile run too; those that wait for their next try are left for a later call.

    Args:
        limit: maximum number of operations to begin; None for all.
        model: the model to ask; None uses that of `configure` or LLM_BASE_URL. Without a model, texts are extracts.

    Raises ConfigError for an invalid address of the model's server; then no operation is run.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.jobs import enqueue_operation, run_pending
    >>> db = open_database("sqlite://")
    >>> job_id = enqueue_operation("CONSOLIDATION", conversation="telegram/42", db=db)
    >>> [(run.id == job_id, run.state) for run in run_pending(db=db)]
    [(True, 'completed')]
    """
    if limit is not None and ((count := find_whole(limit)) is None or count < 0):
        raise ValueError(f"limit is {shown(limit)}. It must be a whole number of operations, 0 or more, or None.")
    from . import worker  # noqa: PLC0415 - see __getattr__

    call = open_call(**options)
    reports: list[OperationRun] = []
    worker.queue_embedding(call.db, call.settings, [call.persona], now=True)
    handlers.load(handlers.FOLLOW_SETTINGS)(call.db, call.persona, call.settings)
    while limit is None or len(reports) < limit:
        report = worker.run_next(call.db, call.persona, options.get("settings"), model)
        if report is None:
            break
        reports.append(report)
    worker.prune_now_and_then(call.db, [call.persona])
    return reports


def cancel(ids: Iterable[int], **options: Unpack[CallOptions]) -> int:
    """Cancel queued and running operations and return their number; a cancelled operation stores no result.

    Unknown ids, and ids of ended operations or of other personas, are ignored.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.jobs import cancel, enqueue_operation
    >>> db = open_database("sqlite://")
    >>> job_id = enqueue_operation("CONSOLIDATION", db=db)
    >>> cancel([job_id], db=db), cancel([job_id], db=db)
    (1, 0)
    """
    job_ids = _read_ids(ids, "ids")
    call = open_call(**options)
    return table.cancel(call.db, call.persona, job_ids)


def retry_operation(id: int, **options: Unpack[CallOptions]) -> WriteResult:  # noqa: A002 - as specified
    """Put a failed operation of the scope's persona back into the queue, and reset its number of tries.

    Returns `(True, id, "")`; reason `unchanged` if no such operation has failed; reason `refused` if the operation was
    queued with texts, because these were deleted when it failed.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.jobs import enqueue_operation, retry_operation
    >>> db = open_database("sqlite://")
    >>> job_id = enqueue_operation("CONSOLIDATION", db=db)
    >>> retry_operation(job_id, db=db).reason  # it has not failed
    'unchanged'
    """
    (job_id,) = _read_ids([id], "id")
    call = open_call(**options)
    done = table.retry(call.db, call.persona, job_id)
    if done is None:
        note = "the texts it worked on were emptied when it failed; queue it anew with them"
        return WriteResult(False, job_id, "refused", notes=(note,))
    return WriteResult(done, job_id, "" if done else "unchanged")


def list_operations(
    states: str | Iterable[str] = rules.STATES, limit: int = 100, **options: Unpack[CallOptions]
) -> list[ListedOperation]:
    """Return operations of the scope's persona, grouped by state; the groups are in the order of `states` below.

    Open operations are in the order of execution, ended operations newest first.

    Args:
        states: only operations in these states: in_progress, retrying, pending, failed, cancelled, completed.
        limit: maximum number of operations, 1 to 10,000.

    Raises ValueError for an unknown state or a limit out of range.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.jobs import enqueue_operation, list_operations
    >>> db = open_database("sqlite://")
    >>> low, high = [enqueue_operation("CONSOLIDATION", priority, db=db) for priority in ("LOW", "HIGH")]
    >>> [operation["id"] for operation in list_operations("pending", db=db)] == [high, low]
    True
    """
    chosen = [states] if isinstance(states, str) else all_items(states, "states")
    unknown = [each for each in chosen if each not in rules.STATES]
    if unknown:
        raise ValueError(f"state is {shown(unknown[0])}. It must be one of {', '.join(rules.STATES)}.")
    if (most := find_whole(limit)) is None or not 1 <= most <= 10_000:
        raise ValueError(f"limit is {shown(limit)}. It must be a whole number of operations, 1 to 10000.")
    call = open_call(**options)
    listed = read_operations(call.db, call.persona, chosen, most)
    known = overview.read_titles(call.db, call.persona, {each["conversation"] or "" for each in listed} - {""})
    for each in listed:
        key = each["conversation"] or ""
        each["conversation"] = plain_key(key) or None
        each["server"] = known[key].server_id if key in known else ""
    return listed


def count_operations(**options: Unpack[CallOptions]) -> dict[str, dict[str, int]]:
    """Return the number of operations of the scope's persona for each type and state; zeros are left out.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.jobs import count_operations, enqueue_operation
    >>> db = open_database("sqlite://")
    >>> job_id = enqueue_operation("CONSOLIDATION", db=db)
    >>> count_operations(db=db)
    {'CONSOLIDATION': {'pending': 1}}
    """
    call = open_call(**options)
    return table.count_by_type(call.db, call.persona)


def _read_ids(values: Iterable[int], field: str) -> list[int]:
    given = all_items(values, field)
    ids = [-1 if (number := find_whole(each)) is None else number for each in given]
    wrong = [each for each, number in zip(given, ids, strict=True) if not 0 <= number < 2**63]
    if wrong:
        raise MessageError(f"{field} holds {shown(wrong[0])}. It must be the id of an operation.", fields=(field,))
    return ids
