"""How the memory of a persona is doing: figures, what each means, what to do about it, and plots."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta
from itertools import pairwise
from typing import NamedTuple

from starlette.responses import Response

from ... import lifelong
from ...lifelong import Health
from ...memories import table_figures
from ...memories.table_figures import AGES_DAYS, BINS, Age, Growth
from . import form_values, plots
from .formats import TIER_NAMES, number
from .page import Page
from .plots import Plot

SPANS_DAYS = (30, 90, 365)
MOST_EXAMPLES = 10


class Figure(NamedTuple):
    """One number, what it means, and what to do where it is not as it should be."""

    name: str
    value: int
    meaning: str
    remedy: str
    is_good: bool


def show(page: Page) -> Response:
    """Return all figures. The search index is compared only when asked, since that reads every text."""
    db, settings = page.db, page.settings
    days = int(form_values.choose_word(page.query("days"), [str(each) for each in SPANS_DAYS], "90"))
    is_checked = page.query("index") == "1"
    health = lifelong.health(check_index=is_checked, **page.asking())
    stale = table_figures.count_stale(db, page.persona, settings.prune_max_age_days)
    return page.render(
        "health.html.j2",
        title="Health",
        screen="health",
        health=health,
        figures=figures(health, stale, settings.prune_max_age_days, is_checked=is_checked),
        days=days,
        spans=SPANS_DAYS,
        growth=growth_plot(table_figures.growth(db, page.persona, days), db.clock(), days),
        importance=importance_plot(table_figures.importances(db, page.persona)),
        ages=age_plot(table_figures.ages(db, page.persona)),
        copied=table_figures.copied(db, page.persona, MOST_EXAMPLES) if health["exact_duplicates"] else [],
        unused=table_figures.stale(db, page.persona, settings.prune_max_age_days, MOST_EXAMPLES) if stale else [],
        flash=None,
    )


def figures(health: Health, stale: int, days: int, *, is_checked: bool) -> list[Figure]:
    """Return the figures with their sentences."""
    shown = [
        _build_problem(
            "Exact copies",
            health["exact_duplicates"],
            "Items that say, letter for letter, what an older one of the same person says.",
            "Delete the newer ones.",
        ),
        _build_problem(
            "Expired, not archived",
            health["expired"],
            "Session items past their time. Nobody sees them any more; they only take room.",
            "Archive them under Jobs; a worker with --schedule does it by itself.",
        ),
        _build_advice(
            "Never recalled",
            health["never_recalled"],
            "Long-term items that stood in no prompt yet.",
            "New ones are expected. Many old ones: prune, or give them tags people use.",
        ),
        _build_advice(
            "Stale",
            stale,
            f"Long-term items at least {number(days)} days old that stood in no prompt for as long; not pinned ones.",
            "See what pruning would take under Jobs, and pin what must stay.",
        ),
        _build_problem(
            "Orphans",
            health["orphans"],
            "Items whose conversation, audience or successor is gone.",
            "Run `prompt-engine db check`, which names them and mends what it can.",
        ),
    ]
    if is_checked:
        shown.append(
            _build_problem(
                "Differences of the index",
                health["index_differences"],
                "Places where the search index is not what the items give: searches may miss them.",
                "Run `prompt-engine db reindex`.",
            )
        )
    return shown


def _build_problem(name: str, value: int, meaning: str, remedy: str) -> Figure:
    return Figure(name, value, meaning, remedy, value == 0)


def _build_advice(name: str, value: int, meaning: str, remedy: str) -> Figure:
    return Figure(name, value, meaning, remedy, True)


# Plots


def growth_plot(grown: Sequence[Growth], now: datetime, days: int) -> Plot:
    """Return how many items there were of each tier, a point for each day that brought some, and the ends."""
    today = datetime.combine(now.date(), time(), UTC)
    first = today - timedelta(days=days - 1)
    series = []
    for tier in grown:
        total = tier.before
        points: list[tuple[datetime, float]] = [(first, total)]
        for day, items in tier.days:
            total += items
            points.append((datetime.combine(day, time(), UTC), total))
        points.append((max(today, points[-1][0]), total))
        series.append((TIER_NAMES.get(tier.tier, tier.tier or "no tier"), points))
    if not any(value for _, points in series for _, value in points):
        return plots.draw_lines([])
    return plots.draw_lines(series, unit=" items")


def importance_plot(bins: Sequence[int]) -> Plot:
    """Return the histogram of importance."""
    labels = [f"{place / BINS:g}" for place in range(BINS)]
    return plots.draw_bars(labels, [("items", bins)])


def age_plot(ages: Sequence[Age]) -> Plot:
    """Return long-term items by age, those that stood in a prompt apart."""
    labels = [*(f"{a}–{b}" for a, b in pairwise((0, *AGES_DAYS))), f"{AGES_DAYS[-1]}+"]
    return plots.draw_bars(
        labels, [("recalled", [age.recalled for age in ages]), ("never recalled", [age.never for age in ages])]
    )
