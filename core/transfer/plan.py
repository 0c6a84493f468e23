"""How the lines of chat files become messages, and what became of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ..scope import Privacy
from .formats import OWN
from .shapes import Ending, Fault, Line, Note
from .survey import MAX_LISTED, RoomFacts, Survey


@dataclass(slots=True)
class Renamed:
    """What an export calls otherwise than the database does."""

    keys: dict[tuple[str, str], str] = field(default_factory=dict)
    """(program, room) to the key of the conversation it is stored as."""
    senders: dict[tuple[str, str, str], str] = field(default_factory=dict)
    """(program, room, speaker) to the id under which their lines are stored."""


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
    renamed: Renamed = field(default_factory=Renamed)

    def interface_of(self, program: str) -> str:
        """Return the first part of the keys of a program's conversations."""
        return self.interface or ("import" if program in OWN else program)

    def key_of(self, program: str, room_id: str) -> str:
        """Return the key of a conversation."""
        known = self.renamed.keys.get((program, room_id))
        return known or self.conversation or f"{self.interface_of(program)}/{room_id}"

    def sender_of(self, program: str, room_id: str, speaker: str) -> str:
        """Return the id under which a speaker's lines are stored."""
        return self.renamed.senders.get((program, room_id, speaker), speaker)

    def id_of(self, line: Line, message_id: str) -> str:
        """Return the id of a message; where several chats become one they are told apart."""
        is_one = self.conversation is not None and len(self.survey.rooms) > 1 and not line.row
        return f"{line.room.id}:{message_id}" if is_one else message_id

    def is_persona(self, program: str, line: Line) -> bool:
        """Return whether the persona said a line: who was named, else whom the format says."""
        if line.speaker is None or line.is_service:
            return False
        if self.persona is not None:
            return line.speaker.id == self.persona
        return self.survey.rooms[program, line.room.id].is_persona(line.speaker)

    def _others(self, facts: RoomFacts) -> set[str]:
        """Return who speaks in a conversation beside the persona."""
        own = {self.persona} if self.persona is not None else facts.assistants
        if self.persona is None and len(facts.assistants) > 1:
            own = {facts.room.character}
        return (facts.people | facts.assistants) - own

    def privacies(self) -> dict[str, Privacy]:
        """Return how private each conversation is: the most private of the chats that become one.

        One with a single other person is a direct message.
        """
        rooms: dict[str, list[RoomFacts]] = {}
        for (program, room_id), facts in self.survey.rooms.items():
            rooms.setdefault(self.key_of(program, room_id), []).append(facts)
        return {key: self._privacy_of(held) for key, held in rooms.items()}

    def _privacy_of(self, rooms: Sequence[RoomFacts]) -> Privacy:
        kinds = {facts.room.privacy for facts in rooms}
        if kinds == {"public"} and not self.private:
            return "public"
        others = set[str]().union(*(self._others(facts) for facts in rooms))
        return "direct" if len(others) <= 1 and kinds == {"direct"} else "restricted"

    def server_of(self, line: Line) -> str:
        """Return the server of a line's conversation: the one asked for, else the export's own."""
        return self.server or line.room.server


@dataclass(slots=True)
class Outcome:
    """What became of an export."""

    counts: Counter[str] = field(default_factory=Counter)
    """`stored`, `edited`, `service`, or the reason why not, to how many."""
    refused: list[Fault] = field(default_factory=list)
    refused_count: int = 0
    story: Counter[str] = field(default_factory=Counter)
    """What was stored beside messages: `alternatives`, `recaps`, `scenes`, `running_recaps`."""
    instructions: int = 0
    instruction_texts: list[tuple[str, str]] = field(default_factory=list)
    """(who, their standing instruction), the first 50."""
    notes: list[tuple[str, Note]] = field(default_factory=list)
    """What is to be kept beside messages, with the program it is of."""
    endings: list[tuple[str, Ending]] = field(default_factory=list)
    """What chat files say of their conversations, with the key of each."""
    places: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """Conversation to (position in the file, row id) of its messages, where the order of the file is kept."""
    newest: dict[str, datetime] = field(default_factory=dict)
    """Conversation to the time of its newest message so far, where the order of the file is kept."""
    stopped_after: int | None = None
    """Row of the last message that was stored, or how many lines were, before the import was stopped."""

    def refuse(self, fault: Fault) -> None:
        """List a line that the store does not take."""
        self.refused_count += 1
        if len(self.refused) < MAX_LISTED:
            self.refused.append(fault)

    def add_place(self, key: str, line: Line, row_id: int | None) -> None:
        """Note where a message is that is stored."""
        if line.room.keeps_order and row_id is not None:
            self.places.setdefault(key, []).append((line.index, row_id))
