"""Row-level security: the one policy that every tenant-owned table carries.

The transaction sets `app.tenant_id` locally (`mesh.db.transaction`). With nothing set the setting reads as NULL, or as
an empty text on a connection that was used before; neither equals a tenant id, so no row is visible. FORCE makes the
policy hold for the table's owner as well. `app.rls_bypass` is set by `Database.sweep` alone.
"""

from __future__ import annotations

import re

POLICY = "tenant_isolation"

_TABLE = re.compile(r"[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?")
_RULE = "tenant_id = current_setting('app.tenant_id', true) or current_setting('app.rls_bypass', true) = 'on'"


def tenant_table(table: str) -> str:
    """Return the statements that put a table under tenant isolation, for a migration.

    Args:
        table: name as written in SQL, `schema.table` or `table`; the table has a column `tenant_id text`.

    Raises:
        ValueError: the name is not a plain lower-case identifier.
    """
    if not _TABLE.fullmatch(table):
        raise ValueError(f"{table!r} is not a plain table name")
    return (
        f"alter table {table} enable row level security;\n"
        f"alter table {table} force row level security;\n"
        f"create policy {POLICY} on {table} using ({_RULE}) with check ({_RULE});\n"
    )
