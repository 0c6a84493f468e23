"""All tables: messages, memories, diary; stories; summaries and short-term entries; people; search; jobs, tokens."""

from collections.abc import Mapping

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table, UniqueConstraint, text

from .dialects import BLOB, FLAG, HASH, ID, INTEGER, LONG_TEXT, PACKED, SMALL, Decimal, StoredText
from .schema_base import columns, flags, json_texts, key, keys, metadata, persona, row_id, table, times

NAMESPACE_BYTES = 1000
NAME_BYTES = 512

audiences: Table = table(
    "audiences",
    Column("audience_id", ID, nullable=False, autoincrement=False),
    persona(),
    *keys(kind=12, server_id=191, ref=512),
    PrimaryKeyConstraint("audience_id"),
    # for finding or creating the audience of a row
    UniqueConstraint("persona_id", "kind", "server_id", "ref", name="uq_audiences_owner"),
)

conversations: Table = table(
    "conversations",
    row_id(),
    persona(),
    Column("audience_id", ID, nullable=False),
    *keys(conversation_key=512, interface=64, chat_id=255, thread_id=255),
    key("parent_key", 512, nullable=True),
    key("server_id", 191),
    Column("server_name", StoredText(200), nullable=False, server_default=text("''")),
    *flags("is_private"),
    key("direct_person_key", 255, nullable=True),
    *flags("local_only"),
    Column("title", StoredText(200), nullable=False, server_default=text("''")),
    key("status", 8, default="open"),
    *flags("stories_off"),
    Column("current_recap_version", INTEGER, nullable=True),
    Column("next_recap_version", INTEGER, nullable=False, server_default=text("0")),
    Column("consolidated_to", ID, nullable=True),
    *times("last_message_at", "created_at", "closed_at"),
    *json_texts("metadata"),  # chat-level metadata of a chat file, for its export
    # for the conversation of a message
    UniqueConstraint("persona_id", "conversation_key", name="uq_conversations_key"),
    # for conversations of a server, newest first
    Index("ix_conversations_server", "persona_id", "server_id", "last_message_at"),
    # for the newest other conversations of an audience: history_recent
    Index("ix_conversations_audience", "persona_id", "audience_id", "last_message_at"),
)

participants: Table = table(
    "participants",
    persona(),
    *keys(participant_key=255, person_key=255),
    Column("display_name", StoredText(255), nullable=False, server_default=text("''")),
    *times("created_at", "updated_at"),
    PrimaryKeyConstraint("persona_id", "participant_key"),
    # for all identities of a person
    Index("ix_participants_person", "persona_id", "person_key"),
    # for a participant in all personas: what may be stored of them
    Index("ix_participants_key", "participant_key"),
    clustered=True,
)

privacy_levels: Table = table(
    "privacy_levels",
    *keys(participant_key=255, level=8),
    *times("updated_at"),
    PrimaryKeyConstraint("participant_key"),
    clustered=True,
)

# `indexed` is 0 for a row inserted by another program until the search index contains it

chat_history_cache: Table = table(
    "chat_history_cache",
    row_id(by_server=True),
    persona(),
    Column("audience_id", ID, nullable=False, server_default=text("0")),
    key("interface_path", 512),
    key("message_id", 191, nullable=True),
    key("sender_id", 255),
    key("participant_key", 255, nullable=True),
    Column("sender_name", StoredText(255), nullable=False, server_default=text("''")),
    key("role", 12, default="user"),
    Column("message_text", LONG_TEXT, nullable=False),
    Column("text_folded", LONG_TEXT, nullable=True),
    key("triggered_by", 255, nullable=True),
    *json_texts("metadata"),
    *json_texts("made_with"),  # in an answer: source and id of each row that its prompt contained
    *times("timestamp"),
    *flags("hidden", "excluded"),
    *flags("no_items"),  # 1 once an item made from it was deleted or corrected: no item is made from it again
    Column("content_hash", HASH, nullable=True),
    *times("edited_at"),
    *flags("indexed"),
    # for the newest messages of a conversation and ranges of a story
    Index("ix_chat_conversation", "persona_id", "interface_path", "timestamp", "id"),
    # for the newest messages of all conversations and the search
    Index("ix_chat_audience", "persona_id", "audience_id", "timestamp", "id"),
    # refuses a second message with the same id (NULLs do not collide)
    UniqueConstraint("persona_id", "interface_path", "message_id", name="uq_chat_message"),
    # for the same text within 5 s
    Index("ix_chat_content", "persona_id", "interface_path", "content_hash", "timestamp"),
    # for forgetting a participant
    Index("ix_chat_participant", "persona_id", "participant_key", "id"),
    Index("ix_chat_triggered", "persona_id", "triggered_by", "id"),
    # for rows that wait to be indexed
    Index("ix_chat_waiting", "persona_id", "indexed", "id"),
)

