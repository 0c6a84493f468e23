"""Formats that are declared in a table: where a chat, its messages and their fields stand in a JSON document.

A new format is a row of `FORMATS`; where its messages do not stand in one list of objects, `unfold` makes such a list.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from ...text.folding import clean
from ...text.thoughts import strip_thoughts
from ..fields import files_of, id_at, list_at, time_at
from ..files import Member
from ..shapes import USER_ID, USER_NAME, Fault, Left, Line, Read, Reading, Room, Speaker
from .trees import NO_TIME

MAX_CHARS = 256 * 1024**2
"""Longest document that is read whole."""

Paths = tuple[str, ...]
"""Paths of one field, the first that holds something counts; steps are set apart by dots."""


@dataclass(frozen=True, slots=True)
class Format:
    """Where things stand in the files of one program."""

    title: str
    marks: Paths
    """What a chat of this format has, all of it; a path through the first element of a list goes on behind it."""
    chats: str = ""
    """Path of the list of chats; blank where the document is a chat or a list of them."""
    messages: str = "messages"
    room: Paths = ()
    name: Paths = ()
    text: Paths = ("text",)
    time: Paths = ()
    id: Paths = ()
    speaker: Paths = ()
    """Id of who speaks, or the name where people have no id; blank in chats of one person with an assistant."""
    shown: Paths = ()
    role: Paths = ()
    persona: frozenset[str] = frozenset()
    people: frozenset[str] = frozenset()
    """Values of `role` of the two who speak; messages of any other role are left out. None declared: all are people."""
    reply: Paths = ()
    reactions: str = ""
    files: Paths = ()
    gone: Paths = ()
    """Fields that are true in a message that was deleted."""
    newest_first: bool = False
    is_mangled: bool = False
    """UTF-8 written as if each byte were a letter."""
    unfold: Callable[[Any], Any] | None = None


def _pairs(chat: Any) -> Any:
    """Return the messages of text-generation-webui, which keeps pairs of a question and an answer."""
    pairs = chat.get("visible") or chat.get("internal")
    said = [
        {"role": role, "text": text}
        for pair in (pairs if isinstance(pairs, list) else ())
        if isinstance(pair, list)
        for role, text in zip(("user", "assistant"), pair, strict=False)
        if text != "<|BEGIN-VISIBLE-CHAT|>"
    ]
    return {"messages": said}


def _actions(story: Any) -> Any:
    """Return the messages of a story of KoboldAI: what begins with > is the player's."""
    actions = story.get("actions")
    texts = [story.get("prompt"), *(actions if isinstance(actions, list) else ())]
    said = [text.strip() for text in texts if isinstance(text, str)]
    return {"messages": [
        {"role": "user" if text.startswith(">") else "assistant", "text": text.lstrip("> ")} for text in said
    ]}  # fmt: skip


def _activity(entry: Any) -> Any:
    """Return the question and the answer of one entry of Google's list of activity."""
    items = entry.get("safeHtmlItem")
    answers = [each.get("html") for each in (items if isinstance(items, list) else ()) if isinstance(each, dict)]
    title = entry.get("title")
    asked = title.removeprefix("Prompted ") if isinstance(title, str) and title.startswith("Prompted ") else ""
    answer = "\n".join(_plain(text) for text in answers if isinstance(text, str))
    said = [{"role": role, "text": text, "time": entry.get("time")} for role, text in (("user", asked), ("ai", answer))]
    return {"id": "gemini", "messages": said if asked else []}


def _plain(text: str) -> str:
    """Return the words of a piece of HTML."""
    broken = re.sub(r"<(?:br|/p|/li|/h\d|/div)\b[^<>]{0,200}>", "\n", text, flags=re.IGNORECASE)
    return html.unescape(re.sub(r"<[^<>]{0,2000}>", "", broken)).strip()


