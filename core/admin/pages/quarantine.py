"""What the screening hook has flagged, and letting it go."""

from __future__ import annotations

from typing import cast

from starlette.responses import Response

from ... import privacy
from ...shapes import Source
from . import form_values
from .page import Page, PageError

MOST_LISTED = 200


def listing(page: Page) -> Response:
    """Return the flagged rows, newest first."""
    return page.render(
        "quarantine.html.j2",
        title="Quarantine",
        screen="quarantine",
        rows=privacy.list_quarantined(MOST_LISTED, **page.asking()),
        most=MOST_LISTED,
        flash=_SAID.get(page.query("note")),
    )


_SAID = {"released": "Released: it can be found again.", "gone": "Nothing changed: it is not flagged any more."}


def release(page: Page) -> Response:
    """Let one flagged row be found."""
    source, _, number = page.field("release").partition(":")
    chosen = form_values.parse_ids([number])
    if not chosen:
        raise PageError("No row was named. Press the button beside one.")
    done = privacy.release(cast("Source", source), chosen[0], **page.asking())
    return page.redirect(page.url("quarantine", note="released" if done else "gone"))
