"""The table of values that a host's framework keeps under names: files of a memory tool, entries of a store."""

from __future__ import annotations

from sqlalchemy import Column, Index, Integer, PrimaryKeyConstraint, Table

from .dialects import ID, LONG_TEXT, Time
from .schema_base import key, persona, table

NAMESPACE_BYTES = 1000
NAME_BYTES = 512

stored_values: Table = table(
    "stored_values",
    Column("id", ID, nullable=False, autoincrement=False),
    persona(),
    Column("audience_id", ID, nullable=False),
    key("participant_key", 255),
    key("conversation_key", 512),
    key("kind", 8),
    # parts of the namespace, each ended by a sign that none holds
    key("namespace", NAMESPACE_BYTES),
    key("name", NAME_BYTES),
    # JSON of an entry; empty where the item holds the text, as that of a file
    Column("value", LONG_TEXT, nullable=True),
    # the memory item that makes it searchable
    Column("memory_id", ID, nullable=True),
    Column("ttl_seconds", Integer, nullable=True),
    Column("expires_at", Time(), nullable=True),
    Column("created_at", Time(), nullable=True),
    Column("updated_at", Time(), nullable=True),
    PrimaryKeyConstraint("id"),
    # one value by name, those below a namespace. Not unique: two may meet when a conversation turns private
    Index("ix_values_name", "persona_id", "audience_id", "kind", "namespace", "name", "id"),
    # forgetting
    Index("ix_values_participant", "persona_id", "participant_key", "id"),
    Index("ix_values_conversation", "persona_id", "conversation_key", "id"),
    Index("ix_values_memory", "persona_id", "memory_id"),
)
