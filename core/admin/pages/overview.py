"""What there is beside one persona: all personas, and the settings with where each value comes from."""

from __future__ import annotations

from starlette.responses import Response

from ...audience import table_overview
from ...config import FLAGS, Row, show
from . import form_values
from .page import Page

SIZE = 50


def personas(page: Page) -> Response:
    """Return a page of the personas of which anything is stored, with how much."""
    offset = form_values.parse_offset(page.query("offset"))
    known = table_overview.list_personas(page.db, SIZE + 1, offset)
    return page.render(
        "personas.html.j2",
        title="Personas",
        screen="personas",
        counts=table_overview.count_personas(page.db, known[:SIZE]),
        has_more=len(known) > SIZE,
        offset=offset,
        size=SIZE,
        flash=None,
    )


def settings(page: Page) -> Response:
    """Return every setting with its value and where it comes from, by group; secrets as dots."""
    words = page.query("q").strip().lower()
    is_set = page.query("set") == "1"
    groups: dict[str, list[Row]] = {}
    for row in show(page.settings):
        if words in f"{row.flag} {row.help}".lower() and not (is_set and row.source == "default"):
            groups.setdefault(FLAGS[row.flag].group, []).append(row)
    return page.render(
        "settings.html.j2", title="Settings", screen="settings", q=page.query("q"), is_set=is_set, settings=groups,
        flash=None,
    )  # fmt: skip
