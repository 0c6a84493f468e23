"""People: all who are known, and one with what is remembered of them."""

from __future__ import annotations

from starlette.responses import Response

from ... import lifelong, relationships
from ...audience import table_overview
from . import form_values
from .formats import show_key
from .names import Names, name_items
from .page import Page, PageError

SIZE = 50
MOST_ITEMS = 25
"""Items of a person that are shown on their screen."""


def listing(page: Page) -> Response:
    """Return a page of the people the persona knows, by name."""
    words = page.query("q").strip()
    offset = form_values.parse_offset(page.query("offset"))
    shown, total = table_overview.list_people(page.db, page.persona, words, SIZE, offset)
    return page.render(
        "people.html.j2",
        title="People",
        screen="people",
        q=words,
        people=shown,
        total=total,
        offset=offset,
        size=SIZE,
        flash=None,
    )


def one(page: Page) -> Response:
    """Return a person: by which keys they are known, what was agreed with them, what is remembered of them."""
    key = page.query("key").strip()
    if not key:
        raise PageError("No person was named. Choose one from the list.")
    identities = table_overview.read_identities(page.db, page.persona, key)
    keys = [each.key for each in identities] or [key]
    items = lifelong.search_items(participant=keys, limit=MOST_ITEMS, **page.operating())
    relationship = relationships.get(key, **page.asking())
    is_met = bool(relationship["last_interaction"] or relationship["affinity"] or relationship["trust"])
    if not identities and not items["total"] and not is_met:
        raise PageError(f"Nothing is stored of {key[:80]!r}.", 404)
    name = next((each.name for each in identities if each.name), "") or relationship["username"] or show_key(key)
    instructions = lifelong.search_items(kinds=["instruction"], participant=keys, limit=MOST_ITEMS, **page.operating())
    called = name_items(page.db, page.persona, items["items"])
    return page.render(
        "person.html.j2",
        title=name,
        screen="people",
        key=key,
        name=name,
        identities=identities,
        default_level=page.settings.privacy_default,
        relationship=relationship if is_met else None,
        found=items,
        instructions=instructions["items"],
        names=Names({**called.people, key: name}, called.places),
        flash=None,
    )