memories: Table = table(
    "memories",
    row_id(by_server=True),
    persona(),
    Column("audience_id", ID, nullable=False, server_default=text("0")),
    *times("timestamp"),
    Column("content", LONG_TEXT, nullable=False),
    *columns(LONG_TEXT, "text_folded", "response_text"),
    *columns(StoredText(100), "author", "source"),
    *json_texts("tags"),
    *columns(StoredText(50), "scope", "emotion"),
    Column("intensity", INTEGER, nullable=True),
    Column("emotion_state", StoredText(50), nullable=True),
    key("tier", 10, default="long_term"),
    key("kind", 20),
    Column("importance", Decimal(4, 3), nullable=False, server_default=text("'0.5'")),
    *flags("pinned", "local_only"),
    key("conversation_key", 512, nullable=True),
    key("participant_key", 255, nullable=True),
    *json_texts("source_message_ids"),
    key("provenance", 8, default="host"),
    *times("expires_at", "archived_at"),
    Column("superseded_by", ID, nullable=True),
    *json_texts("metadata"),
    Column("content_hash", HASH, nullable=True),
    *times("created_at", "updated_at"),
    *flags("indexed"),
    # for listing and the search
    Index("ix_memories_audience", "persona_id", "audience_id", "archived_at", "timestamp", "id"),
    # for the admin search, saved memories and the export
    Index("ix_memories_kind", "persona_id", "kind", "timestamp", "id"),
    # for expiry
    Index("ix_memories_expiry", "persona_id", "tier", "expires_at", "id"),
    # for finding duplicates
    Index("ix_memories_content", "persona_id", "audience_id", "content_hash"),
    # for forgetting, and for the relationship of items
    Index("ix_memories_participant", "persona_id", "participant_key", "id"),
    Index("ix_memories_conversation", "persona_id", "conversation_key", "id"),
    # for rows that wait to be indexed
    Index("ix_memories_waiting", "persona_id", "indexed", "id"),
)

ai_diary: Table = table(
    "ai_diary",
    row_id(by_server=True),
    persona(),
    Column("audience_id", ID, nullable=False, server_default=text("0")),
    Column("content", LONG_TEXT, nullable=False),
    *columns(LONG_TEXT, "personal_thought", "interaction_summary", "user_message", "text_folded"),
    *json_texts("emotions", "context_tags", "involved_users"),
    *times("timestamp"),
    *keys(interface=50, chat_id=255, thread_id=255),
    *flags("local_only"),
    *times("archived_at"),
    Column("content_hash", HASH, nullable=True),
    *json_texts("source_message_ids"),  # ids of the messages that the entry was made from
    # all speakers, also those left out for their privacy level: only forgetting reads it
    *json_texts("participant_keys"),
    *flags("indexed"),
    # for recent entries and the search
    Index("ix_diary_audience", "persona_id", "audience_id", "archived_at", "timestamp", "id"),
    # for entries of a chat
    Index("ix_diary_chat", "persona_id", "interface", "chat_id", "timestamp", "id"),
    # for rows that wait to be indexed
    Index("ix_diary_waiting", "persona_id", "indexed", "id"),
)

tags: Table = table(
    "tags",
    persona(),
    key("tag", 255),
    Column("uses", INTEGER, nullable=False, server_default=text("0")),
    *times("created_at"),
    PrimaryKeyConstraint("persona_id", "tag"),
    clustered=True,
)

tag_aliases: Table = table(
    "tag_aliases", persona(), *keys(alias=255, tag=255), PrimaryKeyConstraint("persona_id", "alias"), clustered=True
)

tag_links: Table = table(
    "tag_links",
    persona(),
    *keys(tag=255, related_tag=255),
    Column("weight", Decimal(6, 3), nullable=False, server_default=text("1")),
    PrimaryKeyConstraint("persona_id", "tag", "related_tag"),
    # for the other direction
    Index("ix_tag_links_related", "persona_id", "related_tag", "tag"),
    clustered=True,
)

