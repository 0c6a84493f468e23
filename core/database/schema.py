"""The tables of the log, the memories, the diary, tags and the search."""

from __future__ import annotations

from sqlalchemy import Column, Index, Integer, PrimaryKeyConstraint, Table, UniqueConstraint, text

from .dialects import HASH, ID, LONG_TEXT, PACKED, SMALL, Decimal, Time, name_type
from .schema_base import checks, flag, json_text, key, persona, table

audiences: Table = table(
    "audiences",
    Column("audience_id", ID, nullable=False, autoincrement=False),
    persona(),
    key("kind", 12),
    key("server_id", 191),
    key("ref", 512),
    PrimaryKeyConstraint("audience_id"),
    # find or make the audience of a row
    UniqueConstraint("persona_id", "kind", "server_id", "ref", name="uq_audiences_owner"),
)

conversations: Table = table(
    "conversations",
    Column("id", ID, nullable=False, autoincrement=False),
    persona(),
    Column("audience_id", ID, nullable=False),
    key("conversation_key", 512),
    key("interface", 64),
    key("chat_id", 255),
    key("thread_id", 255),
    key("parent_key", 512, default=None, nullable=True),
    key("server_id", 191),
    Column("server_name", name_type(200), nullable=False, server_default=text("''")),
    flag("is_private"),
    key("direct_person_key", 255, default=None, nullable=True),
    flag("local_only"),
    Column("title", name_type(200), nullable=False, server_default=text("''")),
    key("status", 8, default="open"),
    flag("stories_off"),
    Column("current_recap_version", Integer, nullable=True),
    Column("next_recap_version", Integer, nullable=False, server_default=text("0")),
    Column("consolidated_to", ID, nullable=True),
    Column("last_message_at", Time(), nullable=True),
    Column("created_at", Time(), nullable=True),
    Column("closed_at", Time(), nullable=True),
    # what a chat file says of the whole chat, for its export
    json_text("metadata"),
    PrimaryKeyConstraint("id"),
    # the conversation of a message
    UniqueConstraint("persona_id", "conversation_key", name="uq_conversations_key"),
    # conversations of a server, newest first
    Index("ix_conversations_server", "persona_id", "server_id", "last_message_at"),
    # newest other conversations of an audience: history_recent
    Index("ix_conversations_audience", "persona_id", "audience_id", "last_message_at"),
    *checks("conversations", "metadata"),
)

participants: Table = table(
    "participants",
    persona(),
    key("participant_key", 255),
    key("person_key", 255),
    Column("display_name", name_type(255), nullable=False, server_default=text("''")),
    Column("created_at", Time(), nullable=True),
    Column("updated_at", Time(), nullable=True),
    PrimaryKeyConstraint("persona_id", "participant_key"),
    # all identities of a person
    Index("ix_participants_person", "persona_id", "person_key"),
    # a participant over all personas: what may be kept of them
    Index("ix_participants_key", "participant_key"),
    clustered=True,
)

privacy_levels: Table = table(
    "privacy_levels",
    key("participant_key", 255),
    key("level", 8),
    Column("updated_at", Time(), nullable=True),
    PrimaryKeyConstraint("participant_key"),
    clustered=True,
)

