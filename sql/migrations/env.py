"""Runs revisions on the connection that `upkeep.migration` hands over; there is no alembic.ini, no other caller.

The version table is `schema_version`. The transaction is the caller's. The helpers of `upkeep.ddl` are handed over with
the connection and reach a revision as `op.get_context().opts["ddl"]`: nothing here names the package.
"""

from __future__ import annotations

from alembic import context

given = context.config.attributes
context.configure(connection=given["connection"], version_table="schema_version", ddl=given["ddl"])
with context.begin_transaction():
    context.run_migrations()
