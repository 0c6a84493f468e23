"""The tables of stories and of the operation queue, declared as in `database.schema`."""

from __future__ import annotations

from sqlalchemy import Column, Index, Integer, PrimaryKeyConstraint, Table, UniqueConstraint, text

from .dialects import FLAG, ID, LONG_TEXT, SMALL, Time, name_type
from .schema_base import checks, flag, json_text, key, persona, table

message_recaps: Table = table(
    "message_recaps",
    persona(),
    Column("message_row", ID, nullable=False),
    # -1 is the current alternative, or the message that has none; the others have their number
    Column("alternative", Integer, nullable=False, server_default=text("-1")),
    key("conversation_key", 512),
    Column("memory", LONG_TEXT, nullable=True),
    Column("include", name_type(40), nullable=True),
    Column("token_count", Integer, nullable=True),
    json_text("data"),
    flag("edited"),
    flag("stale"),
    key("provenance", 8, default="model"),
    Column("updated_at", Time(), nullable=True),
    PrimaryKeyConstraint("persona_id", "message_row", "alternative"),
    # one story in order
    Index("ix_recaps_conversation", "persona_id", "conversation_key", "message_row"),
    # recaps that are included, in the prompt and at each refresh, however many there are
    Index("ix_recaps_included", "persona_id", "conversation_key", "include"),
    *checks("recaps", "data"),
)

message_alternatives: Table = table(
    "message_alternatives",
    persona(),
    Column("message_row", ID, nullable=False),
    Column("alternative", Integer, nullable=False),
    Column("text", LONG_TEXT, nullable=False),
    flag("is_current"),
    json_text("metadata"),
    PrimaryKeyConstraint("persona_id", "message_row", "alternative"),
    *checks("alternatives", "metadata"),
)

scenes: Table = table(
    "scenes",
    Column("id", ID, nullable=False, autoincrement=False),
    persona(),
    key("conversation_key", 512),
    Column("break_row", ID, nullable=False),
    Column("name", name_type(200), nullable=False, server_default=text("''")),
    Column("visible", FLAG, nullable=False, server_default=text("1")),
    Column("current_recap_index", Integer, nullable=True),
    PrimaryKeyConstraint("id"),
    # one scene a break
    UniqueConstraint("persona_id", "break_row", name="uq_scenes_break"),
    # breaks in order
    Index("ix_scenes_conversation", "persona_id", "conversation_key", "break_row"),
)

scene_recaps: Table = table(
    "scene_recaps",
    persona(),
    Column("scene_id", ID, nullable=False),
    Column("version_index", Integer, nullable=False),
    Column("content", LONG_TEXT, nullable=False),
    json_text("metadata"),
    key("provenance", 8, default="model"),
    Column("created_at", Time(), nullable=True),
    PrimaryKeyConstraint("persona_id", "scene_id", "version_index"),
    *checks("scene_recaps", "metadata"),
)

running_recaps: Table = table(
    "running_recaps",
    persona(),
    key("conversation_key", 512),
    Column("version", Integer, nullable=False),
    Column("content", LONG_TEXT, nullable=False),
    Column("scene_count", Integer, nullable=False, server_default=text("0")),
    Column("excluded_count", Integer, nullable=False, server_default=text("0")),
    Column("prev_scene_index", Integer, nullable=False, server_default=text("0")),
    Column("new_scene_index", Integer, nullable=False, server_default=text("0")),
    key("provenance", 8, default="model"),
    # the scenes in the text, with the version of each one's recap
    json_text("data"),
    Column("created_at", Time(), nullable=True),
    Column("deleted_at", Time(), nullable=True),
    PrimaryKeyConstraint("persona_id", "conversation_key", "version"),
    *checks("running_recaps", "data"),
)

memory_jobs: Table = table(
    "memory_jobs",
    Column("id", ID, nullable=False, autoincrement=False),
    persona(),
    key("conversation_key", 512, default=None, nullable=True),
    key("participant_key", 255, default=None, nullable=True),
    key("type", 32),
    Column("priority", SMALL, nullable=False, server_default=text("1")),
    key("status", 12, default="pending"),
    json_text("payload"),
    json_text("depends_on"),
    Column("tries", Integer, nullable=False, server_default=text("0")),
    Column("available_at", Time(), nullable=True),
    Column("lease_until", Time(), nullable=True),
    key("claimed_by", 64, default=None, nullable=True),
    Column("error", name_type(500), nullable=True),
    Column("created_at", Time(), nullable=True),
    Column("updated_at", Time(), nullable=True),
    PrimaryKeyConstraint("id"),
    # next operation
    Index("ix_jobs_next", "persona_id", "status", "priority", "created_at", "id"),
    # operations of a conversation: one detection at a time, forgetting
    Index("ix_jobs_conversation", "persona_id", "conversation_key", "type", "status"),
    *checks("jobs", "payload", "depends_on"),
)
