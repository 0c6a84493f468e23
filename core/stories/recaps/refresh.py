"""Bringing a conversation's derived data up to date: which messages are hidden, which recaps are included.

What is hidden turns on one place: the scene break before the newest scenes. Everything up to it is hidden, the rest
shown. A refresh that has nothing to change asks for the breaks and whether a message stands on the wrong side, no more.

| called by | for |
|---|---|
| `running.injection.refresh_memory` | a host |
| breaks and alternatives made or chosen by hand | `refresh` |
| the handlers of operations, within the transaction that stores their text | `refresh_within` |
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple, TypedDict

from ...audience import table_conversations
from ...calls.call import GivenSettings, open_call
from ...config import Settings
from ...database import readers, rows
from ...database.engine import Connection, Database
from ...database.readers import Reader
from ...messages import table_hidden
from ...messages.table_hidden import Place, Row
from ...scope import Scope
from ...text.counters import Counter
from .. import delayed_writes, token_counts
from ..calls import StoryCall, open_conversation
from ..delayed_writes import Pending
from . import inclusion, rules_hiding


class Done(NamedTuple):
    """What a refresh worked out."""

    plan: rules_hiding.Plan = rules_hiding.Plan()
    """What was hidden and shown."""
    included: tuple[int, ...] = ()
    """Messages whose recaps are included now, newest first."""
    changed: int = 0
    """Recaps whose `include` changed."""


def refresh_later(call: StoryCall, disabled: Collection[str] = (), counter: Counter | None = None) -> Done:
    """Work out what is hidden and included, and keep what changed for the next write."""
    if call.place is None:
        return Done()
    db, persona, conversation, settings = call.db, call.persona, call.conversation, call.settings
    saver = delayed_writes.get_saver(db)
    # 1. what is hidden
    held = saver.pending(persona, conversation)
    plan, hides = plan_hiding(
        call.reader("chat_history_cache"), persona, conversation, settings.auto_hide_scene_count, held=held
    )
    # 2. what is included
    by = token_counts.choose_counter(counter, settings)
    chosen, change = inclusion.plan_inclusion(
        db, call.reader(), persona, conversation, settings, by, disabled, held=held
    )
    changed = len(change.include)
    # 3. both are written together, in a moment
    change.add(hides)
    saver.note(persona, conversation, change, settings.save_debounce_seconds)
    return Done(plan, chosen, changed)


def refresh_within(connection: Connection, db: Database, persona: str, conversation: str, settings: Settings) -> None:
    """Bring what is hidden and included up to date within a transaction, and write it there at once."""
    table_conversations.find(connection, persona, conversation, lock=True)
    read = readers.on(connection)
    by = token_counts.choose_counter(None, settings)
    _, hides = plan_hiding(read, persona, conversation, settings.auto_hide_scene_count)
    _, change = inclusion.plan_inclusion(db, read, persona, conversation, settings, by)
    change.add(hides)
    change.write(connection, persona, conversation)


# What is hidden


class HidePlan(TypedDict):
    """What `auto_hide_plan` gives: first and last index of each contiguous range, rising."""

    hide: list[tuple[int, int]]
    show: list[tuple[int, int]]


def auto_hide_plan(
    count: int | None = None,
    conversation: object = None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> HidePlan:
    """Return which messages are to be hidden and which shown, changes only, as ranges of indexes; nothing is changed.

    Args:
        count: newest scenes that stay, the one under way counted: 1 and 0 hide through the last break, below 0
            changes nothing; None is AUTO_HIDE_SCENE_COUNT.
        conversation: its key; None is the scope's.

    Returns:
        `hide` and `show`, each a list of `(first, last)`; both empty where all is as it should be.

    Raises:
        MessageError: `count` is no whole number.
        StoreReadError: nothing could be read.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.chat_history_cache import save_chat_message
    >>> from prompt_engine.stories import add_scene_break, auto_hide_plan
    >>> db = open_database("sqlite://")
    >>> message = save_chat_message("web/42", "Ann left the house.", sender_id="ann", db=db).id
    >>> add_scene_break(message, db=db).stored, auto_hide_plan(2, "web/42", db=db)  # shows what one scene hid
    (True, {'hide': [], 'show': [(0, 0)]})
    """
    asked = rows.number(count, "count")
    call = open_conversation(open_call(db, settings, scope), conversation)
    if call.place is None:
        return {"hide": [], "show": []}
    wanted = call.settings.auto_hide_scene_count if asked is None else asked
    held = delayed_writes.get_saver(call.db).pending(call.persona, call.conversation)
    made, _ = _whole_plan(call.reader("chat_history_cache"), call.persona, call.conversation, wanted, held)
    return {"hide": list(made.hide), "show": list(made.show)}


def _whole_plan(
    read: Reader, persona: str, conversation: str, count: int, held: Pending
) -> tuple[rules_hiding.Plan, Place | None]:
    """Return the plan, and the newest message to be hidden."""
    order = table_hidden.read_rows(read, persona, conversation)
    at = {row.row_id: index for index, row in enumerate(order)}
    breaks = [at[place.row_id] for place in table_hidden.read_breaks(read, persona, conversation) if place.row_id in at]
    plan = rules_hiding.plan(breaks, count, [_is_hidden(row, held) for row in order])
    start = rules_hiding.visible_start(breaks, count)
    return plan, order[start - 1].place if start else None


def _is_hidden(row: Row, held: Pending) -> bool | None:
    if not held.hides or row.hidden is None:
        return row.hidden
    return held.last_hidden is not None and row.place <= held.last_hidden


def plan_hiding(
    read: Reader, persona: str, conversation: str, count: int, *, held: Pending | None = None
) -> tuple[rules_hiding.Plan, Pending]:
    """Return the plan and what is to be written for it; both are empty when all is as it should be."""
    held = held or Pending()
    if count < 0:
        return rules_hiding.Plan(), Pending()
    newest = table_hidden.read_newest_breaks(read, persona, conversation, max(count, 1))
    # Of the breaks alone: with fewer than `count` of them nothing is hidden, else all up to the first of the newest.
    last = newest[0] if rules_hiding.visible_start(range(len(newest)), count) else None
    if held.hides and held.last_hidden == last:  # about to be so
        return rules_hiding.Plan(), Pending()
    if not held.hides and not table_hidden.is_misplaced(read, persona, conversation, last):
        return rules_hiding.Plan(), Pending()
    plan, last = _whole_plan(read, persona, conversation, count, held)
    return plan, Pending(last_hidden=last, hides=True) if plan.hide or plan.show else Pending()
