"""Which program an export is of, told by what its files hold and not by their names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

from . import chatgpt, claude, declared, discord, openwebui, slack, telegram, whatsapp
from .archive import Export, Member
from .fields import each_part
from .json_parts import Part
from .values import Fault, Left, Read, Reading

Reader = Callable[[Sequence[Member], Reading], Iterator[Read]]

READERS: dict[str, Reader] = {
    "chatgpt": chatgpt.read,
    "claude": claude.read,
    "discord": discord.read,
    "openwebui": openwebui.read,
    "slack": slack.read,
    "telegram": telegram.read,
    "whatsapp": whatsapp.read,
    **declared.readers(),
}
TITLES = {"chatgpt": "ChatGPT", "claude": "Claude", "discord": "Discord", "openwebui": "Open WebUI", "slack": "Slack",
          "telegram": "Telegram", "whatsapp": "WhatsApp",
          **{name: form.title for name, form in declared.FORMATS.items()}}  # fmt: skip

_LOOKED_AT = 40
_TEXT_CHARS = 1 << 16
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_TELEGRAM_TYPES = ("message", "service", "unsupported")


class Found:
    """The files of an export by the program they are of."""

    def __init__(self, export: Export) -> None:
        self.export: Export = export
        self.members: dict[str, list[Member]] = {}
        self.unknown: int = 0
        """Files of which nothing is known."""
        slacks = _slack_members(export)
        for member in export.members:
            broken: list[Fault] = []
            kind = "slack" if member in slacks else _kind(member, broken)
            if kind:
                self.members.setdefault(kind, []).append(member)
            elif broken:
                export.faults += broken
            else:
                self.unknown += 1
        people = [member for member in export.members if member.stem == "users"]
        if "claude" in self.members and people:  # who has the account
            self.members["claude"] += [member for member in people if member not in self.members["claude"]]
            self.unknown -= sum(1 for member in people if member not in slacks)

    @property
    def format(self) -> str:
        """Return the names of the programs, blank where none is known."""
        return "+".join(self.members)

    def read(self, reading: Reading) -> Iterator[tuple[str, Read]]:
        """Yield everything the export holds, with the program it is of, and what of it cannot be taken."""
        yield from (("", fault) for fault in self.export.faults)
        for kind, members in self.members.items():
            yield from ((kind, read) for read in READERS[kind](members, reading))
        if self.unknown:
            yield "", Left("files that hold no chat", self.unknown)


def _slack_members(export: Export) -> set[Member]:
    """Return the files of a workspace: its lists, and a file for each day beside each other in folders."""
    lists = [member for member in export.members if member.stem in slack.LISTS and _is_json(member)]
    days = [member for member in export.members if _DAY.fullmatch(member.stem) and _is_json(member) and member.folder]
    if not lists or (not days and not any(member.stem == "users" for member in export.members)):
        return set()
    roots = {PurePosixPath(member.name).parent for member in lists}
    return {member for member in export.members if _is_json(member) and _is_under(member, roots)}


def _is_under(member: Member, roots: set[PurePosixPath]) -> bool:
    path = PurePosixPath(member.name)
    return path.parent in roots or path.parent.parent in roots


def _is_json(member: Member) -> bool:
    return member.name.lower().removesuffix(".gz").endswith(".json")


def _kind(member: Member, broken: list[Fault]) -> str:
    """Return the program a file is of, blank for none that is known; what breaks on the way goes to `broken`."""
    with member.guarded(broken) as text:
        begins = text.read(_TEXT_CHARS)
    head = begins.lstrip("\ufeff \t\r\n\x00")
    if not head:
        return ""
    if head[0] in "{[" and not whatsapp.fits(head[:200]):
        kinds = (_kind_of_part(part) for part in islice(each_part(member), _LOOKED_AT))
        return next((kind for kind in kinds if kind), "") or declared.find_format(member, [])
    return "whatsapp" if whatsapp.fits(begins) else ""


def _kind_of_part(part: Part | Fault) -> str:
    """Return the program that writes such a part, blank where it does not say."""
    if isinstance(part, Fault):
        return ""
    path, value = part
    if not path:
        return ""
    if isinstance(path[-1], int):
        if path[0] in ("messages", "chats", "left_chats") and len(path) != 1 and "messages" in path:
            return _kind_of_message(value)
        return _kind_of_object(value)
    if path[0] in ("chats", "left_chats"):
        return "telegram" if len(path) > 2 and path[-1] in ("name", "type", "id") else ""
    return _kind_of_object({path[0]: value}) if len(path) == 1 else ""


def _kind_of_object(value: Any) -> str:
    """Return the program whose conversation, memory or project an object is."""
    if not isinstance(value, Mapping):
        return ""
    if isinstance(value.get("mapping"), (Mapping, list)):
        return "chatgpt"
    if "chat_messages" in value or value.keys() & {"conversations_memory", "project_memories", "prompt_template"}:
        return "claude"
    chat = value.get("chat") if isinstance(value.get("chat"), Mapping) else value
    assert isinstance(chat, Mapping)
    history = chat.get("history")
    if isinstance(history, Mapping) and "messages" in history:
        return "openwebui"
    if chat is not value and isinstance(chat.get("messages"), list):
        return "openwebui"
    if isinstance(value.get("guild"), Mapping):
        return "discord"
    if "personal_information" in value:
        return "telegram"
    return "slack" if slack.is_line(value) and str(value.get("type", "message")) == "message" and "ts" in value else ""


def _kind_of_message(value: Any) -> str:
    """Return the program that writes such a message in a list `messages`."""
    if not isinstance(value, Mapping):
        return ""
    if isinstance(value.get("author"), Mapping) and "content" in value and "timestamp" in value:
        return "discord"
    has_time = bool(value.keys() & {"date_unixtime", "date"})
    return "telegram" if has_time and value.get("type") in _TELEGRAM_TYPES else ""
