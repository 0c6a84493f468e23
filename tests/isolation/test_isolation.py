"""F1 to F4, F12 to F18: whatever a reader gives to a scope was said where the table of F12 lets it look.

ISOLATION_SCOPES is how many scopes are walked (`make isolation` sets 5000); each reader takes its turn in one of
ISOLATION_SHARE scopes. By default two personas are walked on a server, with fewer turns: what a scope sees is worked
out above the tables, and each statement is compared over the engines elsewhere.
"""

import os
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest
from sqlalchemy import select

from core import ai_diary, chat_history_cache, conversations, lifelong, privacy, semantic, synth_core_memory
from core.database import sources
from core.errors import MessageError, ScopeError
from core.prompt_engine import explain_json_prompt
from core.scope import Scope
from core.search import rank, resolve
from core.search import table as search_table
from tests.isolation.oracle import Asker, Origin, may_see
from tests.isolation.readers import READERS, aio_names, listed, message, public_names, walked
from tests.isolation.world import CANARY, COMMON, SETTINGS, TAG, Asking, Place, World
from tests.store.world import open_db

pytestmark = pytest.mark.engines("sqlite", "mariadb", extras=True)

SCOPES = int(os.environ.get("ISOLATION_SCOPES", "0"))
SHARE = int(os.environ.get("ISOLATION_SHARE", "0"))

FIGURES = {
    "core.chat_history_cache.get_cache_stats", "core.conversations.memory_tools", "core.conversations.run_tool_call",
    "core.jobs.count_operations", "core.jobs.list_operations", "core.privacy.list_privacy", "core.short_term.get_stats",
    "core.stories.auto_hide_plan", "core.stories.check_message_exclusion", "core.synth_tagging.expand_tags",
    "core.tokens.list_tokens",
}  # fmt: skip
"""Readers that give numbers, ids and words of the caller; the others must show canaries, or nothing was tried."""

MOST_TOLD = 50
"""The walk ends after so many foreign rows: they are of one cause."""

NO_CANARY = {
    "access_tokens": "what an operator calls a token",
    "search_block": "words of rows that are packed; so few are not (tests/spec/test_forgetting_canary.py packs them)",
}


@pytest.fixture(scope="module")
def world(migrated_url: str, engine_name: str) -> Iterator[World]:
    """Scopes with their canaries; fewer where each write goes over a socket."""
    with closing(open_db(migrated_url)) as db:
        yield World(db, SCOPES or (57 if engine_name == "sqlite" else 38))


def share(world: World) -> int:
    """Return in how many scopes a reader has one turn, after the first, where each has one."""
    return SHARE or (3 if world.db.family == "sqlite" else 7)


def some(world: World, all_of_them: list[Asking], most: int) -> list[Asking]:
    """Return the first scopes; a third of them where each read goes over a socket."""
    return all_of_them[:most] if world.db.family == "sqlite" else all_of_them[:most:3]


def allowed(name: str, asking: Asking, place: Place, origin: Origin, **more: Any) -> bool:
    asker, level = asking.asker, READERS[name].level
    if name.endswith("export_items") and asking.scope.conversation is not None and origin.kind != "operator":
        # a file for who stands somewhere holds what is seen there
        return may_see(replace(asker, local=True), origin, **more)
    if level == "persona":
        return origin.persona == asker.persona
    if may_see(asker, origin, **more):
        return True
    is_server = name.endswith("get_for_server")
    if level == "scope" or asking.scope.conversation is not None:
        return False
    if place.origin.persona != asker.persona and not is_server:
        return False
    o = place.origin  # asked about without standing anywhere: read as if it stood there
    kind: Any = "none" if o.kind == "persona" or is_server else o.kind
    there = Asker(asker.persona, kind, place.server, place.conversation, o.person, o.person, asker.local)
    return may_see(there, origin, **more)


def own_place(world: World, asking: Asking) -> Place:
    return world.find_room(asking.asker, asking.scope.conversation) or world.by_persona[asking.scope.persona][-1]


