"""The messages a diary entry stands on, so that the entry follows them when they are changed or deleted.

The statements are of their day and never follow `database.schema`.
"""

from __future__ import annotations

from alembic import op

revision = "0006"
down_revision = "0005"

SERVER = "ALTER TABLE ai_diary ADD COLUMN source_message_ids JSON"
SQLITE = (
    "ALTER TABLE ai_diary ADD COLUMN source_message_ids TEXT CONSTRAINT ck_diary_source_message_ids "
    "CHECK (source_message_ids IS NULL OR json_valid(source_message_ids))"
)


def upgrade() -> None:
    connection, ddl = op.get_bind(), op.get_context().opts["ddl"]
    if not ddl.has_column(connection, "ai_diary", "source_message_ids"):
        connection.exec_driver_sql(SQLITE if connection.dialect.name == "sqlite" else SERVER)
