"""DOOR: the log of what was said. Saving, loading, clearing, editing.

Reading respects visibility: a scope that names no conversation reads the one asked for in that conversation's own
right; one that names another sees of it what a prompt there would.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypedDict

from .audience.view import Request, Viewer
from .audience.view_statement import look
from .base import logs
from .calls.call import open_call
from .calls.defaults import handle, scope_for, scope_of, settings_for
from .config import Settings
from .context import attachments
from .context.incoming import read_message
from .database import rows
from .database.engine import Database
from .errors import MessageError
from .messages import new_message, table_changes, table_reading
from .messages import table as messages_table
from .messages.table_reading import Line
from .scope import KEY_BYTES, Scope, key_text
from .search.rules_arguments import read_limit
from .shapes import ChatLine, WriteResult
from .stories.calls import open_conversation
from .stories.recaps import refresh
from .wishes import recognition as wishing

__all__ = ["CacheStats", "clear_chat_history", "delete_chat_message", "edit_chat_message", "get_cache_stats",
           "load_chat_history", "load_global_chat_history", "save_chat_message", "save_message"]  # fmt: skip

_MOST_LINES = 1000


class CacheStats(TypedDict):
    """What `get_cache_stats` gives. Keys stand in this order."""

    total_messages: int
    unique_interface_paths: int
    oldest_message: str | None
    """ISO 8601, UTC; None without messages."""
    newest_message: str | None
    history_limit: int
    """CHAT_HISTORY."""


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
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Store one message for good, once, and say what became of it.

    Args:
        interface_path: conversation key `interface/chat[/thread]`, at most 512 bytes.
        message_text: as said, at most 16 MB.
        sender_id: the platform's id of who said it; `self` is the persona. Left out: who the scope says is speaking.
        timestamp: datetime, ISO 8601 text or seconds since 1970; naive is UTC; left out or unreadable: now.
        metadata: anything JSON can hold.
        message_id: the platform's id of the message.
        role: user, persona, system, narrator or thought; by default persona for `self`, else user.
        triggered_by: participant key `interface/id` whose turn a line of the persona answers; left out: the scope's.
        title: what the conversation is called.

    Returns:
        `(True, row id, "")`; else reason `empty` (blank path or text), `duplicate` with the id of the row that is
        there, or `privacy`. Whatever had to be changed stands in `notes`.

    Raises:
        MessageError: a key too long or with a NUL, a text over 16 MB, an unknown role, a value of a wrong type.
        StoreWriteError: nothing was stored.
    """
    # 1. what to work with
    db = handle(db)
    row_id = db.ids.one()  # before the time is taken: by its id a row is told to be older than a call of `forget`
    settings = settings_for(settings, db)
    scope = scope_for(scope, settings)
    # 2. what was said
    message = new_message.read_message(
        scope,
        interface_path,
        message_text,
        now=db.clock(),
        sender_name=sender_name,
        sender_id=sender_id,
        timestamp=timestamp,
        metadata=metadata,
        message_id=message_id,
        role=role,
        triggered_by=triggered_by,
        title=title,
    )
    if message is None:
        return WriteResult(False, None, "empty")
    # 3. what it wishes once and for all
    wishes = wishing.read_wishes(message.text, settings, role=message.role, excluded=message.excluded)
    # 4. store it
    return messages_table.insert_message(
        db,
        scope,
        message,
        privacy_default=settings.privacy_default,
        queues=settings.recap_on_message,
        wishes=wishes,
        row_id=row_id,
    )


