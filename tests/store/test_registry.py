"""D36: one list names every table, its text columns and how rows of somebody are found in it."""

from __future__ import annotations

from core.database.dialects import Key
from core.database.registry import BY_TABLE
from core.database.schema import TABLES

NOBODYS = {
    "asker", "claimed_by", "day", "fingerprint", "interface", "kind", "level", "lineage_id", "message_id", "model",
    "name", "namespace", "persona_id", "provenance", "role", "server_id", "status", "tier", "type",
}  # fmt: skip
"""Keys that name neither a person nor a conversation, and are no words people said."""
BESIDE = {"sender_id", "chat_id", "thread_id", "parent_key", "parent_channel_id"}
"""Keys of rows that are found by another column of theirs."""


def test_d36_every_key_is_registered_for_what_it_names() -> None:
    """The registry is read off the names of columns: one with a new name must not keep what was to be forgotten."""
    for table in TABLES.values():
        entry = BY_TABLE[table.name]
        keys = {column.name for column in table.columns if isinstance(column.type, Key)}
        assert keys <= {*entry.texts, *entry.participant, *entry.conversation, *NOBODYS, *BESIDE}, table.name


def test_d36_every_json_and_text_column_is_registered() -> None:
    assert {"content", "emotions", "context_tags"} <= set(BY_TABLE["ai_diary"].texts)
    assert {"payload", "error"} <= set(BY_TABLE["memory_jobs"].texts)
    assert BY_TABLE["ai_diary"].conversation == ("interface", "chat_id", "thread_id")
