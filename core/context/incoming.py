"""Reads the host's message, once, into `IncomingMessage`; whatever shape the host uses ends here."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from ..access.rules import PRIVATE_CHAT_TYPES, PUBLIC_CHAT_TYPES
from ..base.hints import find_nearest
from ..errors import MessageError
from ..scope import KEY_BYTES, key_text
from ..shapes import IncomingMessage, Sender
from ..text.folding import one_line
from ..text.hits import known_name
from ..text.host_values import as_text, get, has, is_plain, read_full_name, text_at, word_at
from ..text.times import parse_time, read_time

LOOKED_FOR = (
    "text", "message_id", "date", "interface_path", "from_user", "from", "chat", "server_id", "is_private", "payload",
    "reply_to_message", "message_thread_id", "thread_id", "time_zone", "caption", "attachments", "media", "images",
    "image", "photo", "photos", "document", "documents", "audio", "voice", "video", "videos", "video_note",
    "video_notes", "sticker", "animation",
)  # fmt: skip
"""Names of which a message has one at least."""

_ATTACHED = LOOKED_FOR[LOOKED_FOR.index("caption") + 1 :]
"""Fields that hold what is attached."""

_OBJECTS = ("from_user", "from", "chat", "payload")
"""Fields that have fields themselves."""
_FOR_HOSTS = ("interface", "server_name")
"""What the adapters of platforms say beside, for hooks and logs of hosts."""
_OTHER_WORDS = {"timestamp": "date", "content": "text", "message": "text", "sender": "from_user", "user": "from_user"}
"""What other programs call some of them."""
MOST_NAMED = 8
"""Keys that are not known of which one note names so many."""

ID_BYTES = {"message_id": 191, "chat.id": 255, "thread_id": 255, "from_user.id": 255, "interface": 64}
"""Bytes of the columns these ids are stored in; the other ids' are `scope.KEY_BYTES`."""


def read_message(
    message: Any, *, context_memory: Any = None, interface_name: str | None = None, now: datetime
) -> IncomingMessage:
    """Return the host's message in normal form; nothing of the host's is changed."""
    _check(message)
    notes = _note_unread(message)
    chat, who = get(message, "chat"), get(message, "from_user", "from")
    path, interface = _conversation(message, chat, context_memory, interface_name)
    chat_id = _key(get(chat, "id"), "chat.id")
    sender = _sender(who)
    chat_type = word_at(chat, "type") or None
    server = _key(get(message, "server_id"), "server_id", KEY_BYTES["server"]) or ""
    is_private = _is_private(get(message, "is_private"), chat_type, chat_id, sender.id, notes)
    return IncomingMessage(
        message_id=_key(get(message, "message_id"), "message_id"),
        date=_date(get(message, "date"), now, notes),
        text=_text(get(message, "text"), notes) or _caption(message),
        interface=interface,
        interface_path=path,
        sender=sender,
        chat_id=chat_id,
        chat_type=chat_type,
        server_id=server,
        is_private=is_private,
        time_zone=text_at(message, "time_zone") or text_at(context_memory, "time_zone") or None,
        raw=message,
        notes=tuple(notes),
    )


def _check(message: Any) -> None:
    if is_plain(message):
        raise MessageError(
            f"The message is of type {type(message).__name__}. It must be an object or a dict with a text, and as far "
            "as they are known message_id, date, interface_path and from_user.",
            fields=("message",),
        )
    if not any(has(message, name) for name in LOOKED_FOR):
        raise MessageError(
            "The message has none of the names that are looked for: text, message_id, date, interface_path, from_user, "
            "chat, payload. Give it a text at least.",
            fields=("message_id", "date"),
        )


def _note_unread(message: Any) -> list[str]:
    """Return what is said of fields that are not read: of a dict the keys nobody looks for, and objects that
    are none.
    """
    notes = []
    for name in _OBJECTS:
        value = get(message, name)
        if value is not None and is_plain(value):
            notes.append(f"{name} is of type {type(value).__name__} and was not read; it must be an object or a dict")
    unknown = (
        [key for key in message if key not in LOOKED_FOR and key not in _FOR_HOSTS]
        if isinstance(message, Mapping)
        else []
    )
    if unknown:
        shown = ", ".join(_name_key(key) for key in unknown[:MOST_NAMED])
        more = f" and {len(unknown) - MOST_NAMED} more" if len(unknown) > MOST_NAMED else ""
        notes.append(f"not known and not read of the message: {shown}{more}")
    return notes


def _name_key(key: Any) -> str:
    return _hint(key[:40]) if isinstance(key, str) else f"a key of type {type(key).__name__}"


@lru_cache(maxsize=256)
def _hint(key: str) -> str:
    """Return a key with what may have been meant; a host's messages have the same keys each time."""
    meant = _OTHER_WORDS.get(key) or find_nearest(key, LOOKED_FOR)
    return f"{key!r} (did you mean {meant!r}?)" if meant else repr(key)


def _key(value: Any, field: str, limit_bytes: int | None = None) -> str | None:
    """Return an id as text, None where there is none."""
    if value is None:
        return None
    try:
        return key_text(value, field, limit_bytes or ID_BYTES[field])
    except ValueError:  # a whole number of more than 4,300 digits has no text
        raise MessageError(f"{field} is a number too long for an id. Use a shorter id.", fields=(field,)) from None


def read_message_id(value: Any, field: str = "message_id") -> str | None:
    """Return the id of a message as text, None where there is none."""
    return _key(value, field, ID_BYTES["message_id"]) or None


