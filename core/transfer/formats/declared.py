"""Chat formats declared as tables of field paths: where a JSON document or CSV file has its chats and messages.

A new format is a row of `FORMATS`. If its messages are not one list of objects, `unfold` makes that list. A CSV file
or a file with one JSON value per line is a list of chats, or one chat with its messages under `lines`.
"""

import csv
import html
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from ...text.folding import clean
from ..fields import (
    build_metadata,
    count_at,
    dict_at,
    field_at,
    files_of,
    id_at,
    list_at,
    read_time,
    said_without_thoughts,
    text_at,
)
from ..files import Member
from ..json_values import MAX_VALUES, BadJson, read_value
from ..shapes import USER_ID, USER_NAME, Fault, Left, Line, Note, Read, Reading, Room, Speaker
from . import whatsapp
from .branches import NO_TIME

MAX_CHARS = 64 * 1024**2
"""Maximum number of characters of a document of a declared format, which is read whole."""

Paths = tuple[str, ...]
"""Paths of one field in order of preference; dots separate the keys of a path."""
LINES = "lines"


@dataclass(frozen=True, slots=True)
class Format:
    """The paths of the fields that hold chats and messages in the files of one application."""

    title: str
    marks: tuple[Paths, ...]
    """Groups of paths: a chat with all paths of any group has this format; a list of chats, if its first chat has."""
    chats: Paths = ()
    """Paths of the list of chats; empty if the document itself is a chat or a list of chats."""
    messages: Paths = ("messages",)
    room: Paths = ()
    name: Paths = ()
    text: Paths = ("text",)
    time: Paths = ()
    id: Paths = ()
    speaker: Paths = ()
    """Paths of the speaker's id, or of the name if there is no id; unused in chats of one person with an assistant."""
    shown: Paths = ()
    role: Paths = ()
    persona: frozenset[str] = frozenset()
    people: frozenset[str] = frozenset()
    """Values of `role` for the person who talks with an assistant; empty for formats of chats between people."""
    reactions: Paths = ()
    files: Paths = ()
    left: Mapping[str, str] = field(default_factory=dict)
    """Reasons by field name: a message in which the field is true is left out for this reason."""
    named_after: Literal["file", "folder", "both"] = "both"
    """Part of the file's path that becomes the id of a chat without id and name."""
    newest_first: bool = False
    is_mangled: bool = False
    """Whether each character of the file stands for one byte of UTF-8, so that texts must be decoded again."""
    unfold: Callable[[Any], Any] | None = None
    notes: Callable[[Any], Iterator[tuple[str, str]]] | None = None
    """Function that yields (name, text) of the memories in a document; None if the format has no memories."""


# Making one list of messages


def _unfold_pairs(chat: Any) -> Any:
    """Return the messages of a text-generation-webui chat, which stores pairs of question and answer."""
    times = dict_at(chat, "metadata")
    return {"messages": [
        {"role": role, "text": text, "time": text_at(times.get(f"{role}_{at}"), "timestamp")}
        for at, pair in enumerate(list_at(chat, "visible") or list_at(chat, "internal"))
        if isinstance(pair, list)
        for role, text in zip(("user", "assistant"), pair, strict=False)
        if text != "<|BEGIN-VISIBLE-CHAT|>"
    ]}  # fmt: skip


_LABEL = re.compile(
    r"\A(?:Prompted|Preguntaste|Escribiste|Has (?:preguntado|escrito)|Vous avez (?:demandé|écrit)|"
    r"[^:：\n]{0,30}(?:prompt|anfrage|eingabe|frage|requête|demande|question|invite|message|petici|pregunta|consulta|"
    r"instrucci|mensaje|solicitud|richiesta|domanda|pedido|メッセージ|プロンプト|프롬프트)[^:：\n]{0,20}?\s?[:：])\s+",
    re.IGNORECASE,
)
"""Words that Google puts before a question, such as "Prompted", in many languages."""


def _unfold_activity(entry: Any) -> Any:
    """Split an entry of Google's activity list into question and answer."""
    answers = [each.get("html") for each in list_at(entry, "safeHtmlItem") if isinstance(each, dict)]
    title, time = text_at(entry, "title"), entry.get("time")
    question, answer = _LABEL.sub("", title, count=1), "\n".join(map(_plain, filter(None, answers)))
    if not question or (not answers and question == title):
        return {"id": "gemini", "messages": [{"role": "activity"}]}
    asked = {"role": "user", "text": question, "time": time, "attachedFiles": entry.get("attachedFiles")}
    return {"id": "gemini", "messages": [asked, {"role": "ai", "text": answer, "time": time}] if answers else [asked]}