def foreign(world: World, asking: Asking, name: str, place: Place, seen: Counter[str], **more: Any) -> list[str]:
    found = []
    # A key of another persona's or server's place may be one of the own persona and server, too.
    names_server = name.endswith("build_short_term_context") and asking.scope.conversation is None
    there = replace(asking.asker, server=place.server) if names_server else asking.asker
    meant = world.find_room(there, place.conversation) or place
    for token in set(CANARY.findall(walked(world, asking, name, place))):
        origin = world.origins[token]
        seen[name] += 1
        if not allowed(name, asking, place if name.endswith("get_for_server") else meant, origin, **more):
            found.append(f"{name} as {asking} about {place.conversation!r}: {world.names[token]} of {origin}")
    return found


def test_every_public_name_is_listed_and_every_awaitable_is_one() -> None:
    there, known = set(public_names()), listed()
    assert there - set(known) == set(), "not listed in tests/isolation/readers.py"
    assert set(known) - there == set(), "listed, and no longer there"
    assert [name for name, kinds in known.items() if len(kinds) > 1] == [] and len(READERS) > 50
    names = {name.rsplit(".", 1)[1] for name in listed()} | {"build_context"}
    assert aio_names() - names == set()


def test_f2_f4_ids_that_cannot_be_are_refused_and_zero_is_one() -> None:
    for field in ("persona", "conversation", "participant", "server"):
        for bad in ("u1\x00", "u1\ud800", "x" * 513):
            with pytest.raises((MessageError, ScopeError)) as raised:
                Scope(**{field: bad})
            assert field in str(raised.value)
    zero: Any = 0
    scope = Scope(zero, zero, zero, zero)
    assert (scope.persona, scope.conversation, scope.participant, scope.server) == ("0", "0", "0", "0")
    for blank in ("", " ", None):  # no scope means all
        with pytest.raises(ScopeError):
            Scope(persona=blank)


def test_every_table_with_texts_holds_a_canary(world: World) -> None:
    assert [table for table, found in world.planted() if not found and table not in NO_CANARY] == []


@pytest.mark.slow
def test_f4_f12_no_reader_shows_what_its_scope_may_not_see(world: World) -> None:
    rng = random.Random(7)
    seen: Counter[str] = Counter()
    found: list[str] = []
    reads = 0
    for number, asking in enumerate(world.askings):
        if len(found) > MOST_TOLD:
            break
        own, mine = own_place(world, asking), world.by_persona[asking.scope.persona]
        for at, (name, reader) in enumerate(READERS.items()):
            if number and (at + number) % share(world):
                continue
            places = [own, *([rng.choice(mine), rng.choice(world.places)] if reader.about else [])]
            for place in places:
                reads += 1
                found += foreign(world, asking, name, place, seen)
    print(
        f"\n{world.db.family}: {len(world.askings)} scopes, {len(world.by_persona)} personas, {len(READERS)} readers, "
        f"{reads} reads, {len(world.origins)} canaries, {seen.total()} canaries seen, {len(found)} foreign"
    )
    assert found[:5] == [], Counter(each.split(" ")[0] for each in found)
    assert {name for name in READERS if not seen[name]} <= FIGURES


@pytest.mark.slow
def test_f16_open_privacy_shows_the_server_and_no_more(world: World) -> None:
    seen: Counter[str] = Counter()
    wide, askings = 0, some(world, world.askings, 19)
    with replace_settings(world, private_stays_private=False):
        for number, asking in enumerate(askings):
            own = own_place(world, asking)
            for at, (name, reader) in enumerate(READERS.items()):
                if (at + number) % 3 == 0 and reader.level == "scope":
                    assert foreign(world, asking, name, own, seen, stays_private=False) == []
            text = walked(world, asking, "core.chat_history_cache.load_global_chat_history", own)
            wide += any(not may_see(asking.asker, world.origins[token]) for token in CANARY.findall(text))
    assert wide > len(askings) // 4


SEARCHES = ("core.synth_core_memory.search_memories", "core.synth_core_memory.explain_search",
            "core.prompt_engine.explain_json_prompt")  # fmt: skip


