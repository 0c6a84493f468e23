"""Decisions about operations: their order, their waits, what a failure means. Pure.

Used by `jobs.table` and `jobs`; nothing here knows a database or a clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple, cast

from ..shapes import OperationPriority, OperationState

TYPES: tuple[str, ...] = (
    "RECAP", "SCENE_DETECTION", "SCENE_RECAP", "RUNNING_SCENE_RECAP", "REFRESH", "CONVERSATION_SUMMARY",
    "CONSOLIDATION", "DEEP_CONSOLIDATION", "EMBED",
)  # fmt: skip
"""The types this package itself queues; hosts may register more (`jobs.register_handler`)."""

PRIORITIES: tuple[OperationPriority, ...] = ("HIGH", "NORMAL", "LOW")
"""In the order of their turns; the place in this list is the number that is stored."""

TO_DO: tuple[OperationState, ...] = ("pending", "retrying")
"""States of an operation that waits for a worker."""

OPEN: tuple[OperationState, ...] = (*TO_DO, "in_progress")
"""States of an operation that has not ended."""

STATES: tuple[OperationState, ...] = ("in_progress", "retrying", "pending", "failed", "cancelled", "completed")
"""Every state, in the order lists show them: what goes on, what comes, what needs somebody, what is over."""

TEXTS = "texts"
"""The one key of a payload that may hold what was said; its value is emptied when the operation ends."""

FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 10, 300
MOST_ASKED_SECONDS = 3600
ERROR_CHARS = 500
TYPE_BYTES = 32

Verdict = Literal["retry", "fail"]
"""retry: another try comes, later. fail: no try would end otherwise."""


def number_of(priority: str) -> int:
    """Return the number that is stored for a priority: lower comes first.

    Raises:
        ValueError: none of HIGH, NORMAL, LOW.

    >>> [number_of(name) for name in ("HIGH", "NORMAL", "LOW")]
    [0, 1, 2]
    """
    for number, name in enumerate(PRIORITIES):
        if name == priority:
            return number
    raise ValueError(f"priority is {str(priority)[:40]!r}. It must be 'HIGH', 'NORMAL' or 'LOW'.")


def name_of(number: int) -> OperationPriority:
    """Return the name of a stored priority; a number out of range is that of its nearer end.

    >>> name_of(0), name_of(1), name_of(99)
    ('HIGH', 'NORMAL', 'LOW')
    """
    return PRIORITIES[max(0, min(number, len(PRIORITIES) - 1))]


def wait_seconds(tries: int, asked_seconds: float = 0.0) -> float:
    """Return how long to wait after the failed try number `tries`: 10 s, then twice as long each time, at most 300 s.

    Args:
        tries: tries begun so far, 1 or more.
        asked_seconds: how long the model's server asks to be left alone; counts where it is longer, up to an hour.

    >>> [wait_seconds(tries) for tries in range(1, 8)]
    [10, 20, 40, 80, 160, 300, 300]
    >>> wait_seconds(1, 45.0), wait_seconds(7, 1e9)
    (45.0, 3600)
    """
    doublings = min(max(tries, 1) - 1, 10)  # a large number would be a power of thousands of digits
    wait: float = min(FIRST_WAIT_SECONDS * 2**doublings, LONGEST_WAIT_SECONDS)
    return max(wait, min(asked_seconds, MOST_ASKED_SECONDS))


def is_last(tries: int, max_tries: int) -> bool:
    """Return whether no try follows the one of this number.

    Args:
        max_tries: JOB_MAX_TRIES; 0 never gives up.

    >>> is_last(8, 8), is_last(7, 8), is_last(1000, 0)
    (True, False, False)
    """
    return 0 < max_tries <= tries


def verdict(kinds: Sequence[str], reason: str = "") -> Verdict:
    """Return what a failure means: bad input and a refused login fail at once, everything else is tried again.

    Args:
        kinds: names of the exception's class and of those above it.
        reason: why a model failed, as ModelError has it.

    Returns:
        `fail` for a ModelError of reason `auth` and for what a person has to mend first (ConfigError, MessageError,
        ScopeError, TransferError, PromptTooLargeError); `retry` for models, databases and all that was not foreseen.

    >>> verdict(["ModelError", "CoreError"], "auth"), verdict(["ModelError", "CoreError"], "timeout")
    ('fail', 'retry')
    >>> verdict(["ScopeError", "CoreError"]), verdict(["KeyError"])
    ('fail', 'retry')
    """
    if "ModelError" in kinds:
        return "fail" if reason == "auth" else "retry"
    return "fail" if _FOR_GOOD.intersection(kinds) else "retry"


_FOR_GOOD = frozenset({"ConfigError", "MessageError", "ScopeError", "TransferError", "PromptTooLargeError"})


def error_text(kind: str, reason: str = "", number: int | None = None, cause: str = "") -> str:
    """Return what is kept of a failure: class, reason, class underneath, server's number. Never what was said.

    Args:
        cause: class of what a model raised: `ConnectError` says that nothing listens, where `error` says little.

    >>> error_text("ModelError", "timeout"), error_text("StoreWriteError", "memories", 1205), error_text("KeyError")
    ('ModelError: timeout', 'StoreWriteError: memories (1205)', 'KeyError')
    >>> error_text("ModelError", "error", None, "ConnectError"), error_text("ModelError", "error", 500, "APIError")
    ('ModelError: error (ConnectError)', 'ModelError: error (APIError, 500)')
    """
    made = f"{kind}: {reason}" if reason else kind
    facts = [cause] if cause else []
    facts += [str(number)] if number is not None else []
    return (f"{made} ({', '.join(facts)})" if facts else made)[:ERROR_CHARS]


def shown_state(status: str, lease_until: datetime | None, now: datetime) -> OperationState:
    """Return the state of an operation as it is now: pending again once the lease of its worker has ended.

    >>> from datetime import UTC, timedelta
    >>> noon = datetime(2026, 3, 10, 12, tzinfo=UTC)
    >>> shown_state("in_progress", noon, noon), shown_state("in_progress", noon + timedelta(seconds=1), noon)
    ('pending', 'in_progress')
    """
    is_over = status == "in_progress" and (lease_until is None or lease_until <= now)
    return "pending" if is_over else cast("OperationState", status)


class Waiting(NamedTuple):
    """An operation that may be next, as far as its turn needs it."""

    id: int
    type: str
    priority: int
    created_at: datetime
    depends_on: tuple[int, ...]
    status: str
    tries: int
    queue_version: int


class Turns(NamedTuple):
    """What a look at the operations that wait says."""

    ready: tuple[Waiting, ...]
    """May begin now, the next first."""
    failed: tuple[tuple[int, int], ...]
    """Id of an operation that cannot begin any more, and that of the dependency it fails with."""
    outdated: tuple[int, ...]
    """Ids of those put into a queue that has been cleared since."""
    lost: tuple[int, ...]
    """Ids of those whose last allowed try ended with their worker."""


def choose_turns(waiting: Iterable[Waiting], states: Mapping[int, str], version: int, max_tries: int = 0) -> Turns:
    """Return which operations may begin, HIGH before NORMAL before LOW, then older first.

    Args:
        waiting: operations that no worker has.
        states: id to state of those they depend on; one that is not there counts as done.
        version: the queue's version now.
        max_tries: JOB_MAX_TRIES.

    >>> when = datetime(2026, 3, 10)
    >>> queue = [Waiting(n, "RECAP", p, when, (), "pending", 0, 0) for n, p in ((1, 1), (2, 0), (3, 1), (4, 0))]
    >>> [each.id for each in choose_turns(queue, {}, 0).ready]
    [2, 4, 1, 3]
    """
    ready: list[Waiting] = []
    failed: list[tuple[int, int]] = []
    outdated: list[int] = []
    lost: list[int] = []
    for each in sorted(waiting, key=lambda each: (each.priority, each.created_at, each.id)):
        known = {other: states[other] for other in each.depends_on if other in states}
        broken = [other for other, state in known.items() if state in ("failed", "cancelled")]
        if each.queue_version != version:
            outdated.append(each.id)
        elif broken:
            failed.append((each.id, broken[0]))
        elif each.status == "in_progress" and is_last(each.tries, max_tries):
            lost.append(each.id)
        elif all(state == "completed" for state in known.values()):
            ready.append(each)
    return Turns(tuple(ready), tuple(failed), tuple(outdated), tuple(lost))
