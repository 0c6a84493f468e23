"""The table of vectors that an optional embedder makes of texts; a table that is there stays as it is.

The statements are of their day and never follow `database.schema`.
"""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"

SERVER = """
CREATE TABLE IF NOT EXISTS search_vector (
    audience_id BIGINT NOT NULL,
    model VARBINARY(100) DEFAULT '' NOT NULL,
    at_us BIGINT NOT NULL,
    source TINYINT NOT NULL,
    row_id BIGINT NOT NULL,
    part TINYINT NOT NULL,
    `vector` BLOB NOT NULL,
    PRIMARY KEY (audience_id, model, at_us, source, row_id, part),
    KEY ix_vector_row (audience_id, source, row_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC
"""

SQLITE = """
CREATE TABLE IF NOT EXISTS search_vector (
    audience_id INTEGER NOT NULL,
    model TEXT DEFAULT '' NOT NULL,
    at_us INTEGER NOT NULL,
    source INTEGER NOT NULL,
    row_id INTEGER NOT NULL,
    part INTEGER NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (audience_id, model, at_us, source, row_id, part)
) WITHOUT ROWID
"""

SQLITE_INDEX = "CREATE INDEX IF NOT EXISTS ix_vector_row ON search_vector (audience_id, source, row_id)"


def upgrade() -> None:
    connection = op.get_bind()
    statements = (SQLITE, SQLITE_INDEX) if connection.dialect.name == "sqlite" else (SERVER,)
    for statement in statements:
        op.get_context().opts["ddl"].run_script(connection, statement)