@pytest.mark.slow
def test_f12_t26_rows_not_indexed_yet_are_searched_as_narrowly(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the index cannot be read rows are found by the plain predicates: each of them is one the scope may see."""
    origins = origin_of_rows(world)
    looked_up: list[tuple[int, int]] = []
    plainly = search_table.read_newest

    def search(*asked: Any) -> Any:
        rows = plainly(*asked)
        looked_up.extend((row.source, row.id) for row in rows)
        return rows

    monkeypatch.setattr(search_table, "read_newest", search)
    found: list[str] = []
    seen: Counter[str] = Counter()
    with monkeypatch.context() as broken:
        broken.setattr(resolve, "IndexState", Mock(side_effect=ValueError("cannot be read")))
        for asking in some(world, world.askings, 10):
            looked_up.clear()
            own = own_place(world, asking)
            for name in SEARCHES:
                found += foreign(world, asking, name, own, seen)
            assert {number for number, _ in looked_up} == {0, 1, 2}, asking
            said = [(row, origin) for row in set(looked_up) for origin in origins[row]]
            found += [f"{row} of {origin}" for row, origin in said if not may_see(asking.asker, origin)]
    assert found == [] and all(seen[name] for name in SEARCHES)


def origin_of_rows(world: World) -> dict[tuple[int, int], set[Origin]]:
    told: dict[tuple[int, int], set[Origin]] = {}
    for number, source in sources.BY_NUMBER.items():
        for row in world.db.read(select(source.table.c.id, source.text), source=source.name):
            told[number, row[0]] = {world.origins[token] for token in CANARY.findall(row[1]) if token in world.origins}
    return told


@contextmanager
def replace_settings(world: World, **flags: Any) -> Iterator[None]:
    former, world.settings = world.settings, replace(world.settings, **flags)
    yield
    world.settings = former


def test_f12_what_may_be_seen_is_seen_whole(world: World) -> None:
    for asking in world.askings[:150:3]:
        by: dict[str, Any] = {"db": world.db, "settings": world.settings, "scope": asking.scope}
        may = {token for token, origin in world.origins.items() if may_see(asking.asker, origin)}
        for table, shown in {
            "chat_history_cache": chat_history_cache.load_global_chat_history(1000, **by),
            "ai_diary": ai_diary.get_entries_by_tags([TAG], 1000, **by),
        }.items():
            wanted = {token for token in may if world.names[token] == table}
            found = {token for token in CANARY.findall(repr(shown)) if world.names[token] == table}
            assert found == wanted, (table, asking)
        stats = chat_history_cache.get_cache_stats(**by)
        lines = chat_history_cache.load_global_chat_history(1000, **by)
        assert stats["total_messages"] == len(lines)
        assert stats["unique_interface_paths"] == len({line["interface_path"] for line in lines})
        page = lifelong.search_items(limit=500, **by)
        assert page["total"] == len(page["items"])
        saved = [place.origin for place in world.by_persona[asking.scope.persona] if "saved" in place.rows]
        seen = [origin for origin in saved if may_see(asking.asker, origin)]
        assert len(conversations.list_saved_memories(**by)) == len(seen)


@pytest.mark.slow
def test_f12_reports_do_not_change_by_rows_that_are_not_seen(world: World) -> None:
    asked = Asking(Scope("watcher", "tg/here", "tg/ann", "s1", None, "public"), world.askings[0].asker)

    def report() -> dict[str, Any]:
        prompt, told = explain_json_prompt(message(asked), db=world.db, settings=world.settings, scope=asked.scope)
        return {"prompt": prompt, **told}

    fill(world, asked.scope, "mine")
    report()
    before = report()
    for others in (
        Scope("watcher", "tg/closed", "tg/bob", "s1", None, "restricted"),
        Scope("watcher", "tg/bob", "tg/bob", "", None, "direct"),
        Scope("watcher", "tg/there", "tg/bob", "s2", None, "public"),
        Scope("Watcher", "tg/here", "tg/ann", "s1", None, "public"),
    ):
        fill(world, others, "theirs")
        assert report() == before, others


def fill(world: World, scope: Scope, word: str) -> None:
    by: dict[str, Any] = {"db": world.db, "settings": world.settings, "scope": scope}
    for n in range(6):
        text = f"the {COMMON} {word} sleeps there {n}, {COMMON}{word}{n} and sleep{word}s"
        chat_history_cache.save_chat_message(scope.conversation, text, "Who", "who", **by)
        lifelong.add_facts_with_meta([{"text": text, "tags": [TAG]}], **by)
        ai_diary.add_diary_entry(text, context_tags=[TAG], **by)


def test_f16_server_in_direct_shows_the_servers_where_the_person_spoke_and_no_more(world: World) -> None:
    open_to: dict[tuple[str, str], tuple[str, str]] = {}
    numbers: Counter[str] = Counter()
    for place in [p for p in world.places if p.origin.kind == "direct"]:
        persona, (interface, _, own) = place.origin.persona, place.participant.partition("/")
        number = numbers[persona]  # the rooms of each persona have the names of those of others
        numbers[persona] += 1
        town, vault = f"town{number % 2}", f"vault{number}"
        open_to[persona, place.participant] = town, vault
        rooms: list[tuple[Any, str, str, str, bool]] = [
            ("public", town, "square", own, False), ("restricted", town, "staff", own, False),
            ("public", vault, "safe", own, True), ("public", vault, "hall", "other", False),
            ("restricted", f"keep{number}", "keep", own, False), ("public", f"keep{number}", "yard", "other", False),
        ]  # fmt: skip
        for kind, server, name, sender, is_local in rooms:
            key, who = f"{interface}/{name}{number}", f"{interface}/{sender}"
            said = Origin(persona, kind, server, key, local_only=is_local)
            by = {"db": world.db, "settings": world.settings, "scope": Scope(persona, key, who, server, "local", kind)}
            if is_local:
                privacy.set_conversation_local_only(key, **by)
            chat_history_cache.save_chat_message(key, world.text("chat_history_cache", said), "Who", sender, **by)
    wider: Counter[bool] = Counter()
    for number, asking in enumerate(world.askings):
        town, vault = open_to.get((asking.scope.persona, asking.scope.participant or ""), ("", ""))
        spoken_on = {town, vault} if asking.asker.local else {town}
        for is_on in (False, True):
            flags = replace(world.settings, server_in_direct=is_on)
            prompt, _ = explain_json_prompt(message(asking), db=world.db, settings=flags, scope=asking.scope)
            for token in set(CANARY.findall(repr(prompt["context"]))):
                origin = world.origins[token]
                assert may_see(asking.asker, origin, spoken_on=spoken_on if is_on else ()), (asking, origin)
                wider[is_on] += not may_see(asking.asker, origin)
        own_room, seen = own_place(world, asking), Counter[str]()
        with replace_settings(world, server_in_direct=True):
            for at, (reader_name, reader) in enumerate(READERS.items()):
                if asking.asker.kind == "direct" and (at + number) % 7 == 0 and reader.level == "scope":
                    assert foreign(world, asking, reader_name, own_room, seen, spoken_on=spoken_on) == []
    assert wider[True] > len([a for a in world.askings if a.asker.kind == "direct"]) // 2 and not wider[False]


class Alike:
    """One of four texts means what is asked; the others mean anything."""

    name = "alike"
    is_local = True

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._one(text) for text in texts]

    def _one(self, text: str) -> list[float]:
        own = random.Random(text)
        is_near = text == ASKED or own.random() < 0.25
        return [own.gauss(1.0 if is_near else 0.0, 0.4) for _ in range(48)]


ASKED = "xylophone"


def test_f2_by_its_meaning_nobody_is_shown_what_is_not_theirs(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors of all scopes lie in one table and are held in one place: who asks is compared with what they see."""
    for persona in world.by_persona:
        semantic.embed_rows(embedder=Alike(), db=world.db, settings=SETTINGS, scope=Scope(persona))
    seen: Counter[str] = Counter()
    told = []
    monkeypatch.setattr(rank, "CONTEXT_REACH", 0)
    for asking in some(world, world.askings, 60):
        hits, report = synth_core_memory.explain_search(
            query=ASKED, limit=100, include_chat=True, embedder=Alike(), db=world.db, settings=SETTINGS,
            scope=asking.scope,
        )  # fmt: skip
        assert not report["notes"], report["notes"]
        for token in CANARY.findall(str(hits)):
            seen[asking.scope.persona] += 1
            if not may_see(asking.asker, world.origins[token]):
                told.append(f"{asking}: {world.names[token]} of {world.origins[token]}")
    assert told[:MOST_TOLD] == [] and set(seen) == {asking.scope.persona for asking in some(world, world.askings, 60)}