message_recaps: Table = table(
    "message_recaps",
    persona(),
    Column("message_row", ID, nullable=False),
    # -1 is the current alternative, or a message without alternatives; other alternatives have their number
    Column("alternative", INTEGER, nullable=False, server_default=text("-1")),
    key("conversation_key", 512),
    Column("memory", LONG_TEXT, nullable=True),
    Column("include", StoredText(40), nullable=True),
    Column("token_count", INTEGER, nullable=True),
    *json_texts("data"),
    *flags("edited", "stale"),
    key("provenance", 8, default="model"),
    *times("updated_at"),
    PrimaryKeyConstraint("persona_id", "message_row", "alternative"),
    # for the messages of a story in order
    Index("ix_recaps_conversation", "persona_id", "conversation_key", "message_row"),
    # for included recaps, in the prompt and at each refresh, however many there are
    Index("ix_recaps_included", "persona_id", "conversation_key", "include"),
)

message_alternatives: Table = table(
    "message_alternatives",
    persona(),
    Column("message_row", ID, nullable=False),
    Column("alternative", INTEGER, nullable=False),
    Column("text", LONG_TEXT, nullable=False),
    *flags("is_current"),
    *json_texts("metadata"),
    PrimaryKeyConstraint("persona_id", "message_row", "alternative"),
)

scenes: Table = table(
    "scenes",
    row_id(),
    persona(),
    key("conversation_key", 512),
    Column("break_row", ID, nullable=False),
    Column("name", StoredText(200), nullable=False, server_default=text("''")),
    Column("visible", FLAG, nullable=False, server_default=text("1")),
    Column("current_recap_index", INTEGER, nullable=True),
    # one scene per break
    UniqueConstraint("persona_id", "break_row", name="uq_scenes_break"),
    # for breaks in order
    Index("ix_scenes_conversation", "persona_id", "conversation_key", "break_row"),
)

scene_recaps: Table = table(
    "scene_recaps",
    persona(),
    Column("scene_id", ID, nullable=False),
    Column("version_index", INTEGER, nullable=False),
    Column("content", LONG_TEXT, nullable=False),
    *json_texts("metadata"),
    key("provenance", 8, default="model"),
    *times("created_at"),
    PrimaryKeyConstraint("persona_id", "scene_id", "version_index"),
)

running_recaps: Table = table(
    "running_recaps",
    persona(),
    key("conversation_key", 512),
    Column("version", INTEGER, nullable=False),
    Column("content", LONG_TEXT, nullable=False),
    *columns(INTEGER, "scene_count", "excluded_count", "prev_scene_index", "new_scene_index", default="0"),
    key("provenance", 8, default="model"),
    *json_texts("data"),  # the scenes in the text, each with its recap's version
    *times("created_at", "deleted_at"),
    PrimaryKeyConstraint("persona_id", "conversation_key", "version"),
)

conversation_summaries: Table = table(
    "conversation_summaries",
    row_id(),
    persona(),
    Column("audience_id", ID, nullable=False, server_default=text("0")),
    key("conversation_key", 512),
    Column("title", StoredText(200), nullable=False, server_default=text("''")),
    Column("summary", LONG_TEXT, nullable=False),
    *times("occurred_at"),
    Column("last_message_row", ID, nullable=True),
    *flags("local_only"),
    key("provenance", 8, default="model"),
    *times("created_at"),
    # for the rolling list
    Index("ix_summaries_audience", "persona_id", "audience_id", "occurred_at", "id"),
    # refuses a second row for the same end
    UniqueConstraint("persona_id", "conversation_key", "last_message_row", name="uq_summaries_end"),
)

item_history: Table = table(
    "item_history",
    row_id(),
    persona(),
    Column("item_id", ID, nullable=False),
    Column("old_text", LONG_TEXT, nullable=False),
    *columns(StoredText(100), "reason", "changed_by", default="''"),
    *times("changed_at"),
    # for the earlier texts of an item in order
    Index("ix_item_history_item", "persona_id", "item_id", "id"),
)

short_term_memories: Table = table(
    "short_term_memories",
    row_id(),
    persona(),
    Column("audience_id", ID, nullable=False, server_default=text("0")),
    *keys(participant_key=255, channel_id=512, lineage_id=64, server_id=191),
    *columns(StoredText(200), "server_name", "channel_name", default="''"),
    key("parent_channel_id", 512, nullable=True),
    *flags("local_only"),
    *json_texts("messages"),
    Column("summary", LONG_TEXT, nullable=True),
    *times("summary_updated_at", "last_updated"),
    Column("turns_since_summary", INTEGER, nullable=False, server_default=text("0")),
    # for the entry of a person in a channel
    UniqueConstraint("persona_id", "participant_key", "channel_id", name="uq_short_term_entry"),
    # for other channels of a person, newest first
    Index("ix_short_term_user", "persona_id", "participant_key", "last_updated", "id"),
    # for channels of a server, newest first
    Index("ix_short_term_server", "persona_id", "server_id", "last_updated", "id"),
    # for expiry
    Index("ix_short_term_expiry", "persona_id", "last_updated", "id"),
    # for the entries of a channel, which are deleted and moved with it, and for whether an entry is the newest
    Index("ix_short_term_channel", "persona_id", "channel_id", "last_updated", "id"),
)

