"""Searching and whole prompts on tables of different sizes.

Sizes and engines take turns, message by message, so that a busy moment of the machine hits all of them alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.figures import Times, judged, load, table
from bench.loading import SQLITE, Bench, say
from bench.messages import Asked, messages
from core import prompt_engine, synth_core_memory
from core.config import Settings
from core.database.engine import Database

MEASURED, WARMING = 100, 20
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


def measure(bench: Bench) -> list[dict[str, Any]]:
    """Print the tables of this module; return the times of each engine and size."""
    places = [(engine, size) for engine in bench.engines for size in bench.sizes]
    kinds = {
        "search, relevance": lambda db, asked: search(db, asked, "relevance"),
        "search, recency": lambda db, asked: search(db, asked, "recency"),
        "whole prompt": prompt,
    }
    figures = []
    for name, work in kinds.items():
        say(f"measuring: {name}")
        times = _in_turns(bench, places, work)
        print(f"\n### {name}: {MEASURED} messages, {load()}\n")
        print(_size_table(bench, places, times, name))
        for (engine, size), each in times.items():
            rounded = {"p50": round(each.p50, 1), "p95": round(each.p95, 1)}
            figures.append({"what": name, "engine": engine, "memories": size, **rounded})
        if name != "search, relevance":
            continue
        print(f"\nRound trips: {_trips(bench, places, work)}")
    print(f"\nRound trips of a prompt: {_trips(bench, places, prompt)}")
    return figures


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
    statements: list[str] = []

    def note(sql: str, _values: object) -> None:
        statements.append(sql)

    for place in places:
        db = bench.db(*place)
        db.watchers.append(note)
        for asked in messages(40):
            statements.clear()
            work(db, asked)
            found[len(statements)] = found.get(len(statements), 0) + 1
        db.watchers.remove(note)
    return ", ".join(f"{count} calls with {trips}" for trips, count in sorted(found.items()))
