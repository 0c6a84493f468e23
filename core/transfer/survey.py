"""Reads an export a first time: counts, speakers, and decisions on how its lines become messages."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

from ..access.external_rows import participant_of
from ..base.groups import group
from ..errors import TransferError
from ..scope import Privacy
from ..shapes import PERSONA_SENDER, Progress
from .formats import OWN, ChatFiles
from .shapes import Ending, Fault, Left, Line, Note, Read, Reading, Room

MAX_LISTED = 1000
"""Maximum number of listed faults, and of listed people; further faults and people are only counted."""
MAX_ROOMS, MAX_LINES = 100_000, 3_000_000
"""Maximum number of conversations, and of messages, of an import, which keeps all their ids in memory."""
_EVERY = 500
_FEW = 4
_SAID = (None, "user", "persona")
"""Roles of lines that a speaker said."""


# Ids for messages without one: every import gives the same message the same id


def make_id(line: Line, seen: Counter[int]) -> str:
    """Build a message id from a line's time and text, and a number if `seen` has counted equal lines."""
    made_id = f"at-{text_digest(line.made_of or line.at.isoformat(), 16)}-{text_digest(line.text)}"
    file = line.place.rpartition(": ")[0] or line.place
    # a hash instead of the id saves memory: there is one per line of the export
    key = hash((file, line.room.id, made_id))
    seen[key] += 1
    return made_id if seen[key] == 1 else f"{made_id}-{seen[key]}"


def is_made_id(message_id: str) -> bool:
    """Return whether `make_id` made this message id; a chat's id may precede it."""
    return message_id.rpartition(":")[2].startswith("at-")


def text_digest(text: str, digits: int = 12) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:digits]


def hash_id(program: str, line: Line) -> int:
    """Hash application, conversation and message id, to compare lines within this process."""
    return hash((program, line.room.id, line.id))


def build_sender_id(speaker_id: str) -> str:
    """Build the sender id of a speaker other than the persona; the id never equals the persona's id `self`."""
    return f"name:{speaker_id}" if speaker_id == PERSONA_SENDER else speaker_id


@dataclass(slots=True)
class RoomFacts:
    room: Room
    people: set[str] = field(default_factory=set)
    """Ids of the speakers other than assistants; at most four."""
    assistants: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Person:
    name: str
    handle: str = ""
    lines: int = 0
    programs: set[str] = field(default_factory=set)
    """Applications in whose chats this speaker said something."""


@dataclass(slots=True)
class Survey:
    lines: int = 0
    """Number of messages of people, bots and assistants."""
    services: int = 0
    """Number of lines that the application itself wrote, such as "Ann joined"."""
    notes: int = 0
    rooms: dict[tuple[str, str], RoomFacts] = field(default_factory=dict)
    """Facts about each conversation, by application and room."""
    people: dict[str, Person] = field(default_factory=dict)
    left: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)
    fault_count: int = 0
    first: datetime | None = None
    last: datetime | None = None
    days: set[date] = field(default_factory=set)
    latest: dict[int, tuple[float, int]] = field(default_factory=dict)
    """By hashed message id: the time of the last edit, and the number of the line with that edit, which is the only
    line of this id that is imported."""

    def add(self, program: str, read: Read) -> None:
        match read:
            case Line():
                self._add_line(program, read)
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

    def _add_line(self, program: str, line: Line) -> None:
        facts = self.rooms.setdefault((program, line.room.id), RoomFacts(line.room))
        if len(self.rooms) > MAX_ROOMS or self.lines + self.services >= MAX_LINES:
            most = f"{MAX_ROOMS:,} conversations or {MAX_LINES:,} messages"
            raise TransferError(f"The export has more than {most}. Import it in parts.")
        if line.is_service:
            self.services += 1
        else:
            self.lines += 1
            self._add_speaker(program, line, facts)
        if line.id:
            key = hash_id(program, line)
            place = line.edited.timestamp() if line.edited else 0.0, self.lines + self.services
            self.latest[key] = max(place, self.latest.get(key, place))
        self.days.add(line.at.date())
        self.first = min(line.at, self.first or line.at)
        self.last = max(line.at, self.last or line.at)

    def _add_speaker(self, program: str, line: Line, facts: RoomFacts) -> None:
        who = line.speaker
        if who is None:
            return
        ids = facts.assistants if who.is_assistant else facts.people
        if len(ids) < _FEW and line.role in _SAID:
            ids.add(who.id)
        if who.id in self.people or len(self.people) < MAX_LISTED:
            person = self.people.setdefault(who.id, Person(who.name, who.handle))
            person.lines += 1
            person.name = who.name
            if line.role in _SAID:
                person.programs.add(program)


