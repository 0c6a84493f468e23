"""Reading of `context_memory`: the live messages and metadata a host hands over."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ..access.rules import said_privacy
from ..shapes import PERSONA_SENDER, HistoryEntry, ReplyNote
from ..text.host_values import PERSON_WORDS, PERSONA_WORDS, get, has, is_plain, read_full_name, text_at, word_at
from ..text.times import parse_time

METADATA_KEYS = frozenset(
    {
        "interface_path",
        "chat_id",
        "thread_id",
        "system_message",
        "user_id",
        "username",
        "skip_history",
        "time_zone",
    }
)
"""Keys of `context_memory` that are never conversations."""

TEXTS = ("text", "message_text", "content")
TIMES = ("timestamp", "date", "created_at")
"""Names a live message may have for its text and its time; the first that holds something counts."""

MAX_MESSAGES = 100_000
"""Most messages read of one conversation, so that an endless iterable ends."""


@dataclass(frozen=True, slots=True)
class LiveHistory:
    """What a host handed over as `context_memory`."""

    chats: dict[str, list[HistoryEntry]] = field(default_factory=dict)
    """Conversation key to its messages, in the order handed in; conversations without messages are left out."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """The metadata keys that were given, with their values as they are."""
    skipped: int = 0
    """How many things were no message."""
    notes: tuple[str, ...] = ()
    """What was left out as a whole and why, for the report; never a text that was said."""
    private: frozenset[str] = frozenset()
    """Conversations of which a message says that they are private."""


def _time(value: Any) -> tuple[datetime | None, str]:
    """Return the time of a message and, where it cannot be read, how it was given."""
    unreadable = ""
    for name in TIMES:
        given = get(value, name)
        if given is None:
            continue
        time = parse_time(given)
        if time is not None:
            return time, ""
        unreadable = unreadable or text_at(value, name)
    return None, unreadable


def is_own(value: Any) -> bool:
    """Return whether the host says of a message that the persona sent it; ids of a platform never say so."""
    role = word_at(value, "role")
    if role in PERSON_WORDS or role in PERSONA_WORDS:
        return role in PERSONA_WORDS
    sender_id = text_at(value, "sender_id")
    names = (sender_id,) if sender_id else (text_at(value, "sender_name"), text_at(value, "username"))
    return PERSONA_SENDER in names


def _sender(value: Any) -> tuple[str, str, str]:
    """Return sender id, name and username, of the fields of that name or, where all are missing, of `from_user`."""
    names = text_at(value, "sender_id"), text_at(value, "sender_name"), text_at(value, "username")
    if any(names):
        return names
    user = get(value, "from_user", "from")
    return (text_at(user, "id"), read_full_name(user), text_at(user, "username")) if user is not None else names


def _reply(value: Any) -> ReplyNote | None:
    """Return whom and what a live message replies to, None when it replies to nothing."""
    for name in ("reply_to", "reply_to_message"):
        reply = get(value, name)
        if reply is None or is_plain(reply):
            continue
        sender_id, sender_name, username = _sender(reply)
        text = text_at(reply, *TEXTS, "caption")
        if text or sender_id or sender_name or username:
            return ReplyNote(sender_name or username or sender_id, text, is_own(reply))
    return None


def read_message(value: Any, conversation: str, order: int) -> HistoryEntry | None:
    """Return a live message as an entry, None when the value is no message."""
    if is_plain(value) or not (isinstance(value, Mapping) or any(has(value, name) for name in (*TEXTS, "caption"))):
        return None
    sender_id, sender_name, username = _sender(value)
    time, shown_time = _time(value)
    return HistoryEntry(
        conversation=conversation,
        text=text_at(value, *TEXTS, "caption"),
        sender_id=sender_id,
        sender_name=sender_name,
        username=username,
        message_id=text_at(value, "message_id") or None,
        time=time,
        shown_time=shown_time,
        role="persona" if is_own(value) else "user",
        reply=_reply(value),
        order=order,
    )


def _messages(value: Iterable[Any]) -> list[Any]:
    """Return the items of one conversation: the newest `MAX_MESSAGES` of a sequence, the first of other iterables."""
    if isinstance(value, Sequence):
        return list(value)[-MAX_MESSAGES:]
    return list(itertools.islice(value, MAX_MESSAGES))


def _says_private(value: Any) -> bool:
    """Return whether a live message says of its conversation that it is private."""
    said = get(value, "is_private")
    if isinstance(said, int) and said in (0, 1):
        return bool(said)
    chat = get(value, "chat")
    return chat is not None and said_privacy(None, word_at(chat, "type"), None, None, "") not in (None, "public")


def _read_chat(value: Any, conversation: str, first_order: int) -> tuple[list[HistoryEntry], int, str, bool]:
    """Return the messages of a conversation, how many things were skipped, a note when reading it broke off, and
    whether it is said to be private."""
    if isinstance(value, (str, bytes, bytearray, memoryview, Mapping)) or not isinstance(value, Iterable):
        return [], 1, "", False
    entries: list[HistoryEntry] = []
    skipped, private = 0, False
    try:
        for item in _messages(value):
            entry = read_message(item, conversation, first_order + len(entries))
            if entry is None:
                skipped += 1
            else:
                entries.append(entry)
                private = private or _says_private(item)
    except Exception as error:  # noqa: BLE001 - iterating a host's object may raise anything; what came before is good
        note = f"context_memory: reading a conversation broke off ({type(error).__name__})"
        return entries, skipped + 1, note, private
    return entries, skipped, "", private


def read_context_memory(context_memory: Any) -> LiveHistory:
    """Return the live messages by conversation, the metadata, and how much was no message."""
    if context_memory is None:
        return LiveHistory()
    if not isinstance(context_memory, Mapping):
        kind = type(context_memory).__name__
        return LiveHistory(skipped=1, notes=(f"context_memory is of type {kind}, not a dict; it was not used",))
    chats: dict[str, list[HistoryEntry]] = {}
    metadata: dict[str, Any] = {}
    skipped = order = 0
    notes: list[str] = []
    private: set[str] = set()
    try:
        given = list(context_memory.items())
    except Exception as error:  # noqa: BLE001 - a host's mapping may raise anything
        return LiveHistory(skipped=1, notes=(f"context_memory could not be read ({type(error).__name__})",))
    for key, value in given:
        if isinstance(key, str) and key in METADATA_KEYS:
            metadata[key] = value
            continue
        if isinstance(key, bool) or not isinstance(key, (str, int)):
            skipped += 1
            continue
        entries, missed, note, said_private = _read_chat(value, str(key), order)
        order += len(entries)
        skipped += missed
        if entries:
            chats.setdefault(str(key), []).extend(entries)
        if said_private:
            private.add(str(key))
        if note:
            notes.append(note)
    return LiveHistory(chats, metadata, skipped, tuple(notes), frozenset(private))
