"""L5: a page of items is the same whether the persona has few or very many, and says where its total is no total."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.config import Settings
from core.database.engine import Database
from core.lifelong import search_items
from core.memories import table_reading as items
from core.scope import Scope
from tests.store.search_world import ago, remember
from tests.store.world import own_scope

SETTINGS = Settings()


@pytest.fixture(scope="module")
def scope(db: Database) -> Scope:
    """A persona with 60 items of many conversations, some of one moment, one of them expired."""
    made = own_scope()
    for n in range(20):
        inside = replace(made, conversation=f"tg/{n}", participant=f"tg/{n}", privacy="direct")
        texts = [f"tofu number {n}", f"my soup {n}", f"plain rice {n}"]
        remember(db, inside, *({"content": text, "timestamp": ago(hours=n % 7)} for text in texts))
    remember(db, made, {"content": "tofu gone", "tier": "session", "expires_at": ago(hours=1)})
    return made


def page(db: Database, scope: Scope, **asked: Any) -> dict[str, Any]:
    """Return a page as an operator sees it."""
    return dict(search_items(operator=True, db=db, settings=SETTINGS, scope=scope, **asked))


ASKED: list[dict[str, Any]] = [
    {},
    {"limit": 7, "offset": 50},
    {"q": "tofu", "limit": 5},
    {"q": "o", "limit": 500},
    {"q": "tofu number", "offset": 15},
    {"since": ago(hours=3), "limit": 4},
    {"tier": "session"},
    {"offset": 500},
]


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_l5_a_page_of_very_many_is_that_of_few(
    db: Database, scope: Scope, asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest of each audience put in order together are the newest of all."""
    few = page(db, scope, **asked)
    monkeypatch.setattr(items, "FEW_ITEMS", 10)
    monkeypatch.setattr(items, "ALONE", 3)
    many = page(db, scope, **asked)
    assert many["items"] == few["items"]
    if many.get("at_least"):
        assert asked.get("offset", 0) + len(many["items"]) < many["total"] <= few["total"]
    elif many["items"] and not (asked.keys() <= {"limit", "offset"}):
        assert many["total"] == few["total"]


def test_l5_more_than_are_counted_is_said(db: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    """A total that is none says so, and pages behind it are still there."""
    assert page(db, scope)["total"] == 60 and "at_least" not in page(db, scope)
    monkeypatch.setattr(items, "MOST_COUNTED", 10)
    found = page(db, scope, limit=5, offset=40)
    assert len(found["items"]) == 5 and found["total"] == 45 and found["at_least"]