user_relationships: Table = table(
    "user_relationships",
    persona(),
    key("user_id", 255),
    *columns(StoredText(255), "username", "realname", default="''"),
    *columns(SMALL, "affinity", "affinity_base", default="0"),
    # whole days since the last interaction at the time affinity_base was set
    Column("base_days", INTEGER, nullable=False, server_default=text("0")),
    Column("trust", SMALL, nullable=False, server_default=text("0")),
    Column("interaction_count", INTEGER, nullable=False, server_default=text("0")),
    *times("last_interaction"),
    PrimaryKeyConstraint("persona_id", "user_id"),
    # for the recent list and the decay
    Index("ix_relationships_recent", "persona_id", "last_interaction", "user_id"),
    clustered=True,
)

consolidation_runs: Table = table(
    "consolidation_runs",
    row_id(),
    persona(),
    *keys(kind=16, conversation_key=512),
    Column("reason", StoredText(100), nullable=False, server_default=text("''")),
    *columns(INTEGER, "window_size", "items_added", "items_pruned", default="0"),
    *times("started_at", "finished_at"),
    Column("error", StoredText(500), nullable=True),
    # for the latest runs
    Index("ix_runs_persona", "persona_id", "id"),
)

stored_values: Table = table(
    "stored_values",
    row_id(),
    persona(),
    Column("audience_id", ID, nullable=False),
    *keys(participant_key=255, conversation_key=512, kind=8),
    key("namespace", NAMESPACE_BYTES),  # parts of the namespace, each ended by a character that no part contains
    key("name", NAME_BYTES),
    Column("value", LONG_TEXT, nullable=True),  # JSON of an entry; empty if the item holds the text, as for a file
    Column("memory_id", ID, nullable=True),  # id of the memory item that makes it searchable
    Column("ttl_seconds", INTEGER, nullable=True),
    *times("expires_at", "created_at", "updated_at"),
    # for one value by name, and values below a namespace. Not unique: two may meet when a conversation turns private
    Index("ix_values_name", "persona_id", "audience_id", "kind", "namespace", "name", "id"),
    # for forgetting
    Index("ix_values_participant", "persona_id", "participant_key", "id"),
    Index("ix_values_conversation", "persona_id", "conversation_key", "id"),
    Index("ix_values_memory", "persona_id", "memory_id"),
)

search_fresh: Table = table(
    "search_fresh",
    Column("audience_id", ID, nullable=False),
    Column("source", SMALL, nullable=False),
    Column("row_id", ID, nullable=False),
    Column("digest", ID, nullable=False),  # differs between two contents of one row
    Column("content", PACKED, nullable=False),
    # the audience's rows that are not packed yet: ranking data with words, tags and days
    PrimaryKeyConstraint("audience_id", "source", "row_id"),
)

search_segment: Table = table(
    "search_segment",
    Column("audience_id", ID, nullable=False),
    # row 0 of an audience has no rows: its `docs` counts the segments made, and it is locked while they change
    Column("segment_id", ID, nullable=False),
    Column("stamp", ID, nullable=False),
    Column("docs", INTEGER, nullable=False),
    Column("head", PACKED, nullable=False),
    Column("terms", PACKED, nullable=False),
    # for packed rows of an audience
    PrimaryKeyConstraint("audience_id", "segment_id"),
)

search_block: Table = table(
    "search_block",
    Column("audience_id", ID, nullable=False),
    Column("segment_id", ID, nullable=False),
    Column("kind", SMALL, nullable=False),
    key("term", 255),
    Column("postings", PACKED, nullable=False),
    # the places of a word (kind 0) or tag (kind 1) in a segment, and the rows about a day (kind 3)
    PrimaryKeyConstraint("audience_id", "segment_id", "kind", "term"),
    clustered=True,
)

search_gone: Table = table(
    "search_gone",
    Column("audience_id", ID, nullable=False),
    Column("source", SMALL, nullable=False),
    Column("row_id", ID, nullable=False),
    Column("segment_id", ID, nullable=False),  # segments up to this one no longer contain the row
    # packed rows that were changed or deleted since
    PrimaryKeyConstraint("audience_id", "source", "row_id"),
    clustered=True,
)

