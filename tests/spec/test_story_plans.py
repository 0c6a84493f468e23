"""D2, S13: a refresh and a prompt take the indexes made for them, in a chat of many with thousands of recaps."""

from __future__ import annotations

import pytest

from core import stories
from core.database.engine import Database
from core.database.schema import scenes
from tests.spec.story import Story
from tests.store.test_plans import catching, explain

pytestmark = [pytest.mark.slow, pytest.mark.engines("sqlite", "mariadb", "mysql")]

WANTED = {
    "chat_history_cache": {"ix_chat_conversation", "ix_chat_audience", "ix_chat_waiting", "PRIMARY", "uq_chat_message"},
    "message_recaps": {"ix_recaps_included", "PRIMARY"},
    "scenes": {"ix_scenes_conversation"},
}


def test_d2_a_refresh_and_a_prompt_use_their_indexes(db: Database) -> None:
    """Of ten conversations of 1,000 messages; nothing is read through, recaps are found by their own index."""
    for n in range(10):
        story = Story(db, "plans", f"bench/{n}", message_recap_context_type="percent", message_recap_context_limit=10)
        story.fill(1000)
        key = {"persona_id": story.persona, "conversation_key": story.path}
        breaks = [{**key, "id": db.ids.one(), "break_row": row} for row in story.messages[39::40]]
        db.transaction(lambda connection, breaks=breaks: connection.execute(scenes.insert(), breaks), source="scenes")  # type: ignore[misc]
    if db.family != "sqlite":
        with db.engines()[1].connect() as connection:
            for name in WANTED:
                connection.exec_driver_sql(f"ANALYZE TABLE {name}")
    story.call(stories.refresh_memory)
    with catching(db) as caught:
        story.call(stories.refresh_memory)
        context = story.context("what", path=story.path, ENABLE_MESSAGE_RECAPS=True)
        story.call(stories.auto_hide_plan, 2)
    assert context["message_recaps"]
    used: dict[str, set[str]] = {}
    for statement, values in caught:
        for access in explain(db, statement, values):
            if access.table in WANTED:
                assert not access.is_scan, (access, statement)
                used.setdefault(access.table, set()).add(access.index)
    assert all(indexes <= WANTED[table] for table, indexes in used.items()), used
    assert "ix_recaps_included" in used["message_recaps"]
