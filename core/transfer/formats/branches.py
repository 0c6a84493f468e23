"""Reads chats in which a message may have several replies (branches): ChatGPT, Claude, Open WebUI and others."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from ...messages.table_recaps import Alternative
from ...scope import MESSAGE_ID_BYTES
from ...stories.table_imported import NOTHING, Beside
from ...text.folding import clean
from ..fields import build_metadata, dict_at, files_of, id_at, list_at, said_without_thoughts, text_at, time_at
from ..files import Member
from ..json_values import each_part
from ..shapes import USER_ID, USER_NAME, Fault, Left, Line, Note, Read, Reading, Room, Speaker

NO_TIME = "messages of conversations that say no time, given that of the file"
_ROLES = {"human": "user", "user": "user", "assistant": "assistant"}


@dataclass(frozen=True, slots=True)
class Node:
    id: str
    parent: str
    role: str
    """user or assistant; another value for a message of the system or of a tool."""
    text: str
    """Visible text; "" for a node that only links other messages."""
    at: datetime | None = None
    edited: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


class Shown(NamedTuple):
    node: Node
    at: datetime
    versions: list[Node]
    """All versions of the line in the order of the file, including the shown one."""


def choose_branch(nodes: Iterable[Node], current: str, begun: datetime | None, fallback: datetime) -> list[Shown]:
    """Return the messages from the first to `current`, each with a time; an unknown `current` means the last message.

    A message of another branch becomes a version of the shown message at the same depth if that has the same role,
    else of the nearest shown message above that has the same role.
    """
    by_id = {node.id: node for node in nodes}
    path = _walk(by_id, current if current in by_id else next(reversed(by_id), ""))
    shown = [node for node in path if node.text]
    depths = _count_above(by_id)
    places: dict[str, list[int]] = {}
    for number, node in enumerate(shown):
        places.setdefault(node.role, []).append(number)
    versions: list[list[Node]] = [[] for _ in shown]
    for node in by_id.values():
        if node.text and (numbers := places.get(node.role)):
            at = bisect_right(numbers, depths[node.id]) - 1
            versions[numbers[max(at, 0)]].append(node)
    times = _settle(shown, begun, fallback)
    return [Shown(node, at, others) for node, at, others in zip(shown, times, versions, strict=True)]


def _walk(by_id: Mapping[str, Node], last: str) -> list[Node]:
    path: dict[str, Node] = {}
    while last in by_id and last not in path:
        path[last] = by_id[last]
        last = by_id[last].parent
    return [*path.values()][::-1]


def _count_above(by_id: Mapping[str, Node]) -> dict[str, int]:
    """Count, for each message id, the messages with text above that message in the tree."""
    counts: dict[str, int] = {}
    for start in by_id:
        path: dict[str, Node] = {}
        key = start
        while key in by_id and key not in counts and key not in path:
            path[key] = by_id[key]
            key = by_id[key].parent
        above = counts[key] + bool(by_id[key].text) if key in counts else 0
        for node in reversed(path.values()):
            counts[node.id] = above
            above += bool(node.text)
    return counts


def _settle(shown: list[Node], begun: datetime | None, fallback: datetime) -> Iterator[datetime]:
    """Yield a time for each message, never before the previous message's time; `fallback` if no time is known."""
    first = next((node.at for node in shown if node.at is not None), None)
    moments = [moment for moment in (begun, first) if moment is not None]
    now = (shown[0].at if shown else None) or min(moments, default=fallback)
    for node in shown:
        now = max(now, node.at or now)
        yield now


# Reading conversations and their trees

Conversation = Callable[[str, Mapping[str, Any], Member, Reading], Iterator[Read]]


def _read(members: Sequence[Member], reading: Reading, keys: frozenset[str], one: Conversation) -> Iterator[Read]:
    """Call `one` for each conversation and yield the results. A file is a list, or one conversation with `keys`."""
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
                place = f"{member.name}: conversation {part.path[-1] + 1}"
                if isinstance(part.value, Mapping):
                    yield from one(place, part.value, member, reading)
                else:
                    yield Fault(place, "it is no object")
        if single.keys() & keys:
            whole = {**single, "messages": messages} if messages else single
            yield from one(f"{member.name}: conversation 1", whole, member, reading)


