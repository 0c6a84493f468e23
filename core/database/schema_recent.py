"""The tables of conversation summaries, edits and short-term memory."""

from __future__ import annotations

from sqlalchemy import Column, Index, Integer, PrimaryKeyConstraint, Table, UniqueConstraint, text

from .dialects import ID, LONG_TEXT, Time, name_type
from .schema_base import checks, flag, json_text, key, persona, table

conversation_summaries: Table = table(
    "conversation_summaries",
    Column("id", ID, nullable=False, autoincrement=False),
    persona(),
    Column("audience_id", ID, nullable=False, server_default=text("0")),
    key("conversation_key", 512),
    Column("title", name_type(200), nullable=False, server_default=text("''")),
    Column("summary", LONG_TEXT, nullable=False),
    Column("occurred_at", Time(), nullable=True),
    Column("last_message_row", ID, nullable=True),
    flag("local_only"),
    key("provenance", 8, default="model"),
    Column("created_at", Time(), nullable=True),
    PrimaryKeyConstraint("id"),
    # the rolling list
    Index("ix_summaries_audience", "persona_id", "audience_id", "occurred_at", "id"),
    # the same end twice
    UniqueConstraint("persona_id", "conversation_key", "last_message_row", name="uq_summaries_end"),
)

item_history: Table = table(
    "item_history",
    Column("id", ID, nullable=False, autoincrement=False),
    persona(),
    key("item_table", 24),
    Column("item_id", ID, nullable=False),
    Column("old_text", LONG_TEXT, nullable=False),
    Column("reason", name_type(100), nullable=False, server_default=text("''")),
    Column("changed_by", name_type(100), nullable=False, server_default=text("''")),
    Column("changed_at", Time(), nullable=True),
    PrimaryKeyConstraint("id"),
    # the texts an item had, in order
    Index("ix_item_history_item", "persona_id", "item_table", "item_id", "id"),
)

short_term_memories: Table = table(
    "short_term_memories",
    Column("id", ID, nullable=False, autoincrement=False),
    persona(),
    Column("audience_id", ID, nullable=False, server_default=text("0")),
    key("participant_key", 255),
    key("channel_id", 512),
    key("lineage_id", 64),
    key("server_id", 191),
    Column("server_name", name_type(200), nullable=False, server_default=text("''")),
    Column("channel_name", name_type(200), nullable=False, server_default=text("''")),
    key("parent_channel_id", 512, default=None, nullable=True),
    flag("local_only"),
    json_text("messages"),
    Column("summary", LONG_TEXT, nullable=True),
    Column("summary_updated_at", Time(), nullable=True),
    Column("last_updated", Time(), nullable=True),
    Column("turns_since_summary", Integer, nullable=False, server_default=text("0")),
    PrimaryKeyConstraint("id"),
    # the entry of a person in a channel
    UniqueConstraint("persona_id", "participant_key", "channel_id", name="uq_short_term_entry"),
    # other channels of a person, newest first
    Index("ix_short_term_user", "persona_id", "participant_key", "last_updated", "id"),
    # channels of a server, newest first
    Index("ix_short_term_server", "persona_id", "server_id", "last_updated", "id"),
    # expiry
    Index("ix_short_term_expiry", "persona_id", "last_updated", "id"),
    # entries of a channel, which go and move with it, and whether one of them is the newest
    Index("ix_short_term_channel", "persona_id", "channel_id", "last_updated", "id"),
    *checks("short_term", "messages"),
)
