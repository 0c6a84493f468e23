"""Whole files by the routes of the admin application: import, export as a stream, sizes (L32, L33, L37 to L40)."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from core.errors import StoreReadError
from core.transfer import items
from core.web import guard
from core.web.admin import api as transfer
from tests.spec.admin_world import BEARER, Operator
from tests.spec.lifelong_world import Life
from tests.spec.proxy_world import serving
from tests.spec.stage import HERE

pytestmark = pytest.mark.engines("sqlite")


def test_l32_export_and_import_by_the_routes(operator: Operator, other: Operator, life: Life) -> None:
    life.item("tea", days=2, tags=["t"], kind="FactsAboutUser")
    life.item("coffee", days=1)
    whole = operator.ask("GET", "/memory/export")
    assert whole.headers["content-disposition"] == 'attachment; filename="memories.json"'
    assert [item["text"] for item in whole.json()["items"]] == ["tea", "coffee"]
    assert [i["text"] for i in operator.get("/memory/export", kind="KeyFacts")["items"]] == ["coffee"]
    first = operator.get("/memory/export", limit=1)["items"][-1]
    rest = operator.get("/memory/export", after=f"{first['timestamp']}/{first['id']}")
    assert [i["text"] for i in rest["items"]] == ["coffee"]
    lines = operator.ask("GET", "/memory/export", params={"fmt": "jsonl"}).text.splitlines()
    assert [json.loads(line)["text"] for line in lines] == ["tea", "coffee"]
    dry = other.send(whole.content, dry_run=True)
    assert (dry["imported"], dry["dry_run"], other.get("/memory/search")["total"]) == (2, True, 0)
    done = other.send(whole.content, history_uid=HERE)
    assert (done["imported"], done["skipped"], done["errors"]) == (2, 0, [])
    assert {item["conversation"] for item in other.get("/memory/search")["items"]} == {HERE}
    assert {item["persona"] for item in other.get("/memory/search")["items"]} == {other.persona}
    again = other.send(whole.content, history_uid=HERE)
    assert (again["imported"], again["skipped"]) == (0, 2)
    mixed = other.send(b'{"items": ["x", "", {"text": "canary", "kind": "Nope"}]}', default_kind="Mood", fmt="json")
    assert (mixed["imported"], mixed["skipped"], mixed["error_count"]) == (1, 1, 1)
    assert mixed["errors"][0]["row"] == 3 and "canary" not in json.dumps(mixed)
    for wrong in (b"[]", b'{"items": 3}', b"\x00", b"items: !!python/object:os.system {}", b"a: 1\na: 1\n"):
        assert other.send(wrong, 400)["error"] == "wrong_shape", wrong
    assert other.send(b'["a"', 400)["error"] == "wrong_shape"
    assert other.post("/memory/import", None, 422)["fields"] == ["file"]


def test_l32_an_export_is_sent_while_it_is_read(
    app: FastAPI, life: Life, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """However large: no more than a part is held, and a failure on the way cuts the file off instead of ending it."""
    life.add_facts_with_meta([f"{n} {'x' * 3000}" for n in range(300)])
    read: list[int] = []
    known = items._build_item

    def item_of(row: Any) -> dict[str, Any]:
        read.append(row.id)
        if len(read) > 200:
            raise StoreReadError("canary: the connection is gone")
        return known(row)

    monkeypatch.setattr(items, "_build_item", item_of)
    parts = transfer.chunks(items.export_items(fmt="jsonl", db=life.db, scope=life.stage.scope()))
    assert len(next(parts)) < 2 * transfer.CHUNK_CHARS and len(read) < 40
    read.clear()
    with serving(app) as url, pytest.raises(httpx2.RemoteProtocolError):
        asked = {"conf_uid": life.persona, "fmt": "jsonl"}
        httpx2.get(f"{url}/admin/memory/export", params=asked, headers=BEARER, timeout=60)
    assert len(read) > 200 and "canary" not in caplog.text


def test_l33_a_file_that_is_too_large_is_413(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its bytes as they come, and as a file."""
    monkeypatch.setattr(guard, "UPLOAD_BYTES", 30_000)
    monkeypatch.setattr(transfer, "MAX_BYTES", 20_000)
    assert "30000 bytes" in operator.send(b" " * 40_000, 413)["message"]
    assert "20,000 bytes" in operator.send(b" " * 25_000, 413)["message"]
