"""An index that is built while others write."""

from __future__ import annotations

from mesh.db.ddl import create_index_concurrently

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    create_index_concurrently("probe", "things_by_name", "on probe.things (tenant_id, name)")
