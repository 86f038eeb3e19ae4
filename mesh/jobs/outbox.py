"""Work that leaves a service, written in the same transaction as the data that it is about.

An item exists exactly when the data exists. It is delivered at least once by `mesh.jobs.relay`, in the order of
appending for each tenant and key; two appends to one key whose transactions overlap have no order between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from mesh.db.queries import Queries, load, plain_schema
from mesh.db.tenancy import tenant_table
from mesh.db.transaction import Tx
from mesh.kernel.errors import Internal
from mesh.kernel.reasons import Reason
from mesh.telemetry.context import TRACE

_FILE = load(__name__, "outbox.sql")


@dataclass(frozen=True, slots=True)
class OutboxItem:
    """One item as a handler gets it.

    Args:
        tenant_id: whose data it is about.
        outbox_id: unique and ascending within the schema.
        topic: which handler it is for, such as `learn_turn`.
        key: what must stay in order, such as a thread's id.
        payload: JSON, as it was appended.
        attempts: which delivery this is, from 1.
        created_at: when it was appended, UTC.
        traceparent: W3C trace context of the appending request, or empty.
    """

    tenant_id: str
    outbox_id: int
    topic: str
    key: str
    payload: bytes
    attempts: int
    created_at: datetime
    traceparent: str


def outbox_ddl(schema: str) -> str:
    """Return the statements that create the table, for a migration of the service that owns the schema."""
    table = f"{plain_schema(schema)}.outbox"
    return (
        f"create table {table} (\n"
        "    tenant_id text not null,\n"
        "    outbox_id bigint not null generated always as identity,\n"
        "    topic text not null,\n"
        "    key text not null,\n"
        "    payload bytea not null,\n"
        "    traceparent text not null default '',\n"
        "    attempts integer not null default 0,\n"
        "    created_at timestamptz not null default now(),\n"
        "    available_at timestamptz not null default now(),\n"
        "    claimed_by text,\n"
        "    claimed_until timestamptz,\n"
        "    dead_at timestamptz,\n"
        "    last_error text,\n"
        "    primary key (tenant_id, outbox_id)\n"
        ");\n"
        f"create index outbox_heads on {table} (tenant_id, key, outbox_id) where dead_at is null;\n"
        f"create index outbox_dead on {table} (outbox_id) where dead_at is not null;\n" + tenant_table(table)
    )


class Outbox:
    """The outbox of one service."""

    def __init__(self, schema: str) -> None:
        self.schema = plain_schema(schema)
        self.queries: Queries = _FILE.in_schema(schema)
        self._append = self.queries.get("append")

    async def append(
        self, tx: Tx, topic: str, key: str, payload: bytes, *, available_at: datetime | None = None
    ) -> None:
        """Add an item for the tenant of the transaction.

        Args:
            tx: the transaction that writes the data; it must have a tenant.
            topic: which handler gets it.
            key: items of one tenant and key are delivered in order.
            payload: JSON; a handler that was deployed earlier or later than this code must be able to read it.
            available_at: not to be delivered before, UTC; None means at once.
        """
        if not tx.tenant_id:
            raise Internal(Reason.INTERNAL, "An outbox item was appended without a tenant.")
        trace = TRACE.get()
        params = {
            "tenant_id": tx.tenant_id,
            "topic": topic,
            "key": key,
            "payload": payload,
            "traceparent": trace.traceparent() if trace else "",
            "available_at": available_at,
        }
        await tx.execute(self._append, params)
