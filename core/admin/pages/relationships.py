"""Relationships: the recent ones, and one person with how it went."""

from __future__ import annotations

from starlette.responses import Response

from ... import relationships as door
from ...relationships import RelationshipPoint
from . import form_values, plots
from .formats import moment
from .page import Page, PageError
from .plots import Plot

MOST_LISTED = 100
MOST_POINTS = 500


def listing(page: Page) -> Response:
    """Return the people the persona had to do with lately, with what it feels for them now."""
    return page.render(
        "relationships.html.j2",
        title="Relationships",
        screen="relationships",
        people=door.list_recent(MOST_LISTED, **page.asking()),
        most=MOST_LISTED,
        flash=None,
    )


def one(page: Page) -> Response:
    """Return how the persona stands to one person, and how it came to that."""
    key = page.query("user_id").strip()
    if not key:
        raise PageError("No person was named. Write their key, such as discord/4711.")
    points = door.history(key, MOST_POINTS, **page.asking())
    return page.render(
        "relationship.html.j2",
        title="Relationship",
        screen="relationships",
        person=door.get(key, **page.asking()),
        points=points[::-1],
        plot=build_plot(points),
        flash=_SAID.get(page.query("note")),
    )


def build_plot(points: list[RelationshipPoint]) -> Plot:
    """Return the plot of affinity and trust over time; a point for every change."""
    known = [(at, point) for point in points if (at := moment(point["at"])) is not None]
    return plots.draw_lines(
        [
            ("affinity", [(at, point["affinity"]) for at, point in known]),
            ("trust", [(at, point["trust"]) for at, point in known]),
        ],
        low=min([0, *(point["affinity"] for _, point in known)]),
        high=10,
        steps=True,
    )


_SAID = {
    "adjusted": "Changed. It does not count as an interaction.",
    "unchanged": "Nothing changed: the values are at their end, or both changes were 0.",
    "privacy": "Nothing changed: this person asked not to be remembered.",
}


def adjust(page: Page) -> Response:
    """Add to affinity and trust of one person; no interaction is counted."""
    key = page.field("user_id").strip()
    if not key:
        raise PageError("No person was named. Write their key, such as discord/4711.")
    done = door.adjust(
        key,
        form_values.parse_whole(page.field("affinity_delta"), "affinity"),
        form_values.parse_whole(page.field("trust_delta"), "trust"),
        page.field("username").strip() or None,
        touch=False,
        **page.asking(),
    )
    note = "adjusted" if done.stored else done.reason or "unchanged"
    return page.redirect(page.url("relationships/one", user_id=key, note=note))
