"""Claude: `conversations.json`, `memories.json` and `projects.json`, each also as a folder of files, one for each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...text.folding import clean
from ...text.replies import strip_thoughts
from ..fields import dict_at, each_part, files_of, id_at, list_at, text_at, time_at
from ..files import Member
from ..shapes import USER_ID, USER_NAME, Fault, Left, Line, Note, Read, Reading, Room, Speaker
from .trees import NO_TIME, Node, choose_branch

_ASSISTANT = Speaker("claude", "Claude", is_assistant=True)
_ROLES = {"human": "user", "user": "user", "assistant": "assistant"}
_HEADING = re.compile(r"(?:#{1,6}\s+(?P<marked>.+?)\s*#*|\*\*(?P<bold>[^*\n]{1,120})\*\*:?)\s*\Z")
_PIECE_CHARS = 4000
_UNSUPPORTED = re.compile(r"```\s*This block is not supported on your current device yet\.\s*```")
"""What stands in the plain text of a message in place of what a tool did."""


def read(members: Sequence[Member], reading: Reading) -> Iterator[Read]:
    """Yield the lines of every conversation, then what was remembered and the texts of projects."""
    people = _people(members)
    for member in members:
        single: dict[str, Any] = {}
        for part in each_part(member):
            if isinstance(part, Fault):
                yield part
            elif len(part.path) == 1 and isinstance(part.path[0], str):
                single[part.path[0]] = part.value
            elif isinstance(part.path[-1], int):
                number = part.path[-1] + 1
                yield from _value(member, number, part.value, reading, people)
        if single.keys() & {"chat_messages", "conversations_memory", "project_memories", "docs", "prompt_template"}:
            yield from _value(member, 1, single, reading, people)


def _people(members: Sequence[Member]) -> dict[str, str]:
    """Return names by account, where the export says them."""
    names: dict[str, str] = {}
    for member in members:
        if member.stem != "users":
            continue
        for part in each_part(member):
            if not isinstance(part, Fault) and isinstance(part.value, Mapping):
                name = text_at(part.value, "full_name", "display_name", "name")
                if name and id_at(part.value, "uuid", "id"):
                    names[id_at(part.value, "uuid", "id")] = name
    return names


def _value(member: Member, number: int, value: Any, reading: Reading, people: Mapping[str, str]) -> Iterator[Read]:
    if isinstance(value, Mapping) and "chat_messages" in value:
        yield from _conversation(f"{member.name}: conversation {number}", value, member, reading, people)
    elif isinstance(value, Mapping) and value.keys() & {"conversations_memory", "project_memories"}:
        yield from _memories(f"{member.name}: memory {number}", value, reading, people)
    elif isinstance(value, Mapping) and value.keys() & {"docs", "prompt_template"}:
        yield from _project(f"{member.name}: project {number}", value, reading, people)
    elif isinstance(value, Mapping) and value.keys() & {"email_address", "full_name", "verified_phone_number"}:
        return
    else:
        yield Fault(f"{member.name}: {number}", "it is no conversation, memory or project: chat_messages is missing")


def _user(reading: Reading, account: str, people: Mapping[str, str]) -> Speaker:
    """Return who has the account; one account alone is also that of what does not say whose it is."""
    if not account and len(people) == 1:
        account = next(iter(people))
    return Speaker(reading.user or account or USER_ID, people.get(account) or USER_NAME)


# Conversations


def _conversation(
    place: str, value: Mapping[str, Any], member: Member, reading: Reading, people: Mapping[str, str]
) -> Iterator[Read]:
    messages = value.get("chat_messages")
    if not isinstance(messages, list):
        yield Fault(place, "chat_messages is no list")
        return
    key, begun = id_at(value, "uuid", "id"), time_at(value, "created_at")
    user = _user(reading, id_at(dict_at(value, "account"), "uuid", "id"), people)
    room = Room(key or f"{member.stem}-{place.rsplit(' ', 1)[-1]}", text_at(value, "name", "title"))
    nodes: list[Node] = []
    wordless = 0
    for number, message in enumerate(messages, 1):
        if not isinstance(message, Mapping):
            yield Fault(f"{place}, message {number}", "it is no object")
            continue
        node = _node(message, nodes, f"{room.id}-{number}")
        if node.role not in ("user", "assistant"):
            yield Fault(f"{place}, message {number}", "sender is neither human nor assistant")
        wordless += not node.text
        nodes.append(node)
    if wordless:
        yield Left("without words: thoughts, tools, files alone", wordless)
    last = id_at(value, "current_leaf_message_uuid")
    ended = time_at(value, "updated_at")
    branch = choose_branch(nodes, last, begun, begun or ended or member.changed)
    if not branch.is_timed and ended is None:
        reading.notes[NO_TIME] += len(branch.lines)
    if branch.left:
        yield Left("further lines of branches that are not shown", branch.left)
    project = text_at(dict_at(value, "project"), "name")
    for number, (node, at, versions) in enumerate(branch.lines, 1):
        metadata = {**node.metadata, **({"project": project} if project else {})}
        yield Line(
            place=f"{place}, message {number}", room=room, text=node.text, at=at, id=node.id, edited=node.edited,
            speaker=user if node.role == "user" else _ASSISTANT, versions=versions, metadata=metadata,
        )  # fmt: skip


def _node(message: Mapping[str, Any], before: Sequence[Node], missing: str) -> Node:
    """Return a message; one that names no parent follows the one before it."""
    key = id_at(message, "uuid", "id") or missing
    parent = id_at(message, "parent_message_uuid")
    if not parent and before:
        parent = before[-1].id
    sender = text_at(message, "sender", "role").lower()
    role = _ROLES.get(sender, sender)
    files = files_of(message, "attachments", "files", "files_v2")
    seen = [file for at, file in enumerate(files) if file not in files[:at]]
    text = _words(message) if role in ("user", "assistant") else ""
    text = strip_thoughts(text) if role == "assistant" else text
    at = time_at(message, "created_at", "updated_at")
    edited = time_at(message, "updated_at")
    return Node(key, parent, role, text, at, edited, {"attachments": seen} if seen else {})


def _words(message: Mapping[str, Any]) -> str:
    """Return the texts of a message: of its blocks, else its plain text, else what was pasted as a file."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else [content]
    texts = [
        clean(block) if isinstance(block, str) else text_at(block, "text")
        for block in blocks
        if isinstance(block, str) or (isinstance(block, Mapping) and block.get("type", "text") in ("text", None))
    ]
    said = "\n\n".join(text.strip() for text in texts if text.strip())
    if not said:
        said = text_at(message, "text")
        for block in blocks:  # the plain text repeats what was thought
            thought = text_at(block, "thinking")
            said = said.replace(thought, "", 1) if thought else said
        said = _UNSUPPORTED.sub("", said).strip()
    if not said:
        pasted = [text_at(each, "extracted_content") for each in list_at(message, "attachments")]
        said = "\n\n".join(text.strip() for text in pasted if text.strip())
    return said


