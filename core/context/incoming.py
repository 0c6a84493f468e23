"""Parses messages in the formats of hosts: incoming messages, live messages of `context_memory`, and replies.

Messages may be objects, dicts or nestings of these. Their fields have the names in NAMES, in snake or camel case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal

from ..access.rules import PRIVATE_TYPES, PUBLIC_CHAT_TYPES, check_key
from ..base.hints import find_nearest
from ..base.wire_ids import find_whole
from ..errors import MessageError
from ..scope import KEY_BYTES, Scope, key_text
from ..shapes import PERSONA_SENDER, Sender
from ..text.folding import one_line
from ..text.hits import known_name
from ..text.host_values import as_text, get, has, is_plain, text_at, word_at
from ..text.times import iso_text, parse_time, read_time_or_now

NAMES: Mapping[str, tuple[str, ...]] = {
    "text": ("text", "message_text", "content"),
    "time": ("date", "timestamp", "created_at", "time", "at"),
    "message_id": ("message_id",),
    "role": ("role", "kind", "type"),
    "person": ("from_user", "from", "sender", "author", "user"),
    "sender_id": ("sender_id", "author_id", "user_id"),
    "sender_name": ("sender_name", "author_name", "speaker", "persona_name", "full_name", "display_name", "name"),
    "username": ("username",),
    "reply": ("reply_to_message", "reply_to"),
    "thread": ("message_thread_id", "thread_id"),
}
"""Names that hosts give to each part of a message; the first name with a value is used."""
_ATTACHED = (
    "attachments", "media", "images", "image", "photo", "photos", "document", "documents", "audio", "voice", "video",
    "videos", "video_note", "video_notes", "sticker", "animation",
)  # fmt: skip
LOOKED_FOR = tuple(
    dict.fromkeys(
        ["text", "message_id", "date", "interface_path", "chat", "server_id", "is_private", "payload", "time_zone",
         "caption", *_ATTACHED, *(name for names in NAMES.values() for name in names)]
    )
)  # fmt: skip
"""Field names; a value without any of these fields is rejected as a message."""
MOST_NAMED = 8

_NO_ID = "the sender has no id: the name is used as the id"
ID_BYTES = {"message_id": 191, "chat.id": 255, "thread_id": 255, "from_user.id": 255, "interface": 64}
"""Maximum number of bytes of each id, set by its column; `scope.KEY_BYTES` has the other ids."""
PERSON_WORDS = frozenset({"user", "human", "person", "participant"})
PERSONA_WORDS = frozenset({"persona", "model", "assistant", "bot", "character", "self"})
"""Values of a role field that mean the persona."""
_TOOLS = ("tool", "function")
_PLAIN_KINDS = frozenset({"", "text", "message", "chat", "default", "reply"})
"""Values of a kind field that say nothing about the author."""


@lru_cache(maxsize=256)
def spell(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return each name in snake_case and in camelCase."""
    spellings: list[str] = []
    for name in names:
        first, *rest = name.split("_")
        camel = first + "".join(part.capitalize() for part in rest)
        spellings += (name, camel, camel.replace("Dm", "DM"))
    return tuple(dict.fromkeys(spellings))


def _names(message: Any, part: str) -> Sequence[str]:
    """Return the field names that may hold `part`: the names that a dict has, or all known names for an object."""
    names = spell(NAMES[part])
    return [*filter(message.__contains__, names)] if type(message) is dict else names


def read_part(message: Any, part: str) -> Any:
    """Return the value of the message's field for `part` (its names are in NAMES); None without such a field."""
    return get(message, *_names(message, part))


def read_text(message: Any) -> str:
    """Return a message's text: the string itself, its text or caption field, or its joined parts."""
    if isinstance(message, (str, bytes)):
        return as_text(message)[0] or ""
    text = text_at(message, *_names(message, "text"))
    content = None if text else read_part(message, "text")
    if isinstance(content, (list, tuple)):
        parts = [as_text(part if is_plain(part) else get(part, "text"))[0] for part in content]
        return " ".join(part for part in parts if part)
    return text or text_at(message, "caption")


