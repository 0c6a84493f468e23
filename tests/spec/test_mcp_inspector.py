"""The memory over MCP asked by the protocol's inspector, a client that is not the SDK's own (R6)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs the extra `mcp`")
pytest.importorskip("uvicorn", reason="needs the extra `admin`")

from core.database.engine import Database
from tests import inspector
from tests.spec.mcp_world import ANN, HttpServer, command, environment, serving
from tests.store.world import own_scope

COMMAND = inspector.find()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.engines("sqlite"),
    pytest.mark.skipif(COMMAND is None, reason=inspector.MISSING),
]
Ask = Callable[..., dict[str, Any]]


def _asked_of_a_process(url: str, persona: str) -> Ask:
    known = ("PATH", "PYTHONPATH", "DATABASE_URL", "HOME", "MCP_PARTICIPANT", "PERSONA_ID")
    given = environment(url, MCP_PARTICIPANT=ANN, PERSONA_ID=persona)
    env = {name: value for name, value in given.items() if name in known}
    target = [word for word in command(persona) if word not in ("--persona", persona)]
    return lambda *words: inspector.ask(COMMAND or [], target, *words, env=env)


def _asked_over_http(http: HttpServer) -> Ask:
    target = ["--transport", "http", http.url, "--header", f"Authorization: {http.headers(ANN)['Authorization']}"]
    return lambda *words: inspector.ask(COMMAND or [], target, *words)


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_r6_the_inspector_lists_calls_and_reads(db: Database, migrated_url: str, transport: str) -> None:
    persona = own_scope().persona
    with serving(db, persona) as http:
        ask = _asked_of_a_process(migrated_url, persona) if transport == "stdio" else _asked_over_http(http)
        tools = ask("--method", "tools/list")["tools"]
        assert len(tools) == 7 and all(tool["inputSchema"]["type"] == "object" for tool in tools)
        assert {tool["annotations"]["openWorldHint"] for tool in tools} == {False}
        called = ("--method", "tools/call", "--tool-name")
        saved = ask(*called, "memory_save", "--tool-arg", "text=Ann likes tea")["structuredContent"]
        assert saved["done"] and int(saved["id"]) > 2**53
        found = ask(*called, "memory_search", "--tool-arg", "query=tea", "--tool-arg", "limit=3")["content"][0]["text"]
        assert [hit["text"] for hit in json.loads(found)["hits"]] == ["Ann likes tea"]
        wrong = ask(*called, "memory_list", "--tool-arg", "kind=secrets")
        assert wrong["isError"] and wrong["content"][0]["text"].startswith("kind: input should be")
        quoted = f'id="{saved["id"]}"'  # without quotes it would send a number, rounded
        deleted = ask(*called, "memory_delete", "--tool-arg", quoted)["structuredContent"]
        assert deleted["id"] == saved["id"] and deleted["done"]
