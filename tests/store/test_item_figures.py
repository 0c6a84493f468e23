"""Figures over items: the numbers behind the plots of the page, of one persona and of what holds."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from core import chat_history_cache, lifelong
from core.config import Settings
from core.database.engine import Database
from core.db import insert_memory
from core.memories import table_figures as item_figures
from core.memories import table_history
from core.memories import table_recalls as recalls
from core.memories.table_figures import Age, Growth
from core.scope import Scope
from tests.store.world import NOW, own_scope

DEFAULTS = Settings()


def keep(db: Database, scope: Scope, text: str, days: float, **more: Any) -> int:
    """Store an item of some days ago."""
    moment = NOW - timedelta(days=days)
    return insert_memory(text, "synth", "chat", [], scope, timestamp=moment, db=db, settings=DEFAULTS, **more)


def test_growth_counts_items_by_their_day_and_those_before_together(db: Database) -> None:
    """Days are of UTC, the last is today; what is archived, and another persona's, counts not."""
    scope = own_scope()
    for days in (0, 0.4, 0.6, 3, 400):
        keep(db, scope, f"item {days}", days)
    keep(db, scope, "for a while", 1, tier="session")
    gone = keep(db, scope, "gone", 1)
    lifelong.delete_items([gone], operator=True, db=db, settings=DEFAULTS, scope=scope)
    keep(db, own_scope(), "foreign", 0)
    found = item_figures.growth(db, scope.persona, days=3)
    assert found == [
        Growth("long_term", 2, ((date(2026, 3, 9), 1), (date(2026, 3, 10), 2))),
        Growth("session", 0, ((date(2026, 3, 9), 1),)),
    ]
    assert item_figures.growth(db, own_scope().persona) == []


def test_importance_falls_into_ten_parts_that_hold_every_item_once(db: Database) -> None:
    """0.1 is of the second part, 1 of the last."""
    scope = own_scope()
    for number, importance in enumerate((0, 0.05, 0.1, 0.5, 0.599, 0.999, 1)):
        keep(db, scope, f"worth {number}", 1, importance=importance)
    assert item_figures.importances(db, scope.persona) == [2, 1, 0, 0, 0, 2, 0, 0, 0, 2]
    assert item_figures.importances(db, own_scope().persona) == [0] * 10


def test_ages_tell_recalled_items_from_others_and_stale_ones_are_old_and_unused(db: Database) -> None:
    """At the limit an item is of the older group, as everywhere (G9); pinned ones and session items are never stale."""
    scope = own_scope()
    new, edge, old, oldest = (keep(db, scope, f"aged {days}", days) for days in (1, 7, 60, 500))
    keep(db, scope, "pinned", 300, pinned=True)
    keep(db, scope, "for a while", 300, tier="session")
    recalls.record(db, scope.persona, [new, old])
    recalls.flush(db)
    found = item_figures.ages(db, scope.persona)
    assert found == [Age(0, 1, 0), Age(7, 0, 1), Age(30, 1, 0), Age(90, 0, 1), Age(365, 0, 1)]
    assert item_figures.count_stale(db, scope.persona, 7) == 2
    assert [each.id for each in item_figures.stale(db, scope.persona, 7)] == [oldest, edge]
    assert [each.id for each in item_figures.stale(db, scope.persona, 7, most=1)] == [oldest]
    assert item_figures.count_stale(db, scope.persona, 8) == 1
    assert item_figures.count_stale(db, own_scope().persona, 1) == 0


def test_copies_are_named_once_with_their_number_the_most_copied_first(db: Database) -> None:
    """Of one audience alone; the oldest row stands for them."""
    scope = own_scope()
    ids = [keep(db, scope, text, 1) for text in ("twice", "thrice", "once", "thrice", "twice", "thrice")]
    keep(db, own_scope(), "once", 1)
    found = item_figures.copied(db, scope.persona)
    assert found == [(ids[1], "thrice", 3), (ids[0], "twice", 2)]
    assert item_figures.copied(db, scope.persona, 1) == found[:1]
    assert item_figures.texts(db, scope.persona, [*ids[:2], 5]) == {ids[0]: "twice", ids[1]: "thrice"}
    assert item_figures.texts(db, own_scope().persona, ids) == {} == item_figures.texts(db, scope.persona, [])


def test_l1_the_messages_an_item_was_made_of_are_read_in_their_order(db: Database) -> None:
    """Of the persona alone; what a host named otherwise, or what is gone, is left out."""
    scope = own_scope()
    ids = [
        chat_history_cache.save_chat_message(
            "tg/42", text, "Ann", "ann", NOW - timedelta(minutes=age), db=db, settings=DEFAULTS, scope=scope
        ).id
        for text, age in (("second", 1), ("first", 2))
    ]
    found = table_history.read_sources(db, scope.persona, [*ids, "m-7", True, None, 5, 2**70])
    assert [(line.text, line.sender, line.conversation) for line in found] == [
        ("first", "Ann", "tg/42"),
        ("second", "Ann", "tg/42"),
    ]
    assert found[0].at == NOW - timedelta(minutes=2)
    assert table_history.read_sources(db, own_scope().persona, ids) == []
