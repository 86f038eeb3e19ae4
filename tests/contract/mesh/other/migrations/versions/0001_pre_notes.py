"""A table of another service."""

from __future__ import annotations

from mesh.db.ddl import run
from mesh.db.tenancy import tenant_table

revision = "0001"
down_revision: str | None = None


def upgrade() -> None:
    run("create table other.notes (tenant_id text primary key);" + tenant_table("other.notes"))
