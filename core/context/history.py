"""The two history lists of a prompt, made of stored and live messages: each message once, oldest first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from operator import itemgetter

from ..config import Settings
from ..shapes import HistoryEntry, LeftOut
from ..text.folding import collapsed
from ..text.hits import compared_text
from . import lines
from .context import CURRENT, RECENT, Caps
from .incoming import IncomingMessage
from .lines import ChatLine, NameLabels, People, is_persona
from .live import LiveHistory

SAME_MESSAGE = timedelta(seconds=5)
"""Two messages with equal text and sender are one message if one has no id and they are less than this apart."""
_OLDEST = datetime(1970, 1, 1, tzinfo=UTC)

Chat = Sequence[HistoryEntry]
Placed = tuple[tuple[int, datetime, int, int, int, str], HistoryEntry]
"""(sort key, message). Key: 0 (stored, no time), 1 (has a time), 2 (live, no time); time; is live; id; place; chat."""


@dataclass(frozen=True, slots=True)
class HistoryLists:
    current: list[ChatLine] = field(default_factory=list)
    """history_current_chat, oldest first."""
    recent: list[ChatLine] = field(default_factory=list)
    """history_recent, oldest first."""
    visible: list[HistoryEntry] = field(default_factory=list)
    """Messages in the two lists, which memories do not repeat."""
    left_out: list[LeftOut] = field(default_factory=list)
    echoes: list[HistoryEntry] = field(default_factory=list)
    """Copies of the message being answered, which memories do not repeat."""
    replacing: Replaced | None = None
    replaced: list[HistoryEntry] = field(default_factory=list)
    """Stored messages that the new message replaces, which memories do not repeat."""
    full: frozenset[str] = frozenset()
    """Names of the lists that are full, so that no older messages are read for them."""
    names: NameLabels = field(default_factory=NameLabels, compare=False)

    @property
    def replaced_rows(self) -> set[int]:
        """Return the row ids of replaced messages, and of the message to replace, even if it was not loaded."""
        named = None if self.replacing is None else self.replacing.row_id
        return {row for row in (named, *(entry.row_id for entry in self.replaced)) if row is not None}


@dataclass(frozen=True, slots=True)
class HistoryBuilder:
    message: IncomingMessage
    live: LiveHistory
    settings: Settings
    caps: Caps
    may_see: Callable[[str], str]
    """Returns why the messages of a conversation are left out, such as `private`; "" if they are shown."""
    zone: tzinfo = UTC
    persona: str = ""
    persona_text: str = ""
    replacing: Replaced | None = None
    replaced_rows: frozenset[int] = frozenset()
    """Row ids of stored messages that the caller's own list replaces."""
    identities: tuple[str, ...] = ()
    """Participant keys of the person asking."""
    people: People = field(default_factory=People)

    def build(self, stored_current: Iterable[HistoryEntry], stored_recent: Iterable[HistoryEntry]) -> HistoryLists:
        own, rows, others = self.message.interface_path, list(stored_current), list(stored_recent)
        s, caps, is_echo = self.settings, self.caps, echo_check(self.message)
        live_current, live_recent, left_out = self._choose_live()
        here = [e for e in rows if e.conversation == own] if own is not None and s.enable_history_current_chat else []
        there = [e for e in others if e.conversation != own] if s.unified_history and s.enable_history_recent else []
        current, lost_here = self._choose(CURRENT, caps.history, here, live_current)
        recent, lost_there = self._choose(RECENT, caps.recent, there, live_recent)
        left_out += lost_here + lost_there
        called = self._list_persona_names(rows, live_current)
        called += [*self.people.list_persona_names(own or "", called), *self._list_persona_names(others, live_recent)]
        persona = lines.choose_persona_name(self.persona, called, self.persona_text)
        names = NameLabels(persona, self.message, self.identities, self.people, self.persona)
        titles = {entry.conversation: entry.title for entry in others if entry.title}
        skips = self.live.skips_history  # memories still leave out what the lists would show
        own_entries = [*rows, *(self.live.chats.get(own, []) if own is not None else [])]
        full = {CURRENT} if len(current) >= caps.history else set()
        full |= {RECENT} if len(recent) >= caps.recent else set()
        return HistoryLists(
            current=[] if skips else [self._write_line(entry, names, titles) for entry in current],
            recent=[] if skips else [self._write_line(entry, names, titles) for entry in recent],
            visible=[*current, *recent],
            left_out=[] if skips else left_out,
            echoes=[entry for entry in own_entries if is_echo(entry)],
            replacing=self.replacing,
            replaced=[entry for entry in own_entries if self.is_replaced(entry)],
            full=frozenset(full),
            names=names,
        )

    def is_replaced(self, entry: HistoryEntry) -> bool:
        return entry.row_id in self.replaced_rows or (self.replacing is not None and self.replacing.takes(entry))

    def _choose_live(self) -> tuple[list[Chat], list[Chat], list[LeftOut]]:
        """Return live messages as `(this conversation, other conversations, messages left out as not visible)`."""
        own, s = self.message.interface_path, self.settings
        surface = self.message.interface if own is None else own.split("/", 1)[0]
        chosen: dict[str, list[Chat]] = {CURRENT: [], RECENT: []}
        left_out: list[LeftOut] = []
        for key, entries in self.live.chats.items():
            section, is_on = CURRENT, s.enable_history_current_chat
            if key != own:
                is_near = s.unified_history or key.split("/", 1)[0] == surface
                section, is_on = RECENT, s.enable_history_recent and is_near
            if not is_on:
                continue
            if reason := self.may_see(key):
                left_out += [LeftOut(section, reason, entry_id(entry)) for entry in entries]
            else:
                chosen[section].append(entries)
        return chosen[CURRENT], chosen[RECENT], left_out

    def _choose(
        self, section: str, most: int, stored: Chat, live: Sequence[Chat]
    ) -> tuple[list[HistoryEntry], list[LeftOut]]:
        """Return the `most` newest visible lines, oldest first; a message both stored and live is the stored copy."""

        is_echo = echo_check(self.message)

        def why_not(entry: HistoryEntry) -> str:
            if self.is_replaced(entry):
                return "replaced"
            return "echo" if is_echo(entry) else why_not_shown(entry)

        seen = SeenMessages()
        shown: list[Placed] = []
        left_out: list[LeftOut] = []
        for placed in (_place_stored(stored), _place_live(live)):
            refused: list[HistoryEntry] = []
            for place in _sort_newest_first(placed):
                entry = place[1]
                if reason := why_not(entry):
                    refused.append(entry)
                elif not seen.add(entry, has_line=True):
                    reason = "duplicate"
                if reason:
                    left_out.append(LeftOut(section, reason, entry_id(entry)))
                else:
                    shown.append(place)
            for entry in refused:
                seen.add(entry, has_line=False)
        newest = [entry for _, entry in _sort_newest_first(shown)]
        left_out += [LeftOut(section, "limit", entry_id(entry)) for entry in newest[most:]]
        return newest[:most][::-1], left_out

    def _list_persona_names(self, stored: Iterable[HistoryEntry], live: Iterable[Chat]) -> list[str]:
        """Return the names in the persona's lines, whether they are shown or not, newest first."""
        own = [place for place in (*_place_stored(stored), *_place_live(live)) if is_persona(place[1])]
        names = (lines.read_persona_name(self.persona, e.sender_name, e.username) for _, e in _sort_newest_first(own))
        return list(dict.fromkeys(filter(None, names)))

    def _write_line(self, entry: HistoryEntry, names: NameLabels, titles: dict[str, str]) -> ChatLine:
        """Format a message as a line of the prompt; lines of other conversations begin with the conversation's name."""
        name = names.label_entry(entry)
        if (reply := entry.reply) is not None:
            entry = replace(entry, reply=replace(reply, name=names.label_reply(reply, entry.conversation)))
        line = lines.body(entry, zone=self.zone, now=self.message.date, name=name)
        if entry.conversation in ("", self.message.interface_path):
            return ChatLine(line, lines.turn_of(entry, name))
        if not entry.title and entry.conversation in titles:
            entry = replace(entry, title=titles[entry.conversation])
        place = lines.place_of(entry)
        return ChatLine(f"[from {place}] {line}" if place else line, lines.turn_of(entry, name, place))


