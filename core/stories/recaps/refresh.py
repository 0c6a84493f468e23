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
from ...database import rows
from ...database.engine import Connection, Database
from ...database.readers import Reader, reader_in
from ...messages import table_hidden
from ...messages.table_hidden import Place
from ...scope import Scope
from ...text.counters import Counter
from .. import token_counts
from ..calls import StoryCall, open_conversation
from ..derived_changes import DerivedChange
from ..token_counts import Counting
from . import inclusion, rules_hiding


class Done(NamedTuple):
    """What a refresh worked out."""

    plan: rules_hiding.Plan = rules_hiding.Plan()
    """What was hidden and shown."""
    included: tuple[int, ...] = ()
    """Messages whose recaps are included now, newest first."""
    changed: int = 0
    """Recaps whose `include` changed."""


def refresh(call: StoryCall, disabled: Collection[str] = (), counter: Counter | None = None) -> Done:
    """Bring what is hidden and included up to date; a transaction begins only where something changes."""
    if call.place is None:
        return Done()
    db, persona, conversation, settings = call.db, call.persona, call.conversation, call.settings
    by = token_counts.choose_counter(counter, settings)
    done, change = _work_out(db, call.reader(), persona, conversation, settings, by, disabled)
    if not change:
        return done

    def work(connection: Connection) -> Done:
        table_conversations.find(connection, persona, conversation, lock=True)
        now, change = _work_out(db, reader_in(connection), persona, conversation, settings, by, disabled)
        change.write(connection, persona, conversation)
        return now

    return db.repeat(work, source="message_recaps")


def refresh_within(connection: Connection, db: Database, persona: str, conversation: str, settings: Settings) -> None:
    """Bring what is hidden and included up to date within a transaction."""
    table_conversations.find(connection, persona, conversation, lock=True)
    by = token_counts.choose_counter(None, settings)
    _, change = _work_out(db, reader_in(connection), persona, conversation, settings, by)
    change.write(connection, persona, conversation)


def _work_out(
    db: Database,
    read: Reader,
    persona: str,
    conversation: str,
    settings: Settings,
    by: Counting,
    disabled: Collection[str] = (),
) -> tuple[Done, DerivedChange]:
    """Return what is hidden and included, and what is to be written for that."""
    plan, last_hidden = plan_hiding(read, persona, conversation, settings.auto_hide_scene_count)
    chosen, change = inclusion.plan_inclusion(db, read, persona, conversation, settings, by, disabled)
    if plan.hide or plan.show:
        change.last_hidden, change.hides = last_hidden, True
    return Done(plan, chosen, len(change.include)), change


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
    made, _ = _whole_plan(call.reader("chat_history_cache"), call.persona, call.conversation, wanted)
    return {"hide": list(made.hide), "show": list(made.show)}


def _whole_plan(read: Reader, persona: str, conversation: str, count: int) -> tuple[rules_hiding.Plan, Place | None]:
    """Return the plan, and the newest message to be hidden."""
    order = table_hidden.read_rows(read, persona, conversation)
    at = {row.row_id: index for index, row in enumerate(order)}
    breaks = [at[place.row_id] for place in table_hidden.read_breaks(read, persona, conversation) if place.row_id in at]
    plan = rules_hiding.plan(breaks, count, [row.hidden for row in order])
    start = rules_hiding.visible_start(breaks, count)
    return plan, order[start - 1].place if start else None


def plan_hiding(read: Reader, persona: str, conversation: str, count: int) -> tuple[rules_hiding.Plan, Place | None]:
    """Return the plan, empty when all is as it should be, and the newest message to be hidden."""
    if count < 0:
        return rules_hiding.Plan(), None
    newest = table_hidden.read_newest_breaks(read, persona, conversation, max(count, 1))
    # Of the breaks alone: with fewer than `count` of them nothing is hidden, else all up to the first of the newest.
    last = newest[0] if rules_hiding.visible_start(range(len(newest)), count) else None
    if not table_hidden.is_misplaced(read, persona, conversation, last):
        return rules_hiding.Plan(), None
    return _whole_plan(read, persona, conversation, count)
