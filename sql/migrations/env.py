"""Runs revisions on the connection that `core.upkeep.migration` hands over; there is no alembic.ini, no other caller.

The version table is `schema_version`. The transaction is the caller's.
"""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"], version_table="schema_version")
with context.begin_transaction():
    context.run_migrations()
