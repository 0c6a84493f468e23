"""Searching and whole prompts on tables of different sizes, and the same search by the plain predicates.

Sizes and engines take turns, message by message, so that a busy moment of the machine hits all of them alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from core import prompt_engine, synth_core_memory
from core import search as searching
from core.audience import view as viewing
from core.audience import view_statement as looking
from core.config import Settings
from core.database.engine import Database
from tests.bench.figures import Times, judged, load, table
from tests.bench.loading import SQLITE, Bench, say
from tests.bench.messages import Asked, messages

MEASURED, WARMING = 100, 20
PLAIN = 3
"""Messages asked by the plain predicates, which take seconds each at a million rows."""
LARGE = 1_000_000
SETTINGS = Settings()
_SEARCH_MS = {SQLITE: 3.0, "mariadb": 10.0, "mysql": 10.0}
_PROMPT_MS = {SQLITE: 8.0, "mariadb": 20.0, "mysql": 20.0}

Place = tuple[str, int]
"""Engine and size."""


def search(db: Database, asked: Asked, ranking: str) -> list[Any]:
    """Run one search of three tags and three words over all sources."""
    return synth_core_memory.search_memories(
        tags=asked.tags, keywords=asked.words, ranking=ranking, db=db, settings=SETTINGS, scope=asked.scope
    )


def prompt(db: Database, asked: Asked) -> dict[str, Any]:
    """Build one whole prompt."""
    return prompt_engine.build_json_prompt(asked.as_host(), db=db, settings=SETTINGS, scope=asked.scope)


def plain(db: Database, asked: Asked) -> list[Any]:
    """Run the same search in recency mode as if no index were there."""
    query = searching.prepare(tags=asked.tags, keywords=asked.words, ranking="recency", settings=SETTINGS)
    request = viewing.Request(fragments=query.fragments, tags=query.tags, exact=True)
    seen = looking.look(db, asked.scope, request, destination="remote")
    made = searching.resolve(query, replace(seen.viewer, ready={}), SETTINGS)
    return [one.hit for one in searching.run(made, db).chosen]


def measure(bench: Bench) -> None:
    """Print the tables of this module."""
    places = [(engine, size) for engine in bench.engines for size in bench.sizes]
    kinds = {
        "search, relevance": lambda db, asked: search(db, asked, "relevance"),
        "search, recency": lambda db, asked: search(db, asked, "recency"),
        "whole prompt": prompt,
    }
    for name, work in kinds.items():
        say(f"measuring: {name}")
        times = _in_turns(bench, places, work)
        print(f"\n### {name}: {MEASURED} messages, {load()}\n")
        print(_size_table(bench, places, times, name))
        if name != "search, relevance":
            continue
        print(f"\nRound trips: {_trips(bench, places, work)}")
    print(f"\nRound trips of a prompt: {_trips(bench, places, prompt)}")
    _against_plain(bench, places)


def _in_turns(bench: Bench, places: Sequence[Place], work: Any) -> dict[Place, Times]:
    asked = messages(WARMING + MEASURED)
    for one in asked[:WARMING]:
        for place in places:
            work(bench.db(*place), one)
    times = {place: Times() for place in places}
    for one in asked[WARMING:]:
        for place in places:
            db = bench.db(*place)
            times[place].run(lambda db=db, one=one: work(db, one))  # type: ignore[misc]
    return times


def _size_table(bench: Bench, places: Sequence[Place], times: dict[Place, Times], name: str) -> str:
    rows = []
    for engine, size in places:
        of = times[engine, size]
        small = times[engine, bench.sizes[0]]
        ratio = of.p50 / small.p50
        notes = []
        if size == LARGE:
            notes.append(judged(of.p50, (_PROMPT_MS if name == "whole prompt" else _SEARCH_MS)[engine]) + " ms")
            if bench.sizes[0] < size:
                notes.append("ratio " + judged(ratio, 1.5))
        cpu = sorted(of.cpu)[len(of.cpu) // 2]
        rows.append([engine, size, of.p50, of.p95, cpu, ratio, "; ".join(notes)])
    smallest = f"p50 to that at {bench.sizes[0]:,}"
    return table(["engine", "memories", "p50 ms", "p95 ms", "CPU here ms", smallest, "promised"], rows)


def _trips(bench: Bench, places: Sequence[Place], work: Any) -> str:
    found: dict[int, int] = {}
    for place in places:
        db = bench.db(*place)
        for asked in messages(40):
            with db.traced() as statements:
                work(db, asked)
            found[len(statements)] = found.get(len(statements), 0) + 1
    return ", ".join(f"{count} calls with {trips}" for trips, count in sorted(found.items()))


def _against_plain(bench: Bench, places: Sequence[Place]) -> None:
    """Compare with the plain predicates: how much quicker, and that the same rows are found."""
    rows = []
    for engine, size in places:
        say(f"measuring: plain predicates, {engine}, {size:,}")
        db = bench.db(engine, size)
        slow, quick, unlike = Times(), Times(), 0
        for asked in messages(PLAIN if size >= LARGE else 20):
            search(db, asked, "recency")
            found = quick.run(lambda db=db, asked=asked: search(db, asked, "recency"))  # type: ignore[misc]
            wanted = slow.run(lambda db=db, asked=asked: plain(db, asked))  # type: ignore[misc]
            unlike += [(h["source"], h["id"]) for h in found] != [(h["source"], h["id"]) for h in wanted]
        ratio = slow.p50 / quick.p50
        note = judged(ratio, 500, least=True) if size == LARGE else ""
        same = "yes" if not unlike else f"NO, {unlike} of {len(slow.clock)} differ"
        rows.append([engine, size, slow.p50, quick.p50, ratio, note, same])
    print(f"\n### The same search by the plain predicates, {load()}\n")
    print(table(["engine", "memories", "plain p50 ms", "p50 ms", "times quicker", "promised", "same result"], rows))
