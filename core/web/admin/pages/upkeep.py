"""The screen of background work: the queue, runs, model usage, and work started by hand."""

from collections.abc import Sequence

from pydantic import BaseModel
from starlette.responses import Response

from .... import jobs, lifelong, memories
from ....jobs.rules import STATES
from ....lifelong import CycleResult
from ....lifelong.pruning import PROTECTED_IMPORTANCE
from ....llm import read_usage
from ....shapes import OPEN_STATES, OperationState
from ...errors import Refused
from .formats import plural
from .page import Page

MOST_LISTED = 100
REASON = "by hand, admin page"
MOST_SHOWN = 50
"""Maximum number of pruned items shown with their texts."""


class Query(BaseModel):
    state: OperationState | None = None


def show_upkeep(page: Page) -> Response:
    state = page.read(Query).state
    counted = jobs.count_operations(**page.admin.asking).values()
    counts = {state: sum(states.get(state, 0) for states in counted) for state in STATES}
    listed = jobs.read_operations(page.db, page.persona, [state] if state else STATES, MOST_LISTED)
    runs = lifelong.read_runs(page.db, page.persona, 20)
    people, places = [each["participant"] for each in listed], [each["conversation"] for each in listed]
    return page.render(
        "upkeep.html.j2",
        screen="upkeep",
        state=state or "",
        counts=counts,
        operations=listed,
        names=page.read_names(people, [*places, *(run.conversation_key for run in runs)]),
        most=MOST_LISTED,
        open_states=OPEN_STATES,
        runs=runs,
        usage=read_usage(page.db, days=7),
        today=f"{page.db.clock():%Y-%m-%d}",
        flash=_SAID.get(page.field("note")),
    )


_SAID = {
    "cancelled": "Cancelled. What it had under way is dropped.",
    "retried": "Put back into the queue.",
    "ended": "Nothing changed: it has ended.",
    "not_failed": "Nothing changed: it has not failed, or is gone.",
    "refused": "It cannot be tried again: the texts it worked on were emptied when it failed. Queue it anew.",
}


def change_operation(page: Page) -> Response:
    if row_id := page.row_id("cancel"):
        note = "cancelled" if jobs.cancel([row_id], **page.admin.asking) else "ended"
    elif row_id := page.row_id("retry"):
        done = jobs.retry_operation(row_id, **page.admin.asking)
        note = "retried" if done.stored else "refused" if done.reason == "refused" else "not_failed"
    else:
        raise Refused(422, "No operation was named. Press a button beside one.")
    return page.redirect(page.url("upkeep", note=note, state=page.field("state")))


def run_action(page: Page) -> Response:
    action, model = page.field("action"), page.context.model
    if action == "consolidate":
        done = lifelong.trigger_memory_consolidation(REASON, model=model, **page.admin.asking)
        return _render_outcome(page, "Consolidation", _describe_cycle(done))
    if action == "deep":
        done = lifelong.deep_consolidation(reason=REASON, model=model, **page.admin.asking)
        return _render_outcome(page, "Deep consolidation", _describe_cycle(done))
    if action == "try_deep":
        return _preview_deep(page)
    raise Refused(422, "The form named no action. Press one of its buttons.")


def _render_outcome(
    page: Page, title: str, lines: list[str], pruned: Sequence[tuple[int, tuple[str, ...]]] = (), button: str = ""
) -> Response:
    """Show the result `lines`. A preview also shows the items to archive (`pruned`) and a `button` for it."""
    texts = memories.read_item_texts(page.db, page.persona, [row_id for row_id, _ in pruned[:MOST_SHOWN]])
    return page.render(
        "outcome.html.j2", title=title, screen="upkeep", most=MOST_SHOWN, lines=lines, pruned=pruned, texts=texts,
        button=button,
    )  # fmt: skip


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


def _preview_deep(page: Page) -> Response:
    done = lifelong.prune_ltm(dry_run=True, **page.admin.asking)
    count, settings = plural(done, "item"), page.settings
    joint = "or" if settings.prune_mode == "any" else "and"
    rule = (
        f"Too old is {plural(settings.prune_max_age_days, 'day')} or more, {joint} too unimportant is below "
        f"{settings.prune_max_importance:g}. Pinned items, those saved on request, instructions, and items of "
        f"importance {PROTECTED_IMPORTANCE:g} and above stay. What was archived can be restored from the archive."
    )
    lines = [f"{count} would be archived first. Nothing was changed yet.", rule]
    button = f"Archive {count} and consolidate" if done else "Consolidate deeply"
    return _render_outcome(page, "Deep consolidation", lines, done.items, button)
