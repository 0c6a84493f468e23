"""What an operator starts by hand: consolidation, pruning, fading."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from starlette.responses import Response

from ... import lifelong, relationships
from ...lifelong import CycleResult, Pruned
from ...memories import table_figures as item_figures
from .formats import plural
from .page import Page, PageError

REASON = "by hand, admin page"
MOST_SHOWN = 50


class Outcome(NamedTuple):
    """What became of it."""

    title: str
    lines: list[str]
    items: list[tuple[int, tuple[str, ...]]] = []  # noqa: RUF012 - never changed
    """Ids and reasons of what was pruned, or would be."""
    may_prune: bool = False
    """It was a trial, and there is something to do in earnest."""


def run(page: Page) -> Response:
    """Do what the pressed button says and show what came of it."""
    action = _ACTIONS.get(page.field("action"))
    if action is None:
        raise PageError("The form named no action. Press one of its buttons.")
    if action is not _fade:  # relationships are kept without memory
        page.need_memory()
    outcome = action(page)
    ids = [row_id for row_id, _ in outcome.items[:MOST_SHOWN]]
    texts = item_figures.texts(page.db, page.persona, ids)
    return page.render(
        "outcome.html.j2", title=outcome.title, screen="jobs", outcome=outcome, texts=texts, most=MOST_SHOWN, flash=None
    )


def _consolidate(page: Page) -> Outcome:
    done = lifelong.trigger_memory_consolidation(REASON, model=page.context.model, **page.asking())
    return Outcome("Consolidation", _told(done))


def _deep(page: Page) -> Outcome:
    done = lifelong.deep_consolidation(reason=REASON, model=page.context.model, **page.asking())
    return Outcome("Deep consolidation", _told(done))


def _told(done: CycleResult) -> list[str]:
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


def _try_pruning(page: Page) -> Outcome:
    done = lifelong.prune_ltm(dry_run=True, **page.asking())
    line = f"{plural(done, 'long-term item')} would be archived. Nothing was changed."
    return Outcome("Pruning, tried", [line, *_rule(page)], list(done.items), may_prune=done > 0)


def _prune(page: Page) -> Outcome:
    done: Pruned = lifelong.prune_ltm(**page.asking())
    return Outcome("Pruning", [f"{plural(done, 'long-term item')} archived.", *_rule(page)], list(done.items))


def _rule(page: Page) -> list[str]:
    known = page.settings
    joint = "or" if known.prune_mode == "any" else "and"
    rule = (
        f"Too old is {plural(known.prune_max_age_days, 'day')} or more, {joint} too unimportant is below "
        f"{known.prune_max_importance:g}."
    )
    return [f"{rule} Pinned items and those saved on request stay. What was archived can be restored from the archive."]


def _fade(page: Page) -> Outcome:
    done = relationships.decay_all(**page.asking())
    return Outcome("Fading of affinity", [f"{plural(done, 'relationship')} brought up to today."])


_ACTIONS: Mapping[str, Callable[[Page], Outcome]] = {
    "consolidate": _consolidate,
    "deep": _deep,
    "prune_session": _prune_session,
    "try_pruning": _try_pruning,
    "prune": _prune,
    "fade": _fade,
}
