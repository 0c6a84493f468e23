"""Reads the JSON exports of Discord, Slack and Telegram, message by message."""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...scope import Privacy
from ...text.folding import clean
from ..fields import build_metadata, count_at, dict_at, files_of, id_at, list_at, text_at, time_at
from ..files import Member
from ..json_values import each_part
from ..shapes import Fault, Left, Line, Read, Reading, Room, Speaker


class _Messenger:
    def __init__(self, reading: Reading) -> None:
        self.reading: Reading = reading
        self.head: dict[str, Any] = {}
        """Fields of the current chat that were read so far, without its messages."""
        self.names: dict[str, str] = {}
        self._first_names: dict[str, str] = {}

    def read(self, members: Sequence[Member]) -> Iterator[Read]:
        for member in members:
            yield from self._read_file(member)

    def _read_file(self, member: Member) -> Iterator[Read]:
        """Yield the messages of a file: a list of messages, one chat, or a list of chats."""
        chat: tuple[str | int, ...] | None = None
        room: Room | None = None
        for part in each_part(member):
            if isinstance(part, Fault):
                yield part
                continue
            above = part.path[:3] if part.path[0] in ("chats", "left_chats") else ()
            if above != chat:
                chat, room, self.head = above, None, {}
            match part.path[len(above) :]:
                case (*_, int(number)):
                    room = room or self._read_room(member)
                    where = f" {above[0]} {int(above[2]) + 1}" if above else ""
                    place = f"{member.name}:{where} message {number + 1}"
                    is_object = isinstance(part.value, Mapping)
                    yield self._read_message(place, part.value, room) if is_object else Fault(place, "it is no object")
                case ("messages",):
                    yield Fault(member.name, "messages is no list")
                case (name, *_):
                    self.head[str(name)] = part.value

    def _read_room(self, member: Member) -> Room:
        raise NotImplementedError

    def _read_message(self, place: str, value: Mapping[str, Any], room: Room) -> Read:
        raise NotImplementedError

    def id_of_character(self, key: str, name: str, *, is_webhook: bool = False) -> str:
        """Return the sender id of a bot with this name: `key` for its first name, `key:name` for later names."""
        if not is_webhook and self._first_names.setdefault(key, name) == name:
            return key
        return f"{key}:{name}"


def _join_boxes(boxes: Sequence[Any], names: Sequence[str], field: tuple[str, str], fallback: str = "") -> str:
    """Join the texts of a bot's boxes: fields `names`, and pairs such as name and value (`field`); else `fallback`."""
    texts = []
    for box in boxes:
        shown = [*(text_at(box, name) for name in names), _join_blocks(list_at(box, "blocks"))]
        fields = [f"{text_at(each, field[0])}: {text_at(each, field[1])}" for each in list_at(box, "fields")]
        texts += [*shown, *fields] if any(shown) or fields else [text_at(box, fallback)]
    return "\n".join(text for text in texts if text.strip(" :"))


# Discord: the JSON of DiscordChatExporter, one file per channel or several partitions of a channel

_DISCORD_TYPES = frozenset({
    "Default", "0", "Reply", "19", "ChatInputCommand", "ApplicationCommand", "20", "ContextMenuCommand", "23",
    "ThreadStarterMessage", "21", "",
})  # fmt: skip
"""Types of messages written by people or bots; Discord itself writes the others."""
_DIRECT: dict[str, Privacy] = {"DirectTextChat": "direct", "DirectGroupTextChat": "restricted"}
_MENTION = re.compile(r"<@!?(\d+)>")
_EMOJI = re.compile(r"<a?:(\w+):\d+>")
_EMBED = ("author.name", "title", "description", "footer.text")


