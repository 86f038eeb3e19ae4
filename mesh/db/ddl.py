"""What a revision file uses to run SQL.

`op.execute` reads `:word` in a text as a parameter, which breaks JSON and time literals; `run` sends the text as it is.
"""

from __future__ import annotations

import re

from alembic import op

from mesh.db.queries import plain_schema

_INDEX_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")


def run(sql: str) -> None:
    """Run one or more statements exactly as written, in the transaction of the revision."""
    op.get_bind().execution_options(no_parameters=True).exec_driver_sql(sql)


def create_index_concurrently(schema: str, name: str, definition: str) -> None:
    """Build an index without blocking writes; a half-built one that an interrupted run left is dropped first.

    Args:
        schema: the schema of the table.
        name: the index, a plain lower-case identifier.
        definition: what follows the name: `on engine.session_events (tenant_id, at)`.
    """
    if not _INDEX_NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a plain index name")
    regclass = f"to_regclass('{plain_schema(schema)}.{name}')"
    invalid = f"select 1 from pg_index where indexrelid = {regclass} and not indisvalid"  # noqa: S608 - both names checked
    with op.get_context().autocommit_block():
        if op.get_bind().exec_driver_sql(invalid).first():
            run(f"drop index concurrently {schema}.{name}")
        run(f"create index concurrently if not exists {name} {definition}")
