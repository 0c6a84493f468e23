"""The log of messages: saving, loading, clearing, editing, deleting.

A scope without conversation sees what a member of the requested conversation sees. A scope with another conversation
sees only the messages that a prompt in that other conversation would see.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import Any, TypedDict, Unpack, get_args

from .access.rules import plain_key
from .access.view import Viewer
from .base import logs
from .base.wire_ids import find_whole
from .calls.call import Call, CallOptions, find_key, load_viewer, open_call
from .calls.defaults import clock, handle, scope_for, scope_of, settings_for
from .config import GivenSettings
from .context.incoming import NON_TEXT, IncomingMessage, read_reply, read_role
from .database import rows
from .database.engine import Database
from .errors import MessageError
from .forgetting import table_followers
from .memories.rules import find_mark
from .messages import new_message, table_lines
from .messages import table as messages_table
from .messages.table_lines import Line
from .relationships import table as relationships_table
from .scope import Scope
from .search.rules_arguments import read_limit
from .shapes import PERSONA_SENDER, ChatLine, Role, Sender, WriteResult
from .stories.calls import NO_MESSAGE
from .text.host_values import get, text_at
from .text.times import iso_text

__all__ = ["CacheStats", "clear_chat_history", "delete_chat_message", "edit_chat_message", "get_cache_stats",
           "load_chat_history", "load_global_chat_history", "save_chat_message", "save_message"]  # fmt: skip


Store = Callable[..., WriteResult]
"""Stores one message; `is_answer` says that it answers the message that the same call stored just before."""
_MOST_LINES = 1000


class CacheStats(TypedDict):
    """The result of `get_cache_stats`. JSON keys appear in this order."""

    total_messages: int
    unique_interface_paths: int
    oldest_message: str | None
    """Time of the oldest message, ISO 8601, UTC; None without messages."""
    newest_message: str | None
    history_limit: int
    """Value of CHAT_HISTORY."""


def save_chat_message(
    interface_path: object,
    message_text: object,
    sender_name: object = None,
    sender_id: object = None,
    timestamp: object = None,
    metadata: object = None,
    *,
    message_id: object = None,
    role: object = None,
    triggered_by: object = None,
    title: object = None,
    server_name: object = None,
    reply_to: object = None,
    **options: Unpack[CallOptions],
) -> WriteResult:
    """Store one message, once.

    Args:
        interface_path: conversation key `interface/chat[/thread]`, at most 512 bytes.
        message_text: the text, at most 16 MB.
        sender_id: the platform's id of the speaker; `self` is the persona; the scope's participant by default.
        timestamp: datetime, ISO 8601 text or seconds since 1970, UTC if no zone is given; now if missing or unreadable.
        metadata: JSON values to store with the message; `load_chat_history` returns them.
        role: user, persona, system, narrator or thought; by default persona for sender_id `self`, else user.
        triggered_by: key `interface/id` of the person whom a persona's line answers; by default the participant.
        title, server_name: names of the conversation and its server, to show to people.
        reply_to: the answered message: its platform id, or a dict of text, username and timestamp.

    Returns:
        `(True, row id, "")`; else reason `empty` (blank path or text), `duplicate` with the id of the stored
        row, or `privacy`. `notes` lists the changes made to values.

    Raises:
        MessageError: a key too long or with a NUL, a text over 16 MB, an unknown role, a value of a wrong type.
        StoreWriteError: nothing was stored.

    >>> from prompt_engine import open_database
    >>> db = open_database("sqlite://")
    >>> save_chat_message("web/7", "Is there tea?", "Ann", "ann", db=db).stored
    True
    """
    plan = _plan(
        open_call(**options), interface_path, message_text, reply_to,
        sender_name=sender_name, sender_id=sender_id, timestamp=timestamp, metadata=metadata, message_id=message_id,
        role=role, triggered_by=triggered_by, title=title, server_name=server_name,
    )  # fmt: skip
    return plan()


def _plan(call: Call, conversation: object, text: object, reply_to: object = None, **facts: Any) -> Store:
    """Build the function that stores one message; `facts` are the arguments of `new_message.read_message`."""
    row_id = call.db.ids.one()  # before the time is taken: the id tells whether `forget` came later
    if find_whole(conversation) is not None or (isinstance(conversation, str) and conversation.strip()):
        conversation = find_key(call, conversation)
    if reply_to is not None and reply_to != "":
        facts["metadata"] = _note_reply(call, conversation, facts["metadata"], reply_to)
    message = new_message.read_message(call.scope, conversation, text, now=call.db.clock(), **facts)
    if message is None:
        return lambda *, is_answer=False: WriteResult(False, None, "empty")  # noqa: ARG005 - the form of a Store
    stated = new_message.read_instructions(call, message)
    return partial(
        messages_table.insert_message,
        call.db,
        call.scope,
        replace(message, instructions=stated) if stated else message,
        privacy_default=call.settings.privacy_default,
        queues=call.settings.recap_on_message,
        row_id=row_id,
        also=relationships_table.plan_count(call, message.participant, message.sender_name, message.role),
    )


def _note_reply(call: Call, interface_path: object, metadata: object, reply_to: object) -> dict[str, Any]:
    """Add to a message's metadata the message that it replies to."""
    if not isinstance(metadata, Mapping | None):
        raise MessageError.of_type("metadata", metadata, "a dict beside reply_to")
    if isinstance(reply_to, Mapping):
        return {**(metadata or {}), "reply_to": dict(reply_to)}
    if find_whole(reply_to) is None and not isinstance(reply_to, str):
        raise MessageError.of_type("reply_to", reply_to, "the id of a message, or a dict of text, username, timestamp")
    note: dict[str, Any] = {"message_id": str(reply_to)}
    if str(interface_path or "").strip():
        note |= table_lines.find_quoted(call.db, call.persona, interface_path, reply_to) or {}
    return {**(metadata or {}), "reply_to": note}


