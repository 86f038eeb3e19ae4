"""A table of a tenant, and the tables that the mesh brings along."""

from __future__ import annotations

from mesh.db.ddl import run
from mesh.db.idempotency import idempotency_ddl
from mesh.db.tenancy import tenant_table
from mesh.jobs.leases import leases_ddl
from mesh.jobs.outbox import outbox_ddl

revision = "0001"
down_revision: str | None = None

THINGS = """
create table probe.things (
    tenant_id text not null,
    id integer not null,
    name text not null default '{"a":1}',
    at timestamptz not null default now(),
    embedding halfvec(3),
    constraint things_pkey primary key (tenant_id, id),
    constraint things_name check (length(name) <= 100)
);
"""


def upgrade() -> None:
    run(THINGS + tenant_table("probe.things"))
    run(idempotency_ddl("probe") + outbox_ddl("probe") + leases_ddl("probe"))
