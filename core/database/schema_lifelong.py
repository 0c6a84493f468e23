"""The tables of relationships and consolidation."""

from __future__ import annotations

from sqlalchemy import Column, Index, Integer, PrimaryKeyConstraint, Table, text

from .dialects import ID, SMALL, Time, name_type
from .schema_base import key, persona, table

user_relationships: Table = table(
    "user_relationships",
    persona(),
    key("user_id", 255),
    Column("username", name_type(255), nullable=False, server_default=text("''")),
    Column("realname", name_type(255), nullable=False, server_default=text("''")),
    Column("affinity", SMALL, nullable=False, server_default=text("0")),
    Column("affinity_base", SMALL, nullable=False, server_default=text("0")),
    # whole days since the last interaction when affinity_base was set
    Column("base_days", Integer, nullable=False, server_default=text("0")),
    Column("trust", SMALL, nullable=False, server_default=text("0")),
    Column("interaction_count", Integer, nullable=False, server_default=text("0")),
    Column("last_interaction", Time(), nullable=True),
    PrimaryKeyConstraint("persona_id", "user_id"),
    # recent list, decay
    Index("ix_relationships_recent", "persona_id", "last_interaction", "user_id"),
    clustered=True,
)

consolidation_runs: Table = table(
    "consolidation_runs",
    Column("id", ID, nullable=False, autoincrement=False),
    persona(),
    key("kind", 16),
    key("conversation_key", 512),
    Column("reason", name_type(100), nullable=False, server_default=text("''")),
    Column("window_size", Integer, nullable=False, server_default=text("0")),
    Column("items_added", Integer, nullable=False, server_default=text("0")),
    Column("items_pruned", Integer, nullable=False, server_default=text("0")),
    Column("started_at", Time(), nullable=True),
    Column("finished_at", Time(), nullable=True),
    Column("error", name_type(500), nullable=True),
    PrimaryKeyConstraint("id"),
    # what ran last
    Index("ix_runs_persona", "persona_id", "id"),
)