FORMATS: dict[str, Format] = {
    "meta": Format(
        "Messenger and Instagram", ("participants.name", "messages.sender_name", "messages.timestamp_ms"),
        room=("thread_path",), name=("title",), text=("content",), time=("timestamp_ms",), speaker=("sender_name",),
        reactions="reactions", files=("photos", "videos", "files", "audio_files", "gifs"), gone=("is_unsent",),
        newest_first=True, is_mangled=True,
    ),
    "matrix": Format(
        "Element", ("messages.event_id", "messages.origin_server_ts", "messages.sender"), name=("room_name",),
        room=("room_id", "messages.room_id"), text=("content.body",), time=("origin_server_ts",), id=("event_id",),
        speaker=("sender",), reply=("content.m_relates_to.m_in_reply_to.event_id",),
    ),
    "googlechat": Format(
        "Google Chat", ("messages.creator.name", "messages.created_date"), time=("created_date",), id=("message_id",),
        speaker=("creator.email", "creator.name"), shown=("creator.name",), files=("attached_files",),
        gone=("deletion_metadata",),
    ),
    "sharegpt": Format(
        "ShareGPT", ("conversations.from", "conversations.value"), messages="conversations", room=("id",),
        text=("value",), role=("from",), persona=frozenset({"gpt", "assistant", "bing", "bard", "chatgpt"}),
        people=frozenset({"human", "user"}),
    ),
    "openai": Format(
        "OpenAI messages", ("messages.role", "messages.content"), room=("id", "conversation_id"), name=("title",),
        text=("content",), time=("created_at", "timestamp"), id=("id",), role=("role",),
        persona=frozenset({"assistant"}), people=frozenset({"user"}),
    ),
    "letta": Format(
        "Letta", ("agents.messages", "agents.name"), chats="agents", room=("id", "name"), name=("name",),
        text=("content", "text"), time=("created_at",), id=("id",), role=("role",), persona=frozenset({"assistant"}),
        people=frozenset({"user"}),
    ),
    "agnai": Format(
        "Agnai", ("messages.msg", "messages.createdAt"), room=("_id", "id"), name=("name",), text=("msg",),
        time=("createdAt",), id=("_id",), role=("kind",), persona=frozenset({"character"}), people=frozenset({"user"}),
        shown=("handle",), unfold=lambda chat: {**chat, "messages": [_of_agnai(each) for each in chat["messages"]]},
    ),
    "risuai": Format(
        "RisuAI", ("data.message.role", "data.message.data"), messages="data.message", room=("data.id",),
        name=("data.name",), text=("data",), time=("time",), id=("chatId",), role=("role",),
        persona=frozenset({"char"}), people=frozenset({"user"}),
    ),
    "characterai": Format(
        "Character.AI", ("histories.msgs.text",), chats="histories", messages="msgs", room=("external_id", "id"),
        time=("created", "created_at"), id=("uuid", "id"), shown=("src.name",), role=("src.is_human",),
        persona=frozenset({"false"}), people=frozenset({"true"}),
    ),
    "oobabooga": Format(
        "text-generation-webui", ("internal", "visible"), role=("role",), persona=frozenset({"assistant"}),
        people=frozenset({"user"}), unfold=_pairs,
    ),
    "koboldai": Format(
        "KoboldAI", ("gamestarted", "actions"), role=("role",), persona=frozenset({"assistant"}),
        people=frozenset({"user"}), unfold=_actions,
    ),
    "gemini": Format(
        "Gemini", ("products", "header", "title", "time"), room=("id",), time=("time",), role=("role",),
        persona=frozenset({"ai"}), people=frozenset({"user"}), unfold=_activity,
    ),
}  # fmt: skip


def _of_agnai(message: Any) -> Any:
    """Return a message with the kind of who said it, which stands in which of two ids it has."""
    if not isinstance(message, dict):
        return message
    return {**message, "kind": "character" if message.get("characterId") else "user"}


# Which format it is


def find_format(member: Member, faults: list[Fault]) -> str:
    """Return the name of the format a file is of, blank where it is none."""
    for value in _documents(member, faults):
        for name, each in FORMATS.items():
            chats = _get(value, each.chats) if each.chats else value
            first = value if each.chats and chats else (chats[0] if isinstance(chats, list) and chats else chats)
            if all(_has(first, mark) for mark in each.marks):
                return name
        return ""
    return ""


def _documents(member: Member, faults: list[Fault]) -> Iterator[Any]:
    """Yield the document of a file, or that of each line."""
    text = ""
    with member.guarded(faults) as stream:
        text = stream.read(MAX_CHARS + 1)
    if not text:
        return
    if len(text) > MAX_CHARS:
        faults.append(Fault(member.name, f"it is longer than {MAX_CHARS:,} characters"))
        return
    try:
        yield json.loads(text)
        return
    except RecursionError:
        return
    except ValueError as error:
        whole = str(error)
    lines = [line for line in text.splitlines() if line.strip()]
    for number, line in enumerate(lines, 1):
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            faults.append(Fault(f"{member.name}: line {number}", whole if len(lines) == 1 else "it is no JSON"))
            if number == 1:
                return


def _has(value: Any, path: str) -> bool:
    """Return whether a path is there, through the first element of each list on the way."""
    for step in path.split("."):
        value = value[0] if isinstance(value, list) and value else value
        if not isinstance(value, Mapping) or step not in value:
            return False
        value = value[step]
    return True


def _get(value: Any, path: str) -> Any:
    for step in path.split("."):
        value = value[0] if isinstance(value, list) and value else value
        if not isinstance(value, Mapping):
            return None
        value = value.get(step, value.get(step.replace("m_", "m.", 1)))
    return value


# Reading


def read(name: str, members: Sequence[Member], reading: Reading) -> Iterator[Read]:
    """Yield the lines of every file of a format."""
    form = FORMATS[name]
    for member in members:
        faults: list[Fault] = []
        for value in _documents(member, faults):
            chats = _get(value, form.chats) if form.chats else value
            for number, chat in enumerate(chats if isinstance(chats, list) else [chats], 1):
                yield from _chat(f"{member.name}: chat {number}", name, chat, member, reading)
        yield from faults


