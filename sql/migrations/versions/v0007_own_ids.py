"""Rows that others insert by SQL get an id: on servers the ids of three tables count by themselves.

SQLite's do already. The statements are of their day and never follow `database.schema`.
"""

from __future__ import annotations

from alembic import op

revision = "0007"
down_revision = "0006"

TABLES = ("memories", "ai_diary", "chat_history_cache")


def upgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        return
    if "TiDB" in str(connection.exec_driver_sql("SELECT VERSION()").scalar()):
        return  # it refuses this of a table that is there; whoever inserts rows by SQL gives their ids
    for table in TABLES:
        counts = connection.exec_driver_sql(
            "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = %s "
            "AND column_name = 'id' AND extra LIKE %s",
            (table, "%auto_increment%"),
        ).scalar()
        if not counts:
            connection.exec_driver_sql(f"ALTER TABLE {table} MODIFY id BIGINT NOT NULL AUTO_INCREMENT")
