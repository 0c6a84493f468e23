"""What the forms of the memory screens change: one row, the chosen ones, a text."""

from __future__ import annotations

from starlette.responses import Response

from ... import lifelong
from ...lifelong import BulkResult
from . import form_values as reading
from .page import Page, PageError

MOST_UNDONE = 200
"""Ids that an address carries for undoing; a page has no more rows."""


def row(page: Page) -> Response:
    """Delete, restore, pin or unpin the one item whose button was pressed."""
    for action in ("delete", "restore", "pin", "unpin"):
        if chosen := reading.ids([page.field(action)]):
            return _done(page, *_act(page, action, chosen), chosen)
    raise PageError("No item was named. Press a button beside one.")


def bulk(page: Page) -> Response:
    """Do to every chosen item what the pressed button says."""
    action = page.field("action")
    chosen = list(dict.fromkeys(reading.ids(page.fields("ids"))))
    if not chosen:
        return _done(page, {"add": "retagged", "remove": "retagged"}.get(action, "deleted"), BulkResult(0), [])
    return _done(page, *_act(page, action, chosen), chosen)


def _act(page: Page, action: str, chosen: list[int]) -> tuple[str, BulkResult]:
    """Return what is said about the action, and what became of it."""
    asking = page.operating()
    if action == "delete":
        return "deleted", lifelong.delete_items(chosen, **asking)
    if action == "restore":
        return "restored", lifelong.restore_items(chosen, **asking)
    if action in ("pin", "unpin"):
        return f"{action}ned", lifelong.pin_items(chosen, action == "pin", **asking)
    tags = reading.words(page.field("tags"))
    if not tags:
        raise PageError("No tag was written. Write one or several with commas between, then press the button.")
    if action == "add":
        return "retagged", lifelong.retag_items(chosen, add=tags, **asking)
    if action == "remove":
        return "retagged", lifelong.retag_items(chosen, remove=tags, **asking)
    raise PageError("The form named no action. Press one of its buttons.")


def _done(page: Page, note: str, result: BulkResult, chosen: list[int]) -> Response:
    gone = set(result.unknown)
    undo = ",".join(str(each) for each in chosen if each not in gone)[: MOST_UNDONE * 20]
    return page.see(
        page.again(
            _where(page),
            page.field("back"),
            note=note,
            count=str(result.count),
            undo=undo if note == "deleted" and result.count else "",
            unknown=",".join(str(each) for each in result.unknown),
        )
    )


def _where(page: Page) -> str:
    """Return the screen a form was on."""
    return "memory/item" if page.field("on") == "item" else "memory"


def edit(page: Page) -> Response:
    """Give one item another text."""
    chosen = reading.ids([page.field("id")])
    if not chosen:
        raise PageError("No item was named. Open one and press Edit.")
    text = page.field("new_content").replace("\r\n", "\n")
    if not text.strip():
        raise PageError("The text is blank. Write one, or delete the item.")
    done = lifelong.edit_item(chosen[0], text, editor="operator", **page.operating())
    note = "edited" if done.stored else "unchanged"
    return page.see(page.again(_where(page), page.field("back"), note=note, count="1"))


def undo(page: Page) -> Response:
    """Bring back what was deleted a moment ago."""
    chosen = reading.ids(page.fields("ids"))
    result = lifelong.restore_items(chosen, **page.operating()) if chosen else BulkResult(0)
    return _done(page, "restored", result, chosen)
