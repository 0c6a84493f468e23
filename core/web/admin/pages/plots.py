"""The geometry of the page's plot: counts over time in, coordinates out; a template draws them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

WIDTH, HEIGHT = 480, 210
LEFT, RIGHT, TOP, BOTTOM = 48, 10, 12, 26
INNER_WIDTH, INNER_HEIGHT = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

MOST_LARGE = 60
"""Points of a line that are drawn large."""


class Tick(NamedTuple):
    """A mark on an axis."""

    at: float
    label: str


class Dot(NamedTuple):
    """A point of a line."""

    x: float
    y: float
    label: str


class Line(NamedTuple):
    """One line of a plot."""

    name: str
    path: str
    dots: list[Dot]
    radius: float
    """How large its points are drawn: small where they would cover the line."""


class Plot(NamedTuple):
    """What a template draws."""

    lines: list[Line]
    across: list[Tick]
    up: list[Tick]


def draw_lines(series: Sequence[tuple[str, Sequence[tuple[datetime, int]]]]) -> Plot:
    """Return lines of counts over a common axis of time."""
    times = [at for _, points in series for at, _ in points]
    if not times:
        return Plot([], [], [])
    first, last = min(times), max(times)
    span = (last - first).total_seconds() or 1.0
    marks = _choose_marks(max(value for _, points in series for _, value in points))

    def y_of(value: int) -> float:
        return round(TOP + INNER_HEIGHT * (1 - value / marks[-1]), 1)

    lines = []
    for name, points in series:
        dots = [
            Dot(
                round(LEFT + INNER_WIDTH * (at - first).total_seconds() / span, 1),
                y_of(value),
                f"{name} {value} items, {at:%Y-%m-%d %H:%M} UTC",
            )
            for at, value in points
        ]
        path = "M" + "L".join(f"{dot.x} {dot.y}" for dot in dots) if dots else ""
        lines.append(Line(name, path, dots, 3.2 if len(dots) <= MOST_LARGE else 1.3))
    return Plot(lines, _draw_dates(first, last), [Tick(y_of(mark), f"{mark:,}") for mark in marks])


def _choose_marks(most: int) -> list[int]:
    """Return the marks of an axis from 0 to a value: up to five, with a round step."""
    base = 10 ** int(math.log10(max(1, most / 4)))
    step = next(base * each for each in (1, 2, 5, 10) if base * each * 4 >= most)
    return list(range(0, max(most, 1) + step, step))


def _draw_dates(first: datetime, last: datetime) -> list[Tick]:
    """Return up to four dates over the axis, the ends included."""
    span = last - first
    form = "%H:%M" if span.total_seconds() < 2 * 86400 else "%d %b" if span.days < 300 else "%b %Y"
    parts = 3 if span else 1
    labels = [f"{first + span * number / parts:{form}}" for number in range(parts + 1)]
    return [
        Tick(round(LEFT + INNER_WIDTH * number / parts, 1), label)
        for number, label in enumerate(labels)
        if label not in labels[:number]
    ]