chat_history_cache: Table = table(
    "chat_history_cache",
    Column("id", ID, nullable=False, autoincrement=True),
    persona(),
    Column("audience_id", ID, nullable=False, server_default=text("0")),
    key("interface_path", 512),
    key("message_id", 191, default=None, nullable=True),
    key("sender_id", 255),
    key("participant_key", 255, default=None, nullable=True),
    Column("sender_name", name_type(255), nullable=False, server_default=text("''")),
    key("role", 12, default="user"),
    Column("message_text", LONG_TEXT, nullable=False),
    Column("text_folded", LONG_TEXT, nullable=True),
    key("triggered_by", 255, default=None, nullable=True),
    json_text("metadata"),
    Column("timestamp", Time(), nullable=True),
    flag("hidden"),
    flag("excluded"),
    # 1 once an item made of it was deleted or corrected: nothing is made of it again
    flag("no_items"),
    Column("content_hash", HASH, nullable=True),
    Column("edited_at", Time(), nullable=True),
    # 0 for a row that another program inserted, until it is in the search index
    flag("indexed"),
    PrimaryKeyConstraint("id"),
    # newest of a conversation, range of a story
    Index("ix_chat_conversation", "persona_id", "interface_path", "timestamp", "id"),
    # newest over conversations, walk of a search
    Index("ix_chat_audience", "persona_id", "audience_id", "timestamp", "id"),
    # same id twice (NULLs do not collide)
    UniqueConstraint("persona_id", "interface_path", "message_id", name="uq_chat_message"),
    # same text within 5 s
    Index("ix_chat_content", "persona_id", "interface_path", "content_hash", "timestamp"),
    # forgetting a participant
    Index("ix_chat_participant", "persona_id", "participant_key", "id"),
    Index("ix_chat_triggered", "persona_id", "triggered_by", "id"),
    # rows that wait to be indexed
    Index("ix_chat_waiting", "persona_id", "indexed", "id"),
    *checks("chat", "metadata"),
)

memories: Table = table(
    "memories",
    Column("id", ID, nullable=False, autoincrement=True),
    persona(),
    Column("audience_id", ID, nullable=False, server_default=text("0")),
    Column("timestamp", Time(), nullable=True),
    Column("content", LONG_TEXT, nullable=False),
    Column("text_folded", LONG_TEXT, nullable=True),
    Column("response_text", LONG_TEXT, nullable=True),
    Column("author", name_type(100), nullable=True),
    Column("source", name_type(100), nullable=True),
    json_text("tags"),
    Column("scope", name_type(50), nullable=True),
    Column("emotion", name_type(50), nullable=True),
    Column("intensity", Integer, nullable=True),
    Column("emotion_state", name_type(50), nullable=True),
    key("tier", 10, default="long_term"),
    key("kind", 20),
    Column("importance", Decimal(4, 3), nullable=False, server_default=text("'0.5'")),
    flag("pinned"),
    flag("local_only"),
    flag("quarantined"),
    key("conversation_key", 512, default=None, nullable=True),
    key("participant_key", 255, default=None, nullable=True),
    json_text("source_message_ids"),
    key("provenance", 8, default="host"),
    Column("expires_at", Time(), nullable=True),
    Column("archived_at", Time(), nullable=True),
    Column("superseded_by", ID, nullable=True),
    json_text("metadata"),
    Column("content_hash", HASH, nullable=True),
    Column("created_at", Time(), nullable=True),
    Column("updated_at", Time(), nullable=True),
    # 0 for a row that another program inserted, until it is in the search index
    flag("indexed"),
    PrimaryKeyConstraint("id"),
    # listing, walk of a search
    Index("ix_memories_audience", "persona_id", "audience_id", "archived_at", "timestamp", "id"),
    # admin search, saved memories, export
    Index("ix_memories_kind", "persona_id", "kind", "timestamp", "id"),
    # expiry
    Index("ix_memories_expiry", "persona_id", "tier", "expires_at", "id"),
    # duplicates
    Index("ix_memories_content", "persona_id", "audience_id", "content_hash"),
    # forgetting, relationship of items
    Index("ix_memories_participant", "persona_id", "participant_key", "id"),
    Index("ix_memories_conversation", "persona_id", "conversation_key", "id"),
    # rows that wait to be indexed
    Index("ix_memories_waiting", "persona_id", "indexed", "id"),
    *checks("memories", "tags", "source_message_ids", "metadata"),
)

