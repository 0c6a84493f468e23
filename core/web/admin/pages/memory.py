"""Items: looked for, listed, looked at one by one, changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from starlette.responses import Response

from .... import lifelong
from ....lifelong import BulkResult
from ....memories import table_sources
from ....memories.rules import INSTRUCTION
from ...errors import Refused
from .formats import plural
from .page import (
    PAGE_SIZES,
    Page,
    choose_word,
    name_items,
    parse_day,
    parse_fraction,
    parse_ids,
    parse_offset,
    parse_page_size,
    parse_whole,
    parse_words,
)

TEMPLATE = "memory.html.j2"
MOST_UNDONE = 200
"""Ids that an address carries for undoing; a page has no more rows."""


class Search(NamedTuple):
    """What the form of the search says, as it is shown in it again."""

    q: str
    kinds: list[str]
    tier: str
    tags: str
    since: str
    until: str
    min_importance: str
    conversation: str
    participant: str
    archived: bool
    size: int
    offset: int

    def query(self, **more: Any) -> dict[str, Any]:
        """Return the values of the address that lists the same, defaults left out."""
        values = {**self._asdict(), **more}
        values["kind"] = values.pop("kinds")
        values["archived"] = "1" if values["archived"] else ""
        values["size"] = "" if values["size"] == 50 else values["size"]
        values["offset"] = values["offset"] or ""
        return values

    @property
    def narrowed(self) -> int:
        """Return how many filters are set beside the words."""
        given = (self.kinds, self.tier, self.tags, self.since, self.until, self.min_importance,
                 self.conversation, self.participant)  # fmt: skip
        return sum(bool(value) for value in given)


def read_search(page: Page) -> Search:
    """Return what the address asks for."""
    return Search(
        page.query("q"),
        page.queries("kind"),
        choose_word(page.query("tier"), ("long_term", "session"), ""),
        page.query("tags"),
        page.query("since"),
        page.query("until"),
        page.query("min_importance"),
        page.query("conversation"),
        page.query("participant"),
        page.query("archived") == "1",
        parse_page_size(page.query("size")),
        parse_offset(page.query("offset")),
    )


def find_items(page: Page, search: Search) -> lifelong.ItemPage:
    """Return a page of items."""
    return lifelong.search_items(
        search.q,
        search.kinds or None,
        search.tier or None,
        conversation=search.conversation.strip() or None,
        participant=search.participant.strip() or None,
        min_importance=parse_fraction(search.min_importance, "importance"),
        since=parse_day(search.since),
        until=parse_day(search.until, end=True),
        tags=parse_words(search.tags) or None,
        limit=search.size,
        offset=search.offset,
        archived=search.archived,
        **page.operating(),
    )


def listing(page: Page) -> Response:
    """Return the search with its page of items."""
    search = read_search(page)
    items_page = find_items(page, search)
    if not items_page["items"] and items_page["total"]:
        # The last row of the last page was deleted: the page before it is the last one now.
        search = search._replace(offset=(items_page["total"] - 1) // search.size * search.size)
        items_page = find_items(page, search)
    edited = parse_ids([page.query("edit")])
    return page.render(
        TEMPLATE,
        title="Memory",
        screen="memory",
        asked=search,
        found=items_page,
        kinds=(*lifelong.KINDS, INSTRUCTION),
        new_kinds=lifelong.KINDS,
        edited=edited[0] if edited else None,
        names=name_items(page.db, page.persona, items_page["items"]),
        sizes=PAGE_SIZES,
        flash=build_flash(page),
    )


def item(page: Page) -> Response:
    """Return one item with everything that is known of it, and every text it has had."""
    wanted = parse_ids([page.query("id")])
    row_id = wanted[0] if wanted else 0
    shown_item = lifelong.get_item(row_id, **page.operating())
    versions = lifelong.get_item_history(row_id, **page.operating())
    return page.render(
        "memory_item.html.j2",
        title="Item",
        screen="memory",
        item=shown_item,
        names=name_items(page.db, page.persona, [shown_item]),
        kinds=lifelong.KINDS,
        versions=versions[:-1][::-1],
        lines=table_sources.read_sources(page.db, page.persona, shown_item["source_message_ids"]),
        edited=bool(page.query("edit")),
        flash=build_flash(page),
    )


# What a change leaves to say


SENTENCES: Mapping[str, str] = {
    "deleted": "Deleted. What is in the archive can be brought back.",
    "restored": "Restored.",
    "pinned": "Pinned: not pruned.",
    "unpinned": "Unpinned.",
    "retagged": "Given other tags.",
    "edited": "Changed. The former text stands in the item's history.",
    "unchanged": "Nothing changed: the text is what it was.",
    "classified": "Changed.",
    "added": "Stored.",
    "joined": "An item says that already: it has taken over what was new.",
    "refused": "Nothing was stored: the text is blank, or the person asked not to be remembered.",
}


class Flash(NamedTuple):
    """What is said after a change, once."""

    text: str
    undo: list[int]


def build_flash(page: Page) -> Flash | None:
    """Return what the address says was done, in words of this module alone; None where nothing was."""
    note = page.query("note")
    if note not in SENTENCES:
        return None
    count = parse_whole(page.query("count"), "count")
    unknown = len(parse_ids([page.query("unknown")]))
    text = SENTENCES[note] if count == 1 else f"{plural(count, 'item')}: {SENTENCES[note]}"
    if count == 0 and note != "unchanged":
        text = "Nothing changed: no item was chosen, or all of them were so already."
    if unknown:
        text += f" {plural(unknown, 'item')} could not be found any more."
    undo = parse_ids([page.query("undo")]) if note == "deleted" else []
    return Flash(text, undo)


# What the forms change: one row, the chosen ones, a text


def row(page: Page) -> Response:
    """Delete, restore, pin or unpin the one item whose button was pressed."""
    for action in ("delete", "restore", "pin", "unpin"):
        if chosen := parse_ids([page.field(action)]):
            return _lead_back(page, *_change_items(page, action, chosen), chosen)
    raise Refused(422, "No item was named. Press a button beside one.")


def bulk(page: Page) -> Response:
    """Do to every chosen item what the pressed button says."""
    action = page.field("action")
    chosen = list(dict.fromkeys(parse_ids(page.fields("ids"))))
    if not chosen:
        return _lead_back(page, {"add": "retagged", "remove": "retagged"}.get(action, "deleted"), BulkResult(0), [])
    return _lead_back(page, *_change_items(page, action, chosen), chosen)


def _change_items(page: Page, action: str, chosen: list[int]) -> tuple[str, BulkResult]:
    """Return what is said about the action, and what became of it."""
    asking = page.operating()
    if action == "delete":
        return "deleted", lifelong.delete_items(chosen, **asking)
    if action == "restore":
        return "restored", lifelong.restore_items(chosen, **asking)
    if action in ("pin", "unpin"):
        return f"{action}ned", lifelong.pin_items(chosen, action == "pin", **asking)
    tags = parse_words(page.field("tags"))
    if not tags:
        raise Refused(422, "No tag was written. Write one or several with commas between, then press the button.")
    if action == "add":
        return "retagged", lifelong.retag_items(chosen, add=tags, **asking)
    if action == "remove":
        return "retagged", lifelong.retag_items(chosen, remove=tags, **asking)
    raise Refused(422, "The form named no action. Press one of its buttons.")


def _lead_back(page: Page, note: str, result: BulkResult, chosen: list[int]) -> Response:
    unknown = set(result.unknown)
    undo = ",".join(str(each) for each in chosen if each not in unknown)[: MOST_UNDONE * 20]
    return page.redirect(
        page.url_after(
            _screen_of_form(page),
            page.field("back"),
            note=note,
            count=str(result.count),
            undo=undo if note == "deleted" and result.count else "",
            unknown=",".join(str(each) for each in result.unknown),
        )
    )


def _screen_of_form(page: Page) -> str:
    """Return the screen a form was on."""
    return "memory/item" if page.field("on") == "item" else "memory"


def add(page: Page) -> Response:
    """Store an item that an operator writes by hand."""
    text = page.field("text").replace("\r\n", "\n")
    entry = {
        "text": text,
        "kind": page.field("kind"),
        "importance": parse_fraction(page.field("importance"), "importance"),
        "tags": parse_words(page.field("tags")),
        "pinned": page.field("pinned") == "1",
        "provenance": "manual",
        "author": "operator",
        "source": "admin page",
    }
    asking = page.asking()
    asking["scope"] = replace(
        asking["scope"],
        participant=page.field("participant").strip() or None,
        conversation=page.field("conversation").strip() or None,
    )
    done = lifelong.add_facts_with_meta([{k: v for k, v in entry.items() if v is not None}], **asking)
    note = "added" if done.ids else "joined" if done.merged else "refused"
    return page.redirect(page.url("memory", note=note, count="1"))


def classify(page: Page) -> Response:
    """Give one item another kind and importance."""
    chosen = parse_ids([page.field("id")])
    if not chosen:
        raise Refused(422, "No item was named. Open one and press Change.")
    importance = parse_fraction(page.field("importance"), "importance")
    done = lifelong.classify_items(chosen, page.field("kind") or None, importance, **page.operating())
    return page.redirect(page.url("memory/item", id=chosen[0], note="classified", count=str(done.count)))


def edit(page: Page) -> Response:
    """Give one item another text."""
    chosen = parse_ids([page.field("id")])
    if not chosen:
        raise Refused(422, "No item was named. Open one and press Edit.")
    text = page.field("new_content").replace("\r\n", "\n")
    if not text.strip():
        raise Refused(422, "The text is blank. Write one, or delete the item.")
    done = lifelong.edit_item(chosen[0], text, editor="operator", **page.operating())
    if not done.stored and done.reason != "unchanged":
        raise Refused(422, f"The text was not changed: {'; '.join(done.notes) or done.reason}.")
    note = "edited" if done.stored else "unchanged"
    return page.redirect(page.url_after(_screen_of_form(page), page.field("back"), note=note, count="1"))


def undo(page: Page) -> Response:
    """Bring back what was deleted a moment ago."""
    chosen = parse_ids(page.fields("ids"))
    result = lifelong.restore_items(chosen, **page.operating()) if chosen else BulkResult(0)
    return _lead_back(page, "restored", result, chosen)
