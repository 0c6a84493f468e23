"""R31: the memory tools of langmem over our store; left out where langmem is not installed."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("langmem", reason="langmem, which is in no extra, is not installed")

from langmem import create_manage_memory_tool, create_search_memory_tool

from core.adapters.langgraph import Store
from core.database.engine import Database
from core.scope import Scope

PLACE = ("memories", "{user}")


def tools(store: Store) -> tuple[Any, Any]:
    return create_manage_memory_tool(PLACE, store=store), create_search_memory_tool(PLACE, store=store)


def as_user(user: str) -> dict[str, Any]:
    return {"configurable": {"user": user}}


def test_r31_the_tools_of_langmem_write_change_find_and_delete(db: Database, ann: Scope) -> None:
    store = Store(db=db, scope=ann)
    manage, search = tools(store)

    def found(query: str) -> list[tuple[str, str]]:
        hits = json.loads(search.invoke({"query": query}, as_user("u1")))
        return [(hit["key"], hit["value"]["content"]) for hit in hits]

    made = manage.invoke({"content": "Ann drinks oolong at dawn", "action": "create"}, as_user("u1"))
    manage.invoke({"content": "Tofu is a grey cat", "action": "create"}, as_user("u1"))
    manage.invoke({"content": "Ann drinks oolong, says another", "action": "create"}, as_user("u10"))
    key = made.rpartition(" ")[2]
    assert found("who drinks oolong?")[0] == (key, "Ann drinks oolong at dawn")
    assert "says another" not in str(found("oolong"))
    manage.invoke({"content": "Ann drinks sencha at dusk", "action": "update", "id": key}, as_user("u1"))
    assert found("sencha at dusk")[0] == (key, "Ann drinks sencha at dusk")
    assert "oolong" not in str(found("oolong"))
    manage.invoke({"action": "delete", "id": key}, as_user("u1"))
    assert [content for _, content in found("sencha")] == ["Tofu is a grey cat"]
