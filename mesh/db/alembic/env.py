"""What Alembic runs to apply revisions: the connection and the schema come from `mesh.db.migrate`."""

# ruff: noqa: INP001 - Alembic runs this file by its path; it must not be importable
from __future__ import annotations

from alembic import context

schema = context.config.attributes["schema"]
context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=None,
    version_table="alembic_version",
    version_table_schema=schema,
    # Each revision commits by itself, so that one may leave the transaction to build an index concurrently.
    transaction_per_migration=True,
)
with context.begin_transaction():
    context.run_migrations()