# Memories and projects


def _memories(place: str, value: Mapping[str, Any], reading: Reading, people: Mapping[str, str]) -> Iterator[Read]:
    owner = _user(reading, id_at(value, "account_uuid", "uuid"), people)
    at = time_at(value, "updated_at", "created_at")
    yield from _notes(f"{place}, conversations_memory", text_at(value, "conversations_memory"), owner, at, {})
    projects = value.get("project_memories")
    pairs = (
        projects.items() if isinstance(projects, Mapping) else enumerate(projects if isinstance(projects, list) else ())
    )
    for key, each in pairs:
        text = clean(each) if isinstance(each, str) else text_at(each, "memory", "content", "text")
        project = str(key) if isinstance(projects, Mapping) else id_at(each, "project_uuid", "uuid")
        yield from _notes(f"{place}, project {project[:60]}", text, owner, at, {"project": project})
    for each in list_at(value, "memory_files"):
        name = text_at(each, "path", "name", "filename")
        yield from _notes(f"{place}, file", text_at(each, "content", "text"), owner, at, {"file": name[:255]})


def _project(place: str, value: Mapping[str, Any], reading: Reading, people: Mapping[str, str]) -> Iterator[Read]:
    owner = _user(reading, id_at(dict_at(value, "creator"), "uuid", "id"), people)
    at = time_at(value, "updated_at", "created_at")
    name = text_at(value, "name")
    if value.get("is_starter_project") is True:
        yield Left("projects that come with the program")
        return
    kept = {"project": name[:255] or id_at(value, "uuid")}
    yield from _notes(f"{place}, description", text_at(value, "description"), owner, at, kept)
    yield from _notes(f"{place}, instructions", text_at(value, "prompt_template"), owner, at,
                      {**kept, "part": "instructions"})  # fmt: skip
    for number, document in enumerate(list_at(value, "docs"), 1):
        file = text_at(document, "filename", "file_name", "name")
        yield from _notes(f"{place}, document {number}", text_at(document, "content", "text"), owner,
                          time_at(document, "created_at") or at, {**kept, "file": file[:255]})  # fmt: skip


def _notes(place: str, text: str, owner: Speaker, at: Any, metadata: Mapping[str, Any]) -> Iterator[Note]:
    """Yield a text in its paragraphs, each under its heading; none of them longer than a memory is good for."""
    heading = ""
    for number, paragraph in enumerate(re.split(r"\n\s*\n", text), 1):
        said = paragraph.strip()
        marked = _HEADING.match(said)
        if marked:
            heading = (marked["marked"] or marked["bold"]).strip()
            continue
        kept = {**metadata, **({"heading": heading} if heading else {})}
        for piece in (said[start : start + _PIECE_CHARS] for start in range(0, len(said), _PIECE_CHARS)):
            if piece.strip():
                yield Note(f"{place}, paragraph {number}", piece.strip(), owner, at, kept)