def read_sender(message: Any) -> Sender:
    """Return the sender from the message's fields or its person object; a bare number is an id."""
    person = read_part(message, "person")
    return Sender(
        text_at(message, *_names(message, "sender_id")) or text_at({"id": _read_person_id(person)}, "id"),
        text_at(message, *_names(message, "sender_name")) or read_name(person),
        text_at(message, "username") or text_at(person, "username"),
    )


def _read_person_id(person: Any) -> Any:
    return person if find_whole(person) is not None else get(person, "id")


def read_name(person: Any) -> str:
    """Return a person's name: the string itself, a field, or the first and last name."""
    named = person if isinstance(person, str) else text_at(person, *_names(person, "sender_name"))
    return named or " ".join(filter(None, (text_at(person, "first_name"), text_at(person, "last_name"))))


def read_role(message: Any) -> Literal["user", "persona", ""]:
    """Return who wrote a message: "user", "persona" (also for the sender id `self`), or "" for other roles."""
    words = [word for name in _names(message, "role") if (word := word_at(message, name)) not in _PLAIN_KINDS]
    if words and (words[0] in PERSONA_WORDS or words[0] in PERSON_WORDS):
        return "persona" if words[0] in PERSONA_WORDS else "user"
    sender_id = text_at(message, *_names(message, "sender_id"))
    names = (sender_id,) if sender_id else (text_at(message, "sender_name"), text_at(message, "username"))
    return "persona" if PERSONA_SENDER in names else "" if words else "user"


@dataclass(frozen=True, slots=True)
class Reply:
    message_id: Any
    text: str
    time: datetime | None
    sender: Sender
    is_persona: bool

    @property
    def name(self) -> str:
        return self.sender.name or self.sender.username or self.sender.id


def read_reply(message: Any) -> Reply | None:
    for name in _names(message, "reply"):
        quoted = get(message, name)
        if name == "reply_to_message" and isinstance(quoted, (str, bytes, bytearray)):
            quoted = {"text": quoted}
        if not is_plain(quoted):
            time = parse_time(read_part(quoted, "time"))
            is_persona = read_role(quoted) == "persona"
            return Reply(get(quoted, "message_id"), read_text(quoted), time, read_sender(quoted), is_persona)
    return None


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """The host's message in normal form. `raw` is the host's own object, for hooks and media fields."""

    message_id: str | None
    date: datetime
    text: str
    interface: str
    """Surface such as `telegram_bot`, "" if unknown."""
    interface_path: str | None
    sender: Sender = field(default_factory=Sender)
    chat_id: str | None = None
    chat_type: str | None = None
    server_id: str = ""
    is_private: bool | None = None
    """Whether the host calls the conversation private; None if the host does not say."""
    time_zone: str | None = None
    raw: Any = None
    notes: tuple[str, ...] = ()
    """Notes on values that were replaced or ignored; see `notes_for`."""
    earlier: tuple[Any, ...] = ()
    """Earlier messages, if the host passed a list of chat messages."""
    opening: tuple[str, ...] = ()
    """System texts of a list of chat messages."""

    @classmethod
    def read(
        cls, message: Any, *, context_memory: Any = None, interface_name: str | None = None, now: datetime
    ) -> IncomingMessage:
        """Return the host's message in normal form, without changing it."""
        earlier: list[Any] = []
        opening: list[str] = []
        if isinstance(message, list) or type(message) is tuple:
            message, earlier, opening = _split_messages(message)
        _check(message)
        notes = _note_unread(message)
        chat = get(message, "chat")
        path, interface = _read_conversation(message, context_memory, interface_name)
        chat_id = _read_key(get(chat, "id"), "chat.id")
        sender_id = read_part(message, "sender_id")
        if sender_id is None or (isinstance(sender_id, str) and not sender_id.strip()):
            sender_id = _read_person_id(read_part(message, "person"))
        sender = replace(read_sender(message), id=_read_key(sender_id, "from_user.id") or "")
        if not sender.identity and read_role(message) != "persona":
            user_id = _read_key(get(context_memory, "user_id"), "user_id", ID_BYTES["from_user.id"])
            sender = Sender(user_id or "", username=text_at(context_memory, "username"))
        chat_type = word_at(chat, "type") or None
        if (reply := read_reply(message)) is not None and isinstance(reply.message_id, (str, int)):
            read_message_id(reply.message_id, "reply_to_message.message_id")
        return cls(
            message_id=_read_key(read_part(message, "message_id"), "message_id"),
            date=read_time_or_now(read_part(message, "time"), "date", parse_time(now) or now, notes),
            text=_read_text(message, notes),
            interface=interface,
            interface_path=path,
            sender=sender,
            chat_id=chat_id,
            chat_type=chat_type,
            server_id=_read_key(get(message, "server_id"), "server_id", KEY_BYTES["server"]) or "",
            is_private=_read_privacy(get(message, "is_private"), chat_type, notes),
            time_zone=text_at(message, "time_zone") or text_at(context_memory, "time_zone") or None,
            raw=message,
            notes=tuple(notes),
            earlier=tuple(earlier),
            opening=tuple(opening),
        )

    def notes_for(self, scope: Scope) -> tuple[str, ...]:
        """Return the message's notes, and another note if neither message nor scope gives the sender's id."""
        has_id = self.sender.id or scope.participant or not self.sender.identity
        return self.notes if has_id or read_role(self.raw) == "persona" else (*self.notes, _NO_ID)

    def text_with_attachments(self) -> str:
        return "\n".join(filter(None, (self.text, name_attachments(read_attachments(self.raw)))))