def readers() -> dict[str, Callable[[Sequence[Member], Reading], Iterator[Read]]]:
    """Return what reads each format."""
    return {name: partial(read, name) for name in FORMATS}


def _chat(place: str, name: str, chat: Any, member: Member, reading: Reading) -> Iterator[Read]:
    form = FORMATS[name]
    if not isinstance(chat, Mapping) or not all(_has(chat, mark.removeprefix(f"{form.chats}.")) for mark in form.marks):
        yield Fault(place, "it is no chat of this format")
        return
    try:
        chat = form.unfold(chat) if form.unfold else chat
    except (TypeError, AttributeError, KeyError):
        yield Fault(place, "its messages are no list")
        return
    title = _text(_first(chat, form.name), form)
    key = _id(_first(chat, form.room)) or title or f"{member.folder or member.export} {member.stem}".strip()
    room = Room(f"{key}".replace("/", "_"), title)
    messages = _get(chat, form.messages)
    messages = messages if isinstance(messages, list) else []
    at: datetime | None = None
    for number, message in enumerate(reversed(messages) if form.newest_first else messages, 1):
        line = _line(f"{place}, message {number}", name, message, room, at, number, member, reading)
        at = line.at if isinstance(line, Line) else at
        yield line


def _line(
    place: str, name: str, message: Any, room: Room, before: datetime | None, number: int, member: Member,
    reading: Reading,
) -> Line | Left | Fault:  # fmt: skip
    form = FORMATS[name]
    if not isinstance(message, Mapping):
        return Fault(place, "it is no object")
    role = str(_first(message, form.role)).lower() if form.role else ""
    if role and role not in form.persona | form.people:
        return Left("of the system or of tools")
    if any(_get(message, path) for path in form.gone):
        return Left("deleted there")
    text = _text(_first(message, form.text), form)
    text = strip_thoughts(text) if role in form.persona else text
    if not text.strip():
        return Left("files or thoughts without a word")
    told = _first(message, form.time)
    at = time_at({"at": _spelled(told)}, "at", zone=reading.zone)
    if at is None:
        reading.notes[NO_TIME] += 1
    key = _id(_first(message, form.id)) or ("" if at else f"message-{number}")
    return Line(
        place=place, room=room, text=text, at=at or before or member.changed, id=key,
        speaker=_speaker(name, message, role, reading), reply_to=_id(_first(message, form.reply)),
        metadata=_metadata(form, message), made_of=str(told),
    )  # fmt: skip


def _speaker(name: str, message: Mapping[str, Any], role: str, reading: Reading) -> Speaker:
    form = FORMATS[name]
    shown = _text(_first(message, form.shown), form)
    if role in form.persona:
        return Speaker("assistant", shown or "Assistant", is_assistant=True)
    if form.people:
        return Speaker(reading.user or USER_ID, shown or USER_NAME)
    key = _text(_first(message, form.speaker), form) or "unknown"
    return Speaker(key, shown or key)


def _metadata(form: Format, message: Mapping[str, Any]) -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    held = [file for path in form.files for file in list_at({"files": _get(message, path)}, "files")]
    names = [_text(_first(file, ("uri", "export_name")), form).rpartition("/")[2] for file in held]
    if files := files_of({"files": [each for each in names if each]}, "files"):
        metadata["attachments"] = files
    reactions = _get(message, form.reactions) if form.reactions else None
    if isinstance(reactions, list) and reactions:
        signs = [_text(each.get("reaction"), form) for each in reactions if isinstance(each, Mapping)]
        metadata["reactions"] = [{"emoji": sign, "count": signs.count(sign)} for sign in dict.fromkeys(signs)][:50]
    return metadata


def _first(value: Any, paths: Paths) -> Any:
    """Return the first of these fields that holds something."""
    found = (_get(value, path) for path in paths)
    return next((each for each in found if each not in (None, "", [])), None)


def _id(value: Any) -> str:
    return id_at({"id": value}, "id")


def _text(value: Any, form: Format) -> str:
    """Return a text: one, or the texts of a list of parts."""
    parts = value if isinstance(value, list) else [value]
    texts = [part.get("text") if isinstance(part, Mapping) else part for part in parts]
    text = "\n".join(text for text in texts if isinstance(text, str) and text.strip())
    if form.is_mangled:
        with suppress(UnicodeError):  # a later version writes UTF-8
            text = text.encode("latin-1").decode("utf-8")
    return clean(text)


_LONG_DATE = re.compile(r"\w+, (\w+ \d{1,2}, \d{4} at \d{1,2}:\d{2}:\d{2}\s?[AP]M) UTC")


def _spelled(value: Any) -> Any:
    """Return a time in a form that is read; Google Chat writes the day of the week before it and UTC behind it."""
    found = _LONG_DATE.fullmatch(value.replace("\u202f", " ")) if isinstance(value, str) else None
    return found[1] if found else value
