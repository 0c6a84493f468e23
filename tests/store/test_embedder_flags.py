"""EMBEDDER names an embedder without code: searches, prompts and workers know it (docs/embeddings.md)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from core import jobs, llm
from core.chat_history_cache import save_chat_message
from core.config import Settings
from core.database.engine import Database
from core.errors import ConfigError
from core.prompt_engine import explain_json_prompt
from core.scope import Scope
from core.semantic import count_vectors, embed_rows
from core.synth_core_memory import explain_search, search_memories
from tests.store.world import NOW, own_scope
from tests.unit.llm.embedding_server import EmbeddingServer, running

HERE = "tg/1"
TALK = ("We had soup", "The rain", "My dog sleeps", "The car")


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with running() as made:
        yield made
    llm.close()


def talk(db: Database, scope: Scope) -> None:
    for n, text in enumerate(TALK):
        save_chat_message(HERE, text, "Ann", "7", message_id=f"m{n}", db=db, scope=scope)


def asking(scope: Scope) -> Scope:
    return Scope(scope.persona, HERE, "tg/7")


def test_t66_rows_are_embedded_and_found_by_flags_alone(db: Database, server: EmbeddingServer) -> None:
    scope = own_scope()
    settings = Settings(embedder=server.base(), embedder_model="small", enable_history_recent=False)
    talk(db, scope)
    done = jobs.run_pending(db=db, settings=settings, scope=scope)
    assert [(one.type, one.state) for one in done] == [("EMBED", "completed")]
    assert list(count_vectors(db=db, scope=scope).values()) == [len(TALK)]
    asked: dict[str, Any] = {"db": db, "settings": settings, "scope": asking(scope)}
    assert [hit["snippet"] for hit in search_memories(query="hound", **asked)] == [TALK[2]]
    hits, report = explain_search(query="hound", **asked)
    assert [hit["snippet"] for hit in hits] == [TALK[2]]
    assert report["hits"][0]["meaning"] is True and report["notes"] == []
    message = {"message_id": "x", "date": NOW.isoformat(), "text": "hound?", "interface_path": "tg/2"}
    prompt, told = explain_json_prompt(message, db=db, settings=settings, scope=Scope(scope.persona, "tg/2", "tg/7"))
    assert [hit["snippet"] for hit in prompt["context"]["memories"]] == [TALK[2]]
    assert "embedder" not in str(told.get("failed", ""))
    # Without the flag the same rows are found by words alone, and nobody embeds.
    plain = settings.replace(embedder="")
    assert search_memories(query="hound", db=db, settings=plain, scope=asking(scope)) == []


@pytest.mark.parametrize("wrong", ["500", "nowhere", "no address"])
def test_f57_a_failing_embedder_is_named_and_fails_no_prompt(db: Database, server: EmbeddingServer, wrong: str) -> None:
    scope = own_scope()
    talk(db, scope)
    addresses = {"500": server.base("500"), "nowhere": "http://127.0.0.1:9/v1", "no address": "http://"}
    settings = Settings(embedder=addresses[wrong])
    hits, report = explain_search(query="dog?", db=db, settings=settings, scope=asking(scope))
    assert [hit["snippet"] for hit in hits] == [TALK[2]]
    said = {"no address": "EMBEDDER is 'http://'"}.get(wrong, "The embedder")
    assert any(said in note for note in report["notes"])
    message = {"message_id": "x", "date": NOW.isoformat(), "text": "dog?", "interface_path": "tg/2"}
    elsewhere = Scope(scope.persona, "tg/2", "tg/7")
    quiet = settings.replace(enable_history_recent=False)
    prompt, told = explain_json_prompt(message, db=db, settings=quiet, scope=elsewhere)
    assert [hit["snippet"] for hit in prompt["context"]["memories"]] == [TALK[2]]
    assert "embedder" in str(told) and said in str(told)
    if wrong.startswith("no "):
        with pytest.raises(ConfigError):
            embed_rows(db=db, settings=settings, scope=scope)
        assert jobs.run_pending(db=db, settings=settings, scope=scope) == []