def _split_messages(messages: Sequence[Any]) -> tuple[dict[str, Any], list[Any], list[str]]:
    """Split chat messages into (last message, messages before it, system texts)."""
    roles = [_read_list_role(each) for each in messages]
    said = [at for at, role in enumerate(roles) if role in ("user", "assistant", *_TOOLS)]
    if all(roles[at] in _TOOLS for at in said):
        raise MessageError(
            "The list holds no message of a user. Pass chat messages as [{'role': 'user', 'content': ...}], oldest "
            "first, or one message.",
            fields=("message",),
        )
    last, content = messages[said[-1]], get(messages[said[-1]], "content")
    marks = {name: mark for name in ("kind", "type", "source") if (mark := word_at(last, name))}
    message: dict[str, Any] = {"text": read_text(last), "role": roles[said[-1]], **marks}
    parts = content if isinstance(content, (list, tuple)) and message["role"] not in _TOOLS else ()
    attached = [{"type": word_at(part, "type")} for part in parts if not is_plain(part) and not has(part, "text")]
    message |= {"attachments": attached} if attached else {}
    message |= {"from_user": {"full_name": name}} if (name := text_at(last, "name")) else {}
    system = [read_text(each) for each, role in zip(messages, roles, strict=True) if role in ("system", "developer")]
    earlier = [messages[at] for at in said[:-1] if roles[at] not in _TOOLS]
    return message, earlier, [text for text in system if text.strip()]


def _read_list_role(message: Any) -> str:
    """Return the role of a chat message: `tool` for Anthropic's tool results, which come in user messages."""
    parts = get(message, "content")
    is_result = isinstance(parts, (list, tuple)) and {word_at(part, "type") for part in parts} == {"tool_result"}
    return "tool" if is_result else word_at(message, "role")


def _check(message: Any) -> None:
    if is_plain(message):
        raise MessageError(
            f"The message is of type {type(message).__name__}. It must be an object or a dict with a text, and as far "
            "as they are known message_id, date, interface_path and from_user.",
            fields=("message",),
        )
    if not any(has(message, name) for name in spell(LOOKED_FOR)):
        raise MessageError(
            "The message has none of the names that are looked for: text, message_id, date, interface_path, from_user, "
            "chat, payload. Give it a text at least.",
            fields=("message_id", "date"),
        )


def _note_unread(message: Any) -> list[str]:
    unknown = [key for key in message if key not in _KNOWN_KEYS] if isinstance(message, Mapping) else []
    if not unknown:
        return []
    shown = ", ".join(_hint(str(key)[:40]) for key in unknown[:MOST_NAMED])
    more = f" and {len(unknown) - MOST_NAMED} more" if len(unknown) > MOST_NAMED else ""
    return [f"not known and not read of the message: {shown}{more}"]


_KNOWN_KEYS = frozenset(spell((*LOOKED_FOR, "interface", "server_name", "is_addressed")))  # the last are of adapters


@lru_cache(maxsize=256)
def _hint(key: str) -> str:
    """Return an unknown key with the known name it may mean; cached, since keys repeat."""
    meant = find_nearest(key, LOOKED_FOR)
    return f"{key!r} (did you mean {meant!r}?)" if meant else repr(key)


