"""G25, F77: one family of exceptions that carry facts; unknown words are refused with the known ones beside them."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from core.chat_history_cache import save_chat_message
from core.config import Settings, resolve
from core.database.engine import Database
from core.db import insert_memory
from core.errors import ConfigError, MessageError, ScopeError
from core.privacy import set_conversation_privacy, set_privacy
from core.prompt_engine import build_json_prompt, set_hook, to_messages
from core.scope import Scope
from core.synth_core_memory import search_memories
from tests.store.world import open_db


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with closing(open_db("sqlite://")) as made:
        yield made


UNKNOWN: dict[str, tuple[type[Exception], str, Callable[[dict[str, Any]], Any]]] = {
    "dialect": (ValueError, "openai", lambda more: to_messages({"context": {}}, dialect="opanai")),
    "destination": (ValueError, "remote", lambda more: build_json_prompt(_asked(), destination="remot", **more)),
    "destination of a scope": (ScopeError, "remote", lambda more: Scope(destination="remot")),  # type: ignore[arg-type]
    "privacy": (MessageError, "public", lambda more: set_conversation_privacy("a/b", "publik", **more)),  # type: ignore[arg-type]
    "level": (MessageError, "full", lambda more: set_privacy("a/b", "ful", **more)),
    "role": (MessageError, "user", lambda more: save_chat_message("a/b", "x", role="usr", **more)),
    "tier": (MessageError, "long_term", lambda more: insert_memory("x", "a", "b", [], tier="longterm", **more)),
    "provenance": (MessageError, "host", lambda more: insert_memory("x", "a", "b", [], provenance="hst", **more)),
    "hook": (ValueError, "engine_limit", lambda more: set_hook("engine_limt", None)),
    "flag": (ConfigError, "CHAT_HISTORY", lambda more: resolve({"chat_histroy": 3})),
    "argument of a search": (TypeError, "keyword", lambda more: search_memories(keyword=["x"], **more)),
    "argument of saving": (TypeError, "roll", lambda more: save_chat_message("a/b", "x", roll="user", **more)),
    "argument of an item": (TypeError, "importanc", lambda more: insert_memory("x", "a", "b", [], importanc=1, **more)),
}
"""What is unknown, the class raised, a word the message must hold, the call."""


def _asked() -> dict[str, Any]:
    return {"message_id": "1", "date": 0, "text": "x"}


@pytest.mark.parametrize("name", UNKNOWN)
def test_f77_an_unknown_word_is_refused_with_the_known_beside_it(db: Database, name: str) -> None:
    kind, word, call = UNKNOWN[name]
    with pytest.raises(kind, match=word):
        call({"db": db, "settings": Settings()})
    for table in ("chat_history_cache", "memories", "conversations", "participants"):
        assert db.read(f"SELECT COUNT(*) FROM {table}", (), source=table)[0][0] == 0
