"""Why an item of the archive went, as an operator is told it: by the route and on the page (L7, L10, L21, C15)."""

from __future__ import annotations

from typing import Any

import pytest

from core.database.engine import Database
from core.database.sources import MEMORIES
from core.index import indexed
from tests.spec.admin_world import Operator
from tests.spec.lifelong_world import Life

pytestmark = pytest.mark.engines("sqlite")


@pytest.fixture
def gone(db: Database, life: Life, operator: Operator) -> dict[str, int]:
    """One item for each way out of memory, and one that holds."""
    clock: Any = db.clock
    ids = {"unknown": life.item("deleted by hand"), "deleted": life.item("pinned, then deleted", pinned=True)}
    operator.post("/memory/delete", {"ids": list(ids.values())})
    clock.forward(minutes=1)
    ids["expired"] = life.item("a mood", days=9, tier="session")
    life.prune_session_by_ttl()
    clock.forward(minutes=1)
    ids["pruned"] = life.item("old and of no use", days=400, importance=0.1)
    operator.post("/memory/deep_consolidation", reason="deeply")
    clock.forward(minutes=1)
    ids["replaced"] = life.item("likes tea")
    successor = {"superseded_by": life.item("likes green tea")}
    db.transaction(
        lambda c: indexed.set_hidden(c, db, MEMORIES, life.persona, [ids["replaced"]], **successor), source="test"
    )
    ids["holds"] = life.item("still there")
    return ids


def test_l7_l23_the_archive_says_why_an_item_went(operator: Operator, gone: dict[str, int]) -> None:
    """Each as it is stored; of what is not recorded nothing is guessed."""
    told = {name: operator.get(f"/memory/{row_id}")["former"] for name, row_id in gone.items()}
    assert told.pop("holds") is None
    assert {name: former["why"] for name, former in told.items()} == {name: name for name in told}
    assert {name: former["by"] for name, former in told.items() if former["by"]} == {"pruned": "deep"}
    assert operator.post("/memory/restore", {"ids": [gone["pruned"]]})["count"] == 1
    assert operator.get(f"/memory/{gone['pruned']}")["former"] is None


def test_l35_the_page_says_it_in_words(operator: Operator, gone: dict[str, int]) -> None:
    """In the list of the archive, and on the screen of each item."""
    listed = operator.ask("GET", "/page/memory", params={"archived": "1"}).text
    for word in ("expired", "pruned", "deleted", "replaced by another", "archived"):
        assert f'<span class="who">{word} <time' in listed or f'<span class="who">{word}</span>' in listed, word
    screens = {
        "unknown": "which is not recorded",
        "deleted": "Deleted by hand",
        "expired": "session item was over",
        "pruned": "Pruned for its age or importance, by a deep run.",
        "replaced": "Replaced.",
    }
    for name, words in screens.items():
        screen = operator.ask("GET", "/page/memory/item", params={"id": gone[name]}).text
        assert words in screen, name
        assert ("stands in its place" in screen) == (name == "replaced")
    assert 'id="former"' not in operator.ask("GET", "/page/memory/item", params={"id": gone["holds"]}).text
