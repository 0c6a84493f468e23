"""Open WebUI: chats as its settings export them, one list or one chat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...text.folding import clean
from ...text.replies import strip_thoughts
from ..fields import dict_at, each_part, files_of, id_at, list_at, text_at, time_at
from ..files import Member
from ..shapes import USER_ID, USER_NAME, Fault, Left, Line, Read, Reading, Room, Speaker
from .trees import NO_TIME, Node, choose_branch


def read(members: Sequence[Member], reading: Reading) -> Iterator[Read]:
    """Yield the lines of every chat."""
    for member in members:
        single: dict[str, Any] = {}
        listed: list[Any] = []
        for part in each_part(member):
            if isinstance(part, Fault):
                yield part
            elif len(part.path) == 1 and isinstance(part.path[0], str):
                single[part.path[0]] = part.value
            elif part.path[0] == "messages":
                listed.append(part.value)
            elif isinstance(part.path[-1], int):
                number = part.path[-1] + 1
                yield from _chat(f"{member.name}: chat {number}", part.value, member, reading)
        if single.keys() & {"chat", "history"}:
            yield from _chat(f"{member.name}: chat 1", {**single, "messages": listed}, member, reading)


def _chat(place: str, value: Any, member: Member, reading: Reading) -> Iterator[Read]:
    if not isinstance(value, Mapping):
        yield Fault(place, "it is no object")
        return
    chat = dict_at(value, "chat") or value
    history = dict_at(chat, "history")
    found = history.get("messages")
    messages = [*found.values()] if isinstance(found, Mapping) else found if isinstance(found, list) else []
    messages = messages or list_at(chat, "messages")
    if not messages:
        yield Left("chats without a message")
        return
    begun = time_at(value, "created_at") or time_at(chat, "timestamp", "created_at")
    key = id_at(value, "id") or id_at(chat, "id") or f"{member.stem}-{place.rsplit(' ', 1)[-1]}"
    room = Room(key, text_at(value, "title") or text_at(chat, "title"))
    user = Speaker(reading.user or id_at(value, "user_id") or USER_ID, USER_NAME)
    nodes: list[Node] = []
    wordless = 0
    for number, message in enumerate(messages, 1):
        if not isinstance(message, Mapping):
            yield Fault(f"{place}, message {number}", "it is no object")
            continue
        node = _node(message, nodes, f"{key}-{number}")
        wordless += not node.text
        nodes.append(node)
    if wordless:
        yield Left("of the system, of tools, or without words", wordless)
    ended = time_at(value, "updated_at")
    branch = choose_branch(nodes, id_at(history, "currentId"), begun, begun or ended or member.changed)
    if not branch.is_timed and ended is None:
        reading.notes[NO_TIME] += len(branch.lines)
    if branch.left:
        yield Left("further lines of branches that are not shown", branch.left)
    for number, (node, at, versions) in enumerate(branch.lines, 1):
        model = text_at(node.metadata, "model")
        speaker = user if node.role == "user" else Speaker("assistant", model or "Assistant", is_assistant=True)
        yield Line(
            place=f"{place}, message {number}", room=room, text=node.text, at=at, id=node.id, speaker=speaker,
            versions=versions, metadata=node.metadata,
        )  # fmt: skip


def _node(message: Mapping[str, Any], before: Sequence[Node], missing: str) -> Node:
    """Return a message; one that says nothing of its parent follows the one before it."""
    parent = id_at(message, "parentId")
    if "parentId" not in message and before:
        parent = before[-1].id
    role = text_at(message, "role")
    metadata: dict[str, Any] = {}
    if model := text_at(message, "modelName", "model"):
        metadata["model"] = model[:191]
    if files := files_of(message, "files"):
        metadata["attachments"] = files
    text = _words(message.get("content")) if role in ("user", "assistant") else ""
    text = strip_thoughts(text) if role == "assistant" else text
    return Node(id_at(message, "id") or missing, parent, role, text, time_at(message, "timestamp"), None, metadata)


def _words(content: Any) -> str:
    """Return the text of a message."""
    parts = content if isinstance(content, list) else [content]
    texts = [clean(part) if isinstance(part, str) else text_at(part, "text") for part in parts]
    said = "\n".join(text for text in texts if text.strip())
    return said.strip()
