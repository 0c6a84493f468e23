"""Saving memories (T46 to T54) and how often they were shown (D18)."""

import logging
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

from core import privacy, prompt_engine, synth_core_memory
from core.database.engine import Database
from core.database.schema import memories as table
from core.database.schema import tags
from core.db import insert_memory
from core.errors import MessageError, StoreWriteError
from core.scope import Scope, use_scope
from tests.store.world import NOW, count, index_differences, insert_item, open_db, own_scope, rows_of


def record(db: Database, scope: Scope, text: Any, response: Any = "Noted.", **more: Any) -> Any:
    return synth_core_memory.silently_record_memory(text, response, scope=scope, db=db, **more)


def test_t48_all_columns_are_as_named_in_chat_and_by_voice_and_blank_texts_are_none(db: Database, scope: Scope) -> None:
    result = record(db, scope, "I like tea 🍵", "So do I.")
    row = rows_of(db, table, scope.persona)[0]
    assert result == (True, row.id, "")
    assert (row.content, row.response_text, row.author, row.source) == ("I like tea 🍵", "So do I.", "synth", "chat")
    assert (row.tags, row.scope, row.timestamp) == ('["auto", "interazione"]', "general", NOW)
    assert row.emotion is row.intensity is row.emotion_state is None
    assert (row.tier, row.provenance, row.importance, row.text_folded) == ("long_term", "host", 0.5, "i like tea 🍵")
    assert index_differences(db, scope.persona) == []
    record(db, scope, "I like coffee", tags=["voice", "auto"], source="voice")
    row = rows_of(db, table, scope.persona)[-1]
    assert (row.tags, row.source) == ('["voice", "auto"]', "voice")
    for blank in (None, "", "  \n"):
        assert record(db, scope, blank) == (False, None, "empty")
    assert count(db, table, scope.persona) == 2


def test_g5_a_text_named_scope_is_the_label(db: Database, scope: Scope) -> None:
    with use_scope(scope):
        synth_core_memory.silently_record_memory("I like tea", "ok", None, "kitchen", db=db)
    synth_core_memory.silently_record_memory("I like rain", "ok", scope=scope, label="garden", db=db)
    assert [r.scope for r in rows_of(db, table, scope.persona)] == ["kitchen", "garden"]
    with pytest.raises(MessageError, match="scope is of type int"):
        synth_core_memory.silently_record_memory("x", "y", scope=7, db=db)  # type: ignore[arg-type]


def test_t50_said_again_is_one_row_with_the_new_time(db: Database, scope: Scope) -> None:
    first = record(db, scope, "I like tea")
    for days in (1, -2):
        db.clock.forward(days=days)  # type: ignore[attr-defined]
        assert record(db, scope, "i  like TEA") == (False, first.id, "duplicate")
    rows = rows_of(db, table, scope.persona)
    assert [r.timestamp for r in rows] == [NOW + timedelta(days=1)] and rows[0].content == "I like tea"
    assert index_differences(db, scope.persona) == []


def test_t50_audience_participant_and_state_make_it_another(db: Database, scope: Scope) -> None:
    ann, bob = replace(scope, participant="tg/ann"), replace(scope, participant="tg/bob")
    assert record(db, ann, "I like tea").stored and record(db, bob, "I like tea").stored
    direct = replace(ann, conversation="tg/ann", privacy="direct")
    assert record(db, direct, "I like tea").stored and record(db, direct, "I like tea").reason == "duplicate"
    superseded = update(table).where(table.c.persona_id == scope.persona).values(superseded_by=1)
    db.transaction(lambda c: c.execute(superseded), source="test")
    assert record(db, ann, "I like tea").stored, "a superseded item is not active"
    assert count(db, table, scope.persona) == 4


def test_t50_insert_memory_always_inserts(db: Database, scope: Scope) -> None:
    assert all(insert_item(db, scope, "I like tea", tags=["cat"]).stored for _ in range(2))
    assert count(db, table, scope.persona) == 2
    assert [(r.tag, r.uses) for r in rows_of(db, tags, scope.persona)] == [("cat", 2)]


