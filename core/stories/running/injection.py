"""The running recap as it is put into a prompt: which text, where, as whom."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import NamedTuple, TypedDict

from ...base import logs
from ...calls.call import GivenSettings, open_call
from ...config import Settings
from ...context import injection as context_injection
from ...context.injection import Injection
from ...context.lines import mark_lines
from ...database import rows
from ...database.engine import Connection, Database
from ...scope import Scope
from ...shapes import WriteResult
from ...templates.render import Renderer
from ...text.sizes import Counter
from ..calls import NO_CONVERSATION, StoryCall, open_conversation
from ..recaps import refresh
from ..recaps.inclusion import choose_counter
from ..recaps.rules import limit_tokens
from . import table as running_table
from .rules import fit_text

TEMPLATE = "running_recap.txt.j2"


class FittedRecap(NamedTuple):
    """A running recap as a prompt shows it."""

    text: str = ""
    """Blank when nothing of it fits."""
    dropped: int = 0
    """Sentences left out for the limit, the oldest ones."""
    notes: tuple[str, ...] = ()


def fit_version(content: str, provenance: str, settings: Settings, counter: Counter | None = None) -> FittedRecap:
    """Return the text of a version, as its template has it, cut to RUNNING_RECAP_CONTEXT_LIMIT."""
    if not content.strip():
        return FittedRecap()
    count = choose_counter(counter, settings)
    room = limit_tokens(settings.running_recap_context_limit, "percent", settings.context_tokens)
    renderer = Renderer(settings.templates_dir)

    def render(text: str) -> str:
        return (renderer.text(TEMPLATE, running_recap=text, provenance=provenance).strip() or text) if text else ""

    text, dropped = fit_text(content, lambda part: count(render(part)) <= room)
    return FittedRecap(render(text), dropped, tuple(renderer.notes))


def get_running_recap_injection(
    conversation: object = None,
    *,
    position: object = None,
    depth: object = None,
    role: object = None,
    scan: bool | None = None,
    counter: Counter | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> Injection:
    """Return what is to be put into a prompt for the running recap, and where.

    Args:
        conversation: its key; None is the scope's.
        position: before_prompt, in_prompt, in_chat or after_prompt; None is SCENE_RECAP_POSITION.
        depth: how many chat messages, the new one counted, come after it; None is SCENE_RECAP_DEPTH.
        role: system, user or assistant; None is SCENE_RECAP_ROLE.
        scan: whether the host looks in it for triggers; None is SCENE_RECAP_SCAN.
        counter: `text -> int`; by default that of LLM_MODEL.

    Returns:
        The value is blank without a recap, with stories off for the conversation, and where nothing of it fits into
        RUNNING_RECAP_CONTEXT_LIMIT.

    Raises:
        ValueError: position, depth or role cannot be used; names what can.
        StoreReadError: nothing could be read.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.chat_history_cache import save_chat_message
    >>> from prompt_engine.stories import add_running_recap_version, get_running_recap_injection
    >>> db = open_database("sqlite://")
    >>> message = save_chat_message("web/42", "Ann left the house.", sender_id="ann", db=db).id
    >>> add_running_recap_version("Ann left the house.", conversation="web/42", db=db)
    0
    >>> "Ann left" in get_running_recap_injection("web/42", db=db)["value"]
    True
    """
    call = open_conversation(open_call(db, settings, scope), conversation).redacted()
    placed = _build_injection(call, counter)
    if position is not None:
        placed["position"] = context_injection.check_position(position)
    if depth is not None:
        placed["depth"] = context_injection.check_depth(depth)
    if scan is not None:
        placed["scan"] = scan
    if role is not None:
        placed["role"] = context_injection.check_role(role)
    return placed


def _build_injection(call: StoryCall, counter: Counter | None) -> Injection:
    """Return the text of the running recap, where the settings put it."""
    return {
        "key": context_injection.KEY,
        "value": _read_text(call, counter),
        "position": call.settings.scene_recap_position,
        "depth": call.settings.scene_recap_depth,
        "scan": call.settings.scene_recap_scan,
        "role": call.settings.scene_recap_role,
    }


def _read_text(call: StoryCall, counter: Counter | None) -> str:
    if call.place is None or call.place.stories_off:
        return ""
    current = running_table.find_current(call.reader("running_recaps"), call.persona, call.conversation)
    if current is None:
        return ""
    fitted = fit_version(current.content, current.provenance, call.settings, counter)
    if fitted.dropped:
        logs.event(logging.INFO, "running_recap_cut", version=current.number, dropped=fitted.dropped)
    return mark_lines(fitted.text)


def switch_stories(
    on: bool,
    conversation: object = None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Switch stories on or off for a conversation: off, nothing is injected and operations make nothing new.

    What is stored stays.

    Args:
        conversation: its key; None is the scope's.

    Returns:
        `(True, None, "")`, or `unchanged`: it is so already, or there is no such conversation.

    Raises:
        MessageError: `on` is neither True nor False.
        StoreWriteError: nothing was changed.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.chat_history_cache import save_chat_message
    >>> from prompt_engine.stories import switch_stories
    >>> db = open_database("sqlite://")
    >>> message = save_chat_message("web/42", "Ann left the house.", sender_id="ann", db=db).id
    >>> switch_stories(False, "web/42", db=db).stored, switch_stories(False, "web/42", db=db).reason
    (True, 'unchanged')
    """
    switched = rows.yes_no(on, "on") == 1
    call = open_conversation(open_call(db, settings, scope), conversation)
    if call.place is None:
        return NO_CONVERSATION
    if call.place.stories_off is not switched:
        return WriteResult(False, None, "unchanged")

    def work(connection: Connection) -> bool:
        return running_table.update_stories_off(connection, call.persona, call.conversation, off=not switched)

    changed = call.db.idempotent_transaction(work, source="conversations")
    return WriteResult(True, None) if changed else NO_CONVERSATION


class Refreshed(TypedDict):
    """What `refresh_memory` returns. Keys stand in this order."""

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
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> Refreshed:
    """Hide and show messages, work out which recaps are included, and return both with what is injected.

    To be called after a setting, a break or a recap was changed by hand; operations do it themselves. A second
    call changes nothing.

    Args:
        conversation: its key; None is the scope's.
        disabled: sender ids or names of characters that are disabled in the group.
        counter: `text -> int`; by default that of LLM_MODEL.

    Returns:
        What was hidden and shown, what is included, how much of it changed, and what is injected.

    Raises:
        StoreReadError: nothing could be read.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.chat_history_cache import save_chat_message
    >>> from prompt_engine.stories import edit_memory, refresh_memory
    >>> db = open_database("sqlite://")
    >>> message = save_chat_message("web/42", "Ann left the house.", sender_id="ann", db=db).id
    >>> edit_memory(message, "Ann left.", db=db).stored, refresh_memory("web/42", db=db)["included"] == [message]
    (True, True)
    """
    call = open_conversation(open_call(db, settings, scope), conversation)
    refreshed = refresh.refresh(call, disabled, counter)
    placed = _build_injection(call.redacted(), counter)
    return {
        "hidden": list(refreshed.ranges.hide),
        "shown": list(refreshed.ranges.show),
        "included": list(refreshed.included[::-1]),
        "changed": refreshed.changed,
        "running_recap": placed["value"],
        "injection": placed,
    }
