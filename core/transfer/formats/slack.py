"""Slack: the export of a workspace, a file a channel and day, beside lists of people and channels."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...scope import Privacy
from ...text.folding import clean
from ..fields import build_metadata, count_at, dict_at, each_part, files_of, id_at, list_at, text_at, time_at
from ..files import Member
from ..shapes import Fault, Left, Line, Names, Read, Reading, Room, Speaker

LISTS: dict[str, Privacy] = {"channels": "public", "groups": "restricted", "mpims": "restricted", "dms": "direct"}
"""Files that list channels, with how private those are."""
_BESIDE = frozenset({
    *LISTS, "users", "integration_logs", "canvases", "huddle_transcripts", "lists", "file_conversations", "org_users",
    "orgs", "workflows",
})  # fmt: skip
_SAID = frozenset({
    "", "me_message", "file_share", "bot_message", "thread_broadcast", "reply_broadcast", "file_comment",
    "file_mention", "slackbot_response", "message_replied", "assistant_app_thread",
})  # fmt: skip
"""Subtypes of messages that somebody wrote; others are told by the program."""
_GONE = frozenset({"tombstone", "message_deleted"})
_MARK = re.compile(r"<([^<>|\s][^<>|]*)(?:\|([^<>]*))?>")


@dataclass(slots=True)
class _Workspace:
    """What the lists beside the channels say."""

    names: dict[str, str] = field(default_factory=dict)
    handles: dict[str, str] = field(default_factory=dict)
    bots: set[str] = field(default_factory=set)
    channels: dict[str, tuple[str, str, Privacy]] = field(default_factory=dict)
    """Name of the folder to id, name and privacy."""
    titles: dict[str, str] = field(default_factory=dict)
    team: str = ""
    characters: Names = field(default_factory=Names)


def read(members: Sequence[Member], reading: Reading) -> Iterator[Read]:
    """Yield the lines of every channel, day by day."""
    space = _Workspace()
    for member in members:
        if member.stem in _BESIDE:
            yield from _beside(member, space)
    for member in members:
        if member.stem in _BESIDE:
            continue
        key, title, privacy = _channel_of(member, space)
        # A whole channel in one folder, named as the channel is.
        room = Room(key, title, privacy, space.team if privacy == "public" else "")
        for part in each_part(member):
            if isinstance(part, Fault):
                yield part
            elif isinstance(part.path[-1], int):
                yield from _message(f"{member.name}: message {part.path[-1] + 1}", part.value, room, space, reading)


def _channel_of(member: Member, space: _Workspace) -> tuple[str, str, Privacy]:
    """Return id, name and privacy of the channel whose folder a file lies in; one that is not listed is closed."""
    folder = member.folder or member.stem
    return space.channels.get(folder, (folder, folder, "restricted"))


# Beside the channels


def _beside(member: Member, space: _Workspace) -> Iterator[Fault]:
    for part in each_part(member):
        if isinstance(part, Fault):
            yield part
            continue
        value = part.value
        if not isinstance(value, Mapping):
            continue
        if member.stem in ("users", "org_users"):
            key = id_at(value, "id")
            profile = dict_at(value, "profile")
            name = text_at(profile, "display_name", "real_name") or text_at(value, "real_name", "name")
            if key and name:
                space.names[key], space.handles[key] = name, text_at(value, "name")
            if key and value.get("is_bot") is True:
                space.bots.add(key)
            space.team = space.team or id_at(value, "team_id") or id_at(profile, "team")
        elif member.stem in LISTS:
            key, name = id_at(value, "id", "name"), text_at(value, "name")
            title = name or ", ".join(space.names.get(str(each), str(each)) for each in list_at(value, "members"))
            for folder in {name, key} - {""}:
                space.channels[folder] = (key, title, LISTS[member.stem])
            space.titles[key] = name


# Messages


def _message(place: str, value: Any, room: Room, space: _Workspace, reading: Reading) -> Iterator[Read]:
    if not isinstance(value, Mapping):
        yield Fault(place, "it is no object")
        return
    kind = text_at(value, "subtype")
    if kind == "message_changed" and dict_at(value, "message"):
        value = {
            **dict_at(value, "message"),
            "edited": dict_at(dict_at(value, "message"), "edited") or {"ts": value.get("ts")},
        }
        kind = text_at(value, "subtype")
    if kind in _GONE:
        yield Left("deleted there")
        return
    at = time_at(value, "ts", zone=reading.zone)
    if at is None:
        yield Fault(place, "ts is missing or cannot be read")
        return
    text = _words(value, space)
    if not text.strip():
        yield Left("files without a word")
        return
    key, thread = id_at(value, "ts"), id_at(value, "thread_ts")
    is_below = bool(thread) and thread != key
    where = Room(f"{room.id}/{thread}", room.title, room.privacy, room.server) if is_below else room
    files = files_of({"files": [*list_at(value, "files"), dict_at(value, "file")]}, "files")
    reactions = [(f":{text_at(each, 'name')}:", count_at(each, "users")) for each in list_at(value, "reactions")]
    yield Line(
        place=place, room=where, text=text, at=at, id=key, speaker=_speaker(value, kind, space),
        metadata=build_metadata(files, reactions),
        is_service=kind not in _SAID, edited=time_at(dict_at(value, "edited"), "ts"),
    )  # fmt: skip


def _speaker(value: Mapping[str, Any], kind: str, space: _Workspace) -> Speaker:
    profile = dict_at(value, "user_profile")
    inner = dict_at(value, "comment")
    key = id_at(value, "user") or id_at(inner, "user")
    bot = id_at(value, "bot_id")
    is_bot = kind == "bot_message" or key in space.bots or (bool(bot) and not profile)
    if key:
        name = (
            space.names.get(key) or text_at(profile, "display_name", "real_name", "name") or text_at(value, "username")
        )
        return Speaker(key, name or key, is_bot, handle=space.handles.get(key, ""))
    name = text_at(value, "username") or text_at(dict_at(value, "bot_profile"), "name") or space.names.get(bot, "")
    shown = name or bot or "Unknown"
    return Speaker(space.characters.id_of(bot, shown) if bot else name or "unknown", shown, is_bot)


def _words(value: Mapping[str, Any], space: _Workspace) -> str:
    """Return what a message says: its text, else its blocks, else the boxes of a bot."""
    text = text_at(value, "text") or text_at(dict_at(value, "comment"), "comment")
    if not text:
        text = "\n".join(_block_texts(list_at(value, "blocks"))).strip()
    if not text:
        texts = []
        for each in list_at(value, "attachments"):
            shown = [text_at(each, name) for name in ("pretext", "title", "text")]
            fields = [f"{text_at(f, 'title')}: {text_at(f, 'value')}" for f in list_at(each, "fields")]
            texts += [*shown, *fields] if any(shown) or fields else [text_at(each, "fallback")]
        text = "\n".join(part for part in texts if part.strip(" :"))
    return clean(html.unescape(_MARK.sub(lambda found: _unmarked(found[1], found[2] or "", space), text)))


def _unmarked(what: str, label: str, space: _Workspace) -> str:
    """Return a mention, a channel or a link as people read it."""
    if what.startswith(("@U", "@W", "@B")):
        return f"@{space.names.get(what[1:]) or label or what[1:]}"
    if what.startswith("#"):
        return f"#{label or space.titles.get(what[1:]) or what[1:]}"
    if what.startswith("!"):
        if what.startswith("!date"):
            return label
        return label if label.startswith("@") else f"@{label or what[1:].partition('^')[0]}"
    shown = what.removeprefix("mailto:")
    return shown if not label or label in (what, shown) else f"{label} ({what})"


def _block_texts(blocks: Sequence[Any], depth: int = 0) -> Iterator[str]:
    """Yield the texts of blocks, a line for each."""
    if depth > 8:
        return
    for block in blocks:
        if not isinstance(block, Mapping):
            continue
        elements = list_at(block, "elements")
        kind = text_at(block, "type")
        if kind in ("rich_text_section", "rich_text_quote", "rich_text_preformatted"):
            yield "".join(_element_text(each) for each in elements)
        elif elements:
            yield from _block_texts(elements, depth + 1)
        elif found := text_at(block, "text") or text_at(dict_at(block, "text"), "text"):
            yield found


def _element_text(element: Any) -> str:
    kind = text_at(element, "type")
    if kind == "user":
        return f"<@{id_at(element, 'user_id')}>"
    if kind == "channel":
        return f"<#{id_at(element, 'channel_id')}>"
    if kind == "emoji":
        return f":{text_at(element, 'name')}:"
    if kind == "broadcast":
        return f"<!{text_at(element, 'range')}>"
    if isinstance(element, Mapping) and isinstance(element.get("text"), str):
        return str(element["text"])
    return text_at(element, "url")


def is_line(value: Any) -> bool:
    """Return whether an element of a list is a message of a channel."""
    return isinstance(value, Mapping) and "ts" in value and bool(value.keys() & {"user", "bot_id", "subtype", "text"})