class Discord(_Messenger):
    """Reader for Discord: all files of a channel form one conversation."""

    def _read_room(self, member: Member) -> Room:
        """Return the channel of a file; a thread's key begins with the key of its parent channel."""
        channel, server = dict_at(self.head, "channel"), id_at(self.head, "guild.id")
        kind, key, title = text_at(channel, "type"), id_at(channel, "id") or member.stem, text_at(channel, "name")
        if kind in _DIRECT or (server in ("", "0") and not kind.startswith("Guild")):
            return Room(key, title, _DIRECT.get(kind, "direct"))
        parent = id_at(channel, "categoryId", "parentId")
        privacy: Privacy = "restricted" if kind == "GuildPrivateThread" else "public"
        return Room(f"{parent}/{key}" if kind.endswith("Thread") and parent else key, title, privacy, server)

    def _read_message(self, place: str, value: Mapping[str, Any], room: Room) -> Read:
        at = time_at(value, "timestamp", zone=self.reading.zone)
        if at is None:
            return Fault(place, "timestamp is missing or cannot be read")
        author = dict_at(value, "author")
        for person in (*list_at(value, "mentions"), author):
            if id_at(person, "id") and text_at(person, "nickname", "name"):
                self.names[id_at(person, "id")] = text_at(person, "nickname", "name")
        kind, text, forwarded = id_at(value, "type"), text_at(value, "content"), dict_at(value, "forwardedMessage")
        is_forwarded = not text and bool(forwarded)
        source = forwarded if is_forwarded else value
        text = text_at(source, "content") or _join_boxes(list_at(source, "embeds"), _EMBED, ("name", "value"))
        text = _MENTION.sub(lambda match: f"@{self.names[match[1]]}" if match[1] in self.names else match[0], text)
        if not text.strip():
            return Left("files, stickers or calls without a word")
        signs = list_at(value, "reactions")
        reactions = [(text_at(each, "emoji.name", "emoji.code"), count_at(each, "users")) for each in signs]
        metadata = build_metadata(
            files_of(source, "attachments", "stickers"), reactions, pinned=value.get("isPinned") is True,
            command=text_at(value, "interaction.name")[:100], forwarded=is_forwarded,
        )  # fmt: skip
        reference = id_at(value, "reference.messageId")
        return Line(
            place=place, room=room, text=clean(_EMOJI.sub(r":\1:", text)), at=at, id=id_at(value, "id"),
            speaker=self._read_speaker(author), metadata=metadata, is_service=kind not in _DISCORD_TYPES,
            edited=time_at(value, "timestampEdited", zone=self.reading.zone),
            reply_to=reference if kind in ("Reply", "19", "Default", "0", "") and not forwarded else "",
            made_of=text_at(value, "timestamp"),
        )  # fmt: skip

    def _read_speaker(self, author: Mapping[str, Any]) -> Speaker:
        name, is_bot = text_at(author, "name"), author.get("isBot") is True
        key = id_at(author, "id") or name or "deleted"
        if is_bot:
            key = self.id_of_character(key, name, is_webhook=id_at(author, "discriminator") == "0000")
        return Speaker(key, text_at(author, "nickname", "name") or "Deleted User", is_bot, handle=name)


# Telegram: `result.json` of Telegram Desktop, one chat or all of them

_TELEGRAM_PRIVACY: dict[str, Privacy] = {
    "private_group": "restricted", "private_supergroup": "restricted", "private_channel": "restricted",
    "public_supergroup": "public", "public_channel": "public",
}  # fmt: skip
"""Privacy of chats of several people, by type; chats of other types are direct."""
_SUPER = ("private_supergroup", "public_supergroup", "private_channel", "public_channel")


class Telegram(_Messenger):
    _unnamed = 0

    def _read_room(self, member: Member) -> Room:
        """Return the chat of a file, with the chat id that Telegram gives to bots."""
        kind, key, title = text_at(self.head, "type"), id_at(self.head, "id"), text_at(self.head, "name")
        privacy = _TELEGRAM_PRIVACY.get(kind, "direct")
        if not key:
            name = title or (member.stem if member.stem != "result" else member.folder)
            self._unnamed += not name
            return Room(name or f"chat {self._unnamed}", title, privacy)
        prefix = "-100" if kind in _SUPER else "-" if kind == "private_group" else ""
        key = key if key.startswith("-") else prefix + key
        return Room(key, title or ("Saved Messages" if kind == "saved_messages" else ""), privacy)

    def _read_message(self, place: str, value: Mapping[str, Any], room: Room) -> Read:
        at = time_at(value, "date_unixtime") or time_at(value, "date", zone=self.reading.zone)
        if at is None:
            return Fault(place, "date_unixtime and date are missing or cannot be read")
        is_service = text_at(value, "type") == "service"
        text = _service_text(value) if is_service else _telegram_text(value.get("text"))
        text = text or _telegram_text(value.get("text_entities")) or _poll(value)
        if not text.strip():
            if text_at(value, "type") == "unsupported":
                return Fault(place, "Telegram itself could not export it")
            return Left("pictures, files or stickers without a word")
        file, kind = text_at(value, "file_name", "file", "photo"), text_at(value, "media_type")
        named = {"name": (file.rsplit("/", 1)[-1] or kind)[:255], **({"kind": kind} if kind else {})}
        reactions = [(text_at(each, "emoji"), count_at(each)) for each in list_at(value, "reactions")]
        forwarded = bool(value.get("forwarded_from") or value.get("saved_from"))
        return Line(
            place=place, room=room, text=text, at=at, id=id_at(value, "id"), is_service=is_service,
            speaker=self._read_speaker(value, is_service), reply_to=id_at(value, "reply_to_message_id"),
            metadata=build_metadata([named] if file or kind else [], reactions, forwarded=forwarded),
            edited=time_at(value, "edited_unixtime") or time_at(value, "edited", zone=self.reading.zone),
            made_of=id_at(value, "date_unixtime", "date"),
        )  # fmt: skip

    def _read_speaker(self, value: Mapping[str, Any], is_service: bool) -> Speaker:
        name = text_at(value, *(("actor", "from") if is_service else ("from", "actor", "author")))
        key = id_at(value, *(("actor_id", "from_id") if is_service else ("from_id", "actor_id")))
        is_bot = text_at(self.head, "type") == "bot_chat" and bool(name) and name == text_at(self.head, "name")
        number = key.removeprefix("user")
        return Speaker((number if number.isdecimal() else key) or name or "deleted", name or "Deleted Account", is_bot)


