"""The environment of the page's templates: HTML in which every text is shown as text.

It is apart from that of the prompts: those are JSON and plain text, and must not know HTML.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from . import formats as showing

FOLDER = Path(__file__).resolve().parent
STATIC = FOLDER / "static"


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Return the environment; templates are read once."""
    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(showing.filters())
    made.globals["TIER_NAMES"] = showing.TIER_NAMES
    made.globals["LEFT_OUT"] = showing.LEFT_OUT
    made.globals["REASONS"] = showing.REASONS
    return made
