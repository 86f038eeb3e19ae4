"""Row-level security holds whatever the query says, and roles can do no more than they must."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import errors as pg_errors

from mesh.db.errors import sqlstate_of
from mesh.db.pool import Database
from mesh.db.queries import Query
from mesh.kernel.errors import Internal
from mesh.kernel.reasons import Reason
from mesh.testing.postgres import MeshDatabase
from tests.contract.mesh.schemas import ALL, COUNT, INSERT, Thing, thing

TENANT_SETTING = Query("tenant_setting", "select current_setting('app.tenant_id', true)")


async def fill(db: Database) -> None:
    for tenant in ("acme", "zeta"):
        async with db.transaction(tenant) as tx:
            await tx.execute_many(INSERT, [thing(tenant, 1), thing(tenant, 2)])


async def test_query_without_a_filter_sees_one_tenant(db: Database) -> None:
    await fill(db)
    async with db.transaction("acme") as tx:
        rows = await tx.all(ALL, into=Thing)
    assert [(row.tenant_id, row.id) for row in rows] == [("acme", 1), ("acme", 2)]


async def test_sweep_sees_every_tenant(db: Database) -> None:
    await fill(db)
    async with db.sweep() as tx:
        assert tx.tenant_id == ""
        assert await tx.value(COUNT) == 4


async def test_connection_without_a_tenant_sees_no_row(db: Database, probe: MeshDatabase) -> None:
    await fill(db)
    with psycopg.connect(probe.urls["probe"]) as raw:
        assert raw.execute("select count(*) from probe.things").fetchone() == (0,)


async def test_nothing_of_a_transaction_is_left_on_its_connection(db: Database) -> None:
    await fill(db)
    async with db.transaction("acme") as tx:
        await tx.value(COUNT)
    connection = await db._pool.acquire()
    try:
        left = await (await connection.execute("select count(*) from probe.things")).fetchone()
        settings = await (
            await connection.execute(
                "select current_setting('app.tenant_id', true), current_setting('app.rls_bypass', true)"
            )
        ).fetchone()
    finally:
        await db._pool.release(connection)
    assert left == (0,)
    assert settings == ("", "")


async def test_row_of_another_tenant_cannot_be_written(db: Database) -> None:
    with pytest.raises(Internal) as caught:
        async with db.transaction("acme") as tx:
            await tx.execute(INSERT, thing("zeta", 9))
    assert (caught.value.reason, sqlstate_of(caught.value)) == (Reason.DB_ERROR, "42501")


async def test_row_of_another_tenant_cannot_be_changed_or_taken(db: Database) -> None:
    await fill(db)
    async with db.transaction("acme") as tx:
        assert await tx.execute(Query("steal", "update probe.things set name = 'mine' where tenant_id = 'zeta'")) == 0
        assert await tx.execute(Query("drop_all", "delete from probe.things")) == 2
    with pytest.raises(Internal):
        async with db.transaction("zeta") as tx:
            await tx.execute(Query("give", "update probe.things set tenant_id = 'acme'"))


@pytest.mark.parametrize("tenant", ["", "a b", "..", "x" * 129, "a'b"])
async def test_transaction_needs_a_tenant(db: Database, tenant: str) -> None:
    with pytest.raises(Internal):
        db.transaction(tenant)


async def test_owner_is_bound_by_the_policy_as_well(db: Database, probe: MeshDatabase) -> None:
    await fill(db)
    with psycopg.connect(probe.admin_url) as admin:
        admin.execute("set role mnemesh_probe_owner")
        assert admin.execute("select count(*) from probe.things").fetchone() == (0,)


@pytest.mark.parametrize(
    "statement",
    [
        "alter table probe.things add column more text",
        "alter table probe.things disable row level security",
        "drop policy tenant_isolation on probe.things",
        "truncate probe.things",
        "create table probe.mine (a int)",
        "create table public.mine (a int)",
        "create schema mine",
        "select * from other.notes",
        "insert into other.notes values ('acme')",
        "update probe.alembic_version set version_num = '9999'",
        "delete from probe.alembic_version",
        "set role mnemesh_probe_owner",
        "set session authorization postgres",
        "insert into foreign_owner.t values (1)",
    ],
)
def test_runtime_role_may_not(probe: MeshDatabase, statement: str) -> None:
    with psycopg.connect(probe.urls["probe"]) as raw, pytest.raises(pg_errors.InsufficientPrivilege):
        raw.execute(statement)


def test_runtime_role_reads_the_revision_and_what_it_was_granted(probe: MeshDatabase) -> None:
    with psycopg.connect(probe.urls["probe"]) as raw:
        assert raw.execute("select version_num from probe.alembic_version").fetchone() == ("0003",)
        assert raw.execute("select count(*) from foreign_owner.t").fetchone() == (0,)
