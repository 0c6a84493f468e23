"""The tables beside memory: tokens of programs (docs/http-api.md), and what was asked of models."""

from __future__ import annotations

from sqlalchemy import Column, PrimaryKeyConstraint, Table, text

from .dialects import HASH, ID, Time, name_type
from .schema_base import key, persona, table

access_tokens: Table = table(
    "access_tokens",
    Column("id", ID, nullable=False, autoincrement=False),
    # blank for a token of an operator, who is nobody's
    persona(),
    key("kind", 8),
    # of the whole token; the token itself is nowhere
    Column("token_hash", HASH, nullable=False),
    key("participant_key", 255, default=None, nullable=True),
    key("conversation_key", 512, default=None, nullable=True),
    key("server_id", 191),
    # of a host token: other personas it may speak as, with commas between; `*` for all
    Column("personas", name_type(1000), nullable=False, server_default=text("''")),
    Column("label", name_type(100), nullable=False, server_default=text("''")),
    Column("created_at", Time(), nullable=True),
    Column("revoked_at", Time(), nullable=True),
    PrimaryKeyConstraint("id"),
)

model_usage: Table = table(
    "model_usage",
    # in UTC, such as 2026-03-10
    key("day", 10),
    # worker, or front_end of the proxy
    key("asker", 16),
    key("model", 191),
    Column("calls", ID, nullable=False, server_default=text("0")),
    Column("characters", ID, nullable=False, server_default=text("0")),
    Column("last_at", Time(), nullable=True),
    PrimaryKeyConstraint("day", "asker", "model"),
    clustered=True,
)
