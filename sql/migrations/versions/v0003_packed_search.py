"""The tables of the packed search index. What was indexed before is indexed anew, by `db reindex` or a worker.

The statements are of their day and never follow `database.schema`.
"""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"

_ENGINE = "ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC"
SERVER = (
    f"""
CREATE TABLE IF NOT EXISTS search_fresh (
    audience_id BIGINT NOT NULL,
    source TINYINT NOT NULL,
    row_id BIGINT NOT NULL,
    at_us BIGINT NOT NULL,
    words SMALLINT UNSIGNED NOT NULL,
    local_only TINYINT DEFAULT 0 NOT NULL,
    PRIMARY KEY (audience_id, source, row_id)
) {_ENGINE}
""",
    f"""
CREATE TABLE IF NOT EXISTS search_segment (
    audience_id BIGINT NOT NULL,
    segment_id BIGINT NOT NULL,
    stamp BIGINT NOT NULL,
    docs INTEGER NOT NULL,
    head MEDIUMBLOB NOT NULL,
    PRIMARY KEY (audience_id, segment_id)
) {_ENGINE}
""",
    f"""
CREATE TABLE IF NOT EXISTS search_block (
    audience_id BIGINT NOT NULL,
    segment_id BIGINT NOT NULL,
    kind TINYINT NOT NULL,
    term VARBINARY(255) DEFAULT '' NOT NULL,
    postings MEDIUMBLOB NOT NULL,
    PRIMARY KEY (audience_id, segment_id, kind, term)
) {_ENGINE}
""",
    f"""
CREATE TABLE IF NOT EXISTS search_gone (
    audience_id BIGINT NOT NULL,
    source TINYINT NOT NULL,
    row_id BIGINT NOT NULL,
    segment_id BIGINT NOT NULL,
    PRIMARY KEY (audience_id, source, row_id)
) {_ENGINE}
""",
)

SQLITE = (
    """
CREATE TABLE IF NOT EXISTS search_fresh (
    audience_id INTEGER NOT NULL,
    source INTEGER NOT NULL,
    row_id INTEGER NOT NULL,
    at_us INTEGER NOT NULL,
    words INTEGER NOT NULL,
    local_only INTEGER DEFAULT 0 NOT NULL,
    PRIMARY KEY (audience_id, source, row_id)
) WITHOUT ROWID
""",
    """
CREATE TABLE IF NOT EXISTS search_segment (
    audience_id INTEGER NOT NULL,
    segment_id INTEGER NOT NULL,
    stamp INTEGER NOT NULL,
    docs INTEGER NOT NULL,
    head BLOB NOT NULL,
    PRIMARY KEY (audience_id, segment_id)
)
""",
    """
CREATE TABLE IF NOT EXISTS search_block (
    audience_id INTEGER NOT NULL,
    segment_id INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    term TEXT DEFAULT '' NOT NULL,
    postings BLOB NOT NULL,
    PRIMARY KEY (audience_id, segment_id, kind, term)
) WITHOUT ROWID
""",
    """
CREATE TABLE IF NOT EXISTS search_gone (
    audience_id INTEGER NOT NULL,
    source INTEGER NOT NULL,
    row_id INTEGER NOT NULL,
    segment_id INTEGER NOT NULL,
    PRIMARY KEY (audience_id, source, row_id)
) WITHOUT ROWID
""",
)

INDEXED = ((0, "memories"), (1, "ai_diary"), (2, "chat_history_cache"))


def upgrade() -> None:
    connection = op.get_bind()
    run = op.get_context().opts["ddl"].run_script
    for statement in SQLITE if connection.dialect.name == "sqlite" else SERVER:
        run(connection, statement)
    for table in ("search_term", "search_tag", "search_count", "search_stats"):
        run(connection, f"DELETE FROM {table}" if connection.dialect.name == "sqlite" else f"TRUNCATE TABLE {table}")  # noqa: S608
    for number, table in INDEXED:
        newest = f"COALESCE((SELECT MAX(id) FROM {table}), 0)"  # noqa: S608
        run(
            connection,
            f"UPDATE search_progress SET next_id = 0, until_id = {newest}, "  # noqa: S608 - names of ours
            f"ready = CASE WHEN {newest} = 0 THEN 1 ELSE 0 END WHERE source = {number}",
        )
