"""Items: looked for, listed, looked at one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from starlette.responses import Response

from ... import lifelong
from ...memories import table_history
from ...memories.rules import WISH
from .. import archive_reasons as former
from . import form_values as reading
from .formats import plural
from .page import Page

TEMPLATE = "memory.html.j2"


class Asked(NamedTuple):
    """What the form of the search says, as it is shown in it again."""

    q: str
    kinds: list[str]
    tier: str
    tags: str
    since: str
    until: str
    min_importance: str
    conversation: str
    archived: bool
    size: int
    offset: int

    def query(self, **more: Any) -> dict[str, Any]:
        """Return the values of the address that lists the same, defaults left out."""
        made = {**self._asdict(), **more}
        made["kind"] = made.pop("kinds")
        made["archived"] = "1" if made["archived"] else ""
        made["size"] = "" if made["size"] == 50 else made["size"]
        made["offset"] = made["offset"] or ""
        return made

    @property
    def narrowed(self) -> int:
        """Return how many filters are set beside the words."""
        given = (self.kinds, self.tier, self.tags, self.since, self.until, self.min_importance, self.conversation)
        return sum(bool(value) for value in given)


def read(page: Page) -> Asked:
    """Return what the address asks for."""
    return Asked(
        page.query("q"),
        page.queries("kind"),
        reading.choice(page.query("tier"), ("long_term", "session"), ""),
        page.query("tags"),
        page.query("since"),
        page.query("until"),
        page.query("min_importance"),
        page.query("conversation"),
        page.query("archived") == "1",
        reading.page_size(page.query("size")),
        max(0, reading.whole(page.query("offset"), "offset")),
    )


def find(page: Page, asked: Asked) -> lifelong.ItemPage:
    """Return a page of items.

    Raises:
        MessageError, ValueError: a value out of its range.
        StoreReadError: nothing could be read.
    """
    return lifelong.search_items(
        asked.q,
        asked.kinds or None,
        asked.tier or None,
        conversation=asked.conversation.strip() or None,
        min_importance=reading.fraction(asked.min_importance, "importance"),
        since=reading.day(asked.since),
        until=reading.day(asked.until, end=True),
        tags=reading.words(asked.tags) or None,
        limit=asked.size,
        offset=asked.offset,
        archived=asked.archived,
        **page.operating(),
    )


def listing(page: Page) -> Response:
    """Return the search with its page of items."""
    asked = read(page)
    found = find(page, asked)
    if not found["items"] and found["total"]:
        # The last row of the last page was deleted: the page before it is the last one now.
        asked = asked._replace(offset=(found["total"] - 1) // asked.size * asked.size)
        found = find(page, asked)
    edited = reading.ids([page.query("edit")])
    went = former.of_many(page.context.database(), page.persona, found["items"]) if asked.archived else {}
    return page.render(
        TEMPLATE,
        title="Memory",
        screen="memory",
        asked=asked,
        found=found,
        kinds=(*lifelong.KINDS, WISH),
        edited=edited[0] if edited else None,
        former=went,
        sizes=reading.PAGE_SIZES,
        flash=flash(page),
    )


def item(page: Page) -> Response:
    """Return one item with everything that is known of it, and every text it has had."""
    wanted = reading.ids([page.query("id")])
    row_id = wanted[0] if wanted else 0
    found = lifelong.get_item(row_id, **page.operating())
    versions = lifelong.get_item_history(row_id, **page.operating())
    return page.render(
        "memory_item.html.j2",
        title="Item",
        screen="memory",
        item=found,
        former=former.of_one(page.context.database(), page.persona, found, page.operating()),
        versions=versions[:-1][::-1],
        lines=table_history.read_sources(page.context.database(), page.persona, found["source_message_ids"]),
        edited=bool(page.query("edit")),
        flash=flash(page),
    )


# What a change leaves to say


SENTENCES: Mapping[str, str] = {
    "deleted": "deleted. They can be brought back while they are in the archive.",
    "restored": "restored.",
    "pinned": "pinned: nothing prunes them.",
    "unpinned": "unpinned.",
    "retagged": "given other tags.",
    "edited": "changed. The former text stands in the item's history.",
    "unchanged": "as before: the text is what it was.",
}
_ONE = {
    "deleted": "Deleted. It can be brought back while it is in the archive.",
    "restored": "Restored.",
    "pinned": "Pinned: nothing prunes it.",
    "unpinned": "Unpinned.",
    "retagged": "Given other tags.",
    "edited": "Changed. The former text stands in the item's history.",
    "unchanged": "Nothing changed: the text is what it was.",
}


class Flash(NamedTuple):
    """What is said after a change, once."""

    text: str
    undo: list[int]


def flash(page: Page) -> Flash | None:
    """Return what the address says was done, in words of this module alone; None where nothing was."""
    note = page.query("note")
    if note not in SENTENCES:
        return None
    count = reading.whole(page.query("count"), "count")
    unknown = len(reading.ids([page.query("unknown")]))
    text = _ONE[note] if count == 1 else f"{plural(count, 'item')} {SENTENCES[note]}"
    if count == 0 and note != "unchanged":
        text = "Nothing changed: no item was chosen, or all of them were so already."
    if unknown:
        text += f" {plural(unknown, 'item')} could not be found any more."
    undo = reading.ids([page.query("undo")]) if note == "deleted" else []
    return Flash(text, undo)
