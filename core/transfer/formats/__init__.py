"""Recognise the application that wrote a chat file by its content, and choose its reader.

| Module | Formats |
|---|---|
| `declared` | formats described by a table of field names |
| `branches` | chats that branch: ChatGPT, Claude, Open WebUI |
| `messengers` | Discord, Slack, Telegram |
| `whatsapp` | chats as plain text |
| `sillytavern`, `records` | one JSON object per line |
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath

from ...errors import TransferError
from ..files import MAX_BYTES, Export, Member
from ..json_values import BadJson, JsonPart, each_part, read_value
from ..shapes import Fault, Left, Read, Reading
from . import branches, declared, messengers, records, sillytavern, whatsapp

Reader = Callable[[Sequence[Member], Reading], Iterator[Read]]

PROGRAMS: dict[str, tuple[str, Reader]] = {
    "chatgpt": ("ChatGPT", branches.read_chatgpt),
    "claude": ("Claude", branches.read_claude),
    "discord": ("Discord", lambda members, reading: messengers.Discord(reading).read(members)),
    "openwebui": ("Open WebUI", branches.read_openwebui),
    "slack": ("Slack", lambda members, reading: messengers.Slack(reading).read(members)),
    "librechat": ("LibreChat", branches.read_librechat),
    "llamacpp": ("llama.cpp", branches.read_llamacpp),
    "telegram": ("Telegram", lambda members, reading: messengers.Telegram(reading).read(members)),
    "whatsapp": ("WhatsApp", whatsapp.read),
    **{name: (form.title, partial(declared.read, name)) for name, form in declared.FORMATS.items()},
    "sillytavern": ("SillyTavern", sillytavern.read),
    "records": ("JSON lines", records.read),
}
TITLES = {name: title for name, (title, _) in PROGRAMS.items()}
OWN = ("records", "sillytavern")
"""Formats whose conversation keys begin with `import`, since their files name no source application."""

_ONE_CHAT_A_FILE = (*OWN, "whatsapp")
"""Formats with one chat per file; if a file is invalid, the other files are still imported."""
_LOOKED_AT = 40
_LINES = 100
"""Maximum number of lines that are read to recognise a file with one JSON value per line."""
_TEXT_CHARS = 1 << 16
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


class ChatFiles:
    """Files of an export, grouped by the application that wrote them."""

    def __init__(self, export: Export) -> None:
        self.export: Export = export
        self.members: dict[str, list[Member]] = {}
        self.unknown: int = 0
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
        if "claude" in self.members and people:  # the file `users` names the owner of the account
            self.members["claude"] += [member for member in people if member not in self.members["claude"]]
            self.unknown -= sum(1 for member in people if member not in slacks)

    @property
    def format(self) -> str:
        return "+".join(self.members)

    def read(self, reading: Reading) -> Iterator[tuple[str, Read]]:
        """Yield all messages, memories and faults of the export, each with its source application."""
        yield from (("", fault) for fault in self.export.faults)
        is_one = len(self.export.members) == 1
        for kind, members in self.members.items():
            reader = PROGRAMS[kind][1]
            reader = reader if is_one or kind not in _ONE_CHAT_A_FILE else partial(_read_each, reader)
            yield from ((kind, read) for read in reader(members, reading))
        if self.unknown:
            yield "", Left("files that hold no chat", self.unknown)


def _read_each(reader: Reader, members: Sequence[Member], reading: Reading) -> Iterator[Read]:
    """Read files one by one with `reader` and yield their messages; an invalid file yields a fault."""
    for member in members:
        try:
            yield from reader([member], reading)
        except TransferError as error:
            yield Fault(member.name, str(error).rstrip("."))


def find_export(path: Path, max_bytes: int = MAX_BYTES) -> ChatFiles | None:
    """Return the files of an export, grouped by source application; None for a single file of unknown format."""
    export = Export(path, max_bytes)
    files = ChatFiles(export)
    if files.members:
        return files
    if not export.is_zip and not path.is_dir():
        return None
    listed = "; ".join(f"{fault.place}: {fault.reason}" for fault in export.faults[:5])
    raise TransferError(
        f"{str(path)!r} holds no chat of a program that is known: {', '.join(TITLES.values())}."
        + (f" Not looked at: {listed}." if listed else "")
    )


def _slack_members(export: Export) -> set[Member]:
    """Return the files of a Slack workspace in an export: its lists of users and channels, and the daily files."""
    files = [member for member in export.members if member.name.lower().endswith(".json")]
    lists = [member for member in files if member.stem in messengers.SLACK_LISTS]
    has_days = any(_DAY.fullmatch(member.stem) for member in files)
    if not lists or not (has_days or any(member.stem == "users" for member in export.members)):
        return set()
    roots = {PurePosixPath(member.name).parent for member in lists}
    return {member for member in files if roots & {*PurePosixPath(member.name).parents[:2]}}


def _kind(member: Member, broken: list[Fault]) -> str:
    """Return the name of the application that wrote a file, "" if unknown; append read errors to `broken`."""
    with member.guarded(broken) as text:
        begins = text.read(_TEXT_CHARS)
    head = begins.lstrip("\ufeff \t\r\n\x00")
    if not head:
        return ""
    if whatsapp.fits(begins):
        return "whatsapp"
    if head[0] in "{[":
        kinds = (_kind_of_part(part) for part in islice(each_part(member), _LOOKED_AT))
        return _kind_of_lines(begins) or next(filter(None, kinds), "") or declared.find_format(member)
    return declared.find_format(member) if begins.partition("\n")[0].count(",") > 1 else ""


def _kind_of_lines(begins: str) -> str:
    """Recognise the format of a file with one JSON object per line by its first lines; "" for other files."""
    lines = [line for line in begins.removeprefix("\ufeff").split("\n") if line.strip()][:_LINES]
    if not lines[0].lstrip().startswith("{") and isinstance(read_value(lines[0]), BadJson):
        return ""
    for line in lines:
        value = read_value(line) if line.lstrip().startswith("{") else None
        if isinstance(value, dict) and sillytavern.fits(value):
            return "sillytavern"
        if isinstance(value, dict) and records.fits(value):
            return "records"
    return ""


_MARKS: dict[str, tuple[declared.Paths, ...]] = {
    "chatgpt": (("mapping",),),
    "claude": (("chat_messages",), ("conversations_memory",), ("project_memories",), ("prompt_template",)),
    "openwebui": (("history.messages",), ("chat.history.messages",), ("chat.messages",)),
    "librechat": (("messageId", "isCreatedByUser"),),
    "llamacpp": (("conv.id", "conv.lastModified"),),
    "discord": (("guild.id",), ("guild.name",), ("author", "content", "timestamp")),
    "telegram": (("personal_information",), ("date_unixtime", "type"), ("date", "type", "from_id"),
                 ("date", "type", "actor_id")),
    "slack": (("ts", "user"), ("ts", "bot_id"), ("ts", "subtype"), ("ts", "text")),
}  # fmt: skip
"""Groups of field paths by application: a value with all paths of one group was written by that application."""


def _kind_of_part(part: JsonPart | Fault) -> str:
    if isinstance(part, Fault):
        return ""
    step = part.path[-1]
    value = part.value if isinstance(step, int) else {step: part.value}
    return next((kind for kind, marks in _MARKS.items() if declared.has_marks(value, marks)), "")
