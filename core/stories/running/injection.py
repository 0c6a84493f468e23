"""The running recap as it is put into a prompt: which text, where, as whom."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, TypedDict

from ...base import logs
from ...calls.call import GivenSettings, open_call
from ...config import Settings
from ...context import injection as context_injection
from ...context.injection import Injection
from ...database import rows
from ...database.engine import Connection, Database
from ...scope import Scope
from ...shapes import WriteResult
from ...templates.render import Renderer
from ...text.counters import Counter
from .. import token_counts
from ..calls import NO_CONVERSATION, StoryCall, open_conversation
from ..recaps import refresh
from ..recaps.rules import corrected, limit_tokens
from . import table as running_table
from .parts import Story, fit, read_story

TEMPLATE = "running_recap.txt.j2"


def render_story(story: Story, renderer: Renderer) -> str:
    """Return a recap in parts as one text."""
    entities = [f"{name}: {said}" if said else name for name, said in story.entities]
    return renderer.text(
        "running_recap_parts.txt.j2",
        developments=list(story.developments),
        open=list(story.open),
        state=story.state,
        entities=entities,
    ).strip()


class Shown(NamedTuple):
    """A running recap as it is shown."""

    text: str = ""
    """Blank when nothing of it fits."""
    dropped: int = 0
    """Parts left out for the limit."""
    notes: tuple[str, ...] = ()


def fit_version(
    content: str,
    data: Mapping[str, Any] | None,
    provenance: str,
    settings: Settings,
    counter: Counter | None = None,
) -> Shown:
    """Return the text of a version, as its template has it, cut to RUNNING_RECAP_CONTEXT_LIMIT."""
    if not content.strip():
        return Shown()
    by = token_counts.choose_counter(counter, settings)
    room = limit_tokens(settings.running_recap_context_limit, "percent", settings.context_tokens)
    renderer = Renderer(settings.templates_dir)

    def framed(text: str) -> str:
        made = renderer.text(TEMPLATE, running_recap=text, provenance=provenance) if text else ""
        return made.strip() or text

    def fits(text: str) -> bool:
        return corrected(by.count(framed(text)), settings.token_correction) <= room

    if fits(content):
        return Shown(framed(content), notes=tuple(renderer.notes))
    cut = fit(read_story(data, content), lambda story: render_story(story, renderer), fits)
    text = framed(cut.text) if cut.text else ""
    return Shown(text, max(1, cut.dropped), tuple(renderer.notes))


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
    call = open_conversation(open_call(db, settings, scope), conversation).handed_out()
    return build_injection(call, position=position, depth=depth, role=role, scan=scan, counter=counter)


def build_injection(
    call: StoryCall,
    *,
    position: object = None,
    depth: object = None,
    role: object = None,
    scan: bool | None = None,
    counter: Counter | None = None,
) -> Injection:
    """Do what `get_running_recap_injection` does, for a call that has begun."""
    place = read_placement(call.settings)
    made: Injection = {
        "key": context_injection.KEY,
        "value": "",
        "position": place["position"] if position is None else context_injection.check_position(position),
        "depth": place["depth"] if depth is None else context_injection.check_depth(depth),
        "scan": place["scan"] if scan is None else bool(scan),
        "role": place["role"] if role is None else context_injection.check_role(role),
    }
    if call.place is None or call.place.stories_off:
        return made
    found = running_table.find_current(call.reader("running_recaps"), call.persona, call.conversation)
    if found is None:
        return made
    text = fit_version(found.content, found.data, found.provenance, call.settings, counter)
    if text.dropped:
        logs.event(logging.INFO, "running_recap_cut", version=found.number, dropped=text.dropped)
    return {**made, "value": text.text}


def read_placement(settings: Settings) -> Injection:
    """Return where the settings put the running recap, with a blank value."""
    return {
        "key": context_injection.KEY,
        "value": "",
        "position": settings.scene_recap_position,
        "depth": settings.scene_recap_depth,
        "scan": settings.scene_recap_scan,
        "role": settings.scene_recap_role,
    }


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

    changed = call.db.repeat(work, source="conversations")
    return WriteResult(True, None) if changed else NO_CONVERSATION


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
    done = refresh.refresh(call, disabled, counter)
    placed = build_injection(call.handed_out(), counter=counter)
    return {
        "hidden": list(done.plan.hide),
        "shown": list(done.plan.show),
        "included": list(done.included[::-1]),
        "changed": done.changed,
        "running_recap": placed["value"],
        "injection": placed,
    }
