"""The refresh a host asks for: what is hidden, what is included, and the running recap as it is injected."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypedDict

from ..context.injection import Injection
from ..database.engine import Database
from ..scope import Scope
from ..text.counters import Counter
from . import refresh as refreshing
from .calls import Given, of_conversation
from .running import injection


class Refreshed(TypedDict):
    """What `refresh_memory` gives. Keys stand in this order."""

    hidden: list[tuple[int, int]]
    """Ranges of indexes that were hidden by this call."""
    shown: list[tuple[int, int]]
    """Ranges of indexes that were shown again."""
    included: list[int]
    """Row ids of the messages whose recaps are included now, oldest first."""
    changed: int
    """Recaps whose `include` changed."""
    running_recap: str
    """Text of the running recap as it is injected; blank without one."""
    injection: Injection
    """What is injected and where."""


def refresh_memory(
    conversation: object = None,
    *,
    disabled: Collection[str] = (),
    counter: Counter | None = None,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> Refreshed:
    """Hide and show messages, work out which recaps are included, and return both with what is injected.

    To be called after a setting, a break or a recap was changed by hand; operations do it themselves. Changes are
    written SAVE_DEBOUNCE_SECONDS later, and reads of this process know at once. A second call changes nothing.

    Args:
        conversation: its key; None is the scope's.
        disabled: sender ids or names of characters that are disabled in the group.
        counter: `text -> int`; by default that of LLM_MODEL.

    Raises:
        StoreReadError: nothing could be read.
    """
    call = of_conversation(conversation, db, settings, scope)
    done = refreshing.refresh(call, disabled, counter)
    placed = injection.of_call(call.handed_out(), counter=counter)
    return {
        "hidden": list(done.plan.hide),
        "shown": list(done.plan.show),
        "included": list(done.included[::-1]),
        "changed": done.changed,
        "running_recap": placed["value"],
        "injection": placed,
    }
