"""Telegram: `result.json` of Telegram Desktop, one chat or all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...scope import Privacy
from ...text.folding import clean
from ..fields import build_metadata, count_at, each_part, id_at, list_at, text_at, time_at
from ..files import Member
from ..shapes import Fault, Left, Line, Read, Reading, Room, Speaker

_PRIVACY: dict[str, Privacy] = {
    "personal_chat": "direct", "bot_chat": "direct", "saved_messages": "direct", "replies": "direct",
    "verification_codes": "direct", "private_group": "restricted", "private_supergroup": "restricted",
    "private_channel": "restricted", "public_supergroup": "public", "public_channel": "public",
}  # fmt: skip
_SUPER = ("private_supergroup", "public_supergroup", "private_channel", "public_channel")
_FILES = ("file_name", "file", "photo")
_DELETED = "Deleted Account"


def read(members: Sequence[Member], reading: Reading) -> Iterator[Read]:
    """Yield the lines of every chat."""
    for member in members:
        chat = _Chat(member, reading)
        for part in each_part(member):
            if isinstance(part, Fault):
                yield part
                continue
            path = part.path
            if path[0] in ("chats", "left_chats"):
                if len(path) > 3 and isinstance(path[2], int):
                    yield from chat.read_part(f"{path[0]} {path[2]}", path[3:], part.value)
            else:
                yield from chat.read_part("", path, part.value)


class _Chat:
    """The chat whose fields and messages are being read."""

    def __init__(self, member: Member, reading: Reading) -> None:
        self._member = member
        self._reading = reading
        self._which: str | None = None
        self._fields: dict[str, Any] = {}
        self._room: Room | None = None

    def read_part(self, which: str, path: Sequence[str | int], value: Any) -> Iterator[Read]:
        """Take one field of a chat, or one of its messages."""
        if which != self._which:
            self._which, self._fields, self._room = which, {}, None
        if path[0] != "messages":
            self._fields[str(path[0])] = value
            return
        if len(path) < 2:
            yield Fault(self._member.name, "messages is no list")
            return
        if self._room is None:
            self._room = self._make_room()
        kind, _, number = which.partition(" ")
        where = f" {kind} {int(number) + 1}" if which else ""
        yield from self._message(f"{self._member.name}:{where} message {int(path[1]) + 1}", value, self._room)

    def _make_room(self) -> Room:
        """Return the chat, with the id that bots know it by."""
        kind, key, title = text_at(self._fields, "type"), id_at(self._fields, "id"), text_at(self._fields, "name")
        if not key:
            name = title or (self._member.stem if self._member.stem != "result" else self._member.folder)
            return Room(name or f"chat {self._which}".strip(), title, _PRIVACY.get(kind, "direct"))
        if kind in _SUPER:
            key = f"-100{key}" if not key.startswith("-") else key
        elif kind == "private_group":
            key = f"-{key}" if not key.startswith("-") else key
        return Room(key, title or ("Saved Messages" if kind == "saved_messages" else ""), _PRIVACY.get(kind, "direct"))

    def _message(self, place: str, value: Any, room: Room) -> Iterator[Read]:
        if not isinstance(value, Mapping):
            yield Fault(place, "it is no object")
            return
        at = time_at(value, "date_unixtime") or time_at(value, "date", zone=self._reading.zone)
        if at is None:
            yield Fault(place, "date_unixtime and date are missing or cannot be read")
            return
        is_service = text_at(value, "type") == "service"
        text = _service_text(value) if is_service else _text(value.get("text"))
        if not text:
            text = _text(value.get("text_entities")) or _poll(value)
        if not text.strip():
            if text_at(value, "type") == "unsupported":
                yield Fault(place, "Telegram itself could not export it")
            else:
                yield Left("pictures, files or stickers without a word")
            return
        edited = time_at(value, "edited_unixtime") or time_at(value, "edited", zone=self._reading.zone)
        yield Line(
            place=place, room=room, text=text, at=at, id=id_at(value, "id"), speaker=self._speaker(value, is_service),
            is_service=is_service, edited=edited, reply_to=id_at(value, "reply_to_message_id"),
            metadata=_metadata(value), made_of=id_at(value, "date_unixtime", "date"),
        )  # fmt: skip

    def _speaker(self, value: Mapping[str, Any], is_service: bool) -> Speaker:
        names = ("actor", "from") if is_service else ("from", "actor", "author")
        told = text_at(value, *names)
        key = id_at(value, *(("actor_id", "from_id") if is_service else ("from_id", "actor_id")))
        kind = text_at(self._fields, "type")
        is_other = bool(told) and told == text_at(self._fields, "name")
        is_bot = kind == "bot_chat" and is_other
        number = key.removeprefix("user")
        return Speaker((number if number.isdecimal() else key) or told or "deleted", told or _DELETED, is_bot)


def _text(value: Any) -> str:
    """Return a text, which may be one or a list of texts and marked parts."""
    parts = value if isinstance(value, list) else [value]
    texts = [part if isinstance(part, str) else part.get("text") if isinstance(part, Mapping) else "" for part in parts]
    whole = ""
    for part, text in zip(parts, texts, strict=True):
        if not isinstance(text, str):
            continue
        is_apart = isinstance(part, Mapping) and whole and not whole[-1].isspace() and part.get("type") == "link"
        if is_apart and text and whole[-1] in ":;,.!?":
            whole += " "
        whole += text
    return clean(whole)


def _service_text(value: Mapping[str, Any]) -> str:
    action = text_at(value, "action").replace("_", " ")
    members = [clean(each) for each in list_at(value, "members") if isinstance(each, str)]
    title = text_at(value, "title")
    return " ".join(part for part in (text_at(value, "actor"), action, ", ".join(members), title) if part)


def _poll(value: Mapping[str, Any]) -> str:
    poll = value.get("poll")
    question = text_at(poll, "question")
    answers = [text_at(each, "text") for each in list_at(poll, "answers")]
    return "\n".join([question, *(f"- {answer}" for answer in answers if answer)]) if question else ""


def _metadata(value: Mapping[str, Any]) -> dict[str, Any]:
    file, kind = text_at(value, *_FILES), text_at(value, "media_type")
    named = {"name": (file.rsplit("/", 1)[-1] or kind)[:255], **({"kind": kind} if kind else {})}
    reactions = [(text_at(each, "emoji"), count_at(each)) for each in list_at(value, "reactions")]
    forwarded = bool(value.get("forwarded_from") or value.get("saved_from"))
    return build_metadata([named] if file or kind else [], reactions, forwarded=forwarded)