search_vector: Table = table(
    "search_vector",
    Column("audience_id", ID, nullable=False),
    key("model", 100),
    Column("at_us", ID, nullable=False),
    Column("source", SMALL, nullable=False),
    Column("row_id", ID, nullable=False),
    Column("part", SMALL, nullable=False),
    Column("vector", BLOB, nullable=False, quote=True),  # not `vector`, a reserved word of MariaDB since 11.7
    # version of the audience at which the vector was added
    Column("stamp", ID, nullable=False, server_default=text("0")),
    # for the newest vectors of an audience that one embedder made
    PrimaryKeyConstraint("audience_id", "model", "at_us", "source", "row_id", "part"),
    # for the vectors of a row: a search candidate, or a row that is changed or deleted
    Index("ix_vector_row", "audience_id", "source", "row_id"),
    # for vectors added since a process read the others
    Index("ix_vector_stamp", "audience_id", "model", "stamp"),
    clustered=True,
)

search_vector_version: Table = table(
    "search_vector_version",
    Column("audience_id", ID, nullable=False, autoincrement=False),
    Column("version", ID, nullable=False),  # rises with every change of the audience's vectors
    # for whether a process's cached vectors are current
    PrimaryKeyConstraint("audience_id"),
)

search_vector_gone: Table = table(
    "search_vector_gone",
    Column("audience_id", ID, nullable=False),
    Column("stamp", ID, nullable=False),  # version of the audience at which its vectors were deleted
    Column("source", SMALL, nullable=False),
    Column("row_id", ID, nullable=False),
    # rows whose vectors were deleted since a process read them, for the last thousand versions
    PrimaryKeyConstraint("audience_id", "stamp", "source", "row_id"),
    clustered=True,
)

memory_jobs: Table = table(
    "memory_jobs",
    row_id(),
    persona(),
    key("conversation_key", 512, nullable=True),
    key("participant_key", 255, nullable=True),
    key("type", 32),
    Column("priority", SMALL, nullable=False, server_default=text("1")),
    key("status", 12, default="pending"),
    *json_texts("payload", "depends_on"),
    Column("tries", INTEGER, nullable=False, server_default=text("0")),
    *times("available_at", "lease_until"),
    key("claimed_by", 64, nullable=True),
    Column("error", StoredText(500), nullable=True),
    *times("created_at", "updated_at"),
    # for the next operation
    Index("ix_jobs_next", "persona_id", "status", "priority", "created_at", "id"),
    # for operations of a conversation: one detection at a time, forgetting
    Index("ix_jobs_conversation", "persona_id", "conversation_key", "type", "status"),
)

counters: Table = table(
    "counters",
    persona(),
    key("name", 64),
    Column("value", ID, nullable=False, server_default=text("0")),
    PrimaryKeyConstraint("persona_id", "name"),
    clustered=True,
)

access_tokens: Table = table(
    "access_tokens",
    row_id(),
    persona(),  # blank for an operator's token, which belongs to no persona
    key("kind", 8),
    Column("token_hash", HASH, nullable=False),  # hash of the whole token; the token itself is not stored
    key("participant_key", 255, nullable=True),
    key("conversation_key", 512, nullable=True),
    key("server_id", 191),
    # for a host token: other personas it may speak as, separated by commas; `*` for all
    Column("personas", StoredText(1000), nullable=False, server_default=text("''")),
    Column("label", StoredText(100), nullable=False, server_default=text("''")),
    # for a program that an operator connected by OAuth: the only address the token is valid for
    Column("resource", StoredText(300), nullable=False, server_default=text("''")),
    # expires_at, for a program connected by OAuth: time until which it can renew its token; others do not expire
    *times("created_at", "expires_at", "revoked_at"),
)

model_usage: Table = table(
    "model_usage",
    key("day", 10),  # day in UTC, such as 2026-03-10
    *keys(asker=16, model=191),  # asker: `worker`, the total of all workers, or `front_end` of the proxy
    *columns(ID, "calls", "characters", default="0"),
    *times("last_at"),
    PrimaryKeyConstraint("day", "asker", "model"),
    clustered=True,
)

schema_version: Table = table(
    "schema_version",
    # the latest migration that ran, and with it all earlier ones. Alembic reads and writes it
    Column("version_num", StoredText(32), primary_key=True, nullable=False),
    # fingerprint of the tables that the program made or compared: `upkeep.ddl.build_fingerprint`
    key("fingerprint", 16),
)

TABLES: Mapping[str, Table] = metadata.tables
"""All tables by name, `schema_version` last."""
