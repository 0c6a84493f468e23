"""Chats with an assistant that branch: ChatGPT, Claude and Open WebUI.

What is shown is taken, other texts in the place of a line that is shown are its versions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from ...text.folding import clean
from ...text.replies import strip_thoughts
from ..fields import build_metadata, dict_at, each_part, files_of, id_at, list_at, text_at, time_at
from ..files import Member
from ..shapes import USER_ID, USER_NAME, Fault, Left, Line, Note, Read, Reading, Room, Speaker, Version

NO_TIME = "messages of conversations that say no time, given that of the file"
"""Note of a reader."""
_ROLES = {"human": "user", "user": "user", "assistant": "assistant"}


@dataclass(frozen=True, slots=True)
class Node:
    """One message of a tree."""

    id: str
    parent: str
    role: str
    """user or assistant; another for what nobody said."""
    text: str
    """Blank for what is not shown: it joins others and holds no words."""
    at: datetime | None = None
    edited: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


class Shown(NamedTuple):
    """A line of the branch that is shown."""

    node: Node
    at: datetime
    versions: tuple[Version, ...]


class Branch(NamedTuple):
    """What is taken of a tree."""

    lines: list[Shown]
    left: int
    """Lines of other branches that are in the place of none that is shown."""
    is_timed: bool
    """Whether anything said a time."""


# The branch that is shown


def choose_branch(nodes: Iterable[Node], current: str, begun: datetime | None, fallback: datetime) -> Branch:
    """Return the branch that is shown, with other versions of its lines."""
    by_id = {node.id: node for node in nodes}
    path = _walk(by_id, current if current in by_id else _newest_leaf(by_id))
    shown = [node for node in path if node.text]
    groups: dict[tuple[str, str], list[Node]] = {}
    above: dict[str, str] = {}
    for node in by_id.values():
        if node.text:
            groups.setdefault((_shown_above(by_id, node, above), node.role), []).append(node)
    taken: set[str] = set()
    lines: list[Shown] = []
    times = _settle(shown, begun, fallback)
    for node, at in zip(shown, times, strict=True):
        group = groups[_shown_above(by_id, node, above), node.role]
        taken.update(each.id for each in group)
        versions = tuple(Version(each.id, each.text) for each in group) if len(group) > 1 else ()
        lines.append(Shown(node, at, versions))
    left = sum(1 for node in by_id.values() if node.text and node.id not in taken)
    return Branch(lines, left, begun is not None or any(node.at is not None for node in shown))


def _walk(by_id: Mapping[str, Node], last: str) -> list[Node]:
    path: list[Node] = []
    seen: set[str] = set()
    while last in by_id and last not in seen:
        seen.add(last)
        path.append(by_id[last])
        last = by_id[last].parent
    return path[::-1]


def _newest_leaf(by_id: Mapping[str, Node]) -> str:
    """Return the message at the end of the newest branch, the last in the file among those of one time."""
    parents = {node.parent for node in by_id.values()}
    leaves = [node for node in by_id.values() if node.id not in parents] or list(by_id.values())
    best, newest = "", None
    for leaf in leaves:
        at = next((node.at for node in reversed(_walk(by_id, leaf.id)) if node.at is not None), None)
        if not best or newest is None or (at is not None and at >= newest):
            best, newest = leaf.id, at
    return best


def _shown_above(by_id: Mapping[str, Node], node: Node, known: dict[str, str]) -> str:
    """Return the id of the nearest message above that holds words, blank for none; `known` is filled on the way."""
    way: dict[str, None] = {}
    here = node
    while here.id not in known:
        way[here.id] = None
        above = by_id.get(here.parent)
        if above is None or above.id in way:
            found = ""
            break
        if above.text:
            found = above.id
            break
        here = above
    else:
        found = known[here.id]
    known.update(dict.fromkeys(way, found))
    return found


def _settle(shown: list[Node], begun: datetime | None, fallback: datetime) -> list[datetime]:
    """Return a time for each line: its own, never before that of the line above it."""
    first = next((node.at for node in shown if node.at is not None), None)
    known = [moment for moment in (begun, first) if moment is not None]
    now = min(known) if known else fallback
    if shown and shown[0].at is not None:
        now = shown[0].at
    times = []
    for node in shown:
        now = max(now, node.at) if node.at is not None else now
        times.append(now)
    return times


# What the three have in common

Conversation = Callable[[str, Any, Member, Reading], Iterator[Read]]


def _read(members: Sequence[Member], reading: Reading, keys: frozenset[str], one: Conversation) -> Iterator[Read]:
    """Yield what `one` gives of every element of a list, or of a document with one of these keys."""
    for member in members:
        single: dict[str, Any] = {}
        messages: list[Any] = []
        for part in each_part(member):
            if isinstance(part, Fault):
                yield part
            elif len(part.path) == 1 and isinstance(part.path[0], str):
                single[part.path[0]] = part.value
            elif part.path[0] == "messages":
                messages.append(part.value)
            elif isinstance(part.path[-1], int):
                yield from one(f"{member.name}: conversation {part.path[-1] + 1}", part.value, member, reading)
        if single.keys() & keys:
            whole = {**single, "messages": messages} if messages else single
            yield from one(f"{member.name}: conversation 1", whole, member, reading)


class _Chat(NamedTuple):
    """One conversation, taken apart."""

    room: Room
    nodes: Sequence[Node]
    current: str
    """Id of the last message that is shown; blank for the newest."""
    begun: datetime | None
    ended: datetime | None
    user: Speaker


def _lines(place: str, chat: _Chat, member: Member, reading: Reading, assistant: Speaker | None) -> Iterator[Read]:
    """Yield the lines of the branch that is shown; without `assistant` each line names its model."""
    branch = choose_branch(chat.nodes, chat.current, chat.begun, chat.begun or chat.ended or member.changed)
    wordless = sum(1 for node in chat.nodes if not node.text and node.role)
    if not branch.lines:
        yield Left("conversations without a message")
    if wordless:
        yield Left("hidden, of the system, of tools, or without words", wordless)
    if not branch.is_timed and chat.ended is None:
        reading.notes[NO_TIME] += len(branch.lines)
    if branch.left:
        yield Left("further lines of branches that are not shown", branch.left)
    for number, (node, at, versions) in enumerate(branch.lines, 1):
        model = text_at(node.metadata, "model") or "Assistant"
        answering = assistant or Speaker("assistant", model, is_assistant=True)
        yield Line(
            place=f"{place}, message {number}", room=chat.room, text=node.text, at=at, id=node.id, edited=node.edited,
            speaker=chat.user if node.role == "user" else answering, versions=versions, metadata=node.metadata,
        )  # fmt: skip


def _nodes(
    place: str, messages: Sequence[Any], room: str, make: Callable[[Mapping[str, Any], str, str], Node]
) -> Iterator[Node | Fault]:
    """Yield the messages of a list; one that names no parent follows the one before it."""
    before = ""
    for number, message in enumerate(messages, 1):
        if not isinstance(message, Mapping):
            yield Fault(f"{place}, message {number}", "it is no object")
            continue
        node = make(message, before, f"{room}-{number}")
        before = node.id
        yield node


# ChatGPT: `conversations.json`, one list or several files of it, or one conversation as an object

_CHATGPT = Speaker("chatgpt", "ChatGPT", is_assistant=True)
_SAID = frozenset({"text", "multimodal_text", "code", "citable_code_output", "super_widget", ""})
"""Kinds of content that hold words of the two who speak; others are reasoning, tools, settings."""
_HIDING = (
    "is_visually_hidden_from_conversation", "is_user_system_message", "is_contextual_answers_system_message",
    "is_thinking_preamble_message",
)  # fmt: skip
_NOT_REMEMBERED = ("is_do_not_remember", "is_temporary_chat", "is_temporary")
_MARKS = re.compile("\ue200[^\ue201]*\ue201|[\ue200-\ue206]")
"""Marks of sources and pictures, in letters of no script."""


def _chatgpt(place: str, value: Any, member: Member, reading: Reading) -> Iterator[Read]:
    if not isinstance(value, Mapping):
        yield Fault(place, "it is no object")
        return
    if any(value.get(name) is True for name in _NOT_REMEMBERED):
        yield Left("conversations marked not to be remembered")
        return
    nodes = list(_chatgpt_nodes(value.get("mapping")))
    if not nodes:
        yield Fault(place, "mapping is missing or holds no message")
        return
    room = Room(id_at(value, "conversation_id", "id") or nodes[0].id, text_at(value, "title"))
    user = Speaker(reading.user or USER_ID, USER_NAME)
    times = time_at(value, "create_time"), time_at(value, "update_time")
    chat = _Chat(room, nodes, id_at(value, "current_node"), *times, user)
    yield from _lines(place, chat, member, reading, _CHATGPT)


def _chatgpt_nodes(mapping: Any) -> Iterator[Node]:
    """Yield the messages of a conversation, whatever they hold."""
    pairs = mapping.items() if isinstance(mapping, Mapping) else enumerate(mapping if isinstance(mapping, list) else ())
    for name, value in pairs:
        if not isinstance(value, Mapping):
            continue
        message = value.get("message")
        key = str(name) if isinstance(mapping, Mapping) else id_at(value, "id") or str(name)
        if not isinstance(message, Mapping):
            yield Node(key, id_at(value, "parent"), "", "")
            continue
        role, text = text_at(dict_at(message, "author"), "role"), _chatgpt_words(message)
        model = text_at(dict_at(message, "metadata"), "model_slug") if role == "assistant" else ""
        text = strip_thoughts(text) if role == "assistant" else text
        yield Node(
            key, id_at(value, "parent"), role, text if role in ("user", "assistant") else "",
            time_at(message, "create_time"), None, build_metadata(_files(message), model=model),
        )  # fmt: skip


def _chatgpt_words(message: Mapping[str, Any]) -> str:
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


# Open WebUI: chats as its settings export them, one list or one chat


def _openwebui(place: str, value: Any, member: Member, reading: Reading) -> Iterator[Read]:
    if not isinstance(value, Mapping):
        yield Fault(place, "it is no object")
        return
    chat = dict_at(value, "chat") or value
    history = dict_at(chat, "history")
    held = history.get("messages")
    messages = [*held.values()] if isinstance(held, Mapping) else held if isinstance(held, list) else []
    messages = messages or list_at(chat, "messages")
    if not messages:
        yield Left("chats without a message")
        return
    begun = time_at(value, "created_at") or time_at(chat, "timestamp", "created_at")
    key = id_at(value, "id") or id_at(chat, "id") or f"{member.stem}-{place.rsplit(' ', 1)[-1]}"
    room = Room(key, text_at(value, "title") or text_at(chat, "title"))
    user = Speaker(reading.user or id_at(value, "user_id") or USER_ID, USER_NAME)
    made = list(_nodes(place, messages, key, _openwebui_node))
    yield from (fault for fault in made if isinstance(fault, Fault))
    nodes = [node for node in made if isinstance(node, Node)]
    taken = _Chat(room, nodes, id_at(history, "currentId"), begun, time_at(value, "updated_at"), user)
    yield from _lines(place, taken, member, reading, None)


def _openwebui_node(message: Mapping[str, Any], before: str, missing: str) -> Node:
    parent = id_at(message, "parentId") if "parentId" in message else before
    role = text_at(message, "role")
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    texts = [clean(part) if isinstance(part, str) else text_at(part, "text") for part in parts]
    text = "\n".join(text for text in texts if text.strip()).strip() if role in _ROLES else ""
    text = strip_thoughts(text) if role == "assistant" else text
    model = text_at(message, "modelName", "model")[:191]
    metadata = build_metadata(files_of(message, "files"), model=model)
    return Node(
        id_at(message, "id") or missing, parent, role or "?", text, time_at(message, "timestamp"), None, metadata
    )


# Claude: `conversations.json`, `memories.json` and `projects.json`, each also as a folder of files, one for each

_CLAUDE = Speaker("claude", "Claude", is_assistant=True)
_OF_CLAUDE = frozenset({"chat_messages", "conversations_memory", "project_memories", "docs", "prompt_template"})
_HEADING = re.compile(r"(?:#{1,6}\s+(?P<marked>.+?)\s*#*|\*\*(?P<bold>[^*\n]{1,120})\*\*:?)\s*\Z")
_PIECE_CHARS = 4000
_UNSUPPORTED = re.compile(r"```\s*This block is not supported on your current device yet\.\s*```")
"""What stands in the plain text of a message in place of what a tool did."""


def read_claude(members: Sequence[Member], reading: Reading) -> Iterator[Read]:
    """Yield the lines of every conversation, what was remembered and the texts of projects."""
    people: dict[str, str] = {}
    for member in members:
        for part in each_part(member) if member.stem == "users" else ():
            if not isinstance(part, Fault) and isinstance(part.value, Mapping):
                name = text_at(part.value, "full_name", "display_name", "name")
                if name and id_at(part.value, "uuid", "id"):
                    people[id_at(part.value, "uuid", "id")] = name
    yield from _read(members, reading, _OF_CLAUDE, partial(_claude, people))


def _claude(people: Mapping[str, str], place: str, value: Any, member: Member, reading: Reading) -> Iterator[Read]:
    keys = value.keys() if isinstance(value, Mapping) else frozenset[str]()
    if "chat_messages" in keys:
        yield from _conversation(place, value, member, reading, people)
    elif keys & {"conversations_memory", "project_memories"}:
        yield from _memories(place.replace("conversation", "memory"), value, reading, people)
    elif keys & {"docs", "prompt_template"}:
        yield from _project(place.replace("conversation", "project"), value, reading, people)
    elif not keys & {"email_address", "full_name", "verified_phone_number"}:
        yield Fault(place, "it is no conversation, memory or project: chat_messages is missing")


def _user(reading: Reading, account: str, people: Mapping[str, str]) -> Speaker:
    """Return who has the account; one account alone is also that of what does not say whose it is."""
    if not account and len(people) == 1:
        account = next(iter(people))
    return Speaker(reading.user or account or USER_ID, people.get(account) or USER_NAME)


def _conversation(
    place: str, value: Mapping[str, Any], member: Member, reading: Reading, people: Mapping[str, str]
) -> Iterator[Read]:
    messages = value.get("chat_messages")
    if not isinstance(messages, list):
        yield Fault(place, "chat_messages is no list")
        return
    key = id_at(value, "uuid", "id") or f"{member.stem}-{place.rsplit(' ', 1)[-1]}"
    project = text_at(dict_at(value, "project"), "name")
    made = list(_nodes(place, messages, key, partial(_claude_node, project)))
    yield from (fault for fault in made if isinstance(fault, Fault))
    nodes = [node for node in made if isinstance(node, Node)]
    yield from (
        Fault(f"{place}, {node.id[:60]}", "sender is neither human nor assistant")
        for node in nodes
        if node.role not in _ROLES.values()
    )
    user = _user(reading, id_at(dict_at(value, "account"), "uuid", "id"), people)
    times = time_at(value, "created_at"), time_at(value, "updated_at")
    room = Room(key, text_at(value, "name", "title"))
    chat = _Chat(room, nodes, id_at(value, "current_leaf_message_uuid"), *times, user)
    yield from _lines(place, chat, member, reading, _CLAUDE)


def _claude_node(project: str, message: Mapping[str, Any], before: str, missing: str) -> Node:
    sender = text_at(message, "sender", "role").lower()
    role = _ROLES.get(sender, sender or "?")
    files = files_of(message, "attachments", "files", "files_v2")
    text = _claude_words(message) if sender in _ROLES else ""
    text = strip_thoughts(text) if role == "assistant" else text
    return Node(
        id_at(message, "uuid", "id") or missing, id_at(message, "parent_message_uuid") or before, role, text,
        time_at(message, "created_at", "updated_at"), time_at(message, "updated_at"),
        build_metadata([file for at, file in enumerate(files) if file not in files[:at]], project=project),
    )  # fmt: skip


def _claude_words(message: Mapping[str, Any]) -> str:
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


read_chatgpt = partial(_read, keys=frozenset({"mapping"}), one=_chatgpt)
read_openwebui = partial(_read, keys=frozenset({"chat", "history"}), one=_openwebui)
