"""Whatever is stored, changed, moved and deleted in whatever order: the search tables hold what the rows give (D15)."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import privacy, synth_core_memory
from core.ai_diary import add_diary_entry, cleanup_old_entries, unarchive_entries
from core.chat_history_cache import clear_chat_history, delete_chat_message, edit_chat_message, save_chat_message
from core.database import schema
from core.database.engine import Database
from core.scope import Scope
from tests.store.world import NOW, index_differences, own_scope, remove_items, rows_of

pytestmark = pytest.mark.dialects

PATHS = ("tg/1", "tg/1/2", "tg/7", "dc/9")
TEXTS = ("my cat", "a dog and a cat", "数学の宿題 😀", "x" * 200, "Straße 50% a_b", "!!!")

ACTIONS = (
    *["say"] * 3, "edit", "drop", "clear", "keep", "forget", "note", "old", "new", "turn", "link", "part", "fail",
)  # fmt: skip

actions = st.lists(
    st.tuples(st.sampled_from(ACTIONS), st.sampled_from(PATHS), st.sampled_from(TEXTS), st.integers(0, 5)),
    min_size=1,
    max_size=18,
)


def do(db: Database, scope: Scope, action: str, path: str, text: str, number: int) -> None:  # noqa: C901 - one branch each
    given: dict[str, Any] = {"db": db, "scope": scope}
    own = replace(scope, conversation=path, participant=f"tg/{number}")
    said = rows_of(db, schema.chat_history_cache, scope.persona)
    kept, noted = rows_of(db, schema.memories, scope.persona), rows_of(db, schema.ai_diary, scope.persona)
    if action == "say":
        save_chat_message(path, f"{text} {number}", sender_id=str(number), timestamp=NOW, **given)
    elif action == "fail":
        made = db.ids.take
        try:
            used = [row.id for row in said[:1]]
            db.ids.take = lambda count=1: [used.pop()] if used else made(count)  # type: ignore[method-assign]
            if said:  # the id another process used: stored with another one
                assert save_chat_message(path, f"{text} {len(said)}", sender_id="77", timestamp=NOW, **given).stored
        finally:
            db.ids.take = made  # type: ignore[method-assign]
    elif action in ("edit", "drop") and said:
        row = said[number % len(said)]
        if action == "edit":
            edit_chat_message(row.id, f"{text} changed", **given)
        else:
            delete_chat_message(row.id, **given)
    elif action == "clear":
        clear_chat_history(path, **given)
    elif action == "keep":
        synth_core_memory.silently_record_memory(text, "ok", [text, "t"], own, db=db)
    elif action == "forget" and kept:
        remove_items(db, scope.persona, [kept[number % len(kept)].id])
    elif action == "note":
        add_diary_entry(text, context_tags=["t"], timestamp=NOW, db=db, scope=own)
    elif action == "old":
        cleanup_old_entries(0, **given)
    elif action == "new":
        unarchive_entries([r.id for r in noted[:number]], **given)
    elif action == "turn":
        privacy.set_conversation_privacy(path, ("public", "direct", "restricted")[number % 3], **given)  # type: ignore[arg-type]
    elif action == "link":
        privacy.link_participants("tg/1", f"tg/{number}", **given)
    elif action == "part":
        privacy.unlink_participant(f"tg/{number}", **given)


@pytest.mark.slow
def test_d15_the_index_holds_what_the_rows_give(db: Database, engine_name: str) -> None:
    @given(actions)
    @settings(max_examples=8 if engine_name == "seekdb" else 25)
    def mixed(todo: list[tuple[str, str, str, int]]) -> None:
        _check(db, todo)

    mixed()


def _check(db: Database, todo: list[tuple[str, str, str, int]]) -> None:
    scope = own_scope()
    for action in todo:
        do(db, scope, *action)
    assert index_differences(db, scope.persona) == []
    uses: dict[str, int] = {}
    for table, column in ((schema.memories, "tags"), (schema.ai_diary, "context_tags")):
        for row in rows_of(db, table, scope.persona):
            for tag in json.loads(getattr(row, column)):
                uses[tag] = uses.get(tag, 0) + 1
    assert {r.tag: r.uses for r in rows_of(db, schema.tags, scope.persona) if r.uses} == uses
