"""Probes of the flags of recall."""

from __future__ import annotations

from typing import Any

from core import llm
from core.chat_history_cache import save_chat_message
from core.config import Settings
from core.llm import embedder as embedders
from tests.spec.probes import probe
from tests.spec.stage import HERE, Stage
from tests.unit.llm.embedding_server import running


@probe(1, 0)
def _record_wishes(stage: Stage, value: Any) -> object:
    settings, scope = Settings(record_wishes=bool(value)), stage.scope(HERE)
    name = f"Jo{value}"
    save_chat_message(HERE, f"Call me {name}", "Ann", "ann", db=stage.db, settings=settings, scope=scope)
    return f"Call me {name}" in stage.context("hello").get("standing_wishes", [])


def _asked(texts: int = 2, **flags: Any) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """Return the requests, and their headers, that a server of embeddings gets with these flags."""
    with running() as server:
        settings = Settings(embedder=server.base(), **flags)
        embedders.resolve(None, settings).embed(["a", "b"][:texts])
        llm.close()
        return server.asked, server.headers


@probe("", "http://127.0.0.1:9/v1")
def _embedder(stage: Stage, value: Any) -> object:
    return embedders.resolve(None, Settings(embedder=value)) is None


@probe("", "small")
def _embedder_model(stage: Stage, value: Any) -> object:
    return _asked(embedder_model=value)[0][0].get("model")


@probe("", "k")
def _embedder_api_key(stage: Stage, value: Any) -> object:
    return _asked(embedder_api_key=value)[1][0].get("authorization")
