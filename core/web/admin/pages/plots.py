"""The geometry of the page's plots: numbers in, coordinates out; the templates draw them."""

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

    @property
    def radius(self) -> float:
        """Return how large its points are drawn: small where they would cover the line."""
        return 3.2 if len(self.dots) <= MOST_LARGE else 1.3


class Plot(NamedTuple):
    """What a template draws."""

    lines: list[Line]
    across: list[Tick]
    up: list[Tick]
    zero: float
    """Where the line of zero is."""


def choose_step(span: float, most: int = 4) -> float:
    """Return a round step of which `most` cover a span."""
    if span <= 0:
        return 1.0
    rough = span / most
    base = 10.0 ** math.floor(math.log10(rough))
    return float(next(base * each for each in (1, 2, 5, 10) if base * each >= rough - 1e-12))


def choose_scale(low: float, high: float) -> tuple[float, float, list[float]]:
    """Return round ends of an axis that holds two values, and its marks."""
    if high <= low:
        high = low + 1
    step = max(1.0, choose_step(high - low))
    first, last = math.floor(low / step), math.ceil(high / step - 1e-9)
    marks = [round(number * step, 6) for number in range(first, last + 1)]
    return marks[0], marks[-1], marks


def _up(marks: Sequence[float], low: float, high: float) -> list[Tick]:
    return [Tick(_y(each, low, high), f"{each:,.0f}") for each in marks]


def _y(value: float, low: float, high: float) -> float:
    return round(TOP + INNER_HEIGHT * (1 - (value - low) / (high - low)), 1)


def draw_lines(
    series: Sequence[tuple[str, Sequence[tuple[datetime, float]]]],
    *,
    unit: str = "",
) -> Plot:
    """Return lines over a common axis of time."""
    times = [at for _, points in series for at, _ in points]
    if not times:
        return Plot([], [], [], TOP + INNER_HEIGHT)
    first, last = min(times), max(times)
    span = (last - first).total_seconds() or 1.0
    values = [value for _, points in series for _, value in points]
    bottom, top, marks = choose_scale(min(0.0, *values), max(0.0, *values))
    zero = _y(min(max(0.0, bottom), top), bottom, top)

    def x_of(at: datetime) -> float:
        return round(LEFT + INNER_WIDTH * (at - first).total_seconds() / span, 1)

    lines = []
    for name, points in series:
        dots = [
            Dot(x_of(at), _y(value, bottom, top), f"{name} {value:g}{unit}, {at:%Y-%m-%d %H:%M} UTC")
            for at, value in points
        ]
        path = _path(dots)
        lines.append(Line(name, path, dots))
    return Plot(lines, _dates(first, last), _up(marks, bottom, top), zero)


def _path(dots: Sequence[Dot]) -> str:
    if not dots:
        return ""
    rest = (f"L{dot.x} {dot.y}" for dot in dots[1:])
    return "".join((f"M{dots[0].x} {dots[0].y}", *rest))


def _dates(first: datetime, last: datetime) -> list[Tick]:
    """Return up to four dates over the axis, the ends included."""
    span = last - first
    form = "%H:%M" if span.total_seconds() < 2 * 86400 else "%d %b" if span.days < 300 else "%b %Y"
    parts = 3 if span.total_seconds() else 0
    ticks: list[Tick] = []
    for number in range(parts + 1):
        share = number / parts if parts else 0
        label = f"{first + span * share:{form}}"
        if not ticks or ticks[-1].label != label:
            ticks.append(Tick(round(LEFT + INNER_WIDTH * share, 1), label))
    return ticks
