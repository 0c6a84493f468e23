"""Many places with ids made to be mixed up, and in each of them a canary in every table that holds texts."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import select

from core import ai_diary, conversations, jobs, lifelong, privacy, relationships, short_term, stories, values
from core import chat_history_cache as chat_log
from core import synth_tagging as tagging
from core.config import Settings
from core.database.engine import Database
from core.database.registry import REGISTRY
from core.database.schema_base import metadata
from core.db import insert_memory
from core.scope import Scope
from tests.isolation.oracle import Asker, Origin
from tests.store.world import NOW

MINUTE = timedelta(minutes=1)
COMMON = "quokka"
"""Stands in every text, so that each search would find every row of everybody."""
TAG = "everywhere"
BEFORE, AFTER = 2, 9
"""Numbers of conversations that stay on this machine: from before the first word, and marked when all was said."""
TWIN = 5
"""Number of the rooms that two servers call the same, with the same people and message ids."""
NOTE = "HOST_NOTE"
"""Operation of a host, whose payload holds a text."""
CANARY = re.compile(r"zq\d{7}x")
SETTINGS = Settings(
    chat_history=200, context_verbosity=50, max_prompt_chars=0,
    short_term_max_channels=50, max_recent_conversations=50,
)  # fmt: skip

IDS = (
    "u1", "u10", "U1", "u1 ", " u1", "u1.", "u%", "u_", "%", "_", "*", "u*", "u[1]", ".*", "'u1'", '"u1"', "u1'--",
    "u1\\", "u!_", "`u1`", "😀", "😁", "e\u0301", "\u00e9", "\u202eu1", "u1\u200f", "u1\u00a0", "__", "u1__", "a/b",
    "a//b", "/", "//", "u1\n", "u1\t", "None", "null", "default", "persona", "direct", "{{u1}}", "%s", ":x", "?", "ß",
    "ss", "SS", "ﬁ", "fi", "\uff35\uff11", "x" * 180, "x" * 179 + "y", "0", "00", "-1", "1e0", "tg/u1", "u1;u10",
)  # fmt: skip
"""Prefixes of one another, wildcards, quotes, letters of four bytes, twins in other forms, ids like other keys."""


@dataclass(frozen=True, slots=True)
class Place:
    """A conversation, or the persona by itself, in which canaries were planted."""

    origin: Origin
    conversation: str | None
    server: str
    participant: str
    rows: dict[str, int]
    """What was planted, by table, with the id that doors take."""

    @property
    def scope(self) -> Scope:
        kind = self.origin.kind
        kept: Any = kind if kind in ("public", "direct", "restricted") else None
        return Scope(self.origin.persona, self.conversation, self.participant, self.server, "local", kept)


@dataclass(frozen=True, slots=True)
class Asking:
    """A scope, and what the oracle knows of it."""

    scope: Scope
    asker: Asker


class World:
    """Personas with their places, canaries and those who ask."""

    def __init__(self, db: Database, scopes: int, settings: Settings = SETTINGS) -> None:
        self.db = db
        self.settings = settings
        self.origins: dict[str, Origin] = {}
        self.names: dict[str, str] = {}
        """Canary to the table it was planted for."""
        self.people: dict[Origin, str] = {}
        """Where something was said, to the person its diary entry names."""
        self.places: list[Place] = []
        self.askings: list[Asking] = []
        self._numbers = itertools.count(1)
        self._ids = itertools.cycle(IDS)
        number = 0
        jobs.handlers.HANDLERS[NOTE] = lambda operation, tools: None
        while len(self.askings) < scopes:
            number += 1
            self._persona(_persona_id(number), number)
        del jobs.handlers.HANDLERS[NOTE]
        self.by_persona: dict[str, list[Place]] = {}
        for place in self.places:
            self.by_persona.setdefault(place.origin.persona, []).append(place)

    def canary(self, table: str, origin: Origin) -> str:
        made = f"zq{next(self._numbers):07d}x"
        self.origins[made], self.names[made] = origin, table
        return made

    def text(self, table: str, origin: Origin) -> str:
        return f"The {COMMON} of {self.canary(table, origin)} sleeps there."

    def _persona(self, persona: str, number: int) -> None:
        ids = list(itertools.islice(self._ids, 11))
        servers = ["", *(each[-100:] for each in ids[:2])]  # the end tells long ids apart
        first = len(self.places)
        for at, server in enumerate(servers):
            self._conversation(persona, "public", server, f"tg/{ids[3 + at]}", at)
            self._conversation(persona, "restricted", server, f"tg/c/{ids[3 + at]}", at)
        self._conversation(persona, "public", servers[1], f"web/{ids[6]}", AFTER)
        for server in servers[1:]:
            self._conversation(persona, "public", server, "tg/general", TWIN)
            self._conversation(persona, "restricted", server, "tg/c/general", TWIN)
        for at in range(4):
            self._conversation(persona, "direct", "", f"dm/{ids[7 + at]}", at)
        self._linked(persona, ids[7], late=number % 2 == 0)
        self._plant_persona(persona, number)
        jobs.run_pending(**self._by(Scope(persona)))
        self._askings(persona, self.places[first:], servers, ids)

    def _conversation(self, persona: str, kind: Any, server: str, key: str, at: int) -> None:
        person = f"{persona}|{key}" if kind == "direct" else None
        local = (kind, at) in (("restricted", BEFORE), ("public", AFTER))
        origin = Origin(persona, kind, server, key, person, local_only=local)
        participant = key if kind == "direct" else f"who/{at}{key[3:]}"[:200]
        place = Place(origin, key, server, participant, {})
        self.places.append(place)
        if local and at == BEFORE:
            privacy.set_conversation_local_only(key, **self._by(place.scope))
        self._plant(place, whole=at == 0 or local)
        if local and at == AFTER:
            privacy.set_conversation_local_only(key, **self._by(Scope(persona)))

    def _linked(self, persona: str, name: str, late: bool) -> None:
        """Ann on a second interface: the same person, linked before her second direct message, or after."""
        a, b = f"dm/{name}", f"dm2/{name}"
        if not late:
            privacy.link_participants(a, b, **self._by(Scope(persona)))
        place = Place(Origin(persona, "direct", "", b, f"{persona}|{a}"), b, "", b, {})
        self.places.append(place)
        self._plant(place, whole=False)
        if late:
            privacy.link_participants(a, b, **self._by(Scope(persona)))

    def _by(self, scope: Scope) -> dict[str, Any]:
        return {"db": self.db, "settings": self.settings, "scope": scope}

    def _plant(self, place: Place, *, whole: bool) -> None:
        o, own, key, rows = place.origin, self._by(place.scope), place.conversation, place.rows
        sender = place.participant.partition("/")[2]
        row = chat_log.save_chat_message(
            key, self.text("chat_history_cache", o), self.canary("participants", o), sender, NOW - 9 * MINUTE,
            {"note": self.canary("chat_history_cache", o)}, message_id="m1",
            title=self.canary("conversations", o), **own,
        )  # fmt: skip
        rows["chat_history_cache"] = int(row.id or 0)
        chat_log.save_chat_message(
            key, self.text("chat_history_cache", o), None, "self", NOW - 8 * MINUTE, message_id="m2", **own
        )
        self._plant_items(place)
        self._plant_moment(place)
        conversations.add_recent_conversation(wait=True, **own)
        if whole:
            self._plant_story(place)

    def _plant_items(self, place: Place) -> None:
        o, own, rows = place.origin, self._by(place.scope), place.rows
        said = {name: self.canary("memories", o) for name in ("author", "source", "label", "emotion_state")}
        made = insert_memory(
            self.text("memories", o), said["author"], said["source"], [TAG, self.canary("tags", o)], place.scope,
            label=said["label"], emotion_state=said["emotion_state"], response_text=self.text("memories", o),
            metadata={"note": self.canary("memories", o)}, timestamp=NOW - 7 * MINUTE,
            db=self.db, settings=self.settings,
        )  # fmt: skip
        rows["memories"] = made
        local = Origin(o.persona, o.kind, o.server, o.conversation, o.person, local_only=True)
        insert_memory(self.text("memories", local), "host", "chat", [TAG], place.scope, local_only=True, db=self.db,
                      settings=self.settings)  # fmt: skip
        lifelong.edit_item(made, self.text("memories", o), editor=self.canary("item_history", o), **own)
        name = self.people[o] = self.canary("ai_diary", o)
        texts = [self.text("ai_diary", o) for _ in range(4)]
        diary = ai_diary.add_diary_entry(
            texts[0], texts[1], [self.canary("ai_diary", o)], texts[2], texts[3], [TAG], [name],
            timestamp=NOW - 6 * MINUTE, **own,
        )  # fmt: skip
        rows["ai_diary"] = int(diary.id or 0)
        ai_diary.add_diary_entry(self.text("ai_diary", local), context_tags=[TAG], local_only=True, **own)
        rows["saved"] = int(conversations.add_saved_memory(self.text("memories", o), **own).id or 0)
        text = self.text("stored_values", o)
        new = values.NewValue(("notes", self.canary("stored_values", o), "file"), text, text=text)
        values.open_values(**own).change(lambda change: change.write([new, replace(new, path=("notes", "file"))]))
        conversations.add_saved_memory(f"Please greet me with {self.canary('memories', o)}.", kind="instruction", **own)

    def _plant_moment(self, place: Place) -> None:
        o, own, key = place.origin, self._by(place.scope), place.conversation
        turn = [{"content": self.text("short_term_memories", o), "sender_id": place.participant.partition("/")[2],
                 "speaker": self.canary("short_term_memories", o)}]  # fmt: skip
        kept = short_term.write_turn(
            None, "It does.", user=place.participant, channel=key, server=place.server or None, messages=turn,
            server_name=self.canary("short_term_memories", o), channel_name=self.canary("short_term_memories", o),
            is_direct=o.kind == "direct", at=NOW - 5 * MINUTE, **own,
        )  # fmt: skip
        assert kept[0], kept
        if len(self.places) % 3 == 0:
            short_term.update_short_term_memory(
                place.participant, key, self.text("short_term_memories", o), is_direct=o.kind == "direct", **own
            )

    def _plant_story(self, place: Place) -> None:
        o, own, key, rows = place.origin, self._by(place.scope), place.conversation, place.rows
        row = rows["chat_history_cache"]
        stories.set_data(row, "memory", self.text("message_recaps", o), **own)
        stories.set_data(row, "reasoning", self.canary("message_recaps", o), **own)
        stories.add_alternative(row, self.text("message_alternatives", o), **own)
        stories.add_scene_break(row, self.canary("scenes", o), **own)
        stories.set_scene_recap(row, self.text("scene_recaps", o), **own)
        stories.add_running_recap_version(self.text("running_recaps", o), 1, 0, 0, 1, **own)
        note = {"note": self.canary("memory_jobs", Origin(o.persona, "operator"))}
        jobs.enqueue_operation(NOTE, metadata=note, conversation=key, **own)

    def _plant_persona(self, persona: str, number: int) -> None:
        everywhere, operator = Origin(persona, "persona"), Origin(persona, "operator")
        bare = self._by(Scope(persona))
        made = insert_memory(self.text("memories", everywhere), "host", "chat", [TAG], Scope(persona), db=self.db,
                             settings=self.settings)  # fmt: skip
        self.places.append(Place(everywhere, None, "", "who/nobody", {"memories": made}))
        for place in [p for p in self.places if p.origin.persona == persona and p.origin.kind == "direct"]:
            person = Origin(persona, "person", person=place.origin.person)
            names = [self.canary("user_relationships", person) for _ in range(2)]
            relationships.adjust(place.participant, 3, 2, names[0], realname=names[1], **bare)
        tag = self.canary("tags", operator)
        tagging.add_tag(tag, **bare)
        tagging.add_alias(self.canary("tag_aliases", operator), tag, **bare)
        tagging.link_tags(tag, self.canary("tag_links", operator), **bare)
        lifelong.run_cycle(reason=self.canary("consolidation_runs", operator), **bare)

    def _askings(self, persona: str, places: list[Place], servers: list[str], ids: list[str]) -> None:
        made: list[Asking] = []
        for n, place in enumerate(p for p in places if p.conversation is not None):
            o = place.origin
            told: Any = o.kind if n % 2 else None  # what is stored counts, whether the host says it or not
            scope = Scope(persona, place.conversation, place.participant, place.server, None, told)
            speaker = o.person
            local = n % 4 == 0
            kind: Any = o.kind
            made.append(self._asking(scope, kind, o.server, o.person, speaker, local))
        lying = next(p for p in places if p.origin.kind == "restricted" and p.server == servers[1])
        told_wrong = Scope(persona, lying.conversation, "who/else", servers[0], None, "public")
        made.append(self._asking(told_wrong, "restricted", servers[1], None, None))
        open_to = next(p for p in places if p.origin.kind == "public" and p.server == servers[1])
        told_wrong = Scope(persona, open_to.conversation, "who/else", servers[2], None, None)
        made.append(self._asking(told_wrong, "public", servers[2], None, None))  # the room of that name there
        for server in servers[:2]:
            made.append(self._asking(Scope(persona, None, None, server), "none", server, None, None))
            new = Scope(persona, f"new/{ids[0]}", "who/new", server, None, "public")
            made.append(self._asking(new, "public", server, None, None))
        ann, person = f"dm2/{ids[7]}", f"{persona}|dm/{ids[7]}"
        made.append(self._asking(Scope(persona, "dm2/new", ann, "", None, "direct"), "direct", "", person, person))
        nobody = Scope(persona, f"dm3/{ids[8]}", f"dm3/{ids[8]}", "", None, "direct")
        made.append(self._asking(nobody, "direct", "", "nobody", None))
        self.askings += made

    def _asking(
        self, scope: Scope, kind: Any, server: str, person: str | None, speaker: str | None, local: bool = False
    ) -> Asking:
        if local:
            scope = Scope(scope.persona, scope.conversation, scope.participant, scope.server, "local", scope.privacy)
        return Asking(scope, Asker(scope.persona, kind, server, scope.conversation, person, speaker, local))

    def find_room(self, asker: Asker, key: str | None) -> Place | None:
        """Return the place a key names: the room of the asker's server, else the first of that name."""
        named = [place for place in self.by_persona[asker.persona] if place.conversation == key]
        return next((place for place in named if place.server == asker.server), named[0] if named else None)

    def live_canary(self, place: Place) -> str:
        if "live" not in place.rows:
            place.rows["live"] = next(self._numbers)
        made = f"zq{place.rows['live']:07d}x"
        self.origins[made], self.names[made] = place.origin, "live"
        return made

    def markdown(self, asking: Asking) -> str:
        with TemporaryDirectory() as folder:
            told = conversations.export_markdown(folder, **self._by(asking.scope))
            files = [path.read_text() for path in sorted(Path(folder).rglob("*")) if path.is_file()]
        return repr((told, files))

    def planted(self) -> Iterator[tuple[str, set[str]]]:
        for entry in REGISTRY:
            if entry.texts:
                columns = [metadata.tables[entry.table].c[name] for name in entry.texts]
                rows = self.db.read(select(*columns), source=entry.table)
                yield entry.table, set(CANARY.findall(repr([tuple(row) for row in rows])))


def _persona_id(number: int) -> str:
    """Return the id of the nth persona: the first ones are easily mixed up, the others differ by a number."""
    known = [each for each in IDS if each.strip() and len(each.encode()) <= 64]
    return known[(number - 1) % len(known)] + ("" if number <= len(known) else f"{number}")
