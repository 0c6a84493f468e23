"""Draws how much of the evidence reaches the model: `python -m bench.evidence_plot docs/images/evidence.json`.

The JSON file holds the measured shares in percent; the picture is written beside it as SVG, readable on light and dark.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 720, 340
LEFT, TOP, BOTTOM = 44, 74, 290
BAR, GAP, GROUP = 52, 6, 226
STYLE = """
text { font: 14px system-ui, sans-serif; fill: #1f2328 }
.small { font-size: 12px; fill: #59636e }
.title { font-size: 16px; font-weight: 600 }
.grid { stroke: #d1d9e0 }
.bar0 { fill: #0969da } .bar1 { fill: #8c959f } .bar2 { fill: #c8ced4 }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc } .small { fill: #9198a1 } .grid { stroke: #3d444d }
  .bar0 { fill: #4493f8 } .bar1 { fill: #7d8590 } .bar2 { fill: #495057 }
}
"""


def draw(figures: Mapping[str, Any]) -> str:
    """Return the picture of measured shares as SVG."""
    about = f"{figures['questions']} questions of {figures['data']}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
            f"<title>Share of the evidence in the prompt. {escape(about)}</title>",
            f"<style>{STYLE}</style>",
            f'<text class="title" x="{LEFT}" y="22">Share of the evidence that reaches the model</text>',
            *_legend(list(figures["share"])),
            *_grid(),
            *_bars(figures),
            f'<text class="small" x="{LEFT}" y="{HEIGHT - 6}">{escape(about)}</text>',
            "</svg>",
            "",
        ]
    )


def _legend(names: list[str]) -> Iterator[str]:
    x = LEFT
    for number, name in enumerate(names):
        yield f'<rect class="bar{number}" x="{x}" y="36" width="12" height="12" rx="2"/>'
        yield f'<text class="small" x="{x + 18}" y="47">{escape(name)}</text>'
        x += 44 + 7 * len(name)


def _grid() -> Iterator[str]:
    for percent in (0, 25, 50, 75, 100):
        y = _height(percent)
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - 10}" y1="{y}" y2="{y}"/>'
        yield f'<text class="small" x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{percent}</text>'


def _bars(figures: Mapping[str, Any]) -> Iterator[str]:
    for group, limit in enumerate(figures["limits"]):
        start = LEFT + 20 + group * GROUP
        middle = start + (3 * BAR + 2 * GAP) / 2
        yield f'<text x="{middle}" y="{BOTTOM + 20}" text-anchor="middle">{limit:,} characters</text>'
        for number, shares in enumerate(figures["share"].values()):
            x, y = start + number * (BAR + GAP), _height(shares[group])
            yield f'<rect class="bar{number}" x="{x}" y="{y}" width="{BAR}" height="{BOTTOM - y}" rx="2"/>'
            yield f'<text x="{x + BAR / 2}" y="{y - 5}" text-anchor="middle">{shares[group]:.0f} %</text>'


def _height(percent: float) -> float:
    return round(BOTTOM - (BOTTOM - TOP) * percent / 100, 1)


if __name__ == "__main__":
    data = Path(sys.argv[1])
    data.with_suffix(".svg").write_text(draw(json.loads(data.read_text(encoding="utf-8"))), encoding="utf-8")