def entry_id(entry: HistoryEntry) -> str:
    """Return the id by which the report names a message: its message id, else its row id, else ""."""
    return entry.message_id or ("" if entry.row_id is None else str(entry.row_id))


class SeenMessages:
    """Set of the messages seen so far.

    Two messages of one conversation are the same if their ids are equal. If an id is missing, they are the same if
    sender and text are equal and the times less than 5 s apart or missing, or if their history lines are equal.
    """

    def __init__(self) -> None:
        self._ids: set[tuple[str, str]] = set()
        self._said: dict[tuple[str, str], list[tuple[HistoryEntry, bool]]] = {}

    def add(self, entry: HistoryEntry, *, has_line: bool) -> bool:
        """Add a message and return True; return False if it `has_line` and the same message was added before.

        A message without a line, such as a hidden one, is added so that its copies are recognised.
        """
        key = (entry.conversation, entry.message_id or "")
        said = self._said.setdefault((entry.conversation, compared_text(entry).replace('"', "'")), [])
        if has_line and (key in self._ids or (said and any(_is_same(entry, *other) for other in said))):
            return False
        if entry.message_id:
            self._ids.add(key)
        said.append((entry, has_line))
        return True


def _is_same(one: HistoryEntry, other: HistoryEntry, has_line: bool) -> bool:
    """Return whether two messages of one conversation with the same text are one message."""
    if one.message_id and other.message_id:
        return False
    is_near = one.time is None or other.time is None or abs(one.time - other.time) < SAME_MESSAGE
    return (is_near and _is_same_sender(one, other)) or (has_line and _look(one) == _look(other))


