"""Present names of people, and their order if they share one, from the messages that the prompt may see."""

from __future__ import annotations

from collections.abc import Collection

from ..access.table_participants import read_persons
from ..context.incoming import read_role
from ..context.lines import People
from ..index.shapes import Moment
from ..text.folding import look
from ..text.hits import known_name
from .call import PromptCall, VisibleContext


class StoredPeople(People):
    """Speakers of the index; it is in memory, so nothing is read unless several people share a name."""

    def __init__(self, call: PromptCall, seeing: VisibleContext) -> None:
        self._call, self._persons, self._ranks = call, dict[str, str](), dict[str, dict[str, int]]()
        self._views = [] if seeing.index is None else [one.view for one in seeing.index.audiences.values()]
        viewer, sender = seeing.viewer, call.message.sender
        self._sees_local_only = viewer is not None and viewer.sees_local_only
        asker = "" if read_role(call.message.raw) == "persona" else known_name(sender.name, sender.username)
        self._present = dict.fromkeys(viewer.identities, asker) if viewer and asker else {}

    def find_name(self, key: str, name: str) -> str:
        names = {view.speakers[n].name for view in self._views for n in view.find_speakers("key", [key])} - {""}
        is_old = len(names) > 1 and look(name) in map(look, names)
        present = self._read_names([key]) if is_old else {}
        return known_name(present[key][1] if present else "", name)

    def count_before(self, key: str, name: str) -> int:
        own_look = look(name)
        if own_look not in self._ranks:
            keys = {view.speakers[n].key for view in self._views for n in view.find_speakers("look", [own_look])} - {""}
            if keys <= {key}:
                return 0
            self._ranks[own_look] = self._rank_people(own_look, keys)
        self._read_persons({key})
        return self._ranks[own_look].get(self._persons[key], len(self._ranks[own_look]))

    def are_linked(self, one: str, other: str) -> bool:
        self._read_persons({one, other})
        return self._persons[one] == self._persons[other]

    def _rank_people(self, name_look: str, keys: Collection[str]) -> dict[str, int]:
        """Return the persons who have such a name now, each with its place in the order of their first messages."""
        self._read_persons(keys)
        firsts: dict[str, Moment] = {}
        for key, (first, present) in self._read_names(keys).items():
            if look(present) == name_look:
                person = self._persons[key]
                firsts[person] = min(first, firsts.get(person, first))
        return {person: n for n, person in enumerate(sorted(firsts, key=firsts.__getitem__))}

    def _read_names(self, keys: Collection[str]) -> dict[str, tuple[Moment, str]]:
        """Return the moment of the first message and the name in the newest one, by participant key."""
        spans: dict[str, list[tuple[Moment, Moment, str]]] = {}
        for view in self._views:
            for first, last, who in view.find_spans(view.find_speakers("key", keys), self._sees_local_only):
                if who.name:
                    spans.setdefault(who.key, []).append((last, first, who.name))
        return {
            key: (min(first for _, first, _ in each), self._present.get(key, max(each)[2]))
            for key, each in spans.items()
        }

    def _read_persons(self, keys: Collection[str]) -> None:
        db, new = self._call.db, set(keys) - self._persons.keys()
        self._persons |= {key: key for key in new}
        if db is not None and new:
            persona, ask = self._call.scope.persona, self._call.guard.ask
            self._persons |= ask("participants", lambda: read_persons(db, persona, new), self._persons)
