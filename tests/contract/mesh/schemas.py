"""Two services that exist in these tests alone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from mesh.db.migrate import ServiceSchema
from mesh.db.queries import Query

_HERE = Path(__file__).parent

PROBE = ServiceSchema(
    name="probe",
    schema="probe",
    migrations_dir=_HERE / "probe" / "migrations",
    bootstrap_sql=("create schema if not exists foreign_owner", "create table if not exists foreign_owner.t (a int)"),
    extra_sql=(
        "grant usage on schema foreign_owner to mnemesh_probe",
        "grant select on foreign_owner.t to mnemesh_probe",
    ),
)
OTHER = ServiceSchema(name="other", schema="other", migrations_dir=_HERE / "other" / "migrations")


@dataclass(frozen=True)
class Thing:
    tenant_id: str
    id: int
    name: str
    at: datetime


INSERT = Query(
    "insert_thing", "insert into probe.things (tenant_id, id, name) values (%(tenant_id)s, %(id)s, %(name)s)"
)
ALL = Query("all_things", "select tenant_id, id, name, at from probe.things order by tenant_id, id")
COUNT = Query("count_things", "select count(*) from probe.things")


def thing(tenant_id: str, number: int, name: str = "x") -> dict[str, object]:
    return {"tenant_id": tenant_id, "id": number, "name": name}
