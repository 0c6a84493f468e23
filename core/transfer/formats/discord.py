"""Discord: the JSON of DiscordChatExporter, one file a channel or several partitions of one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...scope import Privacy
from ...text.folding import clean
from ..fields import build_metadata, count_at, dict_at, each_part, files_of, id_at, list_at, text_at, time_at
from ..files import Member
from ..shapes import Fault, Left, Line, Names, Read, Reading, Room, Speaker

_SAID = frozenset({
    "Default", "0", "Reply", "19", "ChatInputCommand", "ApplicationCommand", "20", "ContextMenuCommand", "23",
    "ThreadStarterMessage", "21", "",
})  # fmt: skip
"""Types of messages that somebody wrote; others are told by the program."""
_DIRECT: dict[str, Privacy] = {"DirectTextChat": "direct", "DirectGroupTextChat": "restricted"}
_THREADS = ("GuildNewsThread", "GuildPublicThread", "GuildPrivateThread")
_MENTION = re.compile(r"<@!?(\d+)>")
_EMOJI = re.compile(r"<a?:(\w+):\d+>")
_NO_SERVER = ("", "0")
_NO_DISCRIMINATOR = "0000"
"""What a webhook has, and no bot."""


def read(members: Sequence[Member], reading: Reading) -> Iterator[Read]:
    """Yield the lines of every file; partitions of a channel are one conversation."""
    names: dict[str, str] = {}
    characters = Names()
    for member in members:
        guild: Mapping[str, Any] = {}
        room: Room | None = None
        head: dict[str, Any] = {}
        count = 0
        for part in each_part(member):
            if isinstance(part, Fault):
                yield part
            elif part.path[0] != "messages":
                head[str(part.path[0])] = part.value
            else:
                if room is None:
                    guild = dict_at(head, "guild")
                    room = _room(guild, dict_at(head, "channel"), member)
                count += 1
                number = int(part.path[-1]) + 1 if len(part.path) > 1 else 1
                yield from _message(f"{member.name}: message {number}", part.value, room, names, characters, reading)
        said = head.get("messageCount")
        if isinstance(said, int) and not isinstance(said, bool) and said > count:
            yield Fault(member.name, f"it says that it has {said} messages, {count} were found")


def _room(guild: Mapping[str, Any], channel: Mapping[str, Any], member: Member) -> Room:
    """Return the channel as a conversation; a thread stands under its parent."""
    kind, key = text_at(channel, "type"), id_at(channel, "id") or member.stem
    server = id_at(guild, "id")
    title = text_at(channel, "name")
    if kind in _DIRECT or (server in _NO_SERVER and not kind.startswith("Guild")):
        return Room(key, title, _DIRECT.get(kind, "direct"))
    parent = id_at(channel, "categoryId", "parentId")
    is_thread = kind in _THREADS or kind.endswith("Thread")
    privacy: Privacy = "restricted" if kind == "GuildPrivateThread" else "public"
    return Room(f"{parent}/{key}" if is_thread and parent else key, title, privacy, server)


def _message(
    place: str, value: Any, room: Room, names: dict[str, str], characters: Names, reading: Reading
) -> Iterator[Read]:
    if not isinstance(value, Mapping):
        yield Fault(place, "it is no object")
        return
    at = time_at(value, "timestamp", zone=reading.zone)
    if at is None:
        yield Fault(place, "timestamp is missing or cannot be read")
        return
    author = dict_at(value, "author")
    speaker = _speaker(author, characters)
    for person in (*list_at(value, "mentions"), author):
        if id_at(person, "id") and text_at(person, "nickname", "name"):
            names[id_at(person, "id")] = text_at(person, "nickname", "name")
    kind = id_at(value, "type")
    metadata = _metadata(value)
    text = text_at(value, "content")
    forwarded = dict_at(value, "forwardedMessage")
    if not text and forwarded:
        text, metadata["forwarded"] = text_at(forwarded, "content"), True
    text = _named(text or _embedded(value), names)
    reference = dict_at(value, "reference")
    is_reply = bool(reference) and kind in ("Reply", "19", "Default", "0", "") and not forwarded
    if not text.strip():
        yield Left("files, stickers or calls without a word")
        return
    yield Line(
        place=place, room=room, text=text, at=at, id=id_at(value, "id"), speaker=speaker, metadata=metadata,
        is_service=kind not in _SAID, edited=time_at(value, "timestampEdited", zone=reading.zone),
        reply_to=id_at(reference, "messageId") if is_reply else "", made_of=text_at(value, "timestamp"),
    )  # fmt: skip


def _speaker(author: Mapping[str, Any], characters: Names) -> Speaker:
    """Return who wrote a message; a webhook speaks for as many characters as it gives names."""
    name, is_bot = text_at(author, "name"), author.get("isBot") is True
    key = id_at(author, "id") or name or "deleted"
    if is_bot:
        key = characters.id_of(key, name, is_webhook=id_at(author, "discriminator") == _NO_DISCRIMINATOR)
    return Speaker(key, text_at(author, "nickname", "name") or "Deleted User", is_bot, handle=name)


def _metadata(value: Mapping[str, Any]) -> dict[str, Any]:
    reactions = [
        (text_at(dict_at(each, "emoji"), "name", "code"), count_at(each, "users"))
        for each in list_at(value, "reactions")
    ]
    command = text_at(dict_at(value, "interaction"), "name")[:100]
    files = files_of(value, "attachments", "stickers")
    return build_metadata(files, reactions, pinned=value.get("isPinned") is True, command=command)


def _embedded(value: Mapping[str, Any]) -> str:
    """Return the words of what a bot shows in boxes."""
    texts = []
    for embed in list_at(value, "embeds"):
        fields = [f"{text_at(field, 'name')}: {text_at(field, 'value')}" for field in list_at(embed, "fields")]
        texts += [text_at(embed, "title"), text_at(embed, "description"), *fields]
    return "\n".join(text for text in texts if text.strip(" :"))


def _named(text: str, names: Mapping[str, str]) -> str:
    """Return a text with names in place of ids."""
    if "<" not in text:
        return clean(text)
    named = _MENTION.sub(lambda found: f"@{names[found[1]]}" if found[1] in names else found[0], text)
    return clean(_EMOJI.sub(r":\1:", named))
