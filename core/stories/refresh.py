"""Computes which message recaps are included in prompts, and which messages the scenes hide.

Recaps are included from the newest message back until the limit. All messages up to the break before the newest scenes
are hidden. A refresh without changes reads only the breaks, the included recaps, and whether any message must change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial
from hashlib import blake2b
from typing import NamedTuple, Unpack

from ..access import table_conversations
from ..base import logs
from ..calls.call import CallOptions, open_call, settings_of
from ..config import Settings
from ..database.compiled import Reader
from ..database.engine import Connection, Database
from ..memories.rules import read_number
from ..messages import table_hidden, table_lines, table_recaps
from ..messages.table_hidden import MessagePosition
from ..messages.table_lines import Line
from ..scope import Scope
from ..text.sizes import Counter
from . import rules_recaps
from .calls import StoryCall, choose_counter, no_such_message, open_conversation, open_message
from .rules_recaps import INCLUDED, HidePlan, Reason

PAGE = 100
"""Number of recaps read at once: about as many short recaps as fit the default limit."""
PROGRAM, DISABLED = "program_message", "disabled"
"""Metadata keys that mark a message of the chat program itself, and of a character disabled in the group."""


class Refresh(NamedTuple):
    plan: HidePlan
    included: tuple[int, ...] = ()
    """Row ids of the messages whose recaps are now included, newest first."""
    changed: int = 0


def refresh(call: StoryCall, disabled: Collection[str] = (), counter: Counter | None = None) -> Refresh:
    """In one transaction, update which messages are hidden and which recaps prompts include."""
    if call.place is None:
        return Refresh({"hide": [], "show": []})
    work = partial(refresh_within, call=call, disabled=disabled, counter=counter)
    return call.db.idempotent_transaction(work, source="message_recaps")


def refresh_within(
    connection: Connection, call: StoryCall, disabled: Collection[str] = (), counter: Counter | None = None
) -> Refresh:
    persona, conversation, count = call.persona, call.conversation, call.settings.auto_hide_scene_count
    table_conversations.find(connection, persona, conversation, lock=True)
    plan, last_hidden = _plan_changes(connection.execute, persona, conversation, count)
    if any(plan.values()):
        table_hidden.update_hidden(connection, persona, conversation, last_hidden)
    return Refresh(plan, *_update_included(connection, call, disabled, counter))


_FOLLOWED = (
    "auto_hide_scene_count", "include_user_messages", "include_system_messages", "include_narrator_messages",
    "message_length_threshold", "message_recap_context_limit", "message_recap_context_type", "context_tokens",
)  # fmt: skip
"""Settings that decide which messages are hidden and which recaps are included."""


def follow_settings(db: Database, persona: str, settings: Settings) -> None:
    """Refresh every story of a persona if a setting in `_FOLLOWED` changed since the last call."""
    values = repr([getattr(settings, name) for name in _FOLLOWED])
    digest = int.from_bytes(blake2b(values.encode(), digest_size=7).digest(), "big")
    current: dict[str, int] = db.caches.setdefault(__name__, {})
    if current.get(persona) == digest:
        return
    stories = [] if table_hidden.read_digest(db, persona) == digest else table_hidden.read_stories(db, persona)
    for conversation in stories:
        story = StoryCall(db, settings, Scope(persona, conversation))
        db.idempotent_transaction(partial(refresh_within, call=story), source="message_recaps")
    if stories:
        db.idempotent_transaction(lambda c: table_hidden.write_digest(c, db, persona, digest), source="counters")
    current[persona] = digest


def left_out(
    line: Line, text: str | None, settings: Settings, count: Counter, disabled: Collection[str] = ()
) -> Reason:
    """Return the first rule that excludes a message from recaps, or ""; only MESSAGE_LENGTH_THRESHOLD needs `text`."""
    threshold = settings.message_length_threshold
    named = [name for name in (line.sender_id, line.sender_name) if name]
    disabled = (disabled,) if isinstance(disabled, str) else disabled
    checks: tuple[tuple[Reason, bool], ...] = (
        ("program", line.metadata.get(PROGRAM) is True),
        ("excluded", line.excluded),
        ("user", line.role == "user" and not settings.include_user_messages),
        ("thought", line.role == "thought"),
        ("system", line.role == "system" and not settings.include_system_messages),
        ("narrator", line.role == "narrator" and not settings.include_narrator_messages),
        ("disabled", line.metadata.get(DISABLED) is True or any(name in disabled for name in named)),
        ("short", threshold > 0 and text is not None and count(text) < threshold),
    )
    return next((reason for reason, holds in checks if holds), "")


def _update_included(
    connection: Connection, call: StoryCall, disabled: Collection[str], counter: Counter | None
) -> tuple[tuple[int, ...], int]:
    """Store which recaps are included; return their messages, newest first, and the number of changed recaps."""
    persona, conversation, settings = call.persona, call.conversation, call.settings
    read, count = connection.execute, choose_counter(counter, settings)

    def candidates() -> Iterator[tuple[int, int]]:
        before = None
        while page := table_recaps.read_page(read, persona, conversation, PAGE, before=before):
            before, texts = page[-1][0], dict[int, str]()
            if settings.message_length_threshold > 0:
                texts = table_lines.read_texts(read, persona, [line.row_id for line, _ in page])
            for line, tokens in page:
                if not left_out(line, texts.get(line.row_id), settings, count, disabled):
                    yield line.row_id, tokens
            if len(page) < PAGE:
                return

    chosen = rules_recaps.choose(candidates(), read_limit(settings), separator_tokens=count("\n"))
    now = table_recaps.read_included(read, persona, conversation)
    new, old = [row for row in chosen if now.get(row) != INCLUDED], now.keys() - set(chosen)
    table_recaps.set_include(connection, persona, new, INCLUDED)
    table_recaps.set_include(connection, persona, old, None)
    return chosen, len(new) + len(old)


def check_message_exclusion(
    message: object,
    *,
    interface_path: object = None,
    disabled: Collection[str] = (),
    counter: Counter | None = None,
    **options: Unpack[CallOptions],
) -> Reason:
    """Return the name of the first rule that excludes a message from recaps, or "" if none does.

    Args:
        disabled: sender ids or names of characters that are disabled in the group.
        counter: function `text -> int` that counts tokens; by default the counter of LLM_MODEL.

    Returns:
        "", `program`, `excluded`, `user`, `thought`, `system`, `narrator`, `disabled` or `short`.

    Raises:
        MessageError: the scope sees no such message.
    """
    call = open_message(open_call(**options), message, interface_path)
    lines = [] if call.row_id is None else table_lines.read_lines(call.db.read, call.persona, [call.row_id])
    if not lines:
        raise no_such_message()
    return left_out(lines[0], lines[0].text, call.settings, choose_counter(counter, call.settings), disabled)


def get_short_token_limit(**options: Unpack[CallOptions]) -> int:
    """Return the token limit of all message recaps: MESSAGE_RECAP_CONTEXT_LIMIT, or this percentage of CONTEXT_TOKENS.

    >>> from prompt_engine.stories import get_short_token_limit
    >>> get_short_token_limit(settings={"CONTEXT_TOKENS": 8000, "MESSAGE_RECAP_CONTEXT_LIMIT": 10})
    800
    """
    return read_limit(settings_of(options))


def read_limit(settings: Settings) -> int:
    limit, kind = settings.message_recap_context_limit, settings.message_recap_context_type
    if kind == "percent" and limit > 100:
        used = rules_recaps.DEFAULT_PERCENT
        logs.warning("message_recap_context_limit", value=limit, allowed="0 to 100 percent", used=used)
    return rules_recaps.limit_tokens(limit, kind, settings.context_tokens)


def update_message_inclusion_flags(
    conversation: object = None,
    *,
    disabled: Collection[str] = (),
    counter: Counter | None = None,
    **options: Unpack[CallOptions],
) -> tuple[int, ...]:
    """Compute and store which recaps prompts include; return the row ids of their messages, oldest first.

    Args:
        disabled, counter: as for `check_message_exclusion`.
    """
    call = open_conversation(open_call(**options), conversation)
    if call.place is None:
        return ()

    def work(connection: Connection) -> tuple[int, ...]:
        table_conversations.find(connection, call.persona, call.conversation, lock=True)
        return _update_included(connection, call, disabled, counter)[0][::-1]

    return call.db.idempotent_transaction(work, source="message_recaps")


def concatenate_recap(
    recap: str, message: object, *, interface_path: object = None, **options: Unpack[CallOptions]
) -> str:
    """Put the recap of an older message in front of the text `recap`, and return the new text.

    Args:
        recap: the recaps so far, oldest first, one per line.
    """
    call = open_message(open_call(**options), message, interface_path).redacted()
    own = None if call.row_id is None else table_recaps.find_recap(call.db.read, call.persona, call.row_id)
    return rules_recaps.concatenate([own.memory if own and own.memory else "", *recap.splitlines()])


def auto_hide_plan(count: int | None = None, conversation: object = None, **options: Unpack[CallOptions]) -> HidePlan:
    """Return which messages the next refresh would hide or show, as ranges of indexes, without changing anything.

    Args:
        count: number of newest scenes that stay visible, including the unfinished scene. 1 and 0 hide all messages up
            to the last break; a negative number changes nothing; None is AUTO_HIDE_SCENE_COUNT.

    Returns:
        `hide` and `show`, each a list of `(first, last)`; both empty if nothing would change.
    """
    call = open_conversation(open_call(**options), conversation)
    if call.place is None:
        return {"hide": [], "show": []}
    wanted = read_number(count, "count", -(2**31), 2**31 - 1, call.settings.auto_hide_scene_count)
    return _plan_changes(call.db.read, call.persona, call.conversation, wanted)[0]


def _plan_changes(read: Reader, persona: str, conversation: str, count: int) -> tuple[HidePlan, MessagePosition | None]:
    """Return (ranges to hide and to show, newest message to hide); the ranges are empty if nothing would change."""
    nothing: HidePlan = {"hide": [], "show": []}
    if count < 0:
        return nothing, None
    newest = table_hidden.read_breaks(read, persona, conversation, max(count, 1))
    last = newest[0] if newest and len(newest) >= count else None  # fewer breaks than `count` hide nothing
    if not table_hidden.is_misplaced(read, persona, conversation, last):
        return nothing, None
    order = table_hidden.read_rows(read, persona, conversation)
    start = 0 if last is None else next((at for at, row in enumerate(order, 1) if row.row_id == last.row_id), 0)
    return rules_recaps.plan_hiding(start, [row.hidden for row in order]), last