def _conversation(message: Any, chat: Any, context_memory: Any, interface_name: str | None) -> tuple[str | None, str]:
    """Return `(conversation key, interface)`: the key as the host says it, else `interface/chat.id[/thread]`."""
    interface = _key(interface_name, "interface") or ""
    limit = KEY_BYTES["conversation"]
    said_by = (message, get(get(message, "payload"), "source"), context_memory)
    paths = (_key(get(holder, "interface_path"), "interface_path", limit) for holder in said_by)
    path = next((path for path in paths if path), None)
    if path is not None:
        return path, interface or path.split("/", 1)[0]
    chat_id = _key(get(chat, "id"), "chat.id")
    if not interface or not chat_id:
        return None, interface
    thread = _key(get(message, "message_thread_id", "thread_id"), "thread_id")
    return key_text("/".join(filter(None, (interface, chat_id, thread))), "interface_path", limit), interface


def _sender(who: Any) -> Sender:
    return Sender(
        id=_key(get(who, "id"), "from_user.id") or "",
        name=read_full_name(who),
        username=text_at(who, "username"),
    )


def _text(value: Any, notes: list[str]) -> str:
    text, note = as_text(value)
    if note:
        notes.append(f"text {note}")
    return text or ""


def _caption(message: Any) -> str:
    """Return what is said under a picture or file: of the message, else the first of what is attached."""
    said = text_at(message, "caption")
    if said.strip():
        return said
    for name in _ATTACHED:
        value = get(message, name)
        for item in value if isinstance(value, (list, tuple)) else (value,):
            said = "" if item is None or is_plain(item) else text_at(item, "caption")
            if said.strip():
                return said
    return ""


def _date(value: Any, now: datetime, notes: list[str]) -> datetime:
    if value is None:
        return parse_time(now) or now
    moment, clamped = read_time(value)
    if moment is None:
        notes.append(f"date of type {type(value).__name__} cannot be read, now is used")
        return parse_time(now) or now
    if clamped:
        notes.append("date is outside of 1970 to 9998 and was moved into it")
    return moment


def _is_private(said: Any, chat_type: str | None, chat_id: str | None, sender_id: str, notes: list[str]) -> bool | None:
    """Return what the host says of the conversation's privacy, None when it says nothing."""
    if isinstance(said, int) and said in (0, 1):
        return bool(said)
    if said is not None:
        notes.append("is_private is neither True nor False; the chat's type and ids decide")
    if chat_type is not None and chat_type not in PRIVATE_CHAT_TYPES and chat_type not in PUBLIC_CHAT_TYPES:
        notes.append("chat.type is not known; without is_private the ids decide, and then public is assumed")
    if chat_type in PRIVATE_CHAT_TYPES:
        return True
    if chat_type in PUBLIC_CHAT_TYPES:
        return False
    return True if chat_id and chat_id == sender_id else None


# What a message carries beside its text

NON_TEXT = "[Non-text content]"
"""Stands for a replied-to message without text and caption."""
MOST_NAME_CHARS = 100


def input_facts(
    message: IncomingMessage, *, image_data: Any = None, attachments: Any = None
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return `(facts, notes)`: the parts of `input.payload` that are not in every message."""
    notes: list[str] = []
    facts: dict[str, Any] = {"input_source": "voice"} if get(message.raw, "voice") else {}
    attachments = get(message.raw, "attachments") if attachments is None else attachments
    values = {
        "image": _image(image_data, notes),
        "attachments": _attachments(attachments, notes),
        "reply_message_id": reply(message.raw),
    }
    facts.update((name, value) for name, value in values.items() if value)
    return facts, tuple(notes)


def _image(image_data: Any, notes: list[str]) -> dict[str, Any]:
    if image_data is None or isinstance(image_data, Mapping):
        return dict(image_data or {})
    notes.append(f"image_data is of type {type(image_data).__name__} and is left out")
    return {}


def _attachments(attachments: Any, notes: list[str]) -> list[Any]:
    if attachments is None:
        return []
    if not isinstance(attachments, (list, tuple)):
        notes.append(f"attachments are of type {type(attachments).__name__} and are left out")
        return []
    return list(attachments)


def text_with_attachments(message: IncomingMessage) -> str:
    """Return the text of a message, with a line that names what is attached."""
    names = _name_attachments(message.raw)
    return "\n".join(filter(None, (message.text, f"[Attached: {', '.join(names)}]" if names else "")))


def _name_attachments(raw: Any) -> list[str]:
    """Return what the attachments of a message are called, each in one line."""
    names = []
    for each in _attachments(get(raw, "attachments"), []):
        name = each if isinstance(each, str) else text_at(each, "filename", "file_name", "name", "type", "content_type")
        names.append(one_line(name)[:MOST_NAME_CHARS] or "a file")
    return names


def reply(raw: Any) -> dict[str, Any] | None:
    """Return text, time and name of the message replied to, as far as known; None when there is none."""
    quoted = get(raw, "reply_to_message")
    if isinstance(quoted, (str, bytes, bytearray)):
        quoted = {"text": quoted}
    if is_plain(quoted):
        return None
    moment = parse_time(get(quoted, "date", "timestamp"))
    who = get(quoted, "from_user", "from")
    facts = {
        "text": text_at(quoted, "text", "caption") or NON_TEXT,
        "timestamp": moment.isoformat() if moment else "",
        "from": known_name(read_full_name(who), text_at(who, "username")),
    }
    return {name: value for name, value in facts.items() if value}
