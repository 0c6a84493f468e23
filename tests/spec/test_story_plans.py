"""D2, S13: a refresh and a prompt take the indexes made for them, in a chat of many with thousands of recaps."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from core import stories
from core.config import Settings
from core.database.engine import Database
from core.database.schema import message_recaps, scenes
from core.messages import new_message as messages
from core.messages import table_batches as chat_batches
from core.messages.table_recaps import OWN
from core.prompt_engine import build_json_prompt
from core.scope import Scope
from tests.spec.stage import message
from tests.store.test_plans import catching, explain
from tests.store.world import NOW, open_db

pytestmark = [pytest.mark.slow, pytest.mark.engines("sqlite", "mariadb", "mysql")]

SCOPE = Scope("plans")
SCENE = 40
"""Messages of a scene."""
WANTED = {
    "chat_history_cache": {"ix_chat_conversation", "ix_chat_audience", "ix_chat_waiting", "PRIMARY", "uq_chat_message"},
    "message_recaps": {"ix_recaps_included", "PRIMARY"},
    "scenes": {"ix_scenes_conversation"},
}


def fill(db: Database, scope: Scope, key: str, size: int) -> None:
    """Store a chat with a recap of every message and a scene break every SCENE messages."""
    made = []
    for n in range(size):
        one = messages.read_message(
            scope, key, f"message number {n} of a long story", now=NOW, sender_id=f"u{n % 3}",
            sender_name=f"P{n % 3}", timestamp=NOW + timedelta(minutes=n),
        )  # fmt: skip
        assert one is not None
        made.append(one)
    rows = [result.id for result in chat_batches.insert_messages(db, scope, made, privacy_default="none")]
    recaps = [
        {"persona_id": scope.persona, "message_row": row, "alternative": OWN, "conversation_key": key,
         "memory": f"what happened in part {n}, told in a dozen words or so", "token_count": 12}
        for n, row in enumerate(rows)
    ]  # fmt: skip
    breaks = [
        {"id": db.ids.one(), "persona_id": scope.persona, "conversation_key": key, "break_row": rows[n]}
        for n in range(SCENE - 1, size, SCENE)
    ]
    for start in range(0, size, 1000):
        part = recaps[start : start + 1000]
        db.transaction(lambda c, part=part: c.execute(message_recaps.insert(), part), source="message_recaps")  # type: ignore[misc]
    db.transaction(lambda c: c.execute(scenes.insert(), breaks), source="scenes")


@pytest.fixture(scope="module")
def db(migrated_url: str) -> Iterator[Database]:
    """Ten conversations of 1,000 messages with a recap each."""
    made = open_db(migrated_url)
    for n in range(10):
        fill(made, SCOPE, f"bench/{n}", 1000)
    with made.engines()[1].connect() as connection:
        tables = ("chat_history_cache", "message_recaps", "scenes")
        for name in tables if made.family != "sqlite" else ():
            connection.exec_driver_sql(f"ANALYZE TABLE {name}")
    yield made
    made.close()


def test_d2_a_refresh_and_a_prompt_use_their_indexes(db: Database) -> None:
    """Nothing is read through, and the recaps included are found by their own index."""
    asked = {"db": db, "settings": Settings(enable_message_recaps=True), "scope": SCOPE}
    stories.refresh_memory("bench/3", **asked)  # type: ignore[arg-type]
    with catching(db) as caught:
        stories.refresh_memory("bench/3", **asked)  # type: ignore[arg-type]
        prompt = build_json_prompt(message("what", path="bench/3"), **asked)  # type: ignore[arg-type]
        stories.auto_hide_plan(2, "bench/3", **asked)  # type: ignore[arg-type]
    assert prompt["context"]["message_recaps"]
    used: dict[str, set[str]] = {}
    for statement, values in caught:
        for access in explain(db, statement, values):
            if access.table in WANTED:
                assert not access.is_scan, (access, statement)
                used.setdefault(access.table, set()).add(access.index)
    assert all(indexes <= WANTED[table] for table, indexes in used.items()), used
    assert "ix_recaps_included" in used["message_recaps"]