def _read_key(value: Any, field: str, limit_bytes: int | None = None) -> str | None:
    if value is None:
        return None
    try:
        return key_text(value, field, limit_bytes or ID_BYTES[field])
    except ValueError:  # int of more than 4,300 digits cannot become a string
        raise MessageError(f"{field} is a number too long for an id. Use a shorter id.", fields=(field,)) from None


def read_message_id(value: Any, field: str = "message_id") -> str | None:
    return _read_key(value, field, ID_BYTES["message_id"]) or None


def _read_conversation(message: Any, context_memory: Any, interface_name: str | None) -> tuple[str | None, str]:
    """Return `(conversation key, interface)`; the key is the host's own, else `interface/chat.id[/thread]`."""
    interface = _read_key(interface_name, "interface") or ""
    limit = KEY_BYTES["conversation"]
    holders = (message, get(get(message, "payload"), "source"), context_memory)
    paths = (_read_key(get(holder, "interface_path"), "interface_path", limit) for holder in holders)
    if (path := next((path for path in paths if path), None)) is not None:
        return check_key(path), interface or path.split("/", 1)[0]
    chat_id = _read_key(get(get(message, "chat"), "id"), "chat.id")
    if not interface or not chat_id:
        return None, interface
    thread = _read_key(read_part(message, "thread"), "thread_id")
    return key_text("/".join(filter(None, (interface, chat_id, thread))), "interface_path", limit), interface


def _read_text(message: Any, notes: list[str]) -> str:
    """Return the text, else the caption of the message, else the first attachment's caption."""
    value = get(message, "text")
    text, note = ("", "") if isinstance(value, (list, tuple)) else as_text(value)
    notes += [f"text {note}"] if note else []
    text = text or read_text(message)
    if text.strip():
        return text
    for name in _ATTACHED:
        value = get(message, name)
        for item in value if isinstance(value, (list, tuple)) else (value,):
            caption = text_at(item, "caption")
            if caption.strip():
                return caption
    return text


def _read_privacy(said: Any, chat_type: str | None, notes: list[str]) -> bool | None:
    """Return whether the host calls the chat private, None if the host does not say (`said_privacy` reads its type)."""
    if isinstance(said, int) and said in (0, 1):
        return bool(said)
    if said is not None:
        notes.append("is_private is neither True nor False; the chat's type and ids decide")
    if chat_type is not None and chat_type not in PRIVATE_TYPES and chat_type not in PUBLIC_CHAT_TYPES:
        notes.append("chat.type is not known; without is_private the ids decide, and then public is assumed")
    return None


NON_TEXT = "[Non-text content]"
"""Text of a replied-to message without text and caption."""
_FILE_NAMES = ("filename", "file_name", "name", "type", "content_type")
MOST_NAME_CHARS = 100


def input_facts(raw: Any, image_data: Any = None, attachments: Any = None) -> dict[str, Any]:
    """Return the optional fields of the prompt's `input.payload`; missing fields are blank."""
    return {
        "input_source": "voice" if get(raw, "voice") else "",
        "image": dict(image_data) if isinstance(image_data, Mapping) else {},
        "attachments": read_attachments(raw if attachments is None else {"attachments": attachments}),
    }


def read_attachments(raw: Any) -> list[Any]:
    attachments = get(raw, "attachments")
    return list(attachments) if isinstance(attachments, (list, tuple)) else []


def name_attachments(attachments: Sequence[Any]) -> str:
    """Return a line that names attachments, "" without any."""
    named = (each if isinstance(each, str) else text_at(each, *_FILE_NAMES) for each in attachments)
    names = [one_line(name)[:MOST_NAME_CHARS] or "a file" for name in named]
    return f"[Attached: {', '.join(names)}]" if names else ""


def describe_reply(raw: Any) -> dict[str, Any]:
    """Return text, time and sender name, if known, of the message that `raw` replies to; {} if `raw` is no reply."""
    if (reply := read_reply(raw)) is None:
        return {}
    name = known_name(reply.sender.name, reply.sender.username)
    facts = {"text": reply.text or NON_TEXT, "timestamp": iso_text(reply.time), "from": name}
    return {key: value for key, value in facts.items() if value}