class _Tree(NamedTuple):
    nodes: Sequence[Node]
    current: str
    begun: datetime | None
    ended: datetime | None


def _lines(
    place: str, room: Room, tree: _Tree, user: Speaker, assistant: Speaker | None, member: Member, reading: Reading
) -> Iterator[Read]:
    """Yield the lines of the branch that was shown; if `assistant` is None, the speaker of an answer is its model."""
    lines = choose_branch(tree.nodes, tree.current, tree.begun, tree.begun or tree.ended or member.changed)
    wordless = sum(1 for node in tree.nodes if not node.text and node.role)
    if not lines:
        yield Left("conversations without a message")
    if wordless:
        yield Left("hidden, of the system, of tools, or without words", wordless)
    if lines and tree.begun is None and tree.ended is None and all(line.node.at is None for line in lines):
        reading.notes[NO_TIME] += len(lines)
    if unseen := sum(1 for node in tree.nodes if node.text) - sum(len(line.versions) for line in lines):
        yield Left("lines of branches in which somebody speaks who is not shown", unseen)
    for number, (node, at, versions) in enumerate(lines, 1):
        model = text_at(node.metadata, "model") or "Assistant"
        answering = assistant or Speaker("assistant", model, is_assistant=True)
        yield Line(
            place=f"{place}, message {number}", room=room, text=node.text, at=at, id=node.id, edited=node.edited,
            speaker=user if node.role == "user" else answering, metadata=node.metadata, beside=_beside(node, versions),
        )  # fmt: skip


def _beside(shown: Node, versions: Sequence[Node]) -> Beside:
    if len(versions) == 1:
        return NOTHING
    return Beside(alternatives=tuple(
        Alternative(number, each.text, each.id == shown.id, {"id": each.id[:MESSAGE_ID_BYTES]})
        for number, each in enumerate(versions)
    ))  # fmt: skip


def _read_nodes(
    place: str, messages: Sequence[Any], room: str, make: Callable[[Mapping[str, Any], str, str], Node]
) -> tuple[list[Node], list[Fault]]:
    """Turn a list of messages into (nodes, faults); a message without a parent follows the previous message."""
    nodes: list[Node] = []
    faults: list[Fault] = []
    for number, message in enumerate(messages, 1):
        if isinstance(message, Mapping):
            nodes.append(make(message, nodes[-1].id if nodes else "", f"{room}-{number}"))
        else:
            faults.append(Fault(f"{place}, message {number}", "it is no object"))
    return nodes, faults


def _join(parts: Iterable[Any], between: str = "\n") -> str:
    """Join the texts of parts; a part is a text or an object with a text."""
    texts = (clean(part) if isinstance(part, str) else text_at(part, "text", "text.value") for part in parts)
    return between.join(text for text in texts if text.strip()).strip()


def _spoken(role: str, text: str) -> str:
    """Return a message's text without thoughts; "" for roles other than user and assistant."""
    return said_without_thoughts(text).strip() if role == "assistant" else text if role == "user" else ""


# ChatGPT: `conversations.json` (a list, or several files of it), or one conversation as an object

_CHATGPT = Speaker("chatgpt", "ChatGPT", is_assistant=True)
_SAID = frozenset({"text", "multimodal_text", "code", "citable_code_output", "super_widget", ""})
"""Content types that hold text of the user or the assistant; other types are reasoning, tools and settings."""
_HIDING = (
    "is_visually_hidden_from_conversation", "is_user_system_message", "is_contextual_answers_system_message",
    "is_thinking_preamble_message",
)  # fmt: skip
_NOT_REMEMBERED = ("is_do_not_remember", "is_temporary_chat", "is_temporary")
_MARKS = re.compile("\ue200[^\ue200\ue201]*\ue201|[\ue200-\ue206]")
"""ChatGPT's markers of sources and pictures in a text, which consist of private-use characters."""