def save_message(
    message: Any,
    context_memory: Any = None,
    interface_name: str | None = None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Store an incoming message with its text, sender, time, id and reply.

    `message`, `context_memory` and `interface_name` are as for `build_json_prompt`. If `message` is a list of chat
    messages, the last is stored. `scope` supplies persona, destination and missing values of the message. If the scope
    names the conversation and a privacy other than public, that privacy replaces the message's. Result and errors are
    those of `save_chat_message`; MessageError is also raised if no conversation is named.

    >>> from prompt_engine import open_database
    >>> db = open_database("sqlite://")
    >>> message = {"message_id": 1, "date": "2026-03-10T12:00:00Z", "text": "Tea?", "interface_path": "web/7"}
    >>> save_message(message, db=db).stored, save_message(message, db=db).reason
    (True, 'duplicate')
    """
    return _plan_incoming(message, scope, db, settings, context_memory=context_memory, interface_name=interface_name)()


def save_together(
    messages: Sequence[tuple[Any, Scope]], *, db: Database | None = None, settings: GivenSettings = None
) -> list[WriteResult]:
    """Store messages as `save_message` does, each in its scope, in one transaction."""
    # Made once, so that a repeated try keeps the ids, which tell whether `forget` came later; and before SQLite's only
    # writer is held, up to the first message whose place or reply may depend on the ones before it.
    first = [] if len({scope.server for _, scope in messages}) > 1 else messages
    alone = takewhile(lambda each: read_reply(each[0]) is None, first)
    plans = [_plan_incoming(message, scope, db, settings) for message, scope in alone]

    def store() -> list[WriteResult]:
        results: list[WriteResult] = []
        for at, (message, scope) in enumerate(messages):
            if at == len(plans):
                plans.append(_plan_incoming(message, scope, db, settings))
            results.append(plans[at](is_answer=bool(results) and results[-1].stored))
        return results

    results: list[WriteResult] = handle(db).all_or_none(store, source="chat_history_cache")
    return results


def _plan_incoming(
    message: Any,
    scope: Scope | None,
    db: Database | None,
    settings: GivenSettings,
    *,
    context_memory: Any = None,
    interface_name: str | None = None,
) -> Store:
    """Build the function that stores a host's message; the result's notes name values that were replaced or ignored."""
    settings = settings_for(settings)
    incoming = IncomingMessage.read(
        message, context_memory=context_memory, interface_name=interface_name, now=clock(db)()
    )
    given = scope_for(scope, settings)
    call = open_call(db, settings, scope_of(incoming, given, settings))
    place = incoming.interface_path or call.scope.conversation
    if not place:
        raise MessageError(
            "The message names no conversation. Give it interface_path `interface/chat`, or a chat id and an "
            "interface_name, or a scope with a conversation.",
            fields=("interface_path",),
        )
    marked = find_mark(incoming.raw)
    own = not marked and read_role(incoming.raw) == "persona"
    sender = Sender(name=marked) if marked else incoming.sender
    plan = _plan(
        call,
        place,
        incoming.text if incoming.text.strip() else incoming.text_with_attachments(),
        sender_name=sender.name or sender.username,
        sender_id=PERSONA_SENDER if own else sender.id or None,
        timestamp=incoming.date,
        metadata=_describe_reply(call, incoming.raw),
        message_id=incoming.message_id,
        role=(marked if marked in get_args(Role) else "system") if marked else "persona" if own else "user",
        triggered_by=call.scope.participant if marked else None,
        title=text_at(get(incoming.raw, "chat"), "title", "name"),
        server_name=get(incoming.raw, "server_name"),
    )

    def store(*, is_answer: bool = False) -> WriteResult:
        stored = plan(is_answer=is_answer)
        return WriteResult(*stored, dropped_tags=stored.dropped_tags, notes=(*incoming.notes_for(given), *stored.notes))

    return store


def _describe_reply(call: Call, message: Any) -> dict[str, Any] | None:
    """Return metadata with the message that `message` replies to; a missing text is copied from the stored message."""
    reply, is_addressed = read_reply(message), get(message, "is_addressed")
    noted: dict[str, Any] = {} if is_addressed is None else {"is_addressed": bool(is_addressed)}
    if reply is None:
        return noted or None
    facts: dict[str, Any] = {"text": reply.text or NON_TEXT, "timestamp": iso_text(reply.time), "username": reply.name}
    if reply.name or reply.text:
        facts |= {"role": "persona" if reply.is_persona else "user"}
    facts |= {"sender_id": reply.sender.id} if reply.sender.id else {}
    if isinstance(reply.message_id, (str, int)):
        stored = table_lines.find_quoted(call.db, call.persona, call.scope.conversation, reply.message_id) or {}
        is_known = reply.text and stored.get("role") != "persona"  # the platform names the account of the persona
        facts |= {} if is_known else stored | {"text": reply.text or stored.get("text", NON_TEXT)}
    return {**noted, "reply_to": facts}


def load_chat_history(
    path: object, limit: object = None, *, level: bool = False, **options: Unpack[CallOptions]
) -> list[ChatLine]:
    """Return the newest messages of a conversation that the scope sees, oldest first; [] for a blank path.

    Args:
        path: conversation key; an invalid key is a MessageError.
        limit: maximum number of messages, at most 1000; None is CHAT_HISTORY.
        level: also return the messages of conversations below `path/`, such as the threads of a group.

    >>> from prompt_engine import open_database
    >>> db = open_database("sqlite://")
    >>> saved = save_chat_message("web/7", "Is there tea?", "Ann", "ann", db=db)
    >>> [(line["sender_name"], line["text"]) for line in load_chat_history("web/7", db=db)]
    [('Ann', 'Is there tea?')]
    """
    call = open_call(**options)
    if path is None or (isinstance(path, str) and not path.strip()):
        return []
    return _read_lines(call, limit, call.settings.chat_history, find_key(call, path), level=level)


def load_global_chat_history(limit: object = 10, **options: Unpack[CallOptions]) -> list[ChatLine]:
    """Return the newest messages of all conversations that the scope sees, oldest first; at most 1000.

    >>> from prompt_engine import open_database
    >>> db = open_database("sqlite://")
    >>> first, second = save_chat_message("web/7", "Tea?", db=db), save_chat_message("web/8", "Coffee?", db=db)
    >>> [line["text"] for line in load_global_chat_history(1, db=db)]
    ['Coffee?']
    """
    return _read_lines(open_call(**options), limit, 10)


def clear_chat_history(path: object, **options: Unpack[CallOptions]) -> int:
    """Delete the messages of a conversation that the scope sees, and return their number.

    Recaps and short-term entries are deleted too. Conversations below `path/` and memories made from the messages stay.

    >>> from prompt_engine import open_database
    >>> db = open_database("sqlite://")
    >>> saved = save_chat_message("web/7", "Is there tea?", db=db)
    >>> clear_chat_history("web/7", db=db), clear_chat_history("web/7", db=db)
    (1, 0)
    """
    call = open_call(**options)
    key = find_key(call, path)
    return table_followers.clear_conversation(call, load_viewer(call, key), key)


def get_cache_stats(**options: Unpack[CallOptions]) -> CacheStats:
    """Return the number of messages that the scope sees, with the times of the oldest and the newest.

    >>> from prompt_engine import open_database
    >>> db = open_database("sqlite://")
    >>> saved = save_chat_message("web/7", "Is there tea?", timestamp="2026-03-10T12:00:00Z", db=db)
    >>> stats = get_cache_stats(db=db)
    >>> stats["total_messages"], stats["newest_message"]
    (1, '2026-03-10T12:00:00+00:00')
    """
    call = open_call(**options)
    viewer = load_viewer(call)
    stats = table_lines.read_stats(call.db, call.persona, viewer.audiences, local=viewer.sees_local_only)
    messages, conversations, oldest, newest = stats
    return {
        "total_messages": messages,
        "unique_interface_paths": conversations,
        "oldest_message": oldest.isoformat() if oldest else None,
        "newest_message": newest.isoformat() if newest else None,
        "history_limit": call.settings.chat_history,
    }


def edit_chat_message(
    message: object, message_text: object, *, interface_path: object = None, **options: Unpack[CallOptions]
) -> WriteResult:
    """Replace the text of a stored message and update everything made from it, in one transaction.

    Instructions are read from the new text, and the message's recap becomes stale. Items that repeat the message get
    the new text; items made only from it are removed; recaps, summaries and items of several messages are made again.

    Args:
        message: the row id that saving returned, of a message that the scope sees; or the platform's message id
            together with `interface_path`, in a scope with the message's server.
        message_text: the new text.

    Returns:
        `(True, row id, "")`; reason `empty`, `privacy`, `unchanged` (the same text) or `not_found` (no such message).

    >>> from prompt_engine import open_database
    >>> db = open_database("sqlite://")
    >>> saved = save_chat_message("web/7", "Is there te?", db=db)
    >>> edit_chat_message(saved.id, "Is there tea?", db=db).stored
    True
    """
    call = open_call(**options)
    text = rows.text(message_text, "message_text")
    if not text.strip():
        return WriteResult(False, None, "empty")
    place = _find_message(call, message, interface_path)
    return NO_MESSAGE if place is None else table_followers.edit_message(call, *place, text)


def delete_chat_message(
    message: object, *, interface_path: object = None, **options: Unpack[CallOptions]
) -> WriteResult:
    """Delete a stored message and what was made from it, in one transaction; see `edit_chat_message` for the arguments.

    Items whose only source is this message are deleted. Background operations make recaps, summaries and items of
    several messages again. Returns `(True, row id, "")`, or reason `not_found` if there is no such message.

    >>> from prompt_engine import open_database
    >>> db = open_database("sqlite://")
    >>> saved = save_chat_message("web/7", "Is there tea?", db=db)
    >>> delete_chat_message(saved.id, db=db).stored, load_chat_history("web/7", db=db)
    (True, [])
    """
    call = open_call(**options)
    place = _find_message(call, message, interface_path)
    return NO_MESSAGE if place is None else table_followers.delete_message(call, *place)


def _find_message(call: Call, message: object, interface_path: object) -> tuple[Viewer, str, int] | None:
    """Return (viewer, conversation, row id) of the message that a host names; None if there is no such message."""
    key = None if interface_path is None else find_key(call, interface_path)
    if (named := table_lines.find_named(call.db, call.persona, message, key)) is None:
        return None
    row_id, conversation = named
    return load_viewer(call, None if key is None else conversation), conversation, row_id


def _read_lines(
    call: Call, limit: object, default: int, conversation: str | None = None, *, level: bool = False
) -> list[ChatLine]:
    """Return the newest messages that the call sees, of one conversation or of all, oldest first."""
    viewer = load_viewer(call, conversation)
    most, note = read_limit(limit, default, 1, _MOST_LINES)
    if note:
        logs.warning("chat_history_limit", note=note)
    kinds: dict[str, bool] = {"level": bool(rows.yes_no(level, "level")), "local": viewer.sees_local_only}
    lines = table_lines.read_newest(call.db, call.persona, viewer.audiences, most, conversation=conversation, **kinds)
    return [_show_line(line) for line in lines]


def _show_line(line: Line) -> ChatLine:
    shown: ChatLine = {
        "sender_name": line.sender_name,
        "sender_id": line.sender_id,
        "text": line.text,
        "timestamp": iso_text(line.at),
        "interface_path": plain_key(line.conversation),
        "role": line.role,
    }
    if line.metadata:
        shown["metadata"] = line.metadata
    return shown
