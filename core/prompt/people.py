"""Current names of people, and the order of people with the same name, from the messages that the prompt may see."""

from __future__ import annotations

from collections.abc import Collection

from ..access.table_participants import read_persons
from ..context.incoming import read_role
from ..context.lines import People, read_persona_name
from ..index.shapes import RowTime
from ..text.folding import name_form
from ..text.hits import known_name
from .call import PromptCall, VisibleContext


class StoredPeople(People):
    """Speakers of the index, which is in memory: the database is read only if several people share a name."""

    def __init__(self, call: PromptCall, seeing: VisibleContext) -> None:
        self._call, self._persons, self._ranks = call, dict[str, str](), dict[str, dict[str, int]]()
        self._views = [] if seeing.index is None else [one.view for one in seeing.index.audiences.values()]
        viewer, sender = seeing.viewer, call.message.sender
        self._sees_local_only = viewer is not None and viewer.sees_local_only
        asker = "" if read_role(call.message.raw) == "persona" else known_name(sender.name, sender.username)
        self._present = dict.fromkeys(viewer.identities, asker) if viewer and asker else {}

    def find_name(self, key: str, name: str) -> str:
        names = {view.speakers[n].name for view in self._views for n in view.find_speakers("key", [key])} - {""}
        is_old = len(names) > 1 and name_form(name) in map(name_form, names)
        is_id = name == key.partition("/")[2]  # of a line without a name
        present = [shown for _, shown in self._read_names([key]).values()] if is_old or (is_id and names) else []
        return known_name(*present, name)

    def count_before(self, key: str, name: str) -> int:
        form = name_form(name)
        if form not in self._ranks:
            speakers = (view.speakers[n] for view in self._views for n in view.find_speakers("name_form", [form]))
            keys = {who.key for who in speakers} - {""}
            if keys <= {key}:
                return 0
            persons, firsts = self._read_persons(keys), dict[str, RowTime]()
            for other, (first, present) in self._read_names(keys).items():
                if name_form(present) == form:
                    firsts[persons[other]] = min(first, firsts.get(persons[other], first))
            self._ranks[form] = {person: n for n, person in enumerate(sorted(firsts, key=firsts.__getitem__))}
        ranks = self._ranks[form]
        return ranks.get(self._read_persons({key})[key], len(ranks))

    def are_linked(self, one: str, other: str) -> bool:
        persons = self._read_persons({one, other})
        return persons[one] == persons[other]

    def list_persona_names(self, conversation: str, known: Collection[str]) -> list[str]:
        persona, lasts = self._call.scope.persona, list[tuple[bool, RowTime, str]]()
        for view in self._views:
            own = view.find_speakers("role", ("persona", "thought"))
            named = [n for n in own if read_persona_name(persona, view.speakers[n].name) not in ("", *known)]
            for thread in (conversation, None) if named else ():
                spans = view.find_spans(named, self._sees_local_only, thread)
                lasts += [(thread is not None, last, who.name) for _, last, who in spans]
        return [known_name(name) for *_, name in sorted(lasts, reverse=True)]

    def _read_names(self, keys: Collection[str]) -> dict[str, tuple[RowTime, str]]:
        """Return the time of the first message and the name in the newest one, by participant key."""
        spans: dict[str, list[tuple[RowTime, RowTime, str]]] = {}
        for view in self._views:
            for first, last, who in view.find_spans(view.find_speakers("key", keys), self._sees_local_only):
                if who.name:
                    spans.setdefault(who.key, []).append((last, first, who.name))
        return {
            key: (min(first for _, first, _ in each), self._present.get(key, max(each)[2]))
            for key, each in spans.items()
        }

    def _read_persons(self, keys: Collection[str]) -> dict[str, str]:
        """Return the person of each of these keys, and of keys asked for before."""
        db, new = self._call.db, set(keys) - self._persons.keys()
        self._persons |= {key: key for key in new}
        if db is not None and new:
            persona, ask = self._call.scope.persona, self._call.guard.ask
            self._persons |= ask("participants", lambda: read_persons(db, persona, new), self._persons)
        return self._persons
