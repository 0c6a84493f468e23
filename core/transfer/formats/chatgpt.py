"""ChatGPT: `conversations.json`, one list or several files of it, or one conversation as an object."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...text.folding import clean
from ...text.replies import strip_thoughts
from ..fields import dict_at, each_part, id_at, list_at, text_at, time_at
from ..files import Member
from ..shapes import USER_ID, USER_NAME, Fault, Left, Line, Read, Reading, Room, Speaker
from .trees import NO_TIME, Node, choose_branch

_ASSISTANT = Speaker("chatgpt", "ChatGPT", is_assistant=True)
_SAID = frozenset({"text", "multimodal_text", "code", "citable_code_output", "super_widget", ""})
"""Kinds of content that hold words of the two who speak; others are reasoning, tools, settings."""
_HIDING = (
    "is_visually_hidden_from_conversation", "is_user_system_message", "is_contextual_answers_system_message",
    "is_thinking_preamble_message",
)  # fmt: skip
_NOT_REMEMBERED = ("is_do_not_remember", "is_temporary_chat", "is_temporary")
_MARKS = re.compile("\ue200[^\ue201]*\ue201|[\ue200-\ue206]")
"""Marks of sources and pictures, in letters of no script."""


def read(members: Sequence[Member], reading: Reading) -> Iterator[Read]:
    """Yield the lines of every conversation."""
    for member in members:
        single: dict[str, Any] = {}
        for part in each_part(member):
            if isinstance(part, Fault):
                yield part
            elif len(part.path) == 1 and isinstance(part.path[0], str):
                single[part.path[0]] = part.value
            elif isinstance(part.path[-1], int):
                number = part.path[-1] + 1
                yield from _conversation(f"{member.name}: conversation {number}", part.value, member, reading)
        if "mapping" in single:
            yield from _conversation(f"{member.name}: conversation 1", single, member, reading)


def _conversation(place: str, value: Any, member: Member, reading: Reading) -> Iterator[Read]:
    if not isinstance(value, Mapping):
        yield Fault(place, "it is no object")
        return
    if any(value.get(name) is True for name in _NOT_REMEMBERED):
        yield Left("conversations marked not to be remembered")
        return
    nodes = list(_nodes(value.get("mapping")))
    if not nodes:
        yield Fault(place, "mapping is missing or holds no message")
        return
    begun, ended = time_at(value, "create_time"), time_at(value, "update_time")
    key = id_at(value, "conversation_id", "id") or nodes[0].id
    room = Room(key, text_at(value, "title"))
    user = Speaker(reading.user or USER_ID, USER_NAME)
    branch = choose_branch(nodes, id_at(value, "current_node"), begun, begun or ended or member.changed)
    hidden = sum(1 for node in nodes if not node.text and node.role)
    if not branch.lines:
        yield Left("conversations without a message")
    if hidden:
        yield Left("hidden, of the system, of tools, or without words", hidden)
    if not branch.is_timed and ended is None:
        reading.notes[NO_TIME] += len(branch.lines)
    if branch.left:
        yield Left("further lines of branches that are not shown", branch.left)
    for number, (node, at, versions) in enumerate(branch.lines, 1):
        yield Line(
            place=f"{place}, message {number}", room=room, text=node.text, at=at, id=node.id, edited=node.edited,
            speaker=user if node.role == "user" else _ASSISTANT, versions=versions, metadata=node.metadata,
        )  # fmt: skip


def _nodes(mapping: Any) -> Iterator[Node]:
    """Yield the messages of a conversation, whatever they hold."""
    pairs = mapping.items() if isinstance(mapping, Mapping) else enumerate(mapping if isinstance(mapping, list) else ())
    for name, value in pairs:
        if not isinstance(value, Mapping):
            continue
        message = value.get("message")
        parent = id_at(value, "parent")
        key = str(name) if isinstance(mapping, Mapping) else id_at(value, "id") or str(name)
        if not isinstance(message, Mapping):
            yield Node(key, parent, "", "")
            continue
        role, text = text_at(dict_at(message, "author"), "role"), _words(message)
        metadata: dict[str, Any] = {}
        model = text_at(dict_at(message, "metadata"), "model_slug")
        if model and role == "assistant":
            metadata["model"] = model
        if files := _files(message):
            metadata["attachments"] = files
        text = strip_thoughts(text) if role == "assistant" else text
        yield Node(key, parent, role, text if role in ("user", "assistant") else "", time_at(message, "create_time"),
                   None, metadata)  # fmt: skip


def _words(message: Mapping[str, Any]) -> str:
    """Return what a message shows of its author's words, blank for what is hidden."""
    metadata, content = dict_at(message, "metadata"), message.get("content")
    weight = message.get("weight")
    if any(metadata.get(name) for name in _HIDING) or (isinstance(weight, (int, float)) and weight == 0):
        return ""
    recipient = message.get("recipient")
    if isinstance(recipient, str) and recipient not in ("all", "", "user"):
        return ""
    if message.get("channel") == "analysis":
        return ""
    if isinstance(content, str):
        return clean(content).strip()
    if not isinstance(content, Mapping) or (text_at(content, "content_type") not in _SAID):
        return ""
    texts = [_part(part) for part in list_at(content, "parts")]
    if not any(texts):
        texts = [text_at(content, "text", "result") if content.get("content_type") != "multimodal_text" else ""]
    return _MARKS.sub("", "\n".join(text for text in texts if text.strip())).strip()


def _part(part: Any) -> str:
    """Return the words of one part: a text, or what was heard."""
    if isinstance(part, str):
        return clean(part)
    return text_at(part, "text")


def _files(message: Mapping[str, Any]) -> list[dict[str, str]]:
    made = [
        {"name": text_at(each, "name", "id")[:255]}
        for each in list_at(dict_at(message, "metadata"), "attachments")
        if text_at(each, "name", "id")
    ]
    parts = list_at(dict_at(message, "content"), "parts")
    pointers = [text_at(part, "asset_pointer") for part in parts if isinstance(part, Mapping)]
    return [*made, *({"name": pointer[:255]} for pointer in pointers if pointer and not made)][:50]