def save_message(
    message: Any,
    context_memory: Any = None,
    interface_name: str | None = None,
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Store an incoming message with everything in it: text, sender, time, id, and what it replies to.

    Args:
        message, context_memory, interface_name: as `build_json_prompt` takes them.
        scope: gives persona and destination, and what the message does not say.

    Returns:
        As `save_chat_message`; the message is seen where it was said.

    Raises:
        MessageError: the message cannot be used, or names no conversation.
        StoreWriteError: nothing was stored.
    """
    db = handle(db)
    settings = settings_for(settings, db)
    incoming = read_message(message, context_memory=context_memory, interface_name=interface_name, now=db.clock())
    if not incoming.interface_path:
        raise MessageError(
            "The message names no conversation. Give it interface_path `interface/chat`, or a chat id and an "
            "interface_name.",
            fields=("interface_path",),
        )
    quoted = attachments.reply(incoming.raw)
    reply = quoted and {"text": quoted["text"], "timestamp": quoted["timestamp"], **quoted["from"]}
    return save_chat_message(
        incoming.interface_path,
        incoming.text,
        incoming.sender.name or incoming.sender.username,
        incoming.sender.id or None,
        incoming.date,
        {"reply_to": reply} if reply else None,
        message_id=incoming.message_id,
        db=db,
        settings=settings,
        scope=scope_of(incoming, scope, settings),
    )


def load_chat_history(
    path: object,
    limit: object = None,
    *,
    level: bool = False,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> list[ChatLine]:
    """Return the newest messages of a conversation, oldest first.

    Args:
        path: conversation key; blank gives [].
        limit: most messages; None is CHAT_HISTORY, at most 1000.
        level: with every conversation below `path/`, such as the threads of a group.

    Raises:
        StoreReadError: nothing could be read.
    """
    if path is None or (isinstance(path, str) and not path.strip()):
        return []
    key = key_text(path, "interface_path", KEY_BYTES["conversation"])
    db = handle(db)
    settings = settings_for(settings, db)
    viewer = _viewer(db, settings, scope, key)
    most = _limit(limit, settings.chat_history)
    found = table_reading.read_newest(
        db, viewer.scope.persona, viewer.audiences, most, conversation=key, level=level, local=viewer.sees_local_only
    )
    return [_shown(line) for line in found]


def load_global_chat_history(
    limit: object = 10,
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> list[ChatLine]:
    """Return the newest messages over all conversations the scope sees, oldest first.

    Raises:
        StoreReadError: nothing could be read.
    """
    db = handle(db)
    settings = settings_for(settings, db)
    viewer = _viewer(db, settings, scope)
    found = table_reading.read_newest(
        db, viewer.scope.persona, viewer.audiences, _limit(limit, 10), local=viewer.sees_local_only
    )
    return [_shown(line) for line in found]


def clear_chat_history(
    path: object,
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> int:
    """Delete the messages of a conversation, those below it not, and return how many there were.

    Raises:
        StoreWriteError: nothing was deleted.
    """
    key = key_text(path, "interface_path", KEY_BYTES["conversation"], required=True)
    db = handle(db)
    settings = settings_for(settings, db)
    viewer = _viewer(db, settings, scope, key)
    return table_changes.clear_conversation(db, viewer.scope, key, audiences=viewer.audiences)


def get_cache_stats(
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> CacheStats:
    """Return how much of the log the scope sees.

    Raises:
        StoreReadError: nothing could be read.
    """
    db = handle(db)
    settings = settings_for(settings, db)
    viewer = _viewer(db, settings, scope)
    found = table_reading.read_stats(db, viewer.scope.persona, viewer.audiences, local=viewer.sees_local_only)
    return {
        "total_messages": found.messages,
        "unique_interface_paths": found.conversations,
        "oldest_message": found.oldest.isoformat() if found.oldest else None,
        "newest_message": found.newest.isoformat() if found.newest else None,
        "history_limit": settings.chat_history,
    }


def edit_chat_message(
    message: object,
    message_text: object,
    *,
    interface_path: object = None,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Give a stored message another text, its index with it; a recap made of the former text is stale from then on.

    Args:
        message: the row id that saving returned; with `interface_path` the platform's message id.
        message_text: as it reads now.

    Returns:
        `(True, row id, "")`; else reason `empty`, `unchanged` (no such message, or it says that already), or `privacy`.

    Raises:
        MessageError: a value of a wrong type, a text over 16 MB.
        StoreWriteError: nothing was changed.
    """
    text = rows.text(message_text, "message_text")
    if not text.strip():
        return WriteResult(False, None, "empty")
    db = handle(db)
    settings = settings_for(settings, db)
    found = table_reading.find_named(db, scope_for(scope, settings).persona, message, interface_path)
    if found is None:
        return _NO_MESSAGE
    viewer = _viewer(db, settings, scope, found[1])
    return table_changes.edit_message(
        db,
        viewer.scope,
        found[0],
        text,
        audiences=viewer.audiences,
        privacy_default=settings.privacy_default,
        queues=settings.recap_on_message,
    )


def delete_chat_message(
    message: object,
    *,
    interface_path: object = None,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Delete a stored message, its index rows and what lies on it; arguments as for `edit_chat_message`.

    Returns:
        `(True, row id, "")`, with a note where a scene ended with the message and is deleted with its recaps; or reason
        `unchanged` where there is no such message.
    """
    db = handle(db)
    settings = settings_for(settings, db)
    found = table_reading.find_named(db, scope_for(scope, settings).persona, message, interface_path)
    if found is None:
        return _NO_MESSAGE
    viewer = _viewer(db, settings, scope, found[1])
    done = table_changes.delete_message(db, viewer.scope, found[0], audiences=viewer.audiences)
    if table_changes.SCENE_GONE in done.notes:  # its messages may have been hidden
        refresh.refresh_later(open_conversation(open_call(db, settings, scope), found[1]))
    return done


_NO_MESSAGE = WriteResult(False, None, "unchanged", notes=("there is no such message",))


def _viewer(db: Database, settings: Settings, scope: Scope | None, conversation: str | None = None) -> Viewer:
    """Return what the scope sees; without a conversation of its own it is that of the conversation asked for."""
    scope = scope_for(scope, settings)
    if conversation is not None and scope.conversation is None:
        scope = replace(scope, conversation=conversation)
    destination = scope.destination or settings.prompt_destination
    return look(
        db, scope, Request(), destination=destination, private_stays_private=settings.private_stays_private
    ).viewer


def _limit(limit: object, default: int) -> int:
    most, note = read_limit(limit, default, 1, _MOST_LINES)
    if note:
        logs.warning("chat_history_limit", note=note)
    return most


def _shown(line: Line) -> ChatLine:
    made: ChatLine = {
        "sender_name": line.sender_name,
        "sender_id": line.sender_id,
        "text": line.text,
        "timestamp": line.at.isoformat() if line.at else "",
        "interface_path": line.conversation,
    }
    if line.metadata is not None:
        made["metadata"] = line.metadata
    return made


ORIGINAL_LOADS = (load_chat_history, load_global_chat_history)
"""What stands here while no host has put something else in its place; noted at once, before anybody can."""