def _plain(text: Any) -> str:
    broken = re.sub(r"<(?:br|/p|/li|/h\d|/div)\b[^<>]{0,200}>", "\n", str(text), flags=re.IGNORECASE)
    return html.unescape(re.sub(r"<[^<>]{0,2000}>", "", broken)).strip()


def _unfold_sent(agent: Any) -> Any:
    """Fill in the text of messages that a Letta agent sent by the tool `send_message`, from the tool call."""
    messages = []
    for message in list_at(agent, "messages"):
        calls = [dict_at(call, "function") for call in list_at(message, "tool_calls")]
        sent = [call.get("arguments") for call in calls if call.get("name") == "send_message"]
        texts = [text_at(read_value(each), "message") for each in sent if isinstance(each, str)]
        messages.append({**message, "content": "\n".join(filter(None, texts))} if any(texts) else message)
    return {**agent, "messages": messages}


def _read_blocks(document: Any) -> Iterator[tuple[str, str]]:
    for block in list_at(document, "blocks"):
        yield text_at(block, "label"), text_at(block, "value")


# The table

_NOT_SAID = re.compile(r"(?:redacted_)?(?:think|thought|reason|tool|function|server_tool|mcp_)", re.IGNORECASE)
"""Types of message parts that hold a thought or a tool call."""
_ASSISTANT, _USER = frozenset({"assistant"}), frozenset({"user"})
_DELETED = "deleted there"

FORMATS: dict[str, Format] = {
    "meta": Format(
        "Messenger and Instagram",
        (("participants.name", "messages.sender_name", "messages.timestamp_ms"), ("threadName", "messages.senderName")),
        room=("thread_path", "threadName"), name=("title", "threadName"), text=("content", "text"),
        time=("timestamp_ms", "timestamp"), speaker=("sender_name", "senderName"), reactions=("reactions",),
        files=("photos", "videos", "files", "audio_files", "gifs", "media"), newest_first=True, is_mangled=True,
        left={"is_unsent": _DELETED, "isUnsent": _DELETED},
    ),
    "googlechat": Format(
        "Google Chat", (("messages.creator.name", "messages.created_date"),), time=("created_date",),
        id=("message_id",), speaker=("creator.email", "creator.name"), shown=("creator.name",),
        reactions=("reactions",), files=("attached_files",), named_after="folder", left={"deletion_metadata": _DELETED},
    ),
    "signal": Format(
        "Signal", (("lines.sender", "lines.body", "lines.date"),), messages=(LINES,), text=("body",), time=("date",),
        speaker=("sender",), reactions=("reactions",), files=("attachments",), left={"deleted": _DELETED},
        named_after="folder",
    ),
    "table": Format(
        "table of speaker, text and timestamp", (("lines.speaker", "lines.text", "lines.timestamp"),),
        messages=(LINES,), time=("timestamp",), id=("id",), speaker=("speaker_id", "speaker"),
        shown=("speaker",), named_after="file",
    ),
    "sharegpt": Format(
        "ShareGPT", (("conversations.from", "conversations.value"),), messages=("conversations",), room=("id",),
        text=("value",), role=("from",), persona=frozenset({"gpt", "assistant", "bing", "bard", "chatgpt"}),
        people=frozenset({"human", "user"}),
    ),
    "letta": Format(
        "Letta", (("messages", "name"),), chats=("agents",), room=("id", "name"), name=("name",),
        text=("content", "text"), time=("created_at",), id=("id",), role=("role",), persona=_ASSISTANT, people=_USER,
        unfold=_unfold_sent, notes=_read_blocks,
    ),
    "openai": Format(
        "OpenAI messages", (("messages.role", "messages.content"), ("lines.role", "lines.content")),
        messages=("messages", LINES), room=("id", "conversation_id"), name=("title",), text=("content",),
        time=("created_at", "timestamp"), id=("id",), role=("role",), persona=_ASSISTANT, people=_USER, shown=("name",),
    ),
    "risuai": Format(
        "RisuAI", (("data.message.role", "data.message.data"),), messages=("data.message",), room=("data.id",),
        name=("data.name",), text=("data",), time=("time",), id=("chatId",), role=("role",),
        persona=frozenset({"char"}), people=_USER,
    ),
    "characterai": Format(
        "Character.AI", (("msgs.text", "msgs.src"),), chats=("histories.histories", "histories"), messages=("msgs",),
        room=("external_id", "id"), time=("created", "created_at"), id=("uuid", "id"), shown=("src.name",),
        role=("src.is_human",), persona=frozenset({"false"}), people=frozenset({"true"}),
        left={"is_alternative": "answers that were not chosen"},
    ),
    "oobabooga": Format(
        "text-generation-webui", (("internal", "visible"),), role=("role",), time=("time",), persona=_ASSISTANT,
        people=_USER, unfold=_unfold_pairs,
    ),
    "gemini": Format(
        "Gemini", (("products", "header", "title", "time"),), room=("id",), time=("time",), role=("role",),
        persona=frozenset({"ai"}), people=_USER, files=("attachedFiles",), unfold=_unfold_activity,
    ),
}  # fmt: skip


