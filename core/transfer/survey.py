"""The first reading of an export: what it holds, who speaks where, and how its lines become messages with an id."""

from __future__ import annotations

import hashlib
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import NamedTuple

from ..database.dialects import from_microseconds, microseconds
from ..scope import Privacy
from .formats import OWN, ChatFiles
from .shapes import BLANK, Ending, Fault, Left, Line, Note, Progress, Read, Reading, Room

MAX_LISTED = 1000
"""Faults that are listed; further ones are counted. Likewise people."""
_EVERY = 500
_FEW = 4
_FIRST_LINES = 40
SHOWN_LINES = 10
"""Lines of each conversation that a dry run shows."""
_SHOWN_CHARS = 120


_PREFIX = "at-"
_FAMILY_CHARS = len(_PREFIX) + 16


# Ids of messages that have none in their file: the same message gets the same one every time


class MadeId(NamedTuple):
    """An id that was made."""

    id: str
    family: str
    """Its beginning, the same for all lines of one time: one of them that is not in a later export, and a new one of
    the same speaker in its place, are one line that was edited. Blank where each line of the file is a message."""


class IdMaker:
    """Makes ids of time and text, which stay the same when a chat or contact gets another name.

    Lines of one file that are alike in everything are numbered; those of two files of a chat are the same.
    """

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}

    def make_id(self, line: Line) -> MadeId:
        made_id = f"{_PREFIX}{_digest(line.made_of or line.at.isoformat())[:16]}-{_digest(line.text)[:12]}"
        file = line.place.rpartition(": ")[0] or line.place
        number = number_of(f"{file}\x1f{line.room.id}\x1f{made_id}")
        count = self._seen[number] = self._seen.get(number, 0) + 1
        return MadeId(made_id if count == 1 else f"{made_id}-{count}", "" if line.row else made_id[:_FAMILY_CHARS])


def number_of(made_id: str) -> int:
    """Return a number in place of an id that was made, to hold many of them in little."""
    return int.from_bytes(hashlib.blake2b(made_id.encode("utf-8"), digest_size=7).digest(), "big")


def is_of_family(message_id: str | None, family: str) -> bool:
    return message_id is not None and message_id.startswith(f"{family}-")


def text_digest(text: str) -> str:
    """Return what tells one text from another in the facts that are kept of an import."""
    return _digest(text)[:12]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# What an export holds


@dataclass(slots=True)
class RoomFacts:
    """One conversation of an export."""

    room: Room
    program: str
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

    def own(self) -> set[str]:
        """Return the ids of whom the format says to be the persona: in a group, the one whom the file names."""
        return self.assistants if len(self.assistants) <= 1 else {self.room.character}


@dataclass(slots=True)
class Person:
    """Somebody who speaks in an export."""

    name: str
    handle: str = ""
    lines: int = 0


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
    id_numbers: set[int] = field(default_factory=set)
    """Numbers of the ids that were made."""

    def add(self, program: str, read: Read, maker: IdMaker) -> None:
        match read:
            case Line():
                self._add_line(program, read, maker)
            case Left(reason, count) if reason == BLANK:
                self.blank += count
            case Left(reason, count):
                self.left[reason] += count
            case Note():
                self.notes += 1
            case Ending(room):
                if (facts := self.rooms.get((program, room.id))) is not None:
                    facts.room = room
            case Fault():
                self.fault_count += 1
                if len(self.faults) < MAX_LISTED:
                    self.faults.append(read)

    def _add_line(self, program: str, line: Line, maker: IdMaker) -> None:
        facts = self.rooms.setdefault((program, line.room.id), RoomFacts(line.room, program))
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
        if not line.id and not line.row:
            made_id = maker.make_id(line).id
            self.id_numbers.add(number_of(made_id))
            if line.speaker is not None and len(facts.first_lines) < _FIRST_LINES:
                facts.first_lines.append((made_id, line.speaker.id))

    def _add_time(self, at: datetime) -> None:
        self.first = min(at, self.first or at)
        self.last = max(at, self.last or at)

    def _add_speaker(self, line: Line, facts: RoomFacts) -> None:
        who = line.speaker
        if who is None:
            return
        ids = facts.assistants if who.is_assistant else facts.people
        if len(ids) < _FEW and line.role in (None, "user", "persona"):
            ids.add(who.id)
        if who.id in self.people or len(self.people) < MAX_LISTED:
            person = self.people.setdefault(who.id, Person(who.name, who.handle))
            person.lines += 1
            person.name = who.name

    def settle(self) -> None:
        """Give each message of a file that keeps its order a time that fits its place."""
        for facts in self.rooms.values():
            if facts.times:
                settled = array("q", settle_times(facts.times))
                self.moved += sum(1 for given, kept in zip(facts.times, settled, strict=True) if given != kept)
                facts.times = settled
                for moment in filter(None, map(from_microseconds, (settled[0], settled[-1]))):
                    self._add_time(moment)


def count_export(
    files: ChatFiles,
    reading: Reading,
    progress: Progress | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Survey:
    survey, maker = Survey(), IdMaker()
    for number, (program, read) in enumerate(files.read(reading)):
        survey.add(program, read, maker)
        if number % _EVERY == 0:
            if progress:
                progress("looking", number, 0)
            if should_stop():
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
        return self.interface or ("import" if program in OWN else program)

    def key_of(self, program: str, room_id: str) -> str:
        key = self.keys.get((program, room_id))
        return self.conversation or key or f"{self.interface_of(program)}/{room_id}"

    def id_of(self, line: Line, message_id: str) -> str:
        """Return the id of a message; where several chats become one they are told apart."""
        is_one = self.conversation is not None and len(self.survey.rooms) > 1 and not (line.row and line.id)
        return f"{line.room.id}:{message_id}" if is_one else message_id

    def own_of(self, facts: RoomFacts) -> set[str]:
        """Return the ids whose lines are the persona's own: who was named, else whom the format says."""
        return facts.own() if self.persona is None else {self.persona}

    def is_persona(self, program: str, line: Line) -> bool:
        if line.speaker is None or line.is_service:
            return False
        facts = self.survey.rooms[program, line.room.id]
        if self.persona is None and len(facts.assistants) <= 1:
            return line.speaker.is_assistant
        return line.speaker.id in self.own_of(facts)

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
        others = set[str]().union(*((facts.people | facts.assistants) - self.own_of(facts) for facts in rooms))
        return "direct" if len(others) <= 1 and kinds == {"direct"} else "restricted"

    def server_of(self, room: Room) -> str:
        """Return the server of a conversation: the one asked for, else the export's own."""
        return self.server or room.server
