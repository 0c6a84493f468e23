"""Upkeep: how much is remembered, what waits, runs and failed in the background, and what is started by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple, cast

from pydantic import BaseModel
from starlette.responses import Response

from .... import jobs, lifelong, privacy
from ....forgetting import delete_quarantined
from ....jobs.rules import STATES
from ....lifelong import CycleResult, Pruned, table_runs
from ....lifelong.pruning import PROTECTED_IMPORTANCE
from ....llm.table_usage import read_usage
from ....memories import table_figures
from ....shapes import OPEN_STATES, OperationState, Source
from ...errors import Refused
from .formats import TIER_NAMES, plural
from .page import Page, read_names, split_ids

MOST_LISTED = 100
MOST_RUNS = 20
REASON = "by hand, admin page"
USAGE_DAYS = 7
WEEKS = 13
MOST_SHOWN = 50
"""Pruned items that are shown with their texts."""


class Query(BaseModel):
    state: OperationState | None = None
    ask: str = ""
    note: str = ""


def listing(page: Page) -> Response:
    asked = page.read(Query)
    counted = jobs.count_operations(**page.asking()).values()
    counts = {state: sum(states.get(state, 0) for states in counted) for state in STATES}
    listed = jobs.list_operations(asked.state or STATES, limit=MOST_LISTED, **page.asking())
    runs = table_runs.read_newest(page.db, page.persona, MOST_RUNS)
    people, places = [each["participant"] for each in listed], [each["conversation"] for each in listed]
    tiers: Counter[str] = Counter()
    for kind in table_figures.count_kinds(page.db, page.persona):
        tiers[TIER_NAMES.get(kind.tier, kind.tier or "No tier")] += kind.items
    return page.render(
        "upkeep.html.j2",
        title="Upkeep",
        screen="upkeep",
        state=asked.state or "",
        asked=next(iter(split_ids(asked.ask)), 0),
        counts=counts,
        operations=listed,
        names=read_names(page.db, page.persona, people, [*places, *(run.conversation_key for run in runs)]),
        most=MOST_LISTED,
        open_states=OPEN_STATES,
        tiers=tiers,
        weeks=_count_weeks(page),
        runs=runs,
        usage=read_usage(page.db, USAGE_DAYS),
        today=f"{page.db.clock():%Y-%m-%d}",
        settings=page.settings,
        flagged=privacy.list_quarantined(MOST_LISTED, **page.asking()),
        asked_row=asked.ask,
        flash=_SAID.get(asked.note),
    )


def _count_weeks(page: Page) -> list[tuple[datetime, int]]:
    """Return how many items were known at the end of each of the last weeks, the latest being now."""
    now = page.db.clock()
    ends = [now - timedelta(weeks=back) for back in reversed(range(WEEKS))]
    return list(zip(ends, table_figures.count_by(page.db, page.persona, ends), strict=True))


_SAID = {
    "cancelled": "Cancelled. What it had under way is dropped.",
    "retried": "Put back into the queue.",
    "released": "Released: it can be found again.",
    "deleted": "Deleted for good.",
    "ended": "Nothing changed: it has ended, or is not flagged any more.",
    "not_failed": "Nothing changed: it has not failed, or is gone.",
    "refused": "It cannot be tried again: the texts it worked on were emptied when it failed. Queue it anew.",
}


def change(page: Page) -> Response:
    if ids := split_ids(page.field("cancel")):
        note = "cancelled" if jobs.cancel(ids[:1], **page.asking()) else "ended"
    elif ids := split_ids(page.field("retry")):
        done = jobs.retry_operation(ids[0], **page.asking())
        note = "retried" if done.stored else "refused" if done.reason == "refused" else "not_failed"
    else:
        raise Refused(422, "No operation was named. Press a button beside one.")
    return page.redirect(page.url("upkeep", note=note, state=page.field("state")))


def release(page: Page) -> Response:
    """Let one row that the screening hook flagged be found, or delete it for good."""
    action = "delete" if page.field("delete") else "release"
    source, _, number = page.field(action).partition(":")
    ids = split_ids(number)
    if not ids:
        raise Refused(422, "No row was named. Press the button beside one.")
    change_row = delete_quarantined if action == "delete" else privacy.release
    done = change_row(cast("Source", source), ids[0], **page.asking())
    return page.redirect(page.url("upkeep", note=f"{action}d" if done else "ended"))


# What is started by hand: consolidation, pruning


class Outcome(NamedTuple):
    """What became of it."""

    title: str
    lines: list[str]
    items: list[tuple[int, tuple[str, ...]]] = []  # noqa: RUF012 - never changed
    """Ids and reasons of what was pruned, or would be."""
    next_action: str = ""
    """It was a trial, and this does it in earnest; blank where there is nothing to do."""
    next_words: str = ""
    """What is on its button."""


def run(page: Page) -> Response:
    action = _ACTIONS.get(page.field("action"))
    if action is None:
        raise Refused(422, "The form named no action. Press one of its buttons.")
    outcome = action(page)
    texts = table_figures.texts(page.db, page.persona, [row_id for row_id, _ in outcome.items[:MOST_SHOWN]])
    return page.render(
        "outcome.html.j2", title=outcome.title, screen="upkeep", outcome=outcome, texts=texts, most=MOST_SHOWN
    )


def _consolidate(page: Page) -> Outcome:
    done = lifelong.trigger_memory_consolidation(REASON, model=page.context.model, **page.asking())
    return Outcome("Consolidation", _describe_cycle(done))


def _deep(page: Page) -> Outcome:
    done = lifelong.deep_consolidation(reason=REASON, model=page.context.model, **page.asking())
    return Outcome("Deep consolidation", _describe_cycle(done))


def _describe_cycle(done: CycleResult) -> list[str]:
    if done.reason == "busy":
        return ["Nothing was done: another process is consolidating this persona now. Wait a minute, then try again."]
    lines = [
        f"{plural(done.conversations, 'conversation')} looked at.",
        f"{plural(done.stored, 'item')} stored, {done.merged} merged with what was there.",
        f"{plural(done.pruned, 'item')} archived because they expired or were pruned.",
    ]
    if done.reason:
        lines.append(f"A part gave nothing: {done.reason.replace('_', ' ')}.")
    return lines


def _prune_session(page: Page) -> Outcome:
    done = lifelong.prune_session_by_ttl(**page.asking())
    return Outcome("Expired session items", [f"{plural(done, 'item')} archived.", *done.notes], list(done.items))


def _prune(page: Page) -> Outcome:
    done = lifelong.prune_ltm(**page.asking())
    return _show_pruned(page, "Pruning", done, f"{plural(done, 'long-term item')} archived.")


def _try_pruning(page: Page) -> Outcome:
    done = lifelong.prune_ltm(dry_run=True, **page.asking())
    line = f"{plural(done, 'long-term item')} would be archived. Nothing was changed."
    again = ("prune", f"Archive these {plural(done, 'item')}") if done else ("", "")
    return _show_pruned(page, "Pruning, tried", done, line, *again)


def _try_deep(page: Page) -> Outcome:
    """Show what a deep run would archive, and what it asks a model for, before it does."""
    done = lifelong.prune_ltm(dry_run=True, **page.asking())
    line = f"{plural(done, 'long-term item')} would be archived first. Nothing was changed yet."
    button = f"Archive {plural(done, 'item')} and consolidate" if done else "Consolidate deeply"
    return _show_pruned(page, "Deep consolidation", done, line, "deep", button)


def _show_pruned(page: Page, title: str, done: Pruned, line: str, action: str = "", button: str = "") -> Outcome:
    settings = page.settings
    joint = "or" if settings.prune_mode == "any" else "and"
    rule = (
        f"Too old is {plural(settings.prune_max_age_days, 'day')} or more, {joint} too unimportant is below "
        f"{settings.prune_max_importance:g}. Pinned items, those saved on request, those of importance "
        f"{PROTECTED_IMPORTANCE:g} and above, and what stood in a prompt within that time stay. What was archived can "
        "be restored from the archive."
    )
    return Outcome(title, [line, rule], list(done.items), action, button)


_ACTIONS: Mapping[str, Callable[[Page], Outcome]] = {
    "consolidate": _consolidate,
    "try_deep": _try_deep,
    "deep": _deep,
    "prune_session": _prune_session,
    "try_pruning": _try_pruning,
    "prune": _prune,
}
