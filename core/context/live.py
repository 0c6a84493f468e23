"""Reads `context_memory`: the live messages and metadata that a host passes in."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from ..access.rules import said_privacy
from ..shapes import HistoryEntry, ReplyNote, Sender
from ..text.host_values import as_text, get, has, is_plain, text_at, word_at
from ..text.times import parse_time
from .incoming import NAMES, read_reply, read_role, read_sender, read_text, spell

METADATA_KEYS = frozenset(
    ("interface_path", "chat_id", "thread_id", "system_message", "user_id", "username", "skip_history", "time_zone")
)
"""Keys of `context_memory` that are never conversations."""

MAX_MESSAGES = 100_000
"""Maximum number of messages that are read from one conversation, since an iterable may be endless."""
_OFF_WORDS = frozenset({"", "0", "false", "no", "off"})


@dataclass(frozen=True, slots=True)
class LiveHistory:
    """The host's `context_memory`, in normal form."""

    chats: dict[str, list[HistoryEntry]] = field(default_factory=dict)
    """Messages of each conversation key, in the host's order; empty conversations are left out."""
    skips_history: bool = False
    """Whether the host asked for a prompt without history lists and thoughts."""
    skipped: int = 0
    """Number of items that are not messages."""
    notes: tuple[str, ...] = ()
    """Notes for the report on what was left out and why, without message texts."""
    private: frozenset[str] = frozenset()


def read_line(value: Any, conversation: str, order: int) -> HistoryEntry | None:
    names = spell((*NAMES["text"], "caption"))
    if is_plain(value) or not (isinstance(value, Mapping) or any(has(value, name) for name in names)):
        return None
    sender = read_sender(value)
    given = [time for name in spell(NAMES["time"]) if (time := get(value, name)) is not None]
    times = [time for each in given if (time := parse_time(each)) is not None]
    return HistoryEntry(
        conversation=conversation,
        text=read_text(value),
        sender_id=sender.id,
        sender_name=sender.name,
        username=sender.username,
        message_id=text_at(value, "message_id", "messageId") or None,
        time=times[0] if times else None,
        shown_time="" if times else next((text for each in given if (text := as_text(each)[0])), ""),
        role="persona" if read_role(value) == "persona" else "user",
        reply=note_reply(value),
        order=order,
    )


def note_reply(value: Any) -> ReplyNote | None:
    reply = read_reply(value)
    if reply is None or not (reply.name or reply.text):
        return None
    return ReplyNote(reply.name, reply.text, reply.is_persona, reply.sender.id)


def _says_private(value: Any) -> bool:
    said = get(value, "is_private")
    if isinstance(said, int) and said in (0, 1):
        return bool(said)
    chat = get(value, "chat")
    return chat is not None and said_privacy(None, word_at(chat, "type"), None, None, "") not in (None, "public")


def read_context_memory(context_memory: Any) -> LiveHistory:
    if context_memory is None:
        return LiveHistory()
    if not isinstance(context_memory, Mapping):
        kind = type(context_memory).__name__
        return LiveHistory(skipped=1, notes=(f"context_memory is of type {kind}, not a dict; it was not used",))
    try:
        given = list(context_memory.items())
    except Exception as error:  # noqa: BLE001 - a host's mapping may raise anything
        return LiveHistory(skipped=1, notes=(f"context_memory could not be read ({type(error).__name__})",))
    chats: dict[str, list[HistoryEntry]] = {}
    skips_history = False
    skipped = order = 0
    notes: list[str] = []
    private: set[str] = set()
    for key, value in given:
        if isinstance(key, str) and key in METADATA_KEYS:
            if key == "skip_history":
                skips_history = value.strip().lower() not in _OFF_WORDS if isinstance(value, str) else bool(value)
            continue
        is_list = isinstance(value, Iterable) and not isinstance(value, (str, bytes, bytearray, memoryview, Mapping))
        if isinstance(key, bool) or not isinstance(key, (str, int)) or not is_list:
            skipped += 1
            continue
        try:
            # a sequence gives its newest messages, another iterable its first ones
            items = list(value)[-MAX_MESSAGES:] if isinstance(value, Sequence) else list(islice(value, MAX_MESSAGES))
        except Exception as error:  # noqa: BLE001 - iterating a host's object may raise anything
            notes.append(f"context_memory: a conversation could not be read ({type(error).__name__})")
            skipped += 1
            continue
        for item in items:
            if (entry := read_line(item, str(key), order)) is None:
                skipped += 1
                continue
            order += 1
            chats.setdefault(str(key), []).append(entry)
            if _says_private(item):
                private.add(str(key))
    return LiveHistory(chats, skips_history, skipped, tuple(notes), frozenset(private))


def add_lines(live: LiveHistory, conversation: str, lines: Iterable[Any], asker: Sender) -> LiveHistory:
    """Append `lines` to a conversation's live messages; lines without a sender count as the asker's."""
    there = live.chats.get(conversation, [])
    first = 1 + max((entry.order for entries in live.chats.values() for entry in entries), default=-1)
    entries = list(there)
    for at, line in enumerate(lines):
        entry = read_line(line, conversation, first + at)
        if entry is not None and entry.role == "user" and not (entry.sender_id or entry.sender_name):
            entry = replace(entry, sender_id=asker.id, sender_name=asker.name, username=asker.username)
        if entry is not None and entry.text.strip():
            entries.append(entry)
    return replace(live, chats={**live.chats, conversation: entries})