def _chatgpt(place: str, value: Mapping[str, Any], member: Member, reading: Reading) -> Iterator[Read]:
    if any(value.get(name) is True for name in _NOT_REMEMBERED):
        yield Left("conversations marked not to be remembered")
        return
    nodes = list(_chatgpt_nodes(value.get("mapping")))
    if not nodes:
        yield Fault(place, "mapping is missing or holds no message")
        return
    room = Room(id_at(value, "conversation_id", "id") or nodes[0].id, text_at(value, "title"))
    tree = _Tree(nodes, id_at(value, "current_node"), time_at(value, "create_time"), time_at(value, "update_time"))
    yield from _lines(place, room, tree, Speaker(reading.user or USER_ID, USER_NAME), _CHATGPT, member, reading)


def _chatgpt_nodes(mapping: Any) -> Iterator[Node]:
    for name, value in mapping.items() if isinstance(mapping, Mapping) else ():
        if not isinstance(value, Mapping):
            continue
        message, key = value.get("message"), str(name)
        if not isinstance(message, Mapping):
            yield Node(key, id_at(value, "parent"), "", "")
            continue
        role = text_at(message, "author.role")
        model = text_at(message, "metadata.model_slug") if role == "assistant" else ""
        yield Node(
            key, id_at(value, "parent"), role, _spoken(role, _chatgpt_words(message)),
            time_at(message, "create_time"), None, build_metadata(_chatgpt_files(message), model=model),
        )  # fmt: skip


def _chatgpt_words(message: Mapping[str, Any]) -> str:
    """Return the visible text of a message; "" if the message is hidden."""
    metadata, content, weight = dict_at(message, "metadata"), message.get("content"), message.get("weight")
    recipient = message.get("recipient")
    if (
        any(metadata.get(name) for name in _HIDING)
        or (isinstance(weight, (int, float)) and weight == 0)
        or (isinstance(recipient, str) and recipient not in ("all", "", "user"))
        or message.get("channel") == "analysis"
    ):
        return ""
    if isinstance(content, str):
        return clean(content).strip()
    kind = text_at(content, "content_type")
    if not isinstance(content, Mapping) or kind not in _SAID:
        return ""
    text = _join(list_at(content, "parts"))
    if not text and kind != "multimodal_text":
        text = text_at(content, "text", "result")
    return _MARKS.sub("", text).strip()


