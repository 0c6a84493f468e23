"""Figures over items: those that the page shows, of one persona and of what holds."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from core import chat_history_cache
from core.config import Settings
from core.database.engine import Database
from core.db import insert_memory
from core.memories import table_figures as item_figures
from core.memories import table_sources
from core.scope import Scope
from tests.store.world import NOW, own_scope

DEFAULTS = Settings()


def keep(db: Database, scope: Scope, text: str, days: float, **more: Any) -> int:
    """Store an item of some days ago."""
    moment = NOW - timedelta(days=days)
    return insert_memory(text, "synth", "chat", [], scope, timestamp=moment, db=db, settings=DEFAULTS, **more)


def test_texts_are_those_of_the_persona_alone(db: Database) -> None:
    """An id of another persona gives nothing."""
    scope = own_scope()
    ids = [keep(db, scope, text, 1) for text in ("one", "two")]
    assert item_figures.texts(db, scope.persona, [*ids, 5]) == {ids[0]: "one", ids[1]: "two"}
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
    found = table_sources.read_sources(db, scope.persona, [*ids, "m-7", True, None, 5, 2**70])
    assert [(line.text, line.sender, line.conversation) for line in found] == [
        ("first", "Ann", "tg/42"),
        ("second", "Ann", "tg/42"),
    ]
    assert found[0].at == NOW - timedelta(minutes=2)
    assert table_sources.read_sources(db, own_scope().persona, ids) == []


def test_items_are_counted_by_when_they_were_known(db: Database) -> None:
    """Each with the time that was said of it; those of other personas and archived ones are not counted."""
    scope = own_scope()
    for days in (20, 10, 10, 1):
        keep(db, scope, f"{days} days ago", days)
    keep(db, own_scope(), "another persona", 10)
    ends = [NOW - timedelta(days=days) for days in (30, 15, 5, 0)]
    assert item_figures.count_by(db, scope.persona, ends) == [0, 1, 3, 4]
