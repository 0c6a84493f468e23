"""Writes a message as one line of a history list, and chooses the names of people."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Self

from ..access.rules import show_key
from ..shapes import PERSONA_SENDER, HistoryEntry, ReplyNote
from ..text.folding import fold, join_lines, name_form, one_line
from ..text.hits import find_cut, known_name, name_persona
from .incoming import IncomingMessage, read_role

NAMELESS_PERSONA = "You"
"""Name for a persona without a name: it addresses the model, which speaks as the persona."""
AGE_MARKER_MINUTES = 10
REPLY_QUOTE_CHARS = 40
"""Maximum number of characters quoted from the replied-to line: enough to recognise it."""
UNKNOWN = "Unknown"
_SPEAKS = re.compile(r"\W*[^\s:\uff1a](?:[^:\uff1a]|(?<=\d):(?=\d)){0,100}(?!(?<=\d):\d)[:\uff1a]|\W*\[")
"""Beginning of a text that looks like a speaker's line: a name and a colon (not the colon of a time), or a bracket."""


def quoted(text: str) -> str:
    """Return the text on one line and with single quotes, to be put between double quotes."""
    return one_line(text).replace('"', "'")


def mark_lines(text: str) -> str:
    """Put `> ` before each line of a text, from the second, that looks like another speaker's line."""
    if text.isprintable():  # the mark adds no line break
        return text
    first, *more = text.splitlines() or [""]
    return "\n".join((first, *map(mark_opening, more)))


def mark_opening(text: str) -> str:
    """Put `> ` before a text that begins like another speaker's line."""
    return f"> {text}" if _SPEAKS.match(text) else text


def shown_name(*names: str) -> str:
    """Return the first name that is not blank, as one line of at most 64 characters, else `Unknown`."""
    return known_name(*names) or UNKNOWN


def name_asker(message: IncomingMessage) -> str:
    """Return the sender's name, user name or id, whichever is known first, else `the user`."""
    return known_name(message.sender.name, message.sender.username, message.sender.id) or "the user"


def sender(entry: HistoryEntry) -> str:
    return shown_name(entry.sender_name, entry.username, entry.sender_id)


def is_persona(entry: HistoryEntry) -> bool:
    return entry.role in ("persona", "thought")


def stamp(time: datetime | None, zone: tzinfo, shown_time: str = "") -> str:
    """Format the time in brackets that begins a line, else `shown_time`; "" without both."""
    if time is None:
        text = one_line(shown_time) if shown_time else ""
        return f"[{text}]" if text.strip() else ""
    try:
        moment = time if time.tzinfo is zone else time.astimezone(zone)
    except (OverflowError, ValueError):  # near the least and greatest datetime a zone may have no valid time
        moment = time
    return f"[{moment.isoformat(' ', 'minutes')[:16]}]"


def stamp_day(time: datetime | None, zone: tzinfo) -> str:
    """Return the day in brackets, without the time of day; "" without a time."""
    return f"{stamp(time, zone)[:11]}]" if time is not None else ""


def age_mark(time: datetime | None, now: datetime | None) -> str:
    """Return the age of a message as text, "" for a message younger than AGE_MARKER_MINUTES or without a time."""
    if time is None or now is None or (now - time).total_seconds() < 60 * AGE_MARKER_MINUTES:
        return ""
    return f"[{age_text(now - time)}]"