def _chatgpt_files(message: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the names of a message's attached files; if there are no names, the ids of its pictures."""
    names = [text_at(each, "name", "id") for each in list_at(dict_at(message, "metadata"), "attachments")]
    parts = list_at(dict_at(message, "content"), "parts")
    names = list(filter(None, names)) or [text_at(part, "asset_pointer") for part in parts]
    return [{"name": name[:255]} for name in names if name]


# Open WebUI, LibreChat and llama.cpp: one chat or a list of chats, messages in a list or nested in each other


def _listed(place: str, value: Mapping[str, Any], member: Member, reading: Reading) -> Iterator[Read]:
    chat = dict_at(value, "chat") or dict_at(value, "conv") or value
    history = dict_at(chat, "history")
    lists = list_at(history, "messages"), list_at(chat, "messages"), list_at(value, "messages")
    messages = [*dict_at(history, "messages").values()] or next(filter(None, lists), [])
    names = ("conversationId", "id")
    key = id_at(value, *names) or id_at(chat, *names) or f"{member.stem}-{place.rsplit(' ', 1)[-1]}"
    nodes, faults = _read_nodes(place, list(_walk_children(messages)), key, _listed_node)
    yield from faults
    begun = time_at(value, "created_at") or time_at(chat, "timestamp", "created_at", "createdAt")
    ended = time_at(value, "updated_at") or time_at(chat, "lastModified", "updatedAt")
    tree = _Tree(nodes, id_at(history, "currentId") or id_at(chat, "currNode"), begun, ended)
    room = Room(key, text_at(value, "title") or text_at(chat, "title", "name"))
    user = Speaker(reading.user or id_at(value, "user_id") or USER_ID, USER_NAME)
    yield from _lines(place, room, tree, user, None, member, reading)


def _walk_children(messages: list[Any]) -> Iterator[Any]:
    waiting = messages[::-1]
    while waiting:
        message = waiting.pop()
        yield message
        waiting += [each for each in list_at(message, "children")[::-1] if isinstance(each, Mapping)]


def _listed_node(message: Mapping[str, Any], before: str, missing: str) -> Node:
    role = text_at(message, "role")
    if "isCreatedByUser" in message and not role:
        role = "user" if message["isCreatedByUser"] is True else "assistant"
    items = [each for each in list_at(message, "output") if text_at(each, "type") == "message"]
    said = (
        text_at(message, "text", "content").strip()
        or _join(part for part in list_at(message, "content") if text_at(part, "type") in ("text", ""))
        or _join(part for each in items for part in list_at(each, "content"))
    )
    names = ("parentId", "parentMessageId", "parent")
    model = text_at(message, "modelName", "model", "sender")
    return Node(
        id_at(message, "messageId", "id") or missing,
        id_at(message, *names) if any(name in message for name in names) else before,
        role or "?", _spoken(role, said), time_at(message, "createdAt", "timestamp"), None,
        build_metadata(files_of(message, "files", "extra"), model=model[:191]),
    )  # fmt: skip


# Claude: `conversations.json`, `memories.json` and `projects.json`, or a folder with one file per entry for each

_CLAUDE = Speaker("claude", "Claude", is_assistant=True)
_OF_CLAUDE = frozenset({"chat_messages", "conversations_memory", "project_memories", "docs", "prompt_template"})
_HEADING = re.compile(r"#{1,6}[ \t]+(?P<marked>[^\n]+)\Z|\*\*(?P<bold>[^*\n]{1,120})\*\*:?\Z")
_PIECE_CHARS = 4000
_THOUGHTS = 100
"""Maximum number of thought blocks that are removed from a message's plain text."""

_UNSUPPORTED = re.compile(r"```\s*This block is not supported on your current device yet\.\s*```")
"""Placeholder of a tool's work in the plain text of a message."""


def read_claude(members: Sequence[Member], reading: Reading) -> Iterator[Read]:
    people: dict[str, str] = {}
    for member in members:
        for part in each_part(member) if member.stem == "users" else ():
            if not isinstance(part, Fault) and id_at(part.value, "uuid", "id"):
                name = text_at(part.value, "full_name", "display_name", "name")
                people |= {id_at(part.value, "uuid", "id"): name} if name else {}
    yield from _read(members, reading, _OF_CLAUDE, partial(_claude, people))


def _claude(
    people: Mapping[str, str], place: str, value: Mapping[str, Any], member: Member, reading: Reading
) -> Iterator[Read]:
    def owner(account: str) -> Speaker:
        """Return the speaker for an account id; "" means the only account of the export."""
        if not account and len(people) == 1:
            account = next(iter(people))
        return Speaker(reading.user or account or USER_ID, people.get(account) or USER_NAME)

    keys = value.keys()
    if "chat_messages" in keys:
        user = owner(id_at(value, "account.uuid", "account.id"))
        yield from _claude_chat(place, value, user, member, reading)
    elif keys & {"conversations_memory", "project_memories"}:
        user = owner(id_at(value, "account_uuid", "uuid"))
        yield from _claude_memories(place.replace("conversation", "memory"), value, user)
    elif keys & {"docs", "prompt_template"}:
        yield Left("projects, which are no memories")
    elif not keys & {"email_address", "full_name", "verified_phone_number"}:
        yield Fault(place, "it is no conversation or memory: chat_messages is missing")


def _claude_chat(
    place: str, value: Mapping[str, Any], user: Speaker, member: Member, reading: Reading
) -> Iterator[Read]:
    messages = value.get("chat_messages")
    if not isinstance(messages, list):
        yield Fault(place, "chat_messages is no list")
        return
    key = id_at(value, "uuid", "id") or f"{member.stem}-{place.rsplit(' ', 1)[-1]}"
    nodes, faults = _read_nodes(place, messages, key, partial(_claude_node, text_at(value, "project.name")))
    yield from faults
    for node in nodes:
        if node.role not in _ROLES.values():
            yield Fault(f"{place}, {node.id[:60]}", "sender is neither human nor assistant")
    times = time_at(value, "created_at"), time_at(value, "updated_at")
    tree = _Tree(nodes, id_at(value, "current_leaf_message_uuid"), *times)
    yield from _lines(place, Room(key, text_at(value, "name", "title")), tree, user, _CLAUDE, member, reading)


def _claude_node(project: str, message: Mapping[str, Any], before: str, missing: str) -> Node:
    sender = text_at(message, "sender", "role").lower()
    role = _ROLES.get(sender, sender or "?")
    files = files_of(message, "attachments", "files", "files_v2")
    return Node(
        id_at(message, "uuid", "id") or missing, id_at(message, "parent_message_uuid") or before, role,
        _spoken(role, _claude_words(message)), time_at(message, "created_at", "updated_at"),
        time_at(message, "updated_at"),
        build_metadata([*{file["name"]: file for file in files}.values()], project=project),
    )  # fmt: skip


def _claude_words(message: Mapping[str, Any]) -> str:
    """Return a message's text: that of its blocks, else its plain text without thoughts, else its attachments' text."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else [content]
    shown = [block for block in blocks if isinstance(block, str) or text_at(block, "type") in ("text", "")]
    if text := _join(shown, "\n\n"):
        return text
    text = text_at(message, "text")
    for block in blocks[:_THOUGHTS]:  # the plain text contains the thoughts, too
        thought = text_at(block, "thinking")
        text = text.replace(thought, "", 1) if thought else text
    if text := _UNSUPPORTED.sub("", text).strip():
        return text
    return _join((text_at(each, "extracted_content") for each in list_at(message, "attachments")), "\n\n")


def _claude_memories(place: str, value: Mapping[str, Any], owner: Speaker) -> Iterator[Read]:
    at = time_at(value, "updated_at", "created_at")
    yield from _notes(f"{place}, conversations_memory", text_at(value, "conversations_memory"), owner, at, {})
    projects = value.get("project_memories")
    pairs = projects.items() if isinstance(projects, Mapping) else enumerate(list_at(value, "project_memories"))
    for key, each in pairs:
        text = clean(each) if isinstance(each, str) else text_at(each, "memory", "content", "text")
        project = str(key) if isinstance(projects, Mapping) else id_at(each, "project_uuid", "uuid")
        yield from _notes(f"{place}, project {project[:60]}", text, owner, at, {"project": project})
    for each in list_at(value, "memory_files"):
        name = text_at(each, "path", "name", "filename")
        yield from _notes(f"{place}, file", text_at(each, "content", "text"), owner, at, {"file": name[:255]})


def _notes(place: str, text: str, owner: Speaker, at: datetime | None, kept: Mapping[str, Any]) -> Iterator[Note]:
    """Yield the paragraphs of a text as memories, each with its heading and at most _PIECE_CHARS characters long."""
    time = at.isoformat() if at else None
    for number, paragraph in enumerate(re.split(r"\n\s*\n", text), 1):
        words = paragraph.strip()
        if heading := _HEADING.match(words):
            kept = {**kept, "heading": (heading["marked"] or heading["bold"]).strip(" \t#")}
            continue
        for start in range(0, len(words), _PIECE_CHARS):
            if piece := words[start : start + _PIECE_CHARS].strip():
                yield Note(f"{place}, paragraph {number}", owner, {"text": piece, "timestamp": time, "metadata": kept})


read_chatgpt = partial(_read, keys=frozenset({"mapping"}), one=_chatgpt)
read_librechat = partial(_read, keys=frozenset({"conversationId"}), one=_listed)
read_llamacpp = partial(_read, keys=frozenset({"conv"}), one=_listed)
read_openwebui = partial(_read, keys=frozenset({"chat", "history"}), one=_listed)
