"""Updating what is derived from a conversation: which messages are hidden, which recaps are included.

Everything up to the scene break before the newest scenes is hidden, the rest shown. A refresh that has nothing to
change reads the breaks and whether any message is on the wrong side, no more.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple, TypedDict

from ...access import table_conversations
from ...calls.call import GivenSettings, open_call
from ...config import Settings
from ...database.engine import Connection, Database
from ...database.readers import Reader, reader_in
from ...messages import table_hidden
from ...messages.table_hidden import Place
from ...scope import Scope
from ...text.sizes import Counter
from ..calls import StoryCall, open_conversation
from . import inclusion, rules


class Refresh(NamedTuple):
    """What a refresh changed."""

    ranges: rules.HideRanges = rules.HideRanges()
    """What was hidden and shown."""
    included: tuple[int, ...] = ()
    """Messages whose recaps are included now, newest first."""
    changed: int = 0
    """Recaps whose `include` changed."""


def refresh(call: StoryCall, disabled: Collection[str] = (), counter: Counter | None = None) -> Refresh:
    """Update what is hidden and included, in a transaction of its own."""
    if call.place is None:
        return Refresh()
    return call.db.idempotent_transaction(
        lambda connection: refresh_within(
            connection, call.persona, call.conversation, call.settings, counter, disabled
        ),
        source="message_recaps",
    )


def refresh_within(
    connection: Connection,
    persona: str,
    conversation: str,
    settings: Settings,
    counter: Counter | None = None,
    disabled: Collection[str] = (),
) -> Refresh:
    """Update what is hidden and included, within a transaction."""
    table_conversations.find(connection, persona, conversation, lock=True)
    ranges, last_hidden = plan_hiding(reader_in(connection), persona, conversation, settings.auto_hide_scene_count)
    if ranges.hide or ranges.show:
        table_hidden.update_hidden(connection, persona, conversation, last_hidden)
    return Refresh(ranges, *inclusion.update_included(connection, persona, conversation, settings, counter, disabled))


# What is hidden


class HidePlan(TypedDict):
    """What `auto_hide_plan` returns: first and last index of each contiguous range, rising."""

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
    """Return which messages a refresh would hide and show, as ranges of indexes; nothing is changed.

    Args:
        count: newest scenes that stay, the current one included: 1 and 0 hide through the last break, below 0 changes
            nothing; None is AUTO_HIDE_SCENE_COUNT.
        conversation: its key; None is the scope's.

    Returns:
        `hide` and `show`, each a list of `(first, last)`; both empty if nothing would change.

    Raises:
        StoreReadError: nothing could be read.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.chat_history_cache import save_chat_message
    >>> from prompt_engine.stories import add_scene_break, auto_hide_plan
    >>> db = open_database("sqlite://")
    >>> message = save_chat_message("web/42", "Ann left the house.", sender_id="ann", db=db).id
    >>> add_scene_break(message, db=db).stored, auto_hide_plan(2, "web/42", db=db)  # shows what one scene hid
    (True, {'hide': [], 'show': [(0, 0)]})
    """
    call = open_conversation(open_call(db, settings, scope), conversation)
    if call.place is None:
        return {"hide": [], "show": []}
    wanted = call.settings.auto_hide_scene_count if count is None else count
    ranges, _ = _plan_all(call.reader("chat_history_cache"), call.persona, call.conversation, wanted)
    return {"hide": list(ranges.hide), "show": list(ranges.show)}


def _plan_all(read: Reader, persona: str, conversation: str, count: int) -> tuple[rules.HideRanges, Place | None]:
    """Return the plan, and the newest message to be hidden."""
    order = table_hidden.read_rows(read, persona, conversation)
    at = {row.row_id: index for index, row in enumerate(order)}
    breaks = [at[place.row_id] for place in table_hidden.read_breaks(read, persona, conversation) if place.row_id in at]
    plan = rules.plan_hiding(breaks, count, [row.hidden for row in order])
    start = rules.visible_start(breaks, count)
    return plan, order[start - 1].place if start else None


def plan_hiding(read: Reader, persona: str, conversation: str, count: int) -> tuple[rules.HideRanges, Place | None]:
    """Return the plan, empty when all is as it should be, and the newest message to be hidden."""
    if count < 0:
        return rules.HideRanges(), None
    newest = table_hidden.read_newest_breaks(read, persona, conversation, max(count, 1))
    # Of the breaks alone: with fewer than `count` of them nothing is hidden, else all up to the first of the newest.
    last = newest[0] if rules.visible_start(range(len(newest)), count) else None
    if not table_hidden.is_misplaced(read, persona, conversation, last):
        return rules.HideRanges(), None
    return _plan_all(read, persona, conversation, count)
