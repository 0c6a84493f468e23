"""Probes of the flags of the HTTP API and the proxy."""

from __future__ import annotations

from typing import Any

from core import tokens
from core.api.guard import FaceContext
from core.api.proxy.memory import build_block
from core.config import Settings
from tests.spec.api_world import bearer, client_of, made
from tests.spec.probes import probe
from tests.spec.stage import Stage


def _search(stage: Stage, settings: Settings, **headers: str) -> int:
    assert stage.db is not None
    token = tokens.add_token("host", db=stage.db, scope=stage.scope())["token"]
    with client_of(made(stage.db, settings)) as client:
        head = {**bearer(token), **headers}
        return client.post("/v1/search", json={"query": "x" * 2000}, headers=head).status_code


@probe(4_194_304, 1024)
def _max_body_bytes(stage: Stage, value: Any) -> object:
    return _search(stage, Settings(max_body_bytes=value))


@probe((), ("https://chat.example",))
def _allowed_origins(stage: Stage, value: Any) -> object:
    return _search(stage, Settings(allowed_origins=value), Origin="https://chat.example")


@probe(8000, 0)
def _proxy_context_chars(stage: Stage, value: Any) -> object:
    assert stage.db is not None
    settings = Settings(proxy_context_chars=value)
    return "tofu" in build_block(FaceContext(stage.db), settings, stage.scope(), "who is tofu?")