def age_text(age: timedelta) -> str:
    """Return an age in whole days, hours or minutes, such as `2 hours ago`; `just now` below a minute."""
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        count = int(age.total_seconds() // size)
        if count > 0:
            return f"{count} {unit}{'' if count == 1 else 's'} ago"
    return "just now"


def reply_note(name: str, text: str) -> str:
    """Return the note for a line that replies to a message: `[replied to Ann: "..."]`."""
    quote = quoted(text)
    if not quote.strip():
        return f"[replied to {shown_name(name)}]"
    if len(quote) > REPLY_QUOTE_CHARS:
        quote = f"{quote[: find_cut(quote, REPLY_QUOTE_CHARS)]}…"
    return f'[replied to {shown_name(name)}: "{quote}"]'


def body(entry: HistoryEntry, *, zone: tzinfo, now: datetime | None, name: str = "") -> str:
    """Format a message as a line, without its conversation's name, and without its age if `now` is None."""
    said = name or sender(entry)
    if entry.reply is not None:
        said = f"{said} {reply_note(entry.reply.name, entry.reply.text)}"
    marks = (stamp(entry.time, zone, entry.shown_time), age_mark(entry.time, now))
    return f'{"".join([f"{mark} " for mark in marks if mark])}{said}: "{quoted(join_lines(entry.text))}"'


def place_of(entry: HistoryEntry) -> str:
    """Return the title or readable key of an entry's conversation, "" if neither is known."""
    return known_name(entry.title, quoted(show_key(entry.conversation)))


@dataclass(frozen=True, slots=True)
class Turn:
    text: str
    """The original text, with quotes, line breaks and spaces."""
    name: str
    is_persona: bool
    reply: str = ""
    """Note about the replied-to message, "" for none."""
    time: datetime | None = None
    place: str = ""
    """Title or key of another conversation, "" for this one."""


class ChatLine(str):
    """A history line: a string that carries its message."""

    __slots__ = ("turn",)
    turn: Turn

    def __new__(cls, shown: str, turn: Turn) -> Self:
        line = super().__new__(cls, shown)
        line.turn = turn
        return line

    def __getnewargs__(self) -> tuple[str, Turn]:  # type: ignore[override]
        return str(self), self.turn


def turn_of(entry: HistoryEntry, name: str = "", place: str = "") -> Turn:
    reply = "" if entry.reply is None else reply_note(entry.reply.name, entry.reply.text)
    return Turn(entry.text, name or sender(entry), is_persona(entry), reply, entry.time, place)


Identity = tuple[str, str]
"""(interface, id) of a person, or ("", name) without an id."""

PERSONA: Identity = ("", "")


class People:
    """What the database knows about people, by participant key; this base class knows nothing."""

    def find_name(self, _key: str, name: str) -> str:
        """Return the current name of the person with this key, whose line has the name `name`."""
        return name

    def count_before(self, _key: str, _name: str) -> int:
        """Return the number of other people who have this name and wrote before this person did."""
        return 0

    def are_linked(self, _one: str, _other: str) -> bool:
        """Return whether two keys belong to one person."""
        return False

    def list_persona_names(self, _conversation: str, _known: Collection[str]) -> list[str]:
        """Return names in the persona's lines besides `_known`: names of this conversation first, newest first."""
        return []


class NameLabels:
    """Names that one prompt uses for people: each person's current name, `Ann (2)` for the second person called Ann."""

    def __init__(
        self,
        persona: str = "",
        asker: IncomingMessage | None = None,
        identities: Iterable[str] = (),
        people: People | None = None,
        persona_id: str = "",
    ) -> None:
        """Give the persona the label `persona`, and the person asking (`asker`) one label for all `identities`."""
        self._people, self._persona_id = people or People(), persona_id
        self._by_label: dict[str, Identity] = {}
        self._labels: dict[tuple[Identity, str], str] = {}
        self._asker: dict[Identity, tuple[Identity, str]] = {}
        """Identity and present name of the asker, for each of the asker's identities."""
        self.persona = self.label(PERSONA, persona) if persona else ""
        self._persona_form = name_form(self.persona)
        if (
            asker is None
            or read_role(asker.raw) == "persona"
            or not known_name(asker.sender.name, asker.sender.username)
        ):
            return
        identity, name = _identify(asker)
        linked = [identity_of(key, key.partition("/")[2], "") for key in identities]
        own = identity if asker.sender.id or not linked else linked[0]
        self._asker = dict.fromkeys((*linked, own), (own, name))

    def label(self, identity: Identity, name: str) -> str:
        """Return a person's label; a person without an id keeps the name, unless the persona has this name."""
        if (identity, name) not in self._labels:
            self._labels[identity, name] = self._choose_label(identity, name)
        return self._labels[identity, name]

    def _choose_label(self, identity: Identity, name: str) -> str:
        is_asker, key = identity in self._asker, "/".join(identity)
        identity, name = self._asker.get(identity, (identity, name))
        has_id, count = bool(identity[0]) or identity == PERSONA, 1
        if identity[0]:
            name = name if is_asker else self._people.find_name(key, name)
            count += self._people.count_before(key, name) + (name_form(name) == self._persona_form)
        while True:
            label = name if count == 1 else f"{name} ({count})"
            form = name_form(label)
            owner = self._by_label.setdefault(form, identity) if has_id else self._by_label.get(form)
            if owner == identity or (not has_id and owner != PERSONA):
                return label
            if owner and PERSONA not in (owner, identity) and self._people.are_linked("/".join(owner), key):
                return label
            count += 1

    def label_entry(self, entry: HistoryEntry) -> str:
        if is_persona(entry):
            return self._label_persona(entry.sender_name, entry.username) or NAMELESS_PERSONA
        name = sender(entry)
        return self.label(identity_of(entry.conversation, entry.sender_id, name), name)

    def _label_persona(self, *names: str) -> str:
        """Return the label for a line of the persona: the name in the line, else the persona's current name."""
        name = read_persona_name(self._persona_id, *names)
        return self.label(PERSONA, name) if name else self.persona

    def label_reply(self, reply: ReplyNote, conversation: str) -> str:
        if reply.is_persona:
            is_name = self._by_label.get(name_form(reply.name)) == PERSONA  # not that of its account
            return (reply.name if is_name else self.persona) or NAMELESS_PERSONA
        if not (reply.name and reply.sender_id):
            return reply.name
        return self.label(identity_of(conversation, reply.sender_id, ""), shown_name(reply.name))

    def label_asker(self, message: IncomingMessage) -> str:
        return self.label(*_identify(message))

    def label_participant(self, key: str, name: str) -> str:
        """Return the label of a participant key (`interface/id`), or of a name if there is no key."""
        if key == PERSONA_SENDER:
            return self._label_persona(name)
        interface, _, own = key.partition("/")
        return self.label(identity_of(interface, own, name), name)


def _identify(message: IncomingMessage) -> tuple[Identity, str]:
    who = message.sender
    name = shown_name(who.name, who.username, who.id)
    return identity_of(message.interface_path or message.interface, who.id, name), name


def identity_of(conversation: str, sender_id: str, name: str) -> Identity:
    return (conversation.partition("/")[0], sender_id) if sender_id else ("", f"name:{fold(name)}")


def read_persona_name(persona: str, *names: str) -> str:
    """Return the first of `names` that can be a name: not blank, `self` or the persona's id; "" without a name."""
    no_names = ("", PERSONA_SENDER, known_name(persona) if persona[:1].islower() or re.search(r"\d", persona) else "")
    return next((name for each in names if (name := known_name(each)) not in no_names), "")


def choose_persona_name(persona: str, names: Sequence[str], text: str) -> str:
    """Choose the persona's name from `names`: a name like its id, else the first in its `text`, else the newest."""
    own = name_after_id(persona)
    like = [name for name in names if name_form(name) == name_form(own)]
    told = {name: re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in {*names, own} - {NAMELESS_PERSONA}}
    named = sorted((match.start(), name) for name, match in told.items() if match)
    return [*like, *(name for _, name in named), *names, own][0]


def name_after_id(persona: str) -> str:
    """Make a name from the id of a persona whose lines have no name."""
    own = name_persona(persona)
    return NAMELESS_PERSONA if own == PERSONA_SENDER else known_name(own[:1].upper() + own[1:])


def holds_words(text: str, words: str) -> bool:
    """Return whether a folded text contains the folded words as whole words."""
    at = text.find(words)
    while at >= 0:
        end = at + len(words)
        is_behind_letters = text[at - 1 : at].isalnum() and words[:1].isalnum()
        if not is_behind_letters and not (text[end : end + 1].isalnum() and words[-1:].isalnum()):
            return True
        at = text.find(words, at + 1)
    return False