ai_diary: Table = table(
    "ai_diary",
    Column("id", ID, nullable=False, autoincrement=True),
    persona(),
    Column("audience_id", ID, nullable=False, server_default=text("0")),
    Column("content", LONG_TEXT, nullable=False),
    Column("personal_thought", LONG_TEXT, nullable=True),
    Column("interaction_summary", LONG_TEXT, nullable=True),
    Column("user_message", LONG_TEXT, nullable=True),
    Column("text_folded", LONG_TEXT, nullable=True),
    json_text("emotions"),
    json_text("context_tags"),
    json_text("involved_users"),
    Column("timestamp", Time(), nullable=True),
    key("interface", 50),
    key("chat_id", 255),
    key("thread_id", 255),
    flag("local_only"),
    flag("quarantined"),
    Column("archived_at", Time(), nullable=True),
    Column("content_hash", HASH, nullable=True),
    # the messages the entry stands on
    json_text("source_message_ids"),
    # 0 for a row that another program inserted, until it is in the search index
    flag("indexed"),
    PrimaryKeyConstraint("id"),
    # recent entries, walk of a search
    Index("ix_diary_audience", "persona_id", "audience_id", "archived_at", "timestamp", "id"),
    # entries of a chat
    Index("ix_diary_chat", "persona_id", "interface", "chat_id", "timestamp", "id"),
    # rows that wait to be indexed
    Index("ix_diary_waiting", "persona_id", "indexed", "id"),
    *checks("diary", "emotions", "context_tags", "involved_users", "source_message_ids"),
)

tags: Table = table(
    "tags",
    persona(),
    key("tag", 255),
    Column("uses", Integer, nullable=False, server_default=text("0")),
    Column("created_at", Time(), nullable=True),
    PrimaryKeyConstraint("persona_id", "tag"),
    clustered=True,
)

tag_aliases: Table = table(
    "tag_aliases",
    persona(),
    key("alias", 255),
    key("tag", 255),
    PrimaryKeyConstraint("persona_id", "alias"),
    clustered=True,
)

tag_links: Table = table(
    "tag_links",
    persona(),
    key("tag", 255),
    key("related_tag", 255),
    Column("weight", Decimal(6, 3), nullable=False, server_default=text("1")),
    PrimaryKeyConstraint("persona_id", "tag", "related_tag"),
    # the other direction
    Index("ix_tag_links_related", "persona_id", "related_tag", "tag"),
    clustered=True,
)

search_fresh: Table = table(
    "search_fresh",
    Column("audience_id", ID, nullable=False),
    Column("source", SMALL, nullable=False),
    Column("row_id", ID, nullable=False),
    # tells two contents of one row apart
    Column("digest", ID, nullable=False),
    Column("content", PACKED, nullable=False),
    # rows of an audience that are not packed yet: what ranks a row, with its words and tags
    PrimaryKeyConstraint("audience_id", "source", "row_id"),
)

search_segment: Table = table(
    "search_segment",
    Column("audience_id", ID, nullable=False),
    # row 0 of an audience has no rows: its docs count the segments made, and it is locked while they change
    Column("segment_id", ID, nullable=False),
    Column("stamp", ID, nullable=False),
    Column("docs", Integer, nullable=False),
    Column("head", PACKED, nullable=False),
    Column("terms", PACKED, nullable=False),
    # packed rows of an audience
    PrimaryKeyConstraint("audience_id", "segment_id"),
)

search_block: Table = table(
    "search_block",
    Column("audience_id", ID, nullable=False),
    Column("segment_id", ID, nullable=False),
    Column("kind", SMALL, nullable=False),
    key("term", 255),
    Column("postings", PACKED, nullable=False),
    # where a word (kind 0) or tag (kind 1) stands in a segment
    PrimaryKeyConstraint("audience_id", "segment_id", "kind", "term"),
    clustered=True,
)

search_gone: Table = table(
    "search_gone",
    Column("audience_id", ID, nullable=False),
    Column("source", SMALL, nullable=False),
    Column("row_id", ID, nullable=False),
    # no segment up to this one holds the row any more
    Column("segment_id", ID, nullable=False),
    # packed rows that changed or went since
    PrimaryKeyConstraint("audience_id", "source", "row_id"),
    clustered=True,
)

search_stats: Table = table(
    "search_stats",
    Column("audience_id", ID, nullable=False),
    Column("source", SMALL, nullable=False),
    Column("docs", ID, nullable=False),
    Column("words", ID, nullable=False),
    PrimaryKeyConstraint("audience_id", "source"),
    clustered=True,
)

counters: Table = table(
    "counters",
    persona(),
    key("name", 64),
    Column("value", ID, nullable=False, server_default=text("0")),
    Column("lease_until", Time(), nullable=True),
    key("claimed_by", 64, default=None, nullable=True),
    PrimaryKeyConstraint("persona_id", "name"),
    clustered=True,
)
