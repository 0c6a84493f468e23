"""The table of tokens, by which programs that come over a network say who they are.

The statements are of their day and never follow `database.schema`.
"""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"

SERVER = """
CREATE TABLE IF NOT EXISTS access_tokens (
    id BIGINT NOT NULL,
    persona_id VARBINARY(64) DEFAULT 'default' NOT NULL,
    kind VARBINARY(8) DEFAULT '' NOT NULL,
    token_hash BINARY(32) NOT NULL,
    participant_key VARBINARY(255),
    conversation_key VARBINARY(512),
    server_id VARBINARY(191) DEFAULT '' NOT NULL,
    label VARCHAR(100) DEFAULT '' NOT NULL,
    created_at DATETIME(6),
    revoked_at DATETIME(6),
    PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC
"""

SQLITE = """
CREATE TABLE IF NOT EXISTS access_tokens (
    id INTEGER NOT NULL,
    persona_id TEXT DEFAULT 'default' NOT NULL,
    kind TEXT DEFAULT '' NOT NULL,
    token_hash BLOB NOT NULL,
    participant_key TEXT,
    conversation_key TEXT,
    server_id TEXT DEFAULT '' NOT NULL,
    label VARCHAR(100) DEFAULT '' NOT NULL,
    created_at TEXT,
    revoked_at TEXT,
    PRIMARY KEY (id)
)
"""


def upgrade() -> None:
    connection = op.get_bind()
    statement = SQLITE if connection.dialect.name == "sqlite" else SERVER
    op.get_context().opts["ddl"].run_script(connection, statement)
