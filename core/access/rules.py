"""Access rules: the audiences that a scope sees, and the privacy of a conversation."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal
from urllib.parse import unquote

from ..scope import KEY_BYTES, Privacy, key_text
from ..text.folding import one_line

AudienceKind = Literal["persona", "server", "direct", "saved", "conversation"]
"""persona: everywhere within the persona. server: public conversations of a server. direct: direct messages with one
person. saved: what one person asked to remember in private. conversation: one restricted channel, separate chat, or
direct message with an unknown person."""

SEPARATE, UNSTATED = 2, 3
"""Values of `conversations.is_private`. SEPARATE: a separate chat. UNSTATED: restricted for now: only the persona has
spoken, and nothing says how private the conversation is."""
STATES: Mapping[Privacy, int] = {"public": 0, "direct": 1, "restricted": 1, "separate": SEPARATE}
"""Value of `conversations.is_private` for each privacy."""

PRIVATE_TYPES: dict[str, Privacy] = {"private": "direct", "dm": "direct", "direct": "direct", "group_dm": "restricted"}
"""Privacy of private conversations outside of a server, by chat.type."""

PUBLIC_CHAT_TYPES = frozenset({"group", "channel", "supergroup", "guild"})

_KIND = re.compile(r"/%([a-z]+)-")
"""Matches the kind of a conversation in a key of the proxy or a transcript: `room` in `proxy/%room-kitchen`."""


@dataclass(frozen=True, slots=True, order=True)
class AudienceKey:
    """An audience within its persona: kind, server, and `ref`, the key of its person or conversation."""

    kind: AudienceKind
    server: str = ""
    ref: str = ""


def stored_privacy(state: int, direct_person: str | None) -> Privacy:
    """Return the privacy that the values of the columns `is_private` and `direct_person_key` stand for."""
    if not state or direct_person is None:
        return "restricted" if state else "public"
    return "separate" if state == SEPARATE else "direct"


def said_privacy(
    is_private: bool | None, chat_type: str | None, chat_id: str | None, sender_id: str | None, server: str
) -> Privacy | None:
    """Derive a conversation's privacy from these values of the host's message; None if they do not state it."""
    kind = (chat_type or "").lower()
    is_own, of_type = bool(chat_id) and chat_id == sender_id, PRIVATE_TYPES.get(kind)
    if is_private is False or (is_private is None and kind in PUBLIC_CHAT_TYPES):
        return "public"
    if is_own and of_type == "direct":
        return "direct"
    if is_private or of_type:
        return "restricted" if server or of_type == "restricted" or kind in PUBLIC_CHAT_TYPES else "direct"
    return None


def own_audience(privacy: Privacy, server: str, conversation: str, person: str | None) -> AudienceKey:
    if privacy == "public":
        return AudienceKey("server", server)
    if privacy == "direct" and person:
        return AudienceKey("direct", "", person)
    if privacy == "separate":
        return AudienceKey("conversation", "", conversation)
    return AudienceKey("conversation", server, conversation)


def seen_audiences(privacy: Privacy, server: str, conversation: str | None, person: str | None) -> list[AudienceKey]:
    """Return the audiences that a prompt of this privacy, server, conversation and person may see."""
    if conversation is None or privacy == "public":
        return [AudienceKey("persona"), AudienceKey("server", server)]
    own = own_audience(privacy, server, conversation, person)
    if privacy == "restricted" or not person:
        return [AudienceKey("persona"), AudienceKey("server", "" if own.kind == "direct" else server), own]
    return [AudienceKey("persona"), AudienceKey("server", ""), own, AudienceKey("saved", "", person)]


def choose_threads(audiences: Iterable[AudienceKey], server: str, channel: str) -> list[AudienceKey]:
    """Return those of `audiences` that are threads of the restricted `channel`; people in the channel see them too."""
    on_server = (key for key in audiences if key.kind == "conversation" and key.server == server)
    return sorted(key for key in on_server if parent_key(key.ref) == channel)


SERVER_MARK = "\x1f"
"""Separates a conversation key from a mark of its server, stored if another server has a room with the same key."""


def mark_server(conversation: str, server: str) -> str:
    """Add the server to a conversation key, to store a room whose key another server uses too."""
    return f"{conversation}{SERVER_MARK}{blake2b(server.encode(), digest_size=8).hexdigest()}"


def plain_key(conversation: str) -> str:
    """Remove the server that `mark_server` added to a stored conversation key, so that the host knows the key."""
    return conversation.partition(SERVER_MARK)[0]


def show_key(key: str) -> str:
    """Format a stored conversation key for people.

    >>> show_key("proxy/%room-the%2Fkitchen")
    'proxy room the/kitchen'
    """
    return one_line(unquote(_KIND.sub(r" \1 ", plain_key(key))))


def split_key(conversation: str) -> tuple[str, str, str]:
    """Split a conversation key `interface/chat[/thread]` into interface, chat id and thread id."""
    interface, _, rest = plain_key(conversation).partition("/")
    chat, _, thread = rest.partition("/")
    return interface, chat, thread


def is_own_chat(conversation: str | None, participant: str | None) -> bool:
    """Return whether the chat id of `conversation` is the id of `participant`, as in direct messages."""
    interface, chat, _ = split_key(conversation or "")
    return bool(chat) and participant == f"{interface}/{chat}"


KEY_PARTS = {"interface": 64, "chat_id": 255, "thread_id": 255}
"""Maximum number of bytes of each part of a conversation key."""


def check_key(conversation: object) -> str:
    """Check that the parts of a conversation key fit their columns, and return the key."""
    key = key_text(conversation, "interface_path", KEY_BYTES["conversation"], required=True)
    for (name, limit), part in zip(KEY_PARTS.items(), split_key(key), strict=True):
        key_text(part, f"{name} of interface_path", limit)
    return key


def named_participant(interface: str, name: str) -> str | None:
    """Build a participant key from a name, cut to the bytes of its column; None without a name."""
    prefix = f"{interface}/" if interface else ""
    room = max(KEY_BYTES["participant"] - len(prefix.encode()), 0)
    own = one_line(name).strip().encode()[:room].decode("utf-8", "ignore")
    return f"{prefix}{own}" if own else None


def parent_key(conversation: str) -> str | None:
    """Return the key of a thread's parent conversation, None if the key is not a thread's."""
    interface, chat, thread = split_key(conversation)
    mark = conversation[len(plain_key(conversation)) :]
    return f"{interface}/{chat}{mark}" if thread else None


def mark_participant(participant: str) -> str:
    """Return the digest (20 hexadecimal digits) that is stored in rows instead of a participant key."""
    return blake2b(participant.encode("utf-8", "replace"), digest_size=10).hexdigest() if participant else ""
