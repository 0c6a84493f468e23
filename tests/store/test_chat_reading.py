"""Reading, clearing, editing what was said (P43 to P45), each by who may (F12, F2)."""

from __future__ import annotations

from typing import Any

from core.chat_history_cache import (
    clear_chat_history,
    delete_chat_message,
    edit_chat_message,
    get_cache_stats,
    load_chat_history,
    load_global_chat_history,
)
from core.config import Settings
from core.database.engine import Database
from core.database.schema import chat_history_cache
from core.scope import Scope
from tests.store.test_chat import at, save
from tests.store.world import NOW, index_differences, indexed_rows, rows_of

DEFAULTS = Settings()


# Reading


def load(db: Database, scope: Scope, path: str, limit: Any = None, **more: Any) -> Any:
    """Load with the default settings."""
    return load_chat_history(path, limit, db=db, settings=DEFAULTS, scope=scope, **more)


def test_p43_the_newest_ten_oldest_first(db: Database, scope: Scope) -> None:
    for n in range(12):
        save(db, scope, "tg/1", f"text {n}", timestamp=at(60 * n), metadata={"n": n} if n == 11 else None)
    lines = load(db, scope, "tg/1")
    assert [line["text"] for line in lines] == [f"text {n}" for n in range(2, 12)]
    assert list(lines[0]) == ["sender_name", "sender_id", "text", "timestamp", "interface_path", "role"]
    assert lines[-1] == {
        "sender_name": "Ann",
        "sender_id": "7",
        "text": "text 11",
        "timestamp": "2026-03-10T12:11:00+00:00",
        "interface_path": "tg/1",
        "role": "user",
        "metadata": {"n": 11},
    }
    assert [line["text"] for line in load(db, scope, "tg/1", 2)] == ["text 10", "text 11"]
    assert len(load(db, scope, "tg/1", "4")) == 4 and load(db, scope, " ") == []


def test_p43_a_level_holds_what_is_below_and_nothing_else(db: Database, scope: Scope) -> None:
    for n, path in enumerate(("tg/1", "tg/1/2", "tg/10", "tg/1%", "tg/1-", "tg/10/2")):
        save(db, scope, path, f"in {path}", timestamp=at(n))
    assert [line["interface_path"] for line in load(db, scope, "tg/1", level=True)] == ["tg/1", "tg/1/2"]
    assert [line["interface_path"] for line in load(db, scope, "tg/1")] == ["tg/1"]


def test_p44_the_newest_over_all_conversations(db: Database, scope: Scope) -> None:
    for n in range(6):
        save(db, scope, "tg/a" if n % 2 else "tg/b", f"text {n}", timestamp=at(60 * n))
    lines = load_global_chat_history(3, db=db, settings=DEFAULTS, scope=scope)
    assert [line["text"] for line in lines] == ["text 3", "text 4", "text 5"]
    assert len(load_global_chat_history(db=db, settings=DEFAULTS, scope=scope)) == 6


def test_p44_clearing_counts_and_takes_the_index_along(db: Database, scope: Scope) -> None:
    for n in range(5):
        save(db, scope, "tg/1", f"text {n}")
    save(db, scope, "tg/1/2", "below")
    assert clear_chat_history("tg/1", db=db, settings=DEFAULTS, scope=scope) == 5
    assert clear_chat_history("tg/1", db=db, settings=DEFAULTS, scope=scope) == 0
    assert [r.interface_path for r in rows_of(db, chat_history_cache, scope.persona)] == ["tg/1/2"]
    assert index_differences(db, scope.persona) == []


def test_p44_stats(db: Database, scope: Scope) -> None:
    stats = get_cache_stats(db=db, settings=DEFAULTS, scope=scope)
    assert stats == {
        "total_messages": 0,
        "unique_interface_paths": 0,
        "oldest_message": None,
        "newest_message": None,
        "history_limit": 10,
    }
    for n in range(3):
        save(db, scope, f"tg/{n % 2}", f"text {n}", timestamp=at(n))
    stats = get_cache_stats(db=db, settings=DEFAULTS, scope=scope)
    assert list(stats.values()) == [3, 2, "2026-03-10T12:00:00+00:00", "2026-03-10T12:00:02+00:00", 10]


# Changing


def test_p45_an_edited_message_is_found_by_its_new_words(db: Database, scope: Scope) -> None:
    result = save(db, scope, "tg/1", "my cat sleeps", message_id="m1")
    assert edit_chat_message(result.id, "my dog sleeps", db=db, settings=DEFAULTS, scope=scope) == (True, result.id, "")
    mine = {r.audience_id for r in rows_of(db, chat_history_cache, scope.persona)}
    assert {word for one in indexed_rows(db, mine).values() for word in one.terms} == {"my", "dog", "sleeps"}
    row = rows_of(db, chat_history_cache, scope.persona)[0]
    assert (row.message_text, row.text_folded, row.edited_at) == ("my dog sleeps", "my dog sleeps", NOW)
    again = edit_chat_message("m1", "my dog sleeps", interface_path="tg/1", db=db, settings=DEFAULTS, scope=scope)
    assert again == (False, result.id, "unchanged")
    assert edit_chat_message(result.id, " ", db=db, settings=DEFAULTS, scope=scope).reason == "empty"
    assert save(db, scope, "tg/1", "My dog sleeps").reason == "duplicate"
    assert index_differences(db, scope.persona) == []


def test_p45_a_deleted_message_leaves_no_index_row(db: Database, scope: Scope) -> None:
    kept, gone = save(db, scope, "tg/1", "one cat"), save(db, scope, "tg/1", "two cats")
    assert delete_chat_message(gone.id, db=db, settings=DEFAULTS, scope=scope) == (True, gone.id, "")
    assert delete_chat_message(gone.id, db=db, settings=DEFAULTS, scope=scope).reason == "unchanged"
    assert [r.id for r in rows_of(db, chat_history_cache, scope.persona)] == [kept.id]
    assert index_differences(db, scope.persona) == []
