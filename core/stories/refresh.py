"""Bringing a conversation's derived data up to date: what is hidden, what is included.

| called by | for |
|---|---|
| `memory.refresh_memory` | a host |
| breaks and alternatives made or chosen by hand | `refresh` |
| the handlers of operations, within the transaction that stores their text | `refresh_within` |
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from ..audience import table_conversations as conversations
from ..config import Settings
from ..database import readers
from ..database.engine import Database
from ..text.counters import Counter
from . import delayed_writes as saving
from . import token_counts as counting
from .calls import Call
from .recaps import hiding, inclusion
from .recaps.rules_hiding import Plan

if TYPE_CHECKING:
    from sqlalchemy import Connection


class Done(NamedTuple):
    """What a refresh worked out."""

    plan: Plan = Plan()
    """What was hidden and shown."""
    included: tuple[int, ...] = ()
    """Messages whose recaps are included now, newest first."""
    changed: int = 0
    """Recaps whose `include` changed."""


def refresh(call: Call, disabled: Collection[str] = (), counter: Counter | None = None) -> Done:
    """Work out what is hidden and included, and keep what changed for the next write."""
    if call.place is None:
        return Done()
    db, persona, conversation, settings = call.db, call.persona, call.conversation, call.settings
    saver = saving.of(db)
    # 1. what is hidden
    held = saver.pending(persona, conversation)
    plan, hides = hiding.work_out(
        call.reader("chat_history_cache"), persona, conversation, settings.auto_hide_scene_count, held=held
    )
    # 2. what is included
    by = counting.of(counter, settings)
    chosen, change = inclusion.work_out(db, call.reader(), persona, conversation, settings, by, disabled, held=held)
    changed = len(change.include)
    # 3. both are written together, in a moment
    change.add(hides)
    saver.note(persona, conversation, change, settings.save_debounce_seconds)
    return Done(plan, chosen, changed)


def refresh_within(connection: Connection, db: Database, persona: str, conversation: str, settings: Settings) -> None:
    """Bring what is hidden and included up to date within a transaction, and write it there at once.

    Operations do this with the text they store, so that what they leave behind is whole. The conversation is held
    meanwhile: of two that store a recap at a time the second sees that of the first.
    """
    conversations.find(connection, persona, conversation, lock=True)
    read = readers.on(connection)
    by = counting.of(None, settings)
    _, hides = hiding.work_out(read, persona, conversation, settings.auto_hide_scene_count)
    _, change = inclusion.work_out(db, read, persona, conversation, settings, by)
    change.add(hides)
    change.write(connection, persona, conversation)
