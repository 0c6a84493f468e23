"""D2, S13: a refresh and a prompt take the indexes made for them, in a chat of many with thousands of recaps."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from core import stories
from core.config import Settings
from core.database.engine import Database
from core.prompt_engine import build_json_prompt
from core.scope import Scope
from tests.bench.stories import fill
from tests.spec.stage import message
from tests.store.test_plans import catching, explain
from tests.store.world import open_db

pytestmark = [pytest.mark.slow, pytest.mark.engines("sqlite", "mariadb", "mysql")]

SCOPE = Scope("plans")
WANTED = {
    "chat_history_cache": {"ix_chat_conversation", "ix_chat_audience", "PRIMARY", "uq_chat_message"},
    "message_recaps": {"ix_recaps_included", "PRIMARY"},
    "scenes": {"ix_scenes_conversation"},
}


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
