"""Work in the background: what waits, runs and failed, and what the last runs did.

Cancelling cannot be undone, so it is asked for once more, on the row itself.
"""

from __future__ import annotations

from typing import NamedTuple

from starlette.responses import Response

from ... import jobs as door
from ...jobs.rules import OPEN, STATES
from ...lifelong import table_runs as runs
from . import form_values as reading
from .page import Page, PageError

MOST_LISTED = 100
MOST_RUNS = 20


class Count(NamedTuple):
    """How many operations are in a state."""

    state: str
    items: int


def listing(page: Page) -> Response:
    """Return the queue with its numbers, and the last runs."""
    state = reading.choice(page.query("state"), STATES, "")
    counted = door.count_operations(**page.asking())
    counts = [Count(each, sum(states.get(each, 0) for states in counted.values())) for each in STATES]
    return page.render(
        "jobs.html.j2",
        title="Jobs",
        screen="jobs",
        state=state,
        asked=(reading.ids([page.query("ask")]) or [0])[0],
        counts=counts,
        total=sum(each.items for each in counts),
        operations=door.list_operations(state or STATES, limit=MOST_LISTED, **page.asking()),
        most=MOST_LISTED,
        open_states=OPEN,
        runs=runs.read_newest(page.context.database(), page.persona, MOST_RUNS),
        settings=page.settings,
        flash=_SAID.get(page.query("note")),
    )


_SAID = {
    "cancelled": "Cancelled. What it had under way is dropped.",
    "retried": "Put back into the queue.",
    "ended": "Nothing changed: it has ended meanwhile.",
    "not_failed": "Nothing changed: it has not failed, or is gone.",
    "refused": "It cannot be tried again: the texts it worked on were emptied when it failed. Queue it anew.",
}


def change(page: Page) -> Response:
    """Cancel one operation, or try a failed one again."""
    back = {"state": page.field("state")}
    if chosen := reading.ids([page.field("cancel")]):
        done = door.cancel(chosen[0], **page.asking())
        return page.see(page.url("jobs", note="cancelled" if done.stored else "ended", **back))
    if chosen := reading.ids([page.field("retry")]):
        done = door.retry_operation(chosen[0], **page.asking())
        note = "retried" if done.stored else "refused" if done.reason == "refused" else "not_failed"
        return page.see(page.url("jobs", note=note, **back))
    raise PageError("No operation was named. Press a button beside one.")
