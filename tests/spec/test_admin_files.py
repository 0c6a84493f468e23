"""Whole files by the routes of the admin application: import, export as a stream, sizes (L32, L33, L37 to L40)."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from fastapi import FastAPI

from core.errors import StoreReadError
from core.transfer import items
from core.web import guard
from core.web.admin import memory as transfer
from tests.spec.admin_world import TOKEN, Operator
from tests.spec.lifelong_world import Life
from tests.spec.stage import HERE

pytestmark = pytest.mark.engines("sqlite")

CHUNKS = transfer.chunks


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
    read = yaml.safe_load(operator.ask("GET", "/memory/export", params={"fmt": "yaml"}).text)
    lines = operator.ask("GET", "/memory/export", params={"fmt": "jsonl"}).text.splitlines()
    assert read == whole.json() and [json.loads(line)["text"] for line in lines] == ["tea", "coffee"]
    dry = other.send(whole.content, dry_run=True)
    assert (dry["imported"], dry["dry_run"], other.get("/memory/search")["total"]) == (2, True, 0)
    done = other.send(whole.content, history_uid=HERE)
    assert (done["imported"], done["skipped"], done["errors"]) == (2, 0, [])
    assert {item["conversation"] for item in other.get("/memory/search")["items"]} == {HERE}
    assert {item["persona"] for item in other.get("/memory/search")["items"]} == {other.persona}
    again = other.send(gzip.compress(whole.content), history_uid=HERE)
    assert (again["imported"], again["skipped"]) == (0, 2)
    mixed = other.send(b'{"items": ["x", "", {"text": "canary", "kind": "Nope"}]}', default_kind="Mood", fmt="json")
    assert (mixed["imported"], mixed["skipped"], mixed["error_count"]) == (1, 1, 1)
    assert mixed["errors"][0]["row"] == 3 and "canary" not in json.dumps(mixed)
    for wrong in (b"[]", b'{"items": 3}', b"\x00", b"items: !!python/object:os.system {}", b"a: 1\na: 1\n"):
        assert other.send(wrong, 400)["error"] == "wrong_shape", wrong
    assert other.send(b'["a"', 400)["error"] == "wrong_shape"
    assert other.post("/memory/import", None, 422)["fields"] == ["file"]


def _told(app: FastAPI, path: str) -> tuple[list[Any], BaseException | None]:
    """Return what the application sends for a GET, message by message, and what it raised."""
    sent: list[Any] = []
    name, _, query = path.partition("?")
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": name, "raw_path": name.encode(), "query_string": query.encode(), "root_path": "",
        "headers": [(b"host", b"localhost"), (b"authorization", f"Bearer {TOKEN}".encode())],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80), "state": {},
    }  # fmt: skip

    async def run() -> None:
        asked = False

        async def receive() -> Any:
            nonlocal asked
            if asked:
                await asyncio.Event().wait()
            asked = True
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await app(scope, receive, send)

    try:
        asyncio.run(run())
    except Exception as error:  # noqa: BLE001 - what it is, is looked at
        return sent, error
    return sent, None


def test_l32_an_export_is_sent_while_it_is_read(
    app: FastAPI, life: Life, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """However large: no more than a part is held, and a failure on the way cuts the file off instead of ending it."""
    life.add_facts_with_meta([f"{n} {'x' * 3000}" for n in range(300)])
    read: list[int] = []
    known = items._build_item

    def item_of(row: Any) -> dict[str, Any]:
        read.append(row.id)
        return known(row)

    monkeypatch.setattr("core.transfer.items._build_item", item_of)
    sizes: list[tuple[int, int]] = []
    monkeypatch.setattr(transfer, "chunks", lambda pieces: _noted(pieces, sizes, read))
    sent, error = _told(app, f"/admin/memory/export?conf_uid={life.persona}&fmt=jsonl")
    whole = b"".join(message.get("body", b"") for message in sent)
    assert error is None and len(whole.splitlines()) == 300 and not sent[-1].get("more_body")
    assert len(sizes) > 10 and max(size for size, _ in sizes) < 2 * transfer.CHUNK_CHARS
    assert sizes[0][1] < 40 and sizes[1][1] < 80  # rows read by the time of the first and the second part

    def broken(row: Any) -> dict[str, Any]:
        if len(read) > 500:
            raise StoreReadError("canary: the connection is gone")
        return item_of(row)

    monkeypatch.setattr("core.transfer.items._build_item", broken)
    sent, error = _told(app, f"/admin/memory/export?conf_uid={life.persona}&fmt=jsonl")
    assert sent[0]["status"] == 200 and all(each.get("more_body") for each in sent[1:])
    assert error is None and "canary" not in caplog.text
    monkeypatch.setattr("core.transfer.items._build_item", broken)
    sent, error = _told(app, f"/admin/memory/export?conf_uid={life.persona}")
    assert sent[0]["status"] == 503 and error is None


def _noted(pieces: Any, sizes: list[tuple[int, int]], read: list[int]) -> Iterator[str]:
    for part in CHUNKS(pieces):
        sizes.append((len(part), len(read)))
        yield part


def test_l33_a_file_that_is_too_large_is_413(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its bytes as they come, as a file, and unpacked."""
    monkeypatch.setattr(guard, "UPLOAD_BYTES", 30_000)
    monkeypatch.setattr(transfer, "MAX_BYTES", 20_000)
    assert "30000 bytes" in operator.send(b" " * 40_000, 413)["message"]
    assert "20,000 bytes" in operator.send(b" " * 25_000, 413)["message"]
    monkeypatch.undo()
    packed = gzip.compress(b" " * (21 * 1024**2))
    assert "20,971,520 bytes" in operator.send(packed, 413)["message"]
