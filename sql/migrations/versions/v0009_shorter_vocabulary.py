"""Endings of one and two letters of a to z leave search_vocab: a third of its rows, which searches do without now.

Each is named, so that writers of other words wait for nothing. The statements are of their day and never follow
`database.schema`.
"""

from __future__ import annotations

from alembic import op

revision = "0009"
down_revision = "0008"

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def upgrade() -> None:
    connection = op.get_bind()
    for first in LETTERS:
        parts = ", ".join(f"'{first}{second}'" for second in ("", *LETTERS))
        connection.exec_driver_sql(f"DELETE FROM search_vocab WHERE head = 0 AND part IN ({parts})")  # noqa: S608 - letters
