"""Why an item of the archive went, as an operator is told it: by the route and on the page (L7, L10, L21, C15)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.admin.archive_reasons import Former, find_cause
from core.conversations import add_saved_memory, update_saved_memory
from core.conversations.table_saved import REPLACED
from core.database.engine import Database
from core.scope import Scope
from tests.spec.admin_world import Operator
from tests.spec.lifelong_world import Life
from tests.spec.stage import HERE


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
    call = {"db": db, "settings": None, "scope": Scope(life.persona, HERE, "tg/ann")}
    ids["replaced"], ids["dropped"] = (add_saved_memory(text, **call).id or 0 for text in ("likes tea", "has a dog"))
    operations = [{"op": "replace", "item": 1, "text": "green tea"}, {"op": "drop", "item": 2, "reason": "it ran away"}]
    update_saved_memory("tea and dog", model=lambda _: json.dumps({"operations": operations}), **call)
    ids["holds"] = life.item("still there")
    return ids


def test_l7_l23_the_archive_says_why_an_item_went(operator: Operator, gone: dict[str, int]) -> None:
    """Each as it is stored; of what is not recorded nothing is guessed."""
    told = {name: operator.get(f"/memory/{row_id}")["former"] for name, row_id in gone.items()}
    assert told.pop("holds") is None
    assert {name: former["why"] for name, former in told.items()} == {name: name for name in told}
    assert {name: former["by"] for name, former in told.items() if former["by"]} == {
        "pruned": "deep", "replaced": "model", "dropped": "model",
    }  # fmt: skip
    assert [former["note"] for former in told.values() if former["note"]] == ["it ran away"]
    assert operator.post("/memory/restore", {"ids": [gone["pruned"]]})["count"] == 1
    assert operator.get(f"/memory/{gone['pruned']}")["former"] is None


def test_l35_the_page_says_it_in_words(operator: Operator, gone: dict[str, int]) -> None:
    """In the list of the archive, and on the screen of each item."""
    listed = operator.ask("GET", "/page/memory", params={"archived": "1"}).text
    for word in ("expired", "pruned", "deleted", "replaced by another", "left out", "archived"):
        assert f'<span class="who">{word} <time' in listed or f'<span class="who">{word}</span>' in listed, word
    screens = {
        "unknown": "which is not recorded",
        "deleted": "Deleted by hand",
        "expired": "session item was over",
        "pruned": "Pruned for its age or importance, by a deep run.",
        "replaced": "Replaced, by the model.",
        "dropped": "it ran away",
    }
    for name, words in screens.items():
        screen = operator.ask("GET", "/page/memory/item", params={"id": gone[name]}).text
        assert words in screen, name
        assert ("stands in its place" in screen) == (name == "replaced")
    assert 'id="former"' not in operator.ask("GET", "/page/memory/item", params={"id": gone["holds"]}).text


def test_l7_who_edited_an_item_did_not_replace_it() -> None:
    """Edited and edited back, it has a note of the text it has now, which tells nothing of what stands in its place."""
    item = {"text": "a", "archived_at": "", "superseded_by": 7, "expires_at": "", "tier": "long_term", "kind": "wish",
            "pinned": True}  # fmt: skip
    edited = {"text": "a", "until": "2026-03-10T12:00:00+00:00", "reason": "edited", "changed_by": "manual"}
    assert find_cause(item, [edited]) == Former("replaced")
    replaced = {**edited, "reason": REPLACED, "changed_by": "model"}
    assert find_cause(item, [edited, replaced, edited]) == Former("replaced", "model")