def count_export(files: ChatFiles, reading: Reading, progress: Progress | None) -> Survey:
    survey = Survey()
    for number, (program, read) in enumerate(files.read(reading)):
        survey.add(program, read)
        if progress and number % _EVERY == 0:
            progress("looking", number, 0)
    return survey


@dataclass(frozen=True, slots=True)
class Plan:
    survey: Survey
    interface: str | None
    """First part of the conversation keys; None uses the application's name."""
    conversation: str | None
    persona: str | None
    """Id of the speaker who is the persona; None follows the format."""
    private: bool | None
    server: str
    is_separate: bool = False
    """Whether new conversations of one person are separate instead of direct."""
    keys: dict[tuple[str, str], str] = field(default_factory=dict)
    """Keys under which the conversations are stored, by application and room."""

    def interface_of(self, program: str) -> str:
        return self.interface or ("import" if program in OWN else program)

    def key_of(self, program: str, room_id: str) -> str:
        return self.conversation or self.keys.get((program, room_id)) or f"{self.interface_of(program)}/{room_id}"

    def id_of(self, line: Line, message_id: str) -> str:
        """Return the id under which a message is stored; if several chats become one, the chat's id precedes it."""
        is_one = self.conversation is not None and len(self.survey.rooms) > 1 and not (line.row and line.id)
        return f"{line.room.id}:{message_id}" if is_one else message_id

    def own_of(self, facts: RoomFacts) -> set[str]:
        """Return the persona's speaker ids: `persona` if set, else the only assistant, else the room's character."""
        if self.persona is not None:
            return {self.persona}
        return facts.assistants if len(facts.assistants) <= 1 else {facts.room.character}

    def is_persona(self, program: str, line: Line) -> bool:
        if line.speaker is None or line.is_service:
            return False
        facts = self.survey.rooms[program, line.room.id]
        if self.persona is None and len(facts.assistants) <= 1:
            return line.speaker.is_assistant
        return line.speaker.id in self.own_of(facts)

    def list_own(self) -> set[str]:
        """Return the persona's speaker ids in all conversations."""
        return set[str]().union(*map(self.own_of, self.survey.rooms.values()))

    def name_participants(self) -> dict[str, str]:
        """Return the names of the speakers other than the persona, by participant key."""
        own = self.list_own()
        keys = (
            (participant_of(self.key_of(program, ""), build_sender_id(speaker), person.name), person.name)
            for speaker, person in self.survey.people.items()
            if speaker not in own
            for program in person.programs
        )
        return {key: name for key, name in keys if key}

    def privacies(self) -> dict[str, Privacy]:
        """Return each conversation's privacy, the strictest of its chats; `restricted` if several people speak."""
        rooms = group((self.key_of(*room), facts) for room, facts in self.survey.rooms.items())
        return {key: self._privacy_of(facts) for key, facts in rooms.items()}

    def _privacy_of(self, rooms: Sequence[RoomFacts]) -> Privacy:
        kinds = {facts.room.privacy for facts in rooms}
        if not self.private and (kinds == {"public"} or (self.private is False and "direct" not in kinds)):
            return "public"
        others = set[str]().union(*((facts.people | facts.assistants) - self.own_of(facts) for facts in rooms))
        if len(others) > 1 or kinds != {"direct"}:
            return "restricted"
        return "separate" if self.is_separate else "direct"

    def server_of(self, room: Room) -> str:
        return self.server or room.server
