"""What a person can attach, as JSON: what is saved, wished and talked about, and one conversation by its key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote

import mcp_types as types

from ..base.wire_ids import write_ids
from ..chat_history_cache import load_chat_history, load_global_chat_history
from ..conversations import list_recent_conversations, list_saved_memories
from ..errors import MessageError
from ..shapes import PERSONA_SENDER, ChatLine
from ..text.sizes import to_json
from ..wishes import list_wishes
from .speaker import Speaker

LINES = 200
"""Newest lines of a conversation that are shown."""
RECENT_LINES = 1000
"""Newest lines over all conversations that are looked through for those that are going on."""
CONVERSATION = "memory://conversation/"
JSON = "application/json"


def read_saved(speaker: Speaker) -> dict[str, Any]:
    """Return what was asked to be remembered, oldest first."""
    return {"saved": list_saved_memories(**speaker.asking)}


def read_wishes(speaker: Speaker) -> dict[str, Any]:
    """Return what the person wishes once and for all, oldest first."""
    return {"wishes": list_wishes(**speaker.asking)}


def read_conversations(speaker: Speaker) -> dict[str, Any]:
    """Return the conversations that go on, by their newest lines, and the summaries of those that have ended."""
    newest: dict[str, str] = {}
    for line in load_global_chat_history(RECENT_LINES, **speaker.asking):
        newest[line["interface_path"]] = line["timestamp"]
    going_on = [
        {"conversation": key, "uri": conversation_uri(key), "newest_line": at}
        for key, at in sorted(newest.items(), key=lambda each: each[1], reverse=True)
    ]
    return {"conversations": going_on, "ended": list_recent_conversations(**speaker.asking)}


def read_conversation(speaker: Speaker, key: str) -> dict[str, Any] | None:
    """Return the newest lines of a conversation, oldest first; None where there is nothing the speaker sees."""
    try:
        lines = load_chat_history(key, LINES, **speaker.asking)
    except MessageError:  # no key that a conversation could have
        return None
    if not lines:
        return None
    shown = [
        {"speaker": _name_speaker(speaker, line), "time": line["timestamp"], "text": line["text"]} for line in lines
    ]
    return {"conversation": key, "lines": shown}


def _name_speaker(speaker: Speaker, line: ChatLine) -> str:
    """Return who said a line: the name, the persona's own for its lines, else the id."""
    own = speaker.scope.persona if line["sender_id"] == PERSONA_SENDER else ""
    return line["sender_name"] or own or line["sender_id"]


def conversation_uri(key: str) -> str:
    """Return the address of a conversation.

    >>> conversation_uri("tg/42")
    'memory://conversation/tg%2F42'
    """
    return CONVERSATION + quote(key, safe="")


LISTS: dict[str, tuple[str, str, Callable[[Speaker], dict[str, Any]]]] = {
    "memory://saved": ("Saved memories", "What was asked to be remembered.", read_saved),
    "memory://wishes": ("Standing wishes", "What the person wishes once and for all.", read_wishes),
    "memory://conversations": (
        "Conversations",
        "Those that go on, each with its address, and summaries of those that ended.",
        read_conversations,
    ),
}
"""Address to name, what it is, and what reads it."""


def list_resources() -> list[types.Resource]:
    """Return the resources as they are listed."""
    return [
        types.Resource(uri=uri, name=uri.removeprefix("memory://"), title=title, description=about, mime_type=JSON)
        for uri, (title, about, _) in LISTS.items()
    ]


def list_templates() -> list[types.ResourceTemplate]:
    """Return the templates as they are listed."""
    return [
        types.ResourceTemplate(
            uri_template=f"{CONVERSATION}{{key}}",
            name="conversation",
            title="One conversation",
            description=f"The newest {LINES} lines of a conversation, by its key such as tg/42.",
            mime_type=JSON,
        )
    ]


def read(speaker: Speaker, uri: str) -> str | None:
    """Return a resource as JSON, None where there is no such one."""
    if uri in LISTS:
        found: dict[str, Any] | None = LISTS[uri][2](speaker)
    elif uri.startswith(CONVERSATION):
        found = read_conversation(speaker, unquote(uri.removeprefix(CONVERSATION)))
    else:
        return None
    return None if found is None else to_json(write_ids(found))
