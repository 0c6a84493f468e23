"""Decisions about operations: order, pauses between tries, and which failures are final."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from ..base.hints import shown
from ..errors import ConfigError, MessageError, ModelError, PromptTooLargeError, ScopeError, TransferError
from ..shapes import OPEN_STATES, OperationPriority, OperationState

PRIORITIES: tuple[OperationPriority, ...] = ("HIGH", "NORMAL", "LOW")
"""Priorities in order of execution; the index in this tuple is the stored number."""

TO_DO: tuple[OperationState, ...] = ("pending", "retrying")
"""States in which an operation waits for a worker."""

STATES: tuple[OperationState, ...] = ("in_progress", "retrying", "pending", "failed", "cancelled", "completed")
"""All states in the order of lists: running, waiting, failed, ended."""

TEXTS = "texts"
"""Only payload key that may hold texts of messages; it is emptied when the operation ends."""

FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 10, 300
MOST_ASKED_SECONDS = 3600
MAX_TRIES = 8
"""Maximum number of tries of an operation; the pauses between them bridge some minutes without the model."""
ERROR_CHARS = 500


def number_of(priority: str) -> int:
    """Return the stored number of a priority; lower numbers run first."""
    if priority not in PRIORITIES:
        raise ValueError(f"priority is {shown(priority)}. It must be 'HIGH', 'NORMAL' or 'LOW'.")
    return PRIORITIES.index(priority)


def name_of(number: int) -> OperationPriority:
    """Return the name of a stored priority; a number out of range becomes the nearest valid priority."""
    return PRIORITIES[max(0, min(number, len(PRIORITIES) - 1))]


def wait_seconds(tries: int, asked_seconds: float = 0.0) -> float:
    """Return the seconds to wait after failed try number `tries`: 10 to 300; more if the server asks, up to 3600."""
    doublings = min(max(tries, 1) - 1, 10)  # a large number of tries would make a power with thousands of digits
    wait: float = min(FIRST_WAIT_SECONDS * 2**doublings, LONGEST_WAIT_SECONDS)
    return max(wait, min(asked_seconds, MOST_ASKED_SECONDS))


def is_final(failure: Exception) -> bool:
    """Return whether a retry is useless: invalid input and rejected log-ins are final, all other failures are not."""
    if isinstance(failure, ModelError):
        return failure.reason == "auth"
    return isinstance(failure, ConfigError | MessageError | ScopeError | TransferError | PromptTooLargeError)


def error_text(kind: str, reason: str = "", number: int | None = None, cause: str = "") -> str:
    """Format a failure for storing: error class, reason, cause, and the server's error number."""
    text = f"{kind}: {reason}" if reason else kind
    facts = [cause] if cause else []
    facts += [str(number)] if number is not None else []
    return (f"{text} ({', '.join(facts)})" if facts else text)[:ERROR_CHARS]


UNREADABLE_ANSWER = error_text("ModelError", "unreadable")
"""Note of an operation that could not read the model's answer."""


IN_ORDER = frozenset({"SCENE_RECAP"})
"""Types that wait for the operations they depend on, but do not fail with them."""


class Waiting(NamedTuple):
    id: int
    type: str
    priority: int
    created_at: datetime
    depends_on: tuple[int, ...]
    status: str
    tries: int


class Turns(NamedTuple):
    """Open operations by the next step: begin them, or fail them because a dependency failed or their worker died."""

    ready: tuple[Waiting, ...]
    """Operations that may begin now, in order of execution."""
    failed: tuple[tuple[int, int], ...]
    """Pairs of an operation's id and the id of its failed dependency."""
    lost: tuple[int, ...]
    """Ids of operations whose worker died during the last allowed try."""
    total: int
    """Number of waiting operations, including those that wait for other operations."""


def choose_turns(waiting: Sequence[Waiting], states: Mapping[int, str]) -> Turns:
    """Return which operations may begin, by priority and age, and which must fail; `states`: of dependencies."""
    ready: list[Waiting] = []
    failed: list[tuple[int, int]] = []
    lost: list[int] = []
    for each in sorted(waiting, key=lambda each: (each.priority, each.created_at, each.id)):
        dependencies = {other: states[other] for other in each.depends_on if other in states}
        broken = [other for other, state in dependencies.items() if state in ("failed", "cancelled")]
        if broken and each.type not in IN_ORDER:
            failed.append((each.id, broken[0]))
        elif each.status == "in_progress" and each.tries >= MAX_TRIES:
            lost.append(each.id)
        elif not any(state in OPEN_STATES for state in dependencies.values()):
            ready.append(each)
    return Turns(tuple(ready), tuple(failed), tuple(lost), len(waiting))
