"""Draws figures as lines: `python -m bench.plots evidence.json cost.json` writes an SVG of the same name beside each.

A file is what `bench.public` wrote, of which LoCoMo's evidence in prompts of each size is drawn (else that of the first
set), or what `python -m bench --only search --json cost.json` wrote: times by size. Readable on light and dark.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 720, 340
LEFT, RIGHT, TOP, BOTTOM = 52, 560, 48, 280
LABEL_GAP = 16
STEPS = 4
STYLE = """
text { font: 14px system-ui, sans-serif; fill: #1f2328 }
.small { font-size: 12px; fill: #59636e }
.title { font-size: 16px; font-weight: 600 }
.grid { stroke: #d1d9e0 }
.line { fill: none; stroke-width: 2.5 }
.c0 { stroke: #0969da } .c1 { stroke: #8c959f } .c2 { stroke: #bf8700 }
.dashed { stroke-dasharray: 5 4 }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc } .small { fill: #9198a1 } .grid { stroke: #3d444d }
  .c0 { stroke: #4493f8 } .c1 { stroke: #7d8590 } .c2 { stroke: #d29922 }
}
"""


@dataclass(frozen=True)
class Line:
    """One line of a plot."""

    name: str
    values: Sequence[float]
    color: int
    is_dashed: bool = False


@dataclass(frozen=True)
class Plot:
    """What is drawn: lines over marks that stand at equal distances."""

    title: str
    about: str
    marks: Sequence[str]
    lines: Sequence[Line]
    top: float
    """The value at the upper edge."""


def read_evidence(figures: Mapping[str, Any]) -> Plot:
    """Return the plot of evidence against tokens."""
    rows = figures["evidence in the prompt"]
    name = "LoCoMo" if any(row["set"] == "LoCoMo" for row in rows) else rows[0]["set"]
    chosen = [row for row in rows if row["set"] == name]
    marks = [key for key in chosen[0] if key.endswith(" tokens")]
    lines = [Line(row["method"], [row[mark] for mark in marks], place) for place, row in enumerate(chosen)]
    about = f"{chosen[0]['questions']:,} questions of {name}; a token is four characters"
    return Plot("Share of the evidence in the prompt, in percent", about, marks, lines, 100)


def read_cost(figures: Mapping[str, Any]) -> Plot:
    """Return the plot of time against rows."""
    rows = [row for row in figures["cost"] if row["what"] in ("search, relevance", "whole prompt")]
    sizes = sorted({row["memories"] for row in rows})
    engines = list(dict.fromkeys(row["engine"] for row in rows))
    lines = []
    for what in ("whole prompt", "search, relevance"):
        for place, engine in enumerate(engines):
            p50 = {row["memories"]: row["p50"] for row in rows if (row["what"], row["engine"]) == (what, engine)}
            name = f"{'prompt' if what == 'whole prompt' else 'search'}, {engine}"
            lines.append(Line(name, [p50[size] for size in sizes], place, is_dashed=what != "whole prompt"))
    slowest = max(value for line in lines for value in line.values)
    top = next(top for top in (20, 40, 80, 160, 320, 640, 10**9) if top >= slowest)
    marks = [f"{size:,} memories" for size in sizes]
    return Plot("Median time of a search and of a whole prompt, in milliseconds", figures["about"], marks, lines, top)


def draw(plot: Plot) -> str:
    """Return a plot as SVG."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
            f"<title>{escape(plot.title)}. {escape(plot.about)}</title>",
            f"<style>{STYLE}</style>",
            f'<text class="title" x="{LEFT}" y="22">{escape(plot.title)}</text>',
            *_draw_grid(plot),
            *_draw_lines(plot),
            f'<text class="small" x="{LEFT}" y="{HEIGHT - 8}">{escape(plot.about)}</text>',
            "</svg>",
            "",
        ]
    )


def _draw_grid(plot: Plot) -> Iterator[str]:
    for step in range(STEPS + 1):
        value = plot.top * step / STEPS
        y = _height(plot, value)
        yield f'<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{y}" y2="{y}"/>'
        yield f'<text class="small" x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{value:g}</text>'
    for place, mark in enumerate(plot.marks):
        x = _across(plot, place)
        yield f'<text class="small" x="{x}" y="{BOTTOM + 20}" text-anchor="middle">{escape(mark)}</text>'


def _draw_lines(plot: Plot) -> Iterator[str]:
    label = float(TOP)
    for line in sorted(plot.lines, key=lambda line: -line.values[-1]):
        points = " ".join(f"{_across(plot, n)},{_height(plot, value)}" for n, value in enumerate(line.values))
        dashed = " dashed" if line.is_dashed else ""
        yield f'<polyline class="line c{line.color}{dashed}" points="{points}"/>'
        label = max(label, _height(plot, line.values[-1]) + 4)
        text = f"{line.name} {line.values[-1]:.0f}"
        yield f'<text class="small" x="{RIGHT + 8}" y="{label}">{escape(text)}</text>'
        label += LABEL_GAP


def _across(plot: Plot, place: int) -> float:
    inset = 40
    return round(LEFT + inset + (RIGHT - LEFT - 2 * inset) * place / max(1, len(plot.marks) - 1), 1)


def _height(plot: Plot, value: float) -> float:
    return round(BOTTOM - (BOTTOM - TOP) * value / plot.top, 1)


def main(paths: Sequence[str]) -> None:
    """Write the picture of each file beside it."""
    for path in map(Path, paths):
        figures = json.loads(path.read_text(encoding="utf-8"))
        plot = read_cost(figures) if "cost" in figures else read_evidence(figures)
        path.with_suffix(".svg").write_text(draw(plot), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
