"""What stands around a row: words of its neighbours, and its session."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ...text.times import LEAST_GAP, MOST_GAP, USUAL_STEPS
from .ranking import K1, hold_back, rarity_weight, saturation
from .rows import Asked, Row, together

FADE_BACK, FADE_ON = 150.0, 50.0
"""Words after which a word found earlier, or later, counts 1/e: an answer follows its question."""
FADED = 0.05
"""Less than this is nothing."""
SHORT_ROW = 60.0
"""Words of a row that its neighbour counts 1/e for."""


Threads = list[list[list[Row]]]
"""Threads, each as its sessions, the oldest first."""


def threads(rows: Sequence[Row]) -> Threads:
    """Return the rows by thread and session; each row is told its session and its place in the thread."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.thread, []).append(row)
    made = []
    for thread in found.values():
        thread.sort(key=lambda row: row.at_us)
        if None in [row.plain.session for row in thread]:
            sessions = list(split(thread)) if len(thread) > 1 else [thread]
        else:
            of: dict[int | None, list[Row]] = {}
            for row in thread:
                of.setdefault(row.plain.session, []).append(row)
            sessions = list(of.values())
        place = 0
        for number, session in enumerate(sessions):
            for row in session:
                row.session, row.place = number, place
                place += 1
        made.append(sessions)
    return made


def touch(one: Row, other: Row) -> bool:
    """Return whether all that was said between two rows next to each other is at hand: they were read together."""
    windows = other.windows
    for number in one.windows:  # noqa: SIM110 - asked for every pair of rows; `any` takes three times as long
        if number in windows:
            return True
    return False


def gap_of(steps: Sequence[int]) -> int:
    """Return the pause in microseconds that ends a session of a conversation whose messages follow in such steps."""
    if not steps:
        return MOST_GAP
    usual = sorted(steps)[len(steps) // 2]
    return min(MOST_GAP, max(LEAST_GAP, USUAL_STEPS * usual))


def split(thread: Sequence[Row]) -> Iterator[list[Row]]:
    """Yield the sessions of a thread, found by pauses."""
    gap = gap_of([b.at_us - a.at_us for a, b in pairwise(thread) if touch(a, b)])
    session = [thread[0]]
    for before, row in pairwise(thread):
        if row.at_us - before.at_us > gap:
            yield session
            session = []
        session.append(row)
    yield session


def contexts(found: Threads, asked: Asked, mean: float) -> None:
    """Give each row the reason `context`: its best passage, with what stands in the passages around it."""
    for of_thread in found:
        for session in of_thread:
            held = sum(len(row.passages) for row in session if any(row.passages))
            if not held or len(session) == len(session[0].passages) == 1:
                for row in session:
                    row.reasons["context"] = row.reasons["own"]
            else:
                _contexts_of(session, asked, mean)
            for row in session:  # of what stands around it not all is at hand
                row.reasons["context"] = max(row.reasons["context"], row.plain.context)


def _contexts_of(session: Sequence[Row], asked: Asked, mean: float) -> None:
    places: list[_Place] = []
    for n, row in enumerate(session):
        size = max(1, row.words) / len(row.passages)
        near = n > 0 and touch(session[n - 1], row)
        for passage in row.passages:
            held = passage
            if passage:
                held_back = hold_back(size, mean)  # `saturation`
                held = {i: times * (K1 + 1) / (times + held_back) for i, times in passage.items()}
            places.append(_Place(n, size, near, held, held))
            near = True
    _carry(places, FADE_BACK)
    places.reverse()
    _carry(places, FADE_ON, back=True)
    best = [0.0] * len(session)
    worth = asked.worth
    for place in places:
        if place.reached:
            value = sum([worth[i] * times for i, times in place.reached.items()])
            best[place.row] = max(best[place.row], value)
    for row, value in zip(session, best, strict=True):
        row.reasons["context"] = (value + row.tags) / asked.total


@dataclass(slots=True)
class _Place:
    """A passage of a session."""

    row: int
    words: float
    near: bool
    """All that was said between the passage before and this one is at hand."""
    held: dict[int, float]
    """How much each text counts that it holds."""
    reached: dict[int, float]
    """The same with what reaches it from others: one with `held` where nothing does."""


def _carry(places: Sequence[_Place], fade: float, *, back: bool = False) -> None:
    """Carry what each passage holds on to those that follow in the order given, fading with the words between."""
    carried: dict[int, float] = {}
    before = places[0]
    for place in places:
        if carried:
            if before.near if back else place.near:
                kept = math.exp(-(place.words + before.words) / (2.0 * fade))
                carried = {i: left for i, value in carried.items() if (left := value * kept) > FADED}
            else:
                carried = {}
            reached = place.reached
            for i, value in carried.items():
                if value > reached.get(i, 0.0):
                    if reached is place.held:
                        reached = place.reached = dict(reached)
                    reached[i] = value
        if place.held:
            for i, value in place.held.items():
                if value > carried.get(i, 0.0):
                    carried[i] = value
        before = place


def sessions(found: Threads, asked: Asked) -> None:
    """Give each row the reason `session`: BM25 of all that is at hand of its session, among the sessions at hand."""
    every = [session for of_thread in found for session in of_thread]
    holds = [together([passage for row in session for passage in row.passages if passage] or [{}]) for session in every]
    docs = Counter(i for held in holds for i in held)
    worth = {i: rarity_weight(n, len(every)) for i, n in docs.items() if asked.worth[i]}
    total = sum(worth.values()) or 1.0
    words = [float(sum([row.words for row in session])) for session in every]
    mean = sum(words) / max(len(words), 1)
    for session, held, size in zip(every, holds, words, strict=True):
        value = sum([worth.get(i, 0.0) * saturation(times, size, mean) for i, times in held.items()]) / total
        value += max([row.tags for row in session]) / asked.total
        for row in session:
            told = row.plain.session_worth
            row.reasons["session"] = value if told is None else told


def besides(found: Threads) -> None:
    """Give each row the reason `beside`: the better of its two neighbours, as far as the row itself is short."""
    for of_thread in found:
        for session in of_thread:
            for row, other in pairwise(session):
                if (row.reasons["own"] or other.reasons["own"]) and touch(row, other):
                    for one, beside in ((row, other), (other, row)):
                        own = beside.reasons["own"]
                        if own:
                            value = own * math.exp(-max(1, one.words) / SHORT_ROW)
                            one.reasons["beside"] = max(value, one.reasons.get("beside", 0.0))
