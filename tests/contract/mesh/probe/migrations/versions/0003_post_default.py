"""What only old code needed goes away."""

from __future__ import annotations

from mesh.db.ddl import run

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    run("alter table probe.things alter column name drop default")