def test_g2_what_is_captured_is_saved_by_the_hook(db: Database, scope: Scope) -> None:
    """A host that keeps memories elsewhere saves them itself."""
    saved: list[Any] = []

    def own(content: str, author: str, source: str, tags: Any, scope: str = "general") -> int:
        saved.append((content, author, source, tags, scope))
        return 41 + len(saved)

    prompt_engine.set_hook("save", own)
    made = record(db, scope, "I like kale")
    assert (made.stored, made.id) == (True, 42)
    assert saved == [("I like kale", "synth", "chat", ["auto", "interazione"], "general")]
    prompt_engine.set_hook("save", None)
    assert record(db, scope, "I like kale").reason == ""


def test_t52_privacy_levels(db: Database, scope: Scope) -> None:
    ann = replace(scope, participant="tg/ann")
    for level in ("partial", "full"):
        privacy.set_privacy("tg/ann", level, db=db, scope=scope)
        assert record(db, ann, "I like tea") == (False, None, "privacy") and count(db, table, scope.persona) == 0
    assert insert_item(db, ann, "for a while", tier="session").reason == "privacy"
    privacy.set_privacy("tg/ann", "partial", db=db, scope=scope)
    assert insert_item(db, ann, "for a while", tier="session").stored
    privacy.set_privacy("tg/ann", "none", db=db, scope=scope)
    assert record(db, ann, "I like tea").stored


def test_t54_a_failing_write_is_logged_without_text(caplog: pytest.LogCaptureFixture) -> None:
    own = open_db("sqlite://")
    own.transaction(lambda c: c.exec_driver_sql("DROP TABLE memories"), source="test")
    with caplog.at_level(logging.INFO), pytest.raises(StoreWriteError) as caught:
        record(own, own_scope(), "the canary xylofant")
    assert caught.value.number == 1146 and "xylofant" not in str(caught.value) + caplog.text
    own.close()


def test_t49_a_megabyte_with_emoji_reads_back_equal(db: Database, scope: Scope) -> None:
    text = "🍵 tea, " * 131_072
    result = insert_item(db, scope, text, tags=None, timestamp="2026-01-01T00:00:00Z", metadata={"a": "é😀"})
    row = rows_of(db, table, scope.persona)[0]
    assert result.id == row.id and row.content == text and row.metadata == '{"a": "é😀"}'
    assert (row.tags, row.timestamp.isoformat()) == ("[]", "2026-01-01T00:00:00+00:00")
    assert index_differences(db, scope.persona) == []


def test_d10_values_read_back(db: Database, scope: Scope) -> None:
    insert_item(db, scope, "x", importance=0.6004, emotion="joy", intensity=7, emotion_state="calm", tags='["a", "b"]')
    insert_item(db, scope, "y", importance=3, label="l" * 60, expires_at=NOW, source_message_ids=[1, 2])
    insert_item(db, scope, "z", importance=float("nan"))
    insert_memory("w", "ann", "chat", scope=scope, message_id=7, db=db)
    *rows, last = rows_of(db, table, scope.persona)
    assert [r.importance for r in rows] == [0.6, 1.0, 0.5] and last.source_message_ids == '["7"]'
    assert (rows[0].emotion, rows[0].intensity, rows[0].emotion_state, rows[0].tags) == ("joy", 7, "calm", '["a", "b"]')
    assert (rows[1].scope, rows[1].expires_at, rows[1].source_message_ids) == ("l" * 50, NOW, "[1, 2]")


def test_g15_t3_what_was_cut_is_said(db: Database, scope: Scope) -> None:
    result = insert_item(db, scope, "y", label="l" * 60, importance="high", timestamp="soon")
    assert result.stored and len(result.notes) == 3
    tagged = insert_item(db, scope, "hello", tags=["a" * 300])
    assert (tagged.stored, tagged.dropped_tags, rows_of(db, table, scope.persona)[-1].tags) == (True, 1, "[]")
    for bad in ({"intensity": "much"}, {"tier": "forever"}, {"provenance": "me"}, {"author": []}, {"pinned": "yes"}):
        with pytest.raises(MessageError):
            insert_item(db, scope, "z", **bad)
    assert count(db, table, scope.persona) == 2