def _telegram_text(value: Any) -> str:
    """Convert a Telegram text, a string or a list of strings and formatted parts, to plain text."""
    whole = ""
    for part in value if isinstance(value, list) else [value]:
        text = part.get("text") if isinstance(part, Mapping) else part
        if not isinstance(text, str):
            continue
        if isinstance(part, Mapping) and part.get("type") == "link" and text and whole[-1:] in tuple(":;,.!?"):
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


# Slack: the export of a workspace, one file per channel and day, beside lists of people and channels

SLACK_LISTS: dict[str, Privacy] = {
    "channels": "public", "groups": "restricted", "mpims": "restricted", "dms": "direct",
}  # fmt: skip
"""Names of the files that list channels, and the privacy of these channels."""
_BESIDE = frozenset({
    *SLACK_LISTS, "users", "integration_logs", "canvases", "huddle_transcripts", "lists", "file_conversations",
    "org_users", "orgs", "workflows",
})  # fmt: skip
_SLACK_TYPES = frozenset({
    "", "me_message", "file_share", "bot_message", "thread_broadcast", "reply_broadcast", "file_comment",
    "file_mention", "slackbot_response", "message_replied", "assistant_app_thread",
})  # fmt: skip
"""Subtypes of messages written by people or bots; Slack itself writes the others."""
_INLINE = ("rich_text_section", "rich_text_quote", "rich_text_preformatted")
_BLOCK_LEVELS = 8
_MARK = re.compile(r"<([^<>|\s][^<>|]*)(?:\|([^<>]*))?>")


def _join_blocks(blocks: Sequence[Any]) -> str:
    return "\n".join(text for text in (_block_words(block, _BLOCK_LEVELS) for block in blocks) if text.strip())


def _block_words(block: Any, levels: int) -> str:
    """Convert a Slack block or element to text in Slack's markup; parts deeper than `levels` are left out."""
    if not isinstance(block, Mapping) or levels == 0:
        return ""
    kind, text, url = text_at(block, "type"), block.get("text"), text_at(block, "url")
    mentions = {"user": "@" + id_at(block, "user_id"), "channel": "#" + id_at(block, "channel_id"),
                "usergroup": "!subteam^" + id_at(block, "usergroup_id"), "broadcast": "!" + text_at(block, "range"),
                "link": f"{url}|{text}" if isinstance(text, str) else url}  # fmt: skip
    if kind in mentions:
        return f"<{mentions[kind]}>"
    if kind == "emoji":
        return f":{text_at(block, 'name')}:"
    if isinstance(text, str):
        return text if kind in ("mrkdwn", "markdown") else html.escape(text, quote=False)
    inner = (text, *list_at(block, "fields"), *list_at(block, "elements"))
    words = [each for each in (_block_words(element, levels - 1) for element in inner) if each]
    if kind == "rich_text_list":
        words = [f"- {each}" for each in words]
    return ("" if kind in _INLINE else "\n").join(words)


