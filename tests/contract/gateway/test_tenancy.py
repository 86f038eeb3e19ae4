"""Tenants in the database: the policy holds even where a query forgets to filter (G6)."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import errors as pg_errors

from tests.contract.gateway.callers import MIA
from tests.contract.gateway.conftest import Gateway

pytestmark = pytest.mark.asyncio(loop_scope="module")

TABLES = ("gateway.sessions", "gateway.api_keys", "gateway.idempotency")


async def filled(gateway: Gateway) -> None:
    caller = gateway.callers()["http"]
    await caller("CreateSession", avatarId=MIA, requestId="6f1b8a0e-3a51-4c0e-9d57-1d3a4cf0a001")
    await caller("CreateApiKey", displayName="k", scopes=["*"])


@pytest.mark.parametrize("table", TABLES)
async def test_g6_without_a_tenant_or_with_another_the_database_returns_no_rows(gateway: Gateway, table: str) -> None:
    await filled(gateway)
    with psycopg.connect(gateway.url) as connection:
        for tenant, rows in (("", 0), ("other", 0), ("default", 1)):
            connection.execute("select set_config('app.tenant_id', %s, false)", (tenant,))
            found = connection.execute(f"select count(*) from {table}".encode()).fetchone()
            assert found == (rows,)
            changed = connection.execute(f"update {table} set tenant_id = tenant_id".encode()).rowcount
            assert changed == rows


@pytest.mark.parametrize("table", TABLES)
async def test_a_row_cannot_be_given_to_another_tenant(gateway: Gateway, table: str) -> None:
    await filled(gateway)
    with psycopg.connect(gateway.url) as connection:
        connection.execute("select set_config('app.tenant_id', 'default', false)")
        with pytest.raises(pg_errors.InsufficientPrivilege):
            connection.execute(f"update {table} set tenant_id = 'other'".encode())


@pytest.mark.parametrize("table", TABLES)
async def test_the_gateways_role_cannot_change_its_tables_or_their_policy(gateway: Gateway, table: str) -> None:
    with psycopg.connect(gateway.url, autocommit=True) as connection:
        for statement in (
            f"alter table {table} disable row level security",
            f"drop policy tenant_isolation on {table}",
            f"drop table {table}",
        ):
            with pytest.raises(pg_errors.InsufficientPrivilege):
                connection.execute(statement.encode())


async def test_every_table_leads_its_key_with_the_tenant_and_is_under_the_policy(gateway: Gateway) -> None:
    rows = gateway.sql(
        """
        select c.relname, c.relrowsecurity and c.relforcerowsecurity, a.attname
        from pg_class c
        join pg_index i on i.indrelid = c.oid and i.indisprimary
        join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0]
        where c.relnamespace = 'gateway'::regnamespace and c.relkind = 'r' and c.relname <> 'alembic_version'
        order by 1
        """
    )
    assert [row[0] for row in rows] == ["api_keys", "idempotency", "sessions"]
    assert all(row[1:] == (True, "tenant_id") for row in rows)


async def test_listing_sessions_reads_an_index_in_order(gateway: Gateway) -> None:
    gateway.sql(
        """
        insert into gateway.sessions (tenant_id, id, user_id, avatar_id, created_at)
        select 't' || n % 50, gen_random_uuid(), md5((n % 500)::text)::uuid, gen_random_uuid(),
            now() - n * interval '1 s'
        from generate_series(1, 20000) n;
        analyze gateway.sessions
        """
    )
    plan = gateway.sql(
        """
        explain select id from gateway.sessions
        where tenant_id = 't1' and user_id = md5('1')::uuid and status = 'active'
          and (created_at, id) < (now(), 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
          and (null::uuid is null or avatar_id = null::uuid)
        order by created_at desc, id desc limit 51
        """
    )
    text = "\n".join(row[0] for row in plan)
    assert "sessions_active_by_user" in text
    assert "Sort" not in text
