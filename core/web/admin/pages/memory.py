"""Screens of memory items: search, list, one item, and changes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, Field
from starlette.responses import Response

from .... import lifelong, messages
from ....base.wire_ids import find_id
from ....lifelong import BulkResult
from ....memories.rules import INSTRUCTION
from ...bodies import ItemSearch
from ...errors import Refused
from .formats import plural
from .page import SPLIT_COMMAS, Fraction, Ids, Key, Page, Words, split_ids

PAGE_SIZES = (25, 50, 100)


class Search(ItemSearch):
    participant: list[str] | None = None  # type: ignore[assignment]
    """Participant keys of one person, who may have several; None for anybody."""
    tags: Annotated[list[str] | None, SPLIT_COMMAS] = None
    min_importance: Fraction = None
    limit: Annotated[int, Field(ge=1, le=max(PAGE_SIZES))] = 50

    def query(self, **more: Any) -> dict[str, Any]:
        """Return the query parameters of this search, changed by `more`; default values are left out."""
        return {**self.model_dump(exclude_defaults=True), **more}

    @property
    def narrowed(self) -> int:
        """Number of active filters, not counting the search words."""
        return len(self.model_fields_set - {"q", "archived", "limit", "offset"})


def list_items(page: Page) -> Response:
    search = page.read(Search)
    items_page = lifelong.search_items(**search.model_dump(), **page.operating())
    if not items_page["items"] and items_page["total"]:
        # The last page lost its only row: show the page before it.
        last = (items_page["total"] - 1) // search.limit * search.limit
        search = search.model_copy(update={"offset": last})
        items_page = lifelong.search_items(**search.model_dump(), **page.operating())
    return page.render(
        "memory.html.j2",
        asked=search,
        found=items_page,
        kinds=(*lifelong.KINDS, INSTRUCTION),
        new_kinds=lifelong.KINDS,
        names=page.name_items(items_page["items"]),
        sizes=PAGE_SIZES,
        flash=build_flash(page),
    )


def show_item(page: Page) -> Response:
    row = lifelong.get_item(page.row_id("id"), **page.operating())
    sources = [row_id for each in row["source_message_ids"] if (row_id := find_id(each)) is not None]
    return page.render(
        "memory_item.html.j2",
        title="Item",
        item=row,
        names=page.name_items([row]),
        versions=lifelong.get_item_history(row["id"], **page.operating())[-2::-1],
        lines=messages.read_lines(page.db.read, page.persona, sources[:40]),
        flash=build_flash(page),
    )


SENTENCES: Mapping[str, str] = {
    "deleted": "Deleted. What is in the archive can be brought back.",
    "restored": "Restored.",
    "pinned": "Pinned: not pruned.",
    "unpinned": "Unpinned.",
    "retagged": "Given other tags.",
    "edited": "Changed. The former text stands in the item's history.",
    "unchanged": "Nothing changed: the text is what it was.",
    "added": "Stored.",
    "joined": "An item says that already: it has taken over what was new.",
}


class Flash(NamedTuple):
    text: str
    undo: list[int]


def build_flash(page: Page) -> Flash | None:
    """Build the message about the last change from this module's sentences; None if there was no change."""
    note, count = page.field("note"), page.row_id("count")
    if note not in SENTENCES:
        return None
    text = SENTENCES[note] if count == 1 else f"{plural(count, 'item')}: {SENTENCES[note]}"
    if count == 0 and note != "unchanged":
        text = "Nothing changed: no item was chosen, or all of them were so already."
    return Flash(text, split_ids(page.field("undo")) if note == "deleted" else [])


_NOTES = {
    "delete": "deleted", "restore": "restored", "pin": "pinned", "unpin": "unpinned", "add": "retagged",
    "remove": "retagged",
}  # fmt: skip


class Chosen(BaseModel):
    action: str = ""
    ids: Ids = []
    tags: Words = []


def change_item(page: Page) -> Response:
    for action in ("delete", "restore", "pin", "unpin"):
        if ids := split_ids(page.field(action)):
            return _apply_action(page, action, ids)
    raise Refused(422, "No item was named. Press a button beside one.")


def change_items(page: Page) -> Response:
    form = page.read(Chosen)
    return _apply_action(page, form.action, list(dict.fromkeys(form.ids)), form.tags)


def _apply_action(page: Page, action: str, ids: list[int], tags: Sequence[str] = ()) -> Response:
    asking, result = page.operating(), BulkResult(0)
    if action not in _NOTES:
        raise Refused(422, "The form named no action. Press one of its buttons.")
    if ids and _NOTES[action] == "retagged":
        if not tags:
            raise Refused(422, "No tag was written. Write one or several with commas between, then press the button.")
        add, remove = (tags, ()) if action == "add" else ((), tags)
        result = lifelong.retag_items(ids, add, remove, **asking)
    elif ids and action in ("pin", "unpin"):
        result = lifelong.pin_items(ids, action == "pin", **asking)
    elif ids:
        change = lifelong.delete_items if action == "delete" else lifelong.restore_items
        result = change(ids, **asking)
    undo = ",".join(map(str, ids)) if action == "delete" and result.count else ""
    note, back = _NOTES[action], page.field("back")
    return page.redirect(page.url_after(_screen_of_form(page), back, note=note, count=str(result.count), undo=undo))


def _screen_of_form(page: Page) -> str:
    return "memory/item" if page.field("on") == "item" else "memory"


class NewItem(BaseModel):
    text: str = ""
    kind: str = ""
    importance: Fraction = None
    tags: Words = []
    pinned: bool = False
    participant: Key | None = None
    conversation: Key | None = None


def add_item(page: Page) -> Response:
    new = page.read(NewItem)
    entry = {
        **new.model_dump(exclude={"participant", "conversation"}, exclude_none=True),
        "provenance": "manual",
        "author": "operator",
        "source": "admin page",
    }
    asking = page.admin.asking
    asking["scope"] = replace(asking["scope"], participant=new.participant, conversation=new.conversation)
    done = lifelong.add_facts_with_meta([entry], **asking)
    if not done.ids and not done.merged:
        raise Refused(422, "Nothing was stored: the text is blank, or the person asked not to be remembered.")
    return page.redirect(page.url("memory", note="added" if done.ids else "joined", count="1"))


def edit_item(page: Page) -> Response:
    text = page.field("new_content").replace("\r\n", "\n")
    if not text.strip():
        raise Refused(422, "The text is blank. Write one, or delete the item.")
    done = lifelong.edit_item(page.row_id("id"), text, editor="operator", **page.operating())
    if not done.stored and done.reason != "unchanged":
        raise Refused(422, f"The text was not changed: {'; '.join(done.notes) or done.reason}.")
    note = "edited" if done.stored else "unchanged"
    return page.redirect(page.url_after(_screen_of_form(page), page.field("back"), note=note, count="1"))
