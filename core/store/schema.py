"""The tables as they are today (data model D6 to D18, D27, D28), one declaration for every server.

`sql/schema/*.sql` is generated from here and compared by a test; how a database got here is in `sql/migrations/`.
Each index has a comment naming the query it serves.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    CheckConstraint,
    Column,
    Index,
    Integer,
    MetaData,
    Numeric,
    PrimaryKeyConstraint,
    Table,
    UniqueConstraint,
    text,
)

from core.store.dialects import COLLATION, COUNT16, FLAG, HASH, ID, LONG_TEXT, SMALL, JsonText, Key, Time, name_type

metadata = MetaData()

_OPTIONS: dict[str, Any] = {
    "mysql_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    "mysql_collate": COLLATION,
    "mysql_row_format": "DYNAMIC",
    "mariadb_engine": "InnoDB",
    "mariadb_charset": "utf8mb4",
    "mariadb_collate": COLLATION,
    "mariadb_row_format": "DYNAMIC",
}


def _persona() -> Column[Any]:
    return Column("persona_id", Key(64), nullable=False, server_default=text("'default'"))


def _json(name: str, *, nullable: bool = True) -> Column[Any]:
    return Column(name, JsonText(), nullable=nullable)


def _flag(name: str) -> Column[Any]:
    return Column(name, FLAG, nullable=False, server_default=text("0"))


def _key(name: str, length: int, *, default: str | None = "", nullable: bool = False) -> Column[Any]:
    quoted = None if default is None else text("'" + default + "'")
    return Column(name, Key(length), nullable=nullable, server_default=quoted)


def _checks(name: str, *columns: str) -> list[CheckConstraint]:
    """JSON columns are checked on SQLite only: elsewhere the type does it. json_valid(NULL) may be 0."""
    return [
        CheckConstraint(text(f"{c} IS NULL OR json_valid({c})"), name=f"ck_{name}_{c}").ddl_if(dialect="sqlite")
        for c in columns
    ]


def _table(name: str, *parts: Any, clustered: bool = False) -> Table:
    options = dict(_OPTIONS)
    if clustered:
        options["sqlite_with_rowid"] = False
    return Table(name, metadata, *parts, **options)


audiences = _table(
    "audiences",
    Column("audience_id", ID, nullable=False, autoincrement=False),
    _persona(),
    _key("kind", 12),
    _key("server_id", 191),
    _key("ref", 512),
    PrimaryKeyConstraint("audience_id"),
    # find or make the audience of a row
    UniqueConstraint("persona_id", "kind", "server_id", "ref", name="uq_audiences_owner"),
)

conversations = _table(
    "conversations",
    Column("id", ID, nullable=False, autoincrement=False),
    _persona(),
    Column("audience_id", ID, nullable=False),
    _key("conversation_key", 512),
    _key("interface", 64),
    _key("chat_id", 255),
    _key("thread_id", 255),
    _key("parent_key", 512, default=None, nullable=True),
    _key("server_id", 191),
    Column("server_name", name_type(200), nullable=False, server_default=text("''")),
    _flag("is_private"),
    _key("direct_person_key", 255, default=None, nullable=True),
    _flag("local_only"),
    Column("title", name_type(200), nullable=False, server_default=text("''")),
    _key("status", 8, default="open"),
    _flag("stories_off"),
    Column("current_recap_version", Integer, nullable=True),
    Column("next_recap_version", Integer, nullable=False, server_default=text("0")),
    Column("consolidated_to", ID, nullable=True),
    Column("last_message_at", Time(), nullable=True),
    Column("created_at", Time(), nullable=True),
    Column("closed_at", Time(), nullable=True),
    PrimaryKeyConstraint("id"),
    # the conversation of a message
    UniqueConstraint("persona_id", "conversation_key", name="uq_conversations_key"),
    # conversations of a server, newest first
    Index("ix_conversations_server", "persona_id", "server_id", "last_message_at"),
    # newest other conversations of an audience: history_recent
    Index("ix_conversations_audience", "persona_id", "audience_id", "last_message_at"),
)

participants = _table(
    "participants",
    _persona(),
    _key("participant_key", 255),
    _key("person_key", 255),
    Column("display_name", name_type(255), nullable=False, server_default=text("''")),
    _key("privacy", 8),
    Column("created_at", Time(), nullable=True),
    Column("updated_at", Time(), nullable=True),
    PrimaryKeyConstraint("persona_id", "participant_key"),
    # all identities of a person
    Index("ix_participants_person", "persona_id", "person_key"),
    clustered=True,
)

chat_history_cache = _table(
    "chat_history_cache",
    Column("id", ID, nullable=False, autoincrement=False),
    _persona(),
    Column("audience_id", ID, nullable=False, server_default=text("0")),
    _key("interface_path", 512),
    _key("message_id", 191, default=None, nullable=True),
    _key("sender_id", 255),
    _key("participant_key", 255, default=None, nullable=True),
    Column("sender_name", name_type(255), nullable=False, server_default=text("''")),
    _key("role", 12, default="user"),
    Column("message_text", LONG_TEXT, nullable=False),
    Column("text_folded", LONG_TEXT, nullable=True),
    _key("triggered_by", 255, default=None, nullable=True),
    _json("metadata"),
    Column("timestamp", Time(), nullable=False),
    _flag("hidden"),
    _flag("excluded"),
    Column("token_count", Integer, nullable=True),
    Column("content_hash", HASH, nullable=True),
    Column("edited_at", Time(), nullable=True),
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
    *_checks("chat", "metadata"),
)

memories = _table(
    "memories",
    Column("id", ID, nullable=False, autoincrement=False),
    _persona(),
    Column("audience_id", ID, nullable=False, server_default=text("0")),
    Column("timestamp", Time(), nullable=True),
    Column("content", LONG_TEXT, nullable=False),
    Column("text_folded", LONG_TEXT, nullable=True),
    Column("response_text", LONG_TEXT, nullable=True),
    Column("author", name_type(100), nullable=True),
    Column("source", name_type(100), nullable=True),
    _json("tags"),
    Column("scope", name_type(50), nullable=True),
    Column("emotion", name_type(50), nullable=True),
    Column("intensity", Integer, nullable=True),
    Column("emotion_state", name_type(50), nullable=True),
    _key("tier", 10, default="long_term"),
    _key("kind", 20),
    Column("importance", Numeric(4, 3, asdecimal=False), nullable=False, server_default=text("'0.5'")),
    _flag("pinned"),
    _flag("local_only"),
    _flag("quarantined"),
    _key("conversation_key", 512, default=None, nullable=True),
    _key("participant_key", 255, default=None, nullable=True),
    _json("source_message_ids"),
    _key("provenance", 8, default="host"),
    Column("expires_at", Time(), nullable=True),
    Column("archived_at", Time(), nullable=True),
    Column("superseded_by", ID, nullable=True),
    _json("metadata"),
    Column("content_hash", HASH, nullable=True),
    Column("created_at", Time(), nullable=True),
    Column("updated_at", Time(), nullable=True),
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
    *_checks("memories", "tags", "source_message_ids", "metadata"),
)

ai_diary = _table(
    "ai_diary",
    Column("id", ID, nullable=False, autoincrement=False),
    _persona(),
    Column("audience_id", ID, nullable=False, server_default=text("0")),
    Column("content", LONG_TEXT, nullable=False),
    Column("personal_thought", LONG_TEXT, nullable=True),
    Column("interaction_summary", LONG_TEXT, nullable=True),
    Column("user_message", LONG_TEXT, nullable=True),
    Column("text_folded", LONG_TEXT, nullable=True),
    _json("emotions"),
    _json("context_tags"),
    _json("involved_users"),
    Column("timestamp", Time(), nullable=True),
    _key("interface", 50),
    _key("chat_id", 255),
    _key("thread_id", 255),
    _flag("local_only"),
    _flag("quarantined"),
    Column("archived_at", Time(), nullable=True),
    Column("content_hash", HASH, nullable=True),
    PrimaryKeyConstraint("id"),
    # recent entries, walk of a search
    Index("ix_diary_audience", "persona_id", "audience_id", "archived_at", "timestamp", "id"),
    # entries of a chat
    Index("ix_diary_chat", "persona_id", "interface", "chat_id", "timestamp", "id"),
    *_checks("diary", "emotions", "context_tags", "involved_users"),
)

tags = _table(
    "tags",
    _persona(),
    _key("tag", 255),
    Column("uses", Integer, nullable=False, server_default=text("0")),
    Column("created_at", Time(), nullable=True),
    PrimaryKeyConstraint("persona_id", "tag"),
    clustered=True,
)

tag_aliases = _table(
    "tag_aliases",
    _persona(),
    _key("alias", 255),
    _key("tag", 255),
    PrimaryKeyConstraint("persona_id", "alias"),
    clustered=True,
)

tag_links = _table(
    "tag_links",
    _persona(),
    _key("tag", 255),
    _key("related_tag", 255),
    Column("weight", Numeric(6, 3, asdecimal=False), nullable=False, server_default=text("1")),
    PrimaryKeyConstraint("persona_id", "tag", "related_tag"),
    # the other direction
    Index("ix_tag_links_related", "persona_id", "related_tag", "tag"),
    clustered=True,
)

search_tag = _table(
    "search_tag",
    Column("audience_id", ID, nullable=False),
    _key("tag", 255),
    Column("source", SMALL, nullable=False),
    Column("at_us", ID, nullable=False),
    Column("row_id", ID, nullable=False),
    _flag("local_only"),
    # newest rows with a tag
    PrimaryKeyConstraint("audience_id", "tag", "source", "at_us", "row_id"),
    clustered=True,
)

search_term = _table(
    "search_term",
    Column("audience_id", ID, nullable=False),
    _key("term", 160),
    Column("source", SMALL, nullable=False),
    Column("at_us", ID, nullable=False),
    Column("row_id", ID, nullable=False),
    Column("tf", COUNT16, nullable=False),
    Column("words", COUNT16, nullable=False),
    _flag("local_only"),
    # newest rows with a word or pair
    PrimaryKeyConstraint("audience_id", "term", "source", "at_us", "row_id"),
    clustered=True,
)

search_count = _table(
    "search_count",
    Column("audience_id", ID, nullable=False),
    Column("kind", SMALL, nullable=False),
    _key("term", 255),
    Column("source", SMALL, nullable=False),
    Column("docs", Integer, nullable=False),
    # in how many rows of an audience a word (kind 0) or tag (kind 1) stands
    PrimaryKeyConstraint("audience_id", "kind", "term", "source"),
    clustered=True,
)

search_stats = _table(
    "search_stats",
    Column("audience_id", ID, nullable=False),
    Column("source", SMALL, nullable=False),
    Column("docs", ID, nullable=False),
    Column("words", ID, nullable=False),
    PrimaryKeyConstraint("audience_id", "source"),
    clustered=True,
)

search_vocab = _table(
    "search_vocab",
    Column("head", SMALL, nullable=False),
    _key("part", 160),
    _key("term", 160),
    # words that begin with a text (head 1: part is the word), words that hold it further in (head 0: part is an ending)
    PrimaryKeyConstraint("head", "part", "term"),
    clustered=True,
)

search_progress = _table(
    "search_progress",
    Column("source", SMALL, nullable=False, autoincrement=False),
    _flag("ready"),
    # rows up to next_id are indexed, those from there to until_id not yet, those above as they are written
    Column("next_id", ID, nullable=False, server_default=text("0")),
    Column("until_id", ID, nullable=False, server_default=text("0")),
    Column("updated_at", Time(), nullable=True),
    PrimaryKeyConstraint("source"),
)

memory_recalls = _table(
    "memory_recalls",
    _persona(),
    Column("memory_id", ID, nullable=False, autoincrement=False),
    Column("recalled", Integer, nullable=False, server_default=text("0")),
    Column("last_recalled_at", Time(), nullable=True),
    PrimaryKeyConstraint("persona_id", "memory_id"),
    clustered=True,
)

counters = _table(
    "counters",
    _persona(),
    _key("name", 64),
    Column("value", ID, nullable=False, server_default=text("0")),
    Column("lease_until", Time(), nullable=True),
    _key("claimed_by", 64, default=None, nullable=True),
    PrimaryKeyConstraint("persona_id", "name"),
    clustered=True,
)

config = _table(
    "config",
    _key("config_key", 128),
    Column("value", LONG_TEXT, nullable=False),
    Column("created_at", Time(), nullable=True),
    Column("updated_at", Time(), nullable=True),
    PrimaryKeyConstraint("config_key"),
    clustered=True,
)
