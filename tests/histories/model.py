"""What should be stored and who should see it, as plain Python: the model that random histories are held against."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from core.scope import Privacy, Scope

PERSONA = "iris"


@dataclass(frozen=True)
class Room:
    key: str
    privacy: Privacy
    server: str = ""
    people: tuple[str, ...] = ()

    def scope(self, person: str) -> Scope:
        interface = self.key.partition("/")[0]
        return Scope(PERSONA, self.key, f"{interface}/{person}", self.server, privacy=self.privacy)


PEOPLE = ("ann", "bob", "cid")
ROOMS = (
    *(Room(f"web/{person}", "direct", "", (person,)) for person in PEOPLE), Room("web/lobby", "public", "", PEOPLE),
    Room("web/hall", "public", "guild", PEOPLE), Room("web/kitchen", "public", "guild", PEOPLE),
    Room("web/staff", "restricted", "guild", ("ann", "bob")),
)  # fmt: skip


@dataclass(frozen=True)
class Text:
    """One text with a word that no other text has, and where it was said."""

    mark: str
    kind: str
    """line, saved or note: a saved memory belongs to its person's private conversations, a note to all."""
    room: Room
    person: str
    row: int = 0

    @property
    def words(self) -> str:
        return f"I love the {self.mark} very much"


@dataclass
class Model:
    """The texts that are there, and those that must not be anywhere any more."""

    texts: dict[str, Text] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    """Marks that must stand in no table."""
    hidden: set[str] = field(default_factory=set)
    """Marks of archived items and of former texts: seen by nobody, though they may be stored."""

    def copy(self) -> Model:
        return Model(dict(self.texts), set(self.gone), set(self.hidden))

    def add(self, text: Text) -> None:
        self.texts[text.mark] = text

    def remove(self, mark: str) -> None:
        del self.texts[mark]
        self.gone.add(mark)

    def archive(self, mark: str) -> None:
        del self.texts[mark]
        self.hidden.add(mark)

    def edit(self, mark: str, new_mark: str) -> None:
        texts = [replace(text, mark=new_mark) if text.mark == mark else text for text in self.texts.values()]
        self.texts = {text.mark: text for text in texts}
        self.hidden.add(mark)

    def forget_person(self, person: str) -> None:
        for text in [each for each in self.texts.values() if each.person == person and each.kind != "note"]:
            self.remove(text.mark)
        for room in [each for each in ROOMS if each.people == (person,)]:
            self.forget_room(room)

    def forget_room(self, room: Room) -> None:
        for text in [each for each in self.texts.values() if each.room == room and each.kind != "note"]:
            self.remove(text.mark)

    def lines(self, room: Room) -> list[str]:
        return [text.mark for text in self.texts.values() if text.room == room and text.kind == "line"]

    def is_seen(self, mark: str, room: Room, person: str) -> bool:
        """Return whether a person who asks in a room may find a text."""
        text = self.texts.get(mark)
        if text is None or person not in room.people:
            return False
        if text.kind == "note":
            return True
        if text.kind == "saved" and text.room.privacy == "direct":
            return room.privacy == "direct" and text.person == person
        if text.room == room:
            return True
        open_to = "" if room.privacy == "direct" else room.server
        return text.room.privacy == "public" and text.room.server == open_to

    def iter_questions(self) -> Iterator[tuple[Room, str]]:
        for room in ROOMS:
            for person in room.people:
                yield room, person
