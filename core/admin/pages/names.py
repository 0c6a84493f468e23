"""What people and conversations are called, for screens that would show their keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ...audience import table_overview
from ...database.engine import Database
from .formats import show_key


class Names(NamedTuple):
    """Names of people and titles of conversations; what has none is called by its key."""

    people: Mapping[str, str] = {}
    places: Mapping[str, tuple[str, str]] = {}

    def person(self, key: str) -> str:
        """Return what a person is called: their name, else their key as people write it."""
        return self.people.get(key) or show_key(key)

    def place(self, key: str) -> str:
        """Return what a conversation is called: its title, else by who it is held with alone, else its key."""
        title, person = self.places.get(key, ("", ""))
        if title or not person:
            return title or show_key(key)
        return f"Chat with {self.person(person)}"


def read_names(
    db: Database, persona: str, people: Iterable[str | None] = (), places: Iterable[str | None] = ()
) -> Names:
    """Return what these keys are called, those of whom the conversations are held with among them."""
    titles = table_overview.read_titles(db, persona, filter(None, places))
    keys = {*filter(None, people), *(person for _, person in titles.values() if person)}
    return Names(table_overview.read_names(db, persona, keys), titles)


def name_items(db: Database, persona: str, items: Iterable[Mapping[str, object]]) -> Names:
    """Return what the people and conversations of memory items, or of operations, are called."""
    rows = list(items)
    return read_names(
        db, persona, (_text(row["participant"]) for row in rows), (_text(row["conversation"]) for row in rows)
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
