"""The tables of the first release, from nothing. Tables that are there stay as they are.

The statements stand in the two files beside this one; they are of their day and never follow `database.schema`.
"""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    connection = op.get_bind()
    family = "sqlite" if connection.dialect.name == "sqlite" else "mysql"
    script = Path(__file__).with_name(f"v0001_tables.{family}.sql")
    op.get_context().opts["ddl"].run_script(connection, script.read_text(encoding="utf-8"))
