"""The table of values that frameworks keep under names; a table that is there stays as it is.

The statements are of their day and never follow `database.schema`.
"""

from __future__ import annotations

from alembic import op

revision = "0005"
down_revision = "0004"

SERVER = """
CREATE TABLE IF NOT EXISTS stored_values (
    id BIGINT NOT NULL,
    persona_id VARBINARY(64) DEFAULT 'default' NOT NULL,
    audience_id BIGINT NOT NULL,
    participant_key VARBINARY(255) DEFAULT '' NOT NULL,
    conversation_key VARBINARY(512) DEFAULT '' NOT NULL,
    kind VARBINARY(8) DEFAULT '' NOT NULL,
    namespace VARBINARY(1000) DEFAULT '' NOT NULL,
    name VARBINARY(512) DEFAULT '' NOT NULL,
    value MEDIUMTEXT,
    memory_id BIGINT,
    ttl_seconds INTEGER,
    expires_at DATETIME(6),
    created_at DATETIME(6),
    updated_at DATETIME(6),
    PRIMARY KEY (id),
    KEY ix_values_name (persona_id, audience_id, kind, namespace, name, id),
    KEY ix_values_participant (persona_id, participant_key, id),
    KEY ix_values_conversation (persona_id, conversation_key, id),
    KEY ix_values_memory (persona_id, memory_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC
"""

SQLITE = """
CREATE TABLE IF NOT EXISTS stored_values (
    id INTEGER NOT NULL,
    persona_id TEXT DEFAULT 'default' NOT NULL,
    audience_id INTEGER NOT NULL,
    participant_key TEXT DEFAULT '' NOT NULL,
    conversation_key TEXT DEFAULT '' NOT NULL,
    kind TEXT DEFAULT '' NOT NULL,
    namespace TEXT DEFAULT '' NOT NULL,
    name TEXT DEFAULT '' NOT NULL,
    value TEXT,
    memory_id INTEGER,
    ttl_seconds INTEGER,
    expires_at TEXT,
    created_at TEXT,
    updated_at TEXT,
    PRIMARY KEY (id)
)
"""

SQLITE_INDEXES = (
    "CREATE INDEX IF NOT EXISTS ix_values_name ON stored_values (persona_id, audience_id, kind, namespace, name, id)",
    "CREATE INDEX IF NOT EXISTS ix_values_participant ON stored_values (persona_id, participant_key, id)",
    "CREATE INDEX IF NOT EXISTS ix_values_conversation ON stored_values (persona_id, conversation_key, id)",
    "CREATE INDEX IF NOT EXISTS ix_values_memory ON stored_values (persona_id, memory_id)",
)


def upgrade() -> None:
    connection = op.get_bind()
    statements = (SQLITE, *SQLITE_INDEXES) if connection.dialect.name == "sqlite" else (SERVER,)
    for statement in statements:
        op.get_context().opts["ddl"].run_script(connection, statement)
