"""Decisions about operations: their order, their waits, what a failure means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

from ..shapes import OperationPriority, OperationState

PRIORITIES: tuple[OperationPriority, ...] = ("HIGH", "NORMAL", "LOW")
"""In the order of their turns; the place in this list is the number that is stored."""

TO_DO: tuple[OperationState, ...] = ("pending", "retrying")
"""States of an operation that waits for a worker."""

STATES: tuple[OperationState, ...] = ("in_progress", "retrying", "pending", "failed", "cancelled", "completed")
"""Every state, in the order lists show them: what goes on, what comes, what needs somebody, what is over."""

TEXTS = "texts"
"""The one key of a payload that may hold what was said; its value is emptied when the operation ends."""

FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 10, 300
MOST_ASKED_SECONDS = 3600
MAX_TRIES = 8
"""Tries of an operation before it has failed: with growing pauses, a model may be away for some minutes."""
ERROR_CHARS = 500
TYPE_BYTES = 32

Verdict = Literal["retry", "fail"]
"""retry: another try comes, later. fail: no try would end otherwise."""


def number_of(priority: str) -> int:
    """Return the number that is stored for a priority: lower comes first."""
    if priority not in PRIORITIES:
        raise ValueError(f"priority is {str(priority)[:40]!r}. It must be 'HIGH', 'NORMAL' or 'LOW'.")
    return PRIORITIES.index(priority)


def name_of(number: int) -> OperationPriority:
    """Return the name of a stored priority; a number out of range is that of its nearer end."""
    return PRIORITIES[max(0, min(number, len(PRIORITIES) - 1))]


def wait_seconds(tries: int, asked_seconds: float = 0.0) -> float:
    """Return how long to wait after the failed try number `tries`: 10 s, then twice as long each time, up to 300 s."""
    doublings = min(max(tries, 1) - 1, 10)  # a large number would be a power of thousands of digits
    wait: float = min(FIRST_WAIT_SECONDS * 2**doublings, LONGEST_WAIT_SECONDS)
    return max(wait, min(asked_seconds, MOST_ASKED_SECONDS))


def verdict(kinds: Sequence[str], reason: str = "") -> Verdict:
    """Return what a failure means: bad input and a refused login fail at once, everything else is tried again."""
    if "ModelError" in kinds:
        return "fail" if reason == "auth" else "retry"
    return "fail" if _FOR_GOOD.intersection(kinds) else "retry"


_FOR_GOOD = frozenset({"ConfigError", "MessageError", "ScopeError", "TransferError", "PromptTooLargeError"})


def error_text(kind: str, reason: str = "", number: int | None = None, cause: str = "") -> str:
    """Return what is kept of a failure: class, reason, class underneath, server's number."""
    text = f"{kind}: {reason}" if reason else kind
    facts = [cause] if cause else []
    facts += [str(number)] if number is not None else []
    return (f"{text} ({', '.join(facts)})" if facts else text)[:ERROR_CHARS]


UNREADABLE_ANSWER = error_text("ModelError", "unreadable")
"""Note of an operation that made its text without the model's answer."""


class Waiting(NamedTuple):
    """An operation that may be next, as far as its turn needs it."""

    id: int
    priority: int
    created_at: datetime
    depends_on: tuple[int, ...]
    status: str
    tries: int


class Turns(NamedTuple):
    """What a look at the operations that wait says."""

    ready: tuple[Waiting, ...]
    """May begin now, the next first."""
    failed: tuple[tuple[int, int], ...]
    """Id of an operation that cannot begin any more, and that of the dependency it fails with."""
    lost: tuple[int, ...]
    """Ids of those whose last allowed try ended with their worker."""


def choose_turns(waiting: Iterable[Waiting], states: Mapping[int, str]) -> Turns:
    """Return which operations may begin, HIGH before NORMAL before LOW, then older first."""
    ready: list[Waiting] = []
    failed: list[tuple[int, int]] = []
    lost: list[int] = []
    for each in sorted(waiting, key=lambda each: (each.priority, each.created_at, each.id)):
        dependencies = {other: states[other] for other in each.depends_on if other in states}
        broken = [other for other, state in dependencies.items() if state in ("failed", "cancelled")]
        if broken:
            failed.append((each.id, broken[0]))
        elif each.status == "in_progress" and each.tries >= MAX_TRIES:
            lost.append(each.id)
        elif all(state == "completed" for state in dependencies.values()):
            ready.append(each)
    return Turns(tuple(ready), tuple(failed), tuple(lost))
