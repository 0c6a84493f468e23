"""What the screening hook has flagged: letting it go, or deleting it for good, which is asked for once more."""

from __future__ import annotations

from typing import cast

from starlette.responses import Response

from ... import privacy
from ...forgetting import delete_quarantined
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
        asked=page.query("ask"),
        flash=_SAID.get(page.query("note")),
    )


_SAID = {"released": "Released: it can be found again.", "deleted": "Deleted for good.",
         "gone": "Nothing changed: it is not flagged any more."}  # fmt: skip


def release(page: Page) -> Response:
    """Let one flagged row be found, or delete it for good."""
    action = "delete" if page.field("delete") else "release"
    source, _, number = page.field(action).partition(":")
    chosen = form_values.parse_ids([number])
    if not chosen:
        raise PageError("No row was named. Press the button beside one.")
    door = delete_quarantined if action == "delete" else privacy.release
    done = door(cast("Source", source), chosen[0], **page.asking())
    return page.redirect(page.url("quarantine", note=f"{action}d" if done else "gone"))
