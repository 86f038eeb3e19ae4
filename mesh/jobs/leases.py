"""Leases on names: of many processes, one may do a thing, and when it dies another one may after a while.

The table belongs to a service and holds nothing of a tenant.
"""

from __future__ import annotations

from datetime import timedelta

from mesh.db.pool import Database
from mesh.db.queries import load, plain_schema
from mesh.kernel.clock import Clock

_FILE = load(__name__, "leases.sql")


def leases_ddl(schema: str) -> str:
    """Return the statement that creates the table, for a migration of the service that owns the schema."""
    return (
        f"create table {plain_schema(schema)}.leases (\n"
        "    name text primary key,\n"
        "    holder text not null,\n"
        "    until timestamptz not null\n"
        ");\n"
    )


LEASES_DDL = leases_ddl


class Leases:
    """The leases of one service, as one holder sees them."""

    def __init__(self, db: Database, schema: str, holder: str, clock: Clock) -> None:
        queries = _FILE.in_schema(schema)
        self._take = queries.get("take")
        self._release = queries.get("release")
        self._db = db
        self._holder = holder
        self._clock = clock

    async def take(self, name: str, lease_s: float) -> bool:
        """Take or prolong a lease and tell whether it is ours for that long from now."""
        now = self._clock.now()
        params = {"name": name, "holder": self._holder, "now": now, "until": now + timedelta(seconds=lease_s)}
        async with self._db.sweep() as tx:
            return await tx.execute(self._take, params) == 1

    async def release(self, name: str) -> None:
        """Free a lease when it is ours."""
        async with self._db.sweep() as tx:
            await tx.execute(self._release, {"name": name, "holder": self._holder})
