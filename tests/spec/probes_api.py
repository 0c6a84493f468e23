"""Probes of the flags of the HTTP API and the proxy."""

from __future__ import annotations

import asyncio
import time
from typing import Any
from unittest.mock import patch

from core import tokens
from core.config import Settings
from core.tokens.shapes import AccessToken
from core.web.context import WebContext
from core.web.proxy import identity, memory
from tests.spec.admin_world import client_of, made
from tests.spec.api_world import bearer
from tests.spec.probes import probe
from tests.spec.stage import Stage


def _search(stage: Stage, settings: Settings, **headers: str) -> int:
    assert stage.db is not None
    token = tokens.add_token("host", db=stage.db, scope=stage.scope())["token"]
    with client_of(made(stage.db, settings)) as client:
        head = {**bearer(token), **headers}
        return client.post("/v1/search", json={"query": "x" * 2000}, headers=head).status_code


@probe((), ("https://chat.example",))
def _allowed_origins(stage: Stage, value: Any) -> object:
    return _search(stage, Settings(allowed_origins=value), Origin="https://chat.example")


@probe(8000, 0)
def _proxy_context_chars(stage: Stage, value: Any) -> object:
    assert stage.db is not None
    settings = Settings(proxy_context_chars=value)
    return "tofu" in memory.build_block(
        WebContext(db=stage.db), settings, memory.Turn([], stage.scope(), None), "who is tofu?"
    )


@probe(2.0, 0.1)
def _proxy_memory_seconds(stage: Stage, value: Any) -> object:
    async def build() -> str:
        turns = memory.TurnMemory(WebContext(db=stage.db))
        return await turns.build(
            memory.Turn([], stage.scope(), None), "who is tofu?", (), Settings(proxy_memory_seconds=value)
        )

    with patch.object(memory, "build_block", lambda *_: time.sleep(0.5) or "memories"):
        try:
            return asyncio.run(build())
        except TimeoutError:
            return "too late"


@probe(False, True)
def _proxy_shared_memory(stage: Stage, value: Any) -> object:
    named = {"x-user-id": "ann", "x-conversation-id": "7"}
    token = AccessToken(1, "host", stage.persona)
    return identity.read_identity(
        named, {}, token, shared_memory=Settings(proxy_shared_memory=value).proxy_shared_memory
    )
