"""When vectors came and went, so that a process knows which of those it holds are still right.

The statements are of their day and never follow `database.schema`.
"""

from __future__ import annotations

from alembic import op

revision = "0008"
down_revision = "0007"

_ENGINE = "ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC"
COLUMN_SERVER = "ALTER TABLE search_vector ADD COLUMN stamp BIGINT DEFAULT 0 NOT NULL"
COLUMN_SQLITE = "ALTER TABLE search_vector ADD COLUMN stamp INTEGER DEFAULT 0 NOT NULL"
INDEX = "CREATE INDEX ix_vector_stamp ON search_vector (audience_id, model, stamp)"
VERSIONS = "search_vector_version (audience_id, version) SELECT DISTINCT v.audience_id, 1 FROM search_vector AS v"
SERVER = (
    f"""
CREATE TABLE IF NOT EXISTS search_vector_version (
    audience_id BIGINT NOT NULL,
    version BIGINT NOT NULL,
    PRIMARY KEY (audience_id)
) {_ENGINE}
""",
    f"""
CREATE TABLE IF NOT EXISTS search_vector_gone (
    audience_id BIGINT NOT NULL,
    stamp BIGINT NOT NULL,
    source TINYINT NOT NULL,
    row_id BIGINT NOT NULL,
    PRIMARY KEY (audience_id, stamp, source, row_id)
) {_ENGINE}
""",
)
SQLITE = (
    """
CREATE TABLE IF NOT EXISTS search_vector_version (
    audience_id INTEGER NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (audience_id)
)
""",
    """
CREATE TABLE IF NOT EXISTS search_vector_gone (
    audience_id INTEGER NOT NULL,
    stamp INTEGER NOT NULL,
    source INTEGER NOT NULL,
    row_id INTEGER NOT NULL,
    PRIMARY KEY (audience_id, stamp, source, row_id)
) WITHOUT ROWID
""",
)


def upgrade() -> None:
    connection, ddl = op.get_bind(), op.get_context().opts["ddl"]
    is_sqlite = connection.dialect.name == "sqlite"
    if not ddl.has_column(connection, "search_vector", "stamp"):
        connection.exec_driver_sql(COLUMN_SQLITE if is_sqlite else COLUMN_SERVER)
    if not ddl.has_index(connection, "search_vector", "ix_vector_stamp"):
        connection.exec_driver_sql(INDEX)
    for statement in SQLITE if is_sqlite else SERVER:
        connection.exec_driver_sql(statement)
    connection.exec_driver_sql(f"INSERT {'OR ' if is_sqlite else ''}IGNORE INTO {VERSIONS}")