class Slack(_Messenger):
    """Reader for a Slack workspace, in which each channel is a folder of daily files."""

    def __init__(self, reading: Reading) -> None:
        super().__init__(reading)
        self._handles: dict[str, str] = {}
        self._bots: set[str] = set()
        self._channels: dict[str, tuple[str, str, Privacy]] = {}
        self._titles: dict[str, str] = {}
        self._team = ""

    def read(self, members: Sequence[Member]) -> Iterator[Read]:
        for member in members:
            for part in each_part(member) if member.stem in _BESIDE else ():
                if isinstance(part, Fault):
                    yield part
                elif isinstance(part.value, Mapping):
                    self._add_listed(member.stem, part.value)
        yield from super().read([member for member in members if member.stem not in _BESIDE])

    def _add_listed(self, name_of_list: str, value: Mapping[str, Any]) -> None:
        if name_of_list in ("users", "org_users"):
            key, profile = id_at(value, "id"), dict_at(value, "profile")
            name = text_at(profile, "display_name", "real_name") or text_at(value, "real_name", "name")
            if key and name:
                self.names[key], self._handles[key] = name, text_at(value, "name")
            if key and value.get("is_bot") is True:
                self._bots.add(key)
            self._team = self._team or id_at(value, "team_id") or id_at(profile, "team")
        elif name_of_list in SLACK_LISTS:
            key, name = id_at(value, "id", "name"), text_at(value, "name")
            title = name or ", ".join(self.names.get(str(each), str(each)) for each in list_at(value, "members"))
            for folder in {name, key} - {""}:
                self._channels[folder] = (key, title, SLACK_LISTS[name_of_list])
            self._titles[key] = name

    def _read_room(self, member: Member) -> Room:
        """Return the channel of a file; a channel that no list of the workspace names is restricted."""
        folder = member.folder or member.stem
        key, title, privacy = self._channels.get(folder, (folder, folder, "restricted"))
        opened = privacy == "public" or (privacy == "restricted" and self.reading.private is False)
        return Room(key, title, privacy, self._team if opened else "")

    def _read_message(self, place: str, value: Mapping[str, Any], room: Room) -> Read:
        """Convert a message to a line; replies in a thread form their own conversation, `channel/thread`."""
        kind, inner = text_at(value, "subtype"), dict_at(value, "message")
        if kind == "message_changed" and inner:
            value = {**inner, "edited": dict_at(inner, "edited") or {"ts": value.get("ts")}}
            kind = text_at(value, "subtype")
        if kind in ("tombstone", "message_deleted"):
            return Left("deleted there")
        at = time_at(value, "ts", zone=self.reading.zone)
        if at is None:
            return Fault(place, "ts is missing or cannot be read")
        text = self._words(value)
        if not text.strip():
            return Left("files without a word")
        key, thread = id_at(value, "ts"), id_at(value, "thread_ts")
        if thread and thread != key:
            room = Room(f"{room.id}/{thread}", room.title, room.privacy, room.server)
        files = files_of({"files": [*list_at(value, "files"), dict_at(value, "file")]}, "files")
        reactions = [(f":{text_at(each, 'name')}:", count_at(each, "users")) for each in list_at(value, "reactions")]
        return Line(
            place=place, room=room, text=text, at=at, id=key, speaker=self._read_speaker(value, kind),
            metadata=build_metadata(files, reactions),
            is_service=kind not in _SLACK_TYPES, edited=time_at(value, "edited.ts"),
        )  # fmt: skip

    def _read_speaker(self, value: Mapping[str, Any], kind: str) -> Speaker:
        profile = dict_at(value, "user_profile")
        key, bot = id_at(value, "user", "comment.user"), id_at(value, "bot_id")
        is_bot = kind == "bot_message" or key in self._bots or (bool(bot) and not profile)
        name = text_at(value, "username")
        if key:
            name = self.names.get(key) or text_at(profile, "display_name", "real_name", "name") or name
            return Speaker(key, name or key, is_bot, handle=self._handles.get(key, ""))
        name = name or text_at(value, "bot_profile.name") or self.names.get(bot, "")
        shown = name or bot or "Unknown"
        return Speaker(self.id_of_character(bot, shown) if bot else name or "unknown", shown, is_bot)

    def _words(self, value: Mapping[str, Any]) -> str:
        text = text_at(value, "text", "comment.comment")
        boxes = list_at(value, "attachments")
        text = text or _join_blocks(list_at(value, "blocks"))
        text = text or _join_boxes(boxes, ("pretext", "title", "text"), ("title", "value"), "fallback")
        return clean(html.unescape(_MARK.sub(lambda match: self._unmarked(match[1], match[2] or ""), text)))

    def _unmarked(self, mark: str, label: str) -> str:
        if mark.startswith(("@U", "@W", "@B")):
            return f"@{self.names.get(mark[1:]) or label or mark[1:]}"
        if mark.startswith("#"):
            return f"#{label or self._titles.get(mark[1:]) or mark[1:]}"
        if mark.startswith("!date"):
            return label
        if mark.startswith("!"):
            return label if label.startswith("@") else f"@{label or mark[1:].partition('^')[0]}"
        shown = mark.removeprefix("mailto:")
        return shown if not label or label in (mark, shown) else f"{label} ({mark})"
