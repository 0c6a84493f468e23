"""${message}: what it brings, and why it may run again.

One DDL a step, each asked for beforehand: a server commits DDL at once, so a step that failed half way is run again.
New columns are nullable or have a default, nothing is renamed or dropped: the former version works on meanwhile.
"""

from __future__ import annotations

from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}


def upgrade() -> None:
    connection, ddl = op.get_bind(), op.get_context().opts["ddl"]
    if not ddl.has_column(connection, "TABLE", "COLUMN"):
        connection.exec_driver_sql("ALTER TABLE ...")
