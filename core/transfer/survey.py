"""The first reading of an export: what it holds, who speaks where, and how its lines become messages."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

from ..database.dialects import from_microseconds, microseconds
from ..scope import Privacy
from .formats import OWN, ChatFiles
from .ids import IdMaker, number_of
from .shapes import BLANK, Ending, Fault, Left, Line, Note, Read, Reading, Room, Speaker

MAX_LISTED = 1000
"""Faults that are listed; further ones are counted. Likewise people."""
_EVERY = 500
_FEW = 4
_FIRST_LINES = 40
SHOWN_LINES = 10
"""Lines of each conversation that a dry run shows."""
_SHOWN_CHARS = 120


@dataclass(slots=True)
class RoomFacts:
    """One conversation of an export."""

    room: Room
    program: str
    lines: int = 0
    people: set[str] = field(default_factory=set)
    """Ids of who speaks there, at most four, the assistant of the format not among them."""
    assistants: set[str] = field(default_factory=set)
    """Ids of those whom the format calls the persona."""
    first_lines: list[tuple[str, str]] = field(default_factory=list)
    """(id that was made, speaker) of the first lines of people, where the export has no ids."""
    shown: list[str] = field(default_factory=list)
    """The first lines, as a dry run shows them."""
    times: array[int] = field(default_factory=lambda: array("q"))
    """Of each message, in microseconds since 1970, where the order of the file is kept (`settle_times`)."""

    def is_persona(self, speaker: Speaker) -> bool:
        """Return whether the format says that somebody is the persona: in a group, whom the file names."""
        return speaker.is_assistant and (len(self.assistants) <= 1 or speaker.name == self.room.character)


@dataclass(slots=True)
class Person:
    """Somebody who speaks in an export."""

    name: str
    lines: int = 0
    is_bot: bool = False
    is_assistant: bool = False
    handle: str = ""


@dataclass(slots=True)
class Survey:
    """What an export holds."""

    lines: int = 0
    """Messages that somebody wrote."""
    services: int = 0
    """Lines of the program: joined, renamed."""
    notes: int = 0
    """Texts to keep that are no messages."""
    blank: int = 0
    """Lines with a blank text."""
    moved: int = 0
    """Messages whose time did not fit their place in a file that keeps its order."""
    rooms: dict[tuple[str, str], RoomFacts] = field(default_factory=dict)
    """By program and room."""
    people: dict[str, Person] = field(default_factory=dict)
    """By id."""
    left: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)
    fault_count: int = 0
    first: datetime | None = None
    last: datetime | None = None
    days: set[date] = field(default_factory=set)
    made: set[int] = field(default_factory=set)
    """Numbers of the ids that were made."""

    def add(self, program: str, read: Read, maker: IdMaker) -> None:
        if isinstance(read, Line):
            self._add_line(program, read)
            if not read.id and not read.row:
                self._add_made(program, read, maker.make_id(read).id)
        elif isinstance(read, Left):
            if read.reason == BLANK:
                self.blank += read.count
            else:
                self.left[read.reason] += read.count
        elif isinstance(read, Note):
            self.notes += 1
        elif isinstance(read, Ending):
            if (facts := self.rooms.get((program, read.room.id))) is not None:
                facts.room = read.room
        else:
            self.fault_count += 1
            if len(self.faults) < MAX_LISTED:
                self.faults.append(read)

    def _add_line(self, program: str, line: Line) -> None:
        facts = self.rooms.get((program, line.room.id))
        if facts is None:
            facts = self.rooms[program, line.room.id] = RoomFacts(line.room, program)
        facts.lines += 1
        if len(facts.shown) < SHOWN_LINES:
            facts.shown.append(_shown(line))
        if line.is_service:
            self.services += 1
        else:
            self.lines += 1
            self._add_speaker(line, facts)
        if line.room.keeps_order:
            facts.times.append(microseconds(line.at))
        else:
            self._add_time(line.at)
        self.days.add(line.at.date())

    def _add_time(self, at: datetime) -> None:
        self.first = at if self.first is None else min(self.first, at)
        self.last = at if self.last is None else max(self.last, at)

    def settle(self) -> None:
        """Give each message of a file that keeps its order a time that fits its place."""
        for facts in self.rooms.values():
            if facts.times:
                settled = array("q", settle_times(facts.times))
                self.moved += sum(1 for said, kept in zip(facts.times, settled, strict=True) if said != kept)
                facts.times = settled
                for moment in filter(None, map(from_microseconds, (settled[0], settled[-1]))):
                    self._add_time(moment)

    def _add_made(self, program: str, line: Line, made: str) -> None:
        self.made.add(number_of(made))
        first = self.rooms[program, line.room.id].first_lines
        if line.speaker is not None and len(first) < _FIRST_LINES:
            first.append((made, line.speaker.id))

    def _add_speaker(self, line: Line, facts: RoomFacts) -> None:
        who = line.speaker
        if who is None:
            return
        held = facts.assistants if who.is_assistant else facts.people
        if len(held) < _FEW and line.role in (None, "user", "persona"):
            held.add(who.id)
        person = self.people.get(who.id)
        if person is None:
            if len(self.people) >= MAX_LISTED:
                return
            person = self.people[who.id] = Person(who.name, 0, who.is_bot, who.is_assistant, who.handle)
        person.lines += 1
        person.name = who.name


def count_export(
    files: ChatFiles,
    reading: Reading,
    progress: Callable[[str, int, int], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Survey:
    """Return what a whole export holds."""
    survey, maker = Survey(), IdMaker()
    for number, (program, read) in enumerate(files.read(reading)):
        survey.add(program, read, maker)
        if number % _EVERY == 0:
            if progress:
                progress("looking", number, 0)
            if should_stop and should_stop():
                break
    survey.settle()
    return survey


def settle_times(times: Sequence[int]) -> list[int]:
    """Return times that never fall, as many of those given as possible among them, each at its place."""
    kept = _longest_rising(times)
    settled: list[int] = []
    now = times[kept[0]] if kept else 0
    fitting = set(kept)
    for at, time in enumerate(times):
        now = time if at in fitting else now
        settled.append(now)
    return settled


def _longest_rising(times: Sequence[int]) -> list[int]:
    """Return the places of a longest part of the times that never falls, rising."""
    lowest: list[int] = []  # the lowest last time of such a part, by its length
    places: list[int] = []  # and its place
    before: list[int] = []
    for place, time in enumerate(times):
        length = bisect_right(lowest, time)
        before.append(places[length - 1] if length else -1)
        if length == len(lowest):
            lowest.append(time)
            places.append(place)
        else:
            lowest[length], places[length] = time, place
    rising, place = [], places[-1] if places else -1
    while place >= 0:
        rising.append(place)
        place = before[place]
    return rising[::-1]


def _shown(line: Line) -> str:
    """Return a line as a dry run shows it."""
    name = line.speaker.name if line.speaker else ""
    text = " ".join(line.text[: 2 * _SHOWN_CHARS].split())
    text = f"{text[:_SHOWN_CHARS].rstrip()}…" if len(text) > _SHOWN_CHARS else text
    return f"[{line.at:%Y-%m-%d %H:%M}] {f'{name}: ' if name else ''}{text}"


@dataclass(frozen=True, slots=True)
class Plan:
    """How the lines of an export become messages."""

    survey: Survey
    interface: str | None
    """First part of the conversation keys; None is the name of the program."""
    conversation: str | None
    persona: str | None
    """Id of the speaker who is the persona; None follows the format."""
    private: bool
    server: str
    keys: dict[tuple[str, str], str] = field(default_factory=dict)
    """(program, room) to the key of a conversation that is stored under another one."""
    senders: dict[tuple[str, str, str], str] = field(default_factory=dict)
    """(program, room, speaker) to the id of a speaker who is stored under another one."""

    def interface_of(self, program: str) -> str:
        """Return the first part of the keys of a program's conversations."""
        return self.interface or ("import" if program in OWN else program)

    def key_of(self, program: str, room_id: str) -> str:
        """Return the key of a conversation."""
        known = self.keys.get((program, room_id))
        return self.conversation or known or f"{self.interface_of(program)}/{room_id}"

    def id_of(self, line: Line, message_id: str) -> str:
        """Return the id of a message; where several chats become one they are told apart."""
        is_one = self.conversation is not None and len(self.survey.rooms) > 1 and not (line.row and line.id)
        return f"{line.room.id}:{message_id}" if is_one else message_id

    def is_persona(self, program: str, line: Line) -> bool:
        """Return whether the persona said a line: who was named, else whom the format says."""
        if line.speaker is None or line.is_service:
            return False
        if self.persona is not None:
            return line.speaker.id == self.persona
        return self.survey.rooms[program, line.room.id].is_persona(line.speaker)

    def privacies(self) -> dict[str, Privacy]:
        """Return how private each conversation is: the most private of the chats that become one.

        One with a single other person is a direct message.
        """
        rooms: dict[str, list[RoomFacts]] = {}
        for (program, room_id), facts in self.survey.rooms.items():
            rooms.setdefault(self.key_of(program, room_id), []).append(facts)
        return {key: self._privacy_of(facts) for key, facts in rooms.items()}

    def _privacy_of(self, rooms: Sequence[RoomFacts]) -> Privacy:
        kinds = {facts.room.privacy for facts in rooms}
        if kinds == {"public"} and not self.private:
            return "public"
        others = set[str]().union(*(self._others(facts) for facts in rooms))
        return "direct" if len(others) <= 1 and kinds == {"direct"} else "restricted"

    def _others(self, facts: RoomFacts) -> set[str]:
        """Return who speaks in a conversation beside the persona."""
        own = {self.persona} if self.persona is not None else facts.assistants
        if self.persona is None and len(facts.assistants) > 1:
            own = {facts.room.character}
        return (facts.people | facts.assistants) - own

    def server_of(self, room: Room) -> str:
        """Return the server of a conversation: the one asked for, else the export's own."""
        return self.server or room.server
