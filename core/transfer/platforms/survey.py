"""The first look at an export: what it holds, who speaks where, what of it cannot be taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime

from .finding import Found
from .ids import IdMaker, number_of
from .values import Fault, Left, Line, Note, Reading, Room

MAX_LISTED = 1000
"""Faults that are listed; further ones are counted. Likewise people."""
_EVERY = 500
_FEW = 4
_FIRST_LINES = 40


@dataclass(slots=True)
class RoomFacts:
    """One conversation of an export."""

    room: Room
    program: str
    lines: int = 0
    people: set[str] = field(default_factory=set)
    """Ids of who speaks there, at most four, the assistant of the format not among them."""
    assistants: set[str] = field(default_factory=set)
    first_lines: list[tuple[str, str]] = field(default_factory=list)
    """(id that was made, speaker) of the first lines of people, where the export has no ids."""


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

    @property
    def all_lines(self) -> int:
        """Return how many lines can be stored."""
        return self.lines + self.services

    def _add(self, program: str, line: Line) -> None:
        facts = self.rooms.get((program, line.room.id))
        if facts is None:
            facts = self.rooms[program, line.room.id] = RoomFacts(line.room, program)
        facts.lines += 1
        if line.is_service:
            self.services += 1
        else:
            self.lines += 1
            self._add_speaker(line, facts)
        self.first = line.at if self.first is None else min(self.first, line.at)
        self.last = line.at if self.last is None else max(self.last, line.at)
        self.days.add(line.at.date())

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
        if len(held) < _FEW:
            held.add(who.id)
        person = self.people.get(who.id)
        if person is None:
            if len(self.people) >= MAX_LISTED:
                return
            person = self.people[who.id] = Person(who.name, 0, who.is_bot, who.is_assistant, who.handle)
        person.lines += 1
        person.name = who.name


def count_export(
    found: Found,
    reading: Reading,
    progress: Callable[[int, int], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Survey:
    """Return what a whole export holds."""
    survey, maker = Survey(), IdMaker()
    for number, (program, read) in enumerate(found.read(reading)):
        if isinstance(read, Line):
            survey._add(program, read)
            if not read.id:
                survey._add_made(program, read, maker.make(read).id)
        elif isinstance(read, Left):
            survey.left[read.reason] += read.count
        elif isinstance(read, Note):
            survey.notes += 1
        else:
            survey.fault_count += 1
            if len(survey.faults) < MAX_LISTED:
                survey.faults.append(read)
        if number % _EVERY == 0:
            if progress:
                progress(number, 0)
            if should_stop and should_stop():
                break
    return survey