# Recognising a format


def find_format(member: Member) -> str:
    document = _read_document(member, [])
    return next((name for name, form in FORMATS.items() if _find_chats(form, document)), "")


def _find_chats(form: Format, document: Any) -> list[Any]:
    lists = [field_at(document, path) for path in form.chats]
    if not form.chats:
        lists = [document if isinstance(document, list) else [document]]
        if LINES in form.messages and isinstance(document, list):
            lists.append([{LINES: document}])
    for chats in lists:
        if isinstance(chats, list) and chats and has_marks(chats[0], form.marks):
            return chats
    return []


def _read_document(member: Member, faults: list[Fault]) -> Any:
    """Parse a file: return its JSON document, or a list of its CSV rows or of its lines' JSON values."""
    with member.guarded(faults) as stream:
        text = stream.read(MAX_CHARS + 1).removeprefix("\ufeff")
    if len(text) > MAX_CHARS or text.count(",") > MAX_VALUES:
        most = f"{MAX_CHARS:,} characters or {MAX_VALUES:,} values"
        faults.append(Fault(member.name, f"it has more than {most}; import it in parts"))
        return None
    if text.lstrip()[:1] not in ("{", "["):
        csv.field_size_limit(MAX_CHARS)  # a message may be longer than the default allows
        with suppress(csv.Error):
            return list(csv.DictReader(io.StringIO(text)))
        return None
    document = read_value(text)
    lines = [line for line in text.split("\n") if line.strip()]
    if not isinstance(document, BadJson) or len(lines) == 1:
        faults += [Fault(member.name, document.reason)] if isinstance(document, BadJson) else []
        return document
    values = [read_value(line) for line in lines]
    broken = [number for number, value in enumerate(values, 1) if isinstance(value, BadJson)]
    faults += [Fault(f"{member.name}: line {number}", "it is no JSON") for number in broken]
    return None if 1 in broken else [value for value in values if not isinstance(value, BadJson)]


def has_marks(value: Any, marks: tuple[Paths, ...]) -> bool:
    """Return whether a value has all field paths of at least one group in `marks`."""
    return any(all(field_at(value, path, missing=...) is not ... for path in paths) for paths in marks)


def _first(value: Any, paths: Paths) -> Any:
    return next((each for path in paths if (each := field_at(value, path)) not in (None, "", [])), None)


# Reading


def read(name: str, members: Sequence[Member], reading: Reading) -> Iterator[Read]:
    for member in members:
        yield from _File(FORMATS[name], member, reading).read()


