"""D35, S36: what a story hides costs its prompts nothing."""

from __future__ import annotations

from sqlalchemy import update

from core.database.schema import chat_history_cache
from tests.spec.stage import HERE, Stage, said


def test_d35_hidden_rows_are_not_read_through_for_a_full_list(stage: Stage) -> None:
    """Fewer lines than wanted follow the last break, and everything before it is hidden."""
    assert stage.db is not None
    for n in range(60):
        stage.say(f"hidden long ago {n}", minutes=100 - n)
    c = chat_history_cache.c
    hide = update(chat_history_cache).where(c.persona_id == stage.persona, c.interface_path == HERE).values(hidden=1)
    stage.db.transaction(lambda connection: connection.execute(hide), source="chat_history_cache")
    stage.say("shown one", minutes=3)
    stage.say("shown two", minutes=2)
    stage.context("hidden")
    with stage.db.traced() as statements:
        context = stage.context("hidden")
    assert said(context["history_current_chat"]) == ["shown one", "shown two"]
    assert len(statements) <= 14, statements
