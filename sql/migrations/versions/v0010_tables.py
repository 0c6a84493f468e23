"""The tables, from nothing. Tables that are there stay as they are.

Until the first release the tables are those of `sql/schema`, which is edited in place. The second revision copies the
two files of the first release to this folder, and this one runs the copies: a shipped migration never changes.
The number is above every number that a build before the first release gave to other tables.
"""

from __future__ import annotations

import re
from pathlib import Path

from alembic import op

revision = "0010"
down_revision = None


def upgrade() -> None:
    connection = op.get_bind()
    family = "sqlite" if connection.dialect.name == "sqlite" else "mysql"
    script = Path(__file__).parents[2].joinpath("schema", f"{family}.sql").read_text(encoding="utf-8")
    version = re.compile(r"^INSERT (OR )?IGNORE INTO schema_version .*", re.MULTILINE)
    op.get_context().opts["ddl"].run_script(connection, version.sub("", script))  # Alembic writes the version itself