class _File:
    def __init__(self, form: Format, member: Member, reading: Reading) -> None:
        self._form, self._member, self._reading = form, member, reading
        self._unnamed: Counter[str] = Counter()

    def read(self) -> Iterator[Read]:
        form, name = self._form, self._member.name
        faults: list[Fault] = []
        document = _read_document(self._member, faults)
        chats = _find_chats(form, document)
        for number, chat in enumerate(chats, 1):
            yield from self._read_chat(f"{name}: chat {number}", chat)
        for label, text in form.notes(document) if form.notes else ():
            if text.strip():
                owner = Speaker(self._reading.user or USER_ID, USER_NAME)
                item = {"text": text, "timestamp": self._member.changed.isoformat(), "metadata": {"block": label[:60]}}
                yield Note(f"{name}: {label[:60]}", owner, item)
        yield from faults

    def _read_chat(self, place: str, chat: Any) -> Iterator[Read]:
        form, member = self._form, self._member
        if not has_marks(chat, form.marks):
            yield Fault(place, "it is no chat of this format")
            return
        try:
            chat = form.unfold(chat) if form.unfold else chat
        except (TypeError, AttributeError, KeyError):
            yield Fault(place, "its messages are no list")
            return
        title = self._text(_first(chat, form.name))
        names = {"file": member.stem, "folder": member.folder or member.stem}
        both = f"{member.folder or member.export} {member.stem}".strip()
        key = id_at(chat, *form.room)
        if not key:
            key = title or names.get(form.named_after, both)
            self._unnamed[key] += 1
            key += f" {self._unnamed[key]}" if self._unnamed[key] > 1 else ""
        messages = next((value for path in form.messages if isinstance(value := field_at(chat, path), list)), [])
        people = {self._speaker(each, "").id for each in messages if isinstance(each, Mapping)}
        room = Room(key.replace("/", "_"), title, "direct" if form.people or len(people) <= 2 else "restricted")
        said = [written for each in messages if isinstance(written := _first(each, form.time), str)]
        times = whatsapp.parse_times([text for text in said if read_time(text) is None], self._reading)
        at = member.changed
        for number, message in enumerate(reversed(messages) if form.newest_first else messages, 1):
            line = self._read_message(f"{place}, message {number}", message, room, at, times)
            at = line.at if isinstance(line, Line) else at
            yield line

    def _read_message(self, place: str, message: Any, room: Room, before: datetime, times: dict[str, datetime]) -> Read:
        form, zone = self._form, self._reading.zone
        if not isinstance(message, Mapping):
            return Fault(place, "it is no object")
        if self._member.name.lower().endswith(".csv") and "\ufffd" in str(message):
            return Fault(place, "it is not UTF-8; save the file as UTF-8")
        role = str(_first(message, form.role)).lower() if form.role else ""
        if role and role not in form.persona | form.people:
            return Left("of the system or of tools")
        if reason := next((form.left[path] for path in form.left if field_at(message, path)), ""):
            return Left(reason)
        text = self._text(_first(message, form.text))
        text = said_without_thoughts(text).strip() if role in form.persona else text
        if not text.strip():
            return Left("files or thoughts without a word")
        written = _first(message, form.time)
        at = read_time(written, zone) or (times.get(written) if isinstance(written, str) else None)
        if at is None and isinstance(written, str) and written.strip():
            return Fault(place, f"{form.time[0]} cannot be read, write it in ISO 8601 such as 2026-03-10T12:00:00Z")
        if at is None:
            self._reading.notes[NO_TIME] += 1
        return Line(
            place=place, room=room, text=text, at=at or before, speaker=self._speaker(message, role),
            id=id_at(message, *form.id), metadata=self._metadata(message), made_of=str(written),
        )  # fmt: skip

    def _speaker(self, message: Mapping[str, Any], role: str) -> Speaker:
        form = self._form
        shown = self._text(_first(message, form.shown))
        if role in form.persona:
            return Speaker("assistant", shown or "Assistant", is_assistant=True)
        if form.people:
            return Speaker(self._reading.user or USER_ID, shown or USER_NAME)
        key = self._text(_first(message, form.speaker)) or "unknown"
        return Speaker(key, shown or key)

    def _metadata(self, message: Mapping[str, Any]) -> dict[str, Any]:
        files = [file for path in self._form.files for file in list_at(message, path)]
        keys = ("uri", "original_name", "export_name", "name")
        names = [file if isinstance(file, str) else self._text(_first(file, keys)) for file in files]
        reactions = _first(message, self._form.reactions)
        signs = [self._reaction(each) for each in (reactions if isinstance(reactions, list) else [reactions])]
        attached = files_of({"files": [name.rpartition("/")[2] for name in names if name]}, "files")
        return build_metadata(attached, [sign for sign in signs if sign[0]])

    def _reaction(self, value: Any) -> tuple[str, int]:
        """Return (symbol of a reaction, number of people who gave it)."""
        if isinstance(value, list):  # name and sign
            value = value[-1] if value else None
        sign = _first(value, ("reaction", "emoji.unicode", "emoji")) if isinstance(value, Mapping) else value
        return self._text(sign), count_at(value, "reactor_emails")

    def _text(self, value: Any) -> str:
        """Convert a value to text; the parts of a list are joined."""
        parts = value if isinstance(value, list) else [value]
        said = (part for part in parts if not _NOT_SAID.match(text_at(part, "type")))
        texts = (part if isinstance(part, str) else text_at(part, "text") for part in said)
        text = "\n".join(text for text in texts if text.strip())
        if self._form.is_mangled:
            with suppress(UnicodeError):  # later versions of the program write UTF-8
                text = text.encode("latin-1").decode("utf-8")
        return clean(text)
