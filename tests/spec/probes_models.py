"""Probes of the flags of the model server."""

from __future__ import annotations

import time
from typing import Any

from core import llm
from core.config import Settings
from core.errors import ModelError
from tests.spec.probes import probe
from tests.spec.stage import Stage
from tests.unit.llm.model_server import Asked, running

ASKED = [{"role": "user", "content": "hi"}]


def _asked(**flags: Any) -> Asked:
    """Return the one request that a server gets with these flags."""
    with running() as server:
        settings = Settings(llm_base_url=server.base("ok"), **{"llm_model": "m", **flags})
        model = llm.resolve(None, settings)
        assert model is not None
        llm.ask(model, ASKED, settings)
        llm.close()
        return server.asked[0]


@probe("", "http://127.0.0.1:1/v1")
def _llm_base_url(stage: Stage, value: Any) -> object:
    return llm.resolve(None, Settings(llm_base_url=value, llm_model="m")) is None


@probe("large", "small")
def _llm_model(stage: Stage, value: Any) -> object:
    return _asked(llm_model=value).body.get("model")


@probe("", "sk-1")
def _llm_api_key(stage: Stage, value: Any) -> object:
    return _asked(llm_api_key=value).headers.get("authorization")


@probe(1, 0)
def _llm_daily_calls(stage: Stage, value: Any) -> object:
    settings = Settings(llm_daily_calls=value)
    model: Any = llm.resolve(lambda messages: "ok", settings, stage.db)
    try:
        return [llm.ask(model, ASKED, settings) for _ in "ab"]
    except ModelError as error:
        return error.reason


@probe(60, 0.1)
def _llm_timeout_seconds(stage: Stage, value: Any) -> object:
    def slow(messages: Any) -> str:
        time.sleep(0.3)
        return "ok"

    try:
        return llm.ask(slow, ASKED, Settings(llm_timeout_seconds=value))
    except ModelError as error:
        return error.reason