def _is_same_sender(one: HistoryEntry, other: HistoryEntry) -> bool:
    """Return whether two messages have the same sender: by id, or by name if an id is missing."""
    if one.sender_id and other.sender_id:
        interface = f"{one.conversation.partition('/')[0]}/"  # a host may store the id inside a participant key
        return one.sender_id.removeprefix(interface) == other.sender_id.removeprefix(interface)
    names, others = ({collapsed(n) for n in (e.sender_name, e.username) if n.strip()} for e in (one, other))
    return bool(names & others) if names or others else one.sender_id == other.sender_id


def _look(entry: HistoryEntry) -> tuple[str, str, str, bool, bool]:
    reply = "" if entry.reply is None else collapsed(lines.reply_note(entry.reply.name, entry.reply.text))
    time, text = lines.stamp(entry.time, UTC, entry.shown_time), entry.text
    return time, collapsed(lines.sender(entry)), reply, text[:1].isspace(), text[-1:].isspace()


def _place_stored(rows: Iterable[HistoryEntry]) -> list[Placed]:
    """Return stored messages with their sort keys; a message with an unreadable time counts as oldest."""
    return [((int(e.time is not None), e.time or _OLDEST, 0, e.row_id or 0, e.order, e.conversation), e) for e in rows]


def _place_live(chats: Iterable[Chat]) -> list[Placed]:
    """Return live messages with sort keys: they sort after stored messages of the same time, and keep their order."""
    placed: list[Placed] = []
    for chat in chats:
        time = next((entry.time for entry in chat if entry.time is not None), None)
        for entry in chat:
            time = entry.time or time
            placed.append(((2 if time is None else 1, time or _OLDEST, 1, 0, entry.order, entry.conversation), entry))
    return placed


def _sort_newest_first(placed: Iterable[Placed]) -> list[Placed]:
    return sorted(placed, key=itemgetter(0))[::-1]


ECHO_WINDOW = timedelta(seconds=60)
"""A line of the sender with the same text within this time is a copy of the new message, already stored by the host."""


def why_not_shown(entry: HistoryEntry) -> str:
    """Return why a message is left out: `blank`, `hidden`, `excluded` or `noise`; "" if it is shown."""
    if not entry.text.replace("\x00", "").strip():
        return "blank"
    if entry.hidden:
        return "hidden"
    if entry.excluded:
        return "excluded"
    return "noise" if entry.role == "thought" or (entry.conversation.endswith("/-1") and is_persona(entry)) else ""


@dataclass(frozen=True, slots=True)
class Replaced:
    """The message that the incoming message replaces. `takes` accepts it and the persona's lines after it."""

    conversation: str
    message_id: str
    time: datetime | None = None
    """Time of the message, None if the message was not found."""
    row_id: int | None = None
    order: int | None = None
    """Position among the live messages, None for a stored message."""

    def takes(self, entry: HistoryEntry) -> bool:
        if entry.conversation != self.conversation:
            return False
        is_named = entry.message_id == self.message_id or (entry.row_id is not None and entry.row_id == self.row_id)
        return is_named or (is_persona(entry) and self._is_before(entry))

    def _is_before(self, entry: HistoryEntry) -> bool:
        if entry.row_id is None and self.order is not None:
            return entry.order > self.order
        if self.time is None or entry.time is None:
            return False
        if entry.time == self.time and entry.row_id is not None and self.row_id is not None:
            return entry.row_id > self.row_id
        return entry.time >= self.time


def echo_check(message: IncomingMessage) -> Callable[[HistoryEntry], bool]:
    """Return a function that tells whether a stored or live entry is the incoming message itself."""
    who, path = message.sender, message.interface_path
    asked = HistoryEntry(path or "", message.text, who.id, who.name, who.username)
    said = compared_text(asked)

    def check(entry: HistoryEntry) -> bool:
        if path is None or entry.conversation != path:
            return False
        if message.message_id and entry.message_id == message.message_id:
            return True
        is_near = entry.time is None or abs(entry.time - message.date) <= ECHO_WINDOW
        return bool(said) and is_near and compared_text(entry) == said and _is_same_sender(entry, asked)

    return check
