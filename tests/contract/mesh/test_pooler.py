"""Everything holds through a transaction pooler; runs where PgBouncer is installed."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest
from pgvector import HalfVector
from psycopg.conninfo import conninfo_to_dict

from mesh.db.embedded import HOST
from mesh.db.pg_programs import account_for
from mesh.db.pool import Database
from mesh.db.queries import Query
from mesh.db.settings import DatabaseSettings
from mesh.jobs.outbox import Outbox, OutboxItem
from mesh.jobs.relay import Relay
from mesh.kernel.errors import DeadlineExceeded, MeshError
from mesh.testing.postgres import MeshDatabase
from tests.contract.mesh.schemas import COUNT, INSERT, thing
from tests.contract.mesh.waiting import until_now

PGBOUNCER = shutil.which("pgbouncer")
SERVER_CONNECTIONS = 3

pytestmark = pytest.mark.skipif(PGBOUNCER is None, reason="PgBouncer is not installed")

CONFIG = """
[databases]
{dbname} = host={host} port={port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {users}
pool_mode = transaction
default_pool_size = {size}
ignore_startup_parameters = extra_float_digits,options
"""

SLEEP = Query("sleep", "select pg_sleep(30)")
TENANT = Query("tenant", "select current_setting('app.tenant_id')")
TENANTS = Query("tenants", "select distinct tenant_id from probe.things")


@pytest.fixture
def pooled_url(probe: MeshDatabase, directory: Path) -> Iterator[str]:
    assert PGBOUNCER is not None
    target = conninfo_to_dict(probe.urls["probe"])
    users = directory / "users.txt"
    users.write_text(f'"{target["user"]}" "{target["password"]}"\n')
    config = directory / "pgbouncer.ini"
    values = {name: target[name] for name in ("dbname", "host", "port")}
    with socket.socket() as free:
        free.bind((HOST, 0))
        port = free.getsockname()[1]
    config.write_text(CONFIG.format(**values, listen=port, users=users, size=SERVER_CONNECTIONS))
    account = account_for(directory / "nothing", "nobody")
    process = subprocess.Popen(
        [PGBOUNCER, str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **account.spawn_options()
    )
    url = f"postgresql://{target['user']}:{target['password']}@{HOST}:{port}/{target['dbname']}"

    def answers() -> bool:
        try:
            psycopg.connect(url, prepare_threshold=None).close()
        except psycopg.OperationalError:
            return False
        return True

    until_now(answers)
    yield url
    process.terminate()
    process.wait()


@pytest.fixture
async def pooled(pooled_url: str) -> AsyncIterator[Database]:
    settings = DatabaseSettings(pooled_url, pool_max=20, prepared_statements=False, acquire_timeout_s=20)
    db = Database(settings, application_name="pooled")
    await db.open()
    yield db
    await db.close()


async def test_tenants_stay_apart_over_shared_server_connections(pooled: Database) -> None:
    tenants = [f"tenant-{number}" for number in range(10)]
    for tenant in tenants:
        async with pooled.transaction(tenant) as tx:
            await tx.execute(INSERT, thing(tenant, 1))

    async def look(tenant: str) -> None:
        for _ in range(20):
            async with pooled.transaction(tenant) as tx:
                assert await tx.value(TENANTS) == tenant
                assert await tx.value(TENANT) == tenant
                vector = HalfVector([1, 2, 3])
                assert await tx.value(Query("v", "select %(v)s::halfvec"), {"v": vector}) == vector

    await asyncio.gather(*(look(tenant) for tenant in tenants * 2))
    async with pooled.sweep() as tx:
        assert await tx.value(COUNT) == len(tenants)


async def test_nothing_is_seen_outside_of_a_transaction(pooled: Database, pooled_url: str) -> None:
    async with pooled.transaction("acme") as tx:
        await tx.execute(INSERT, thing("acme", 1))
    for _ in range(SERVER_CONNECTIONS * 3):
        with psycopg.connect(pooled_url, prepare_threshold=None, autocommit=True) as raw:
            assert raw.execute("select count(*) from probe.things").fetchone() == (0,)


async def test_time_limit_of_a_statement_holds(pooled_url: str) -> None:
    settings = DatabaseSettings(pooled_url, prepared_statements=False, statement_timeout_s=0.05)
    db = Database(settings, application_name="pooled")
    with pytest.raises(DeadlineExceeded):
        async with db.transaction("acme") as tx:
            await tx.value(SLEEP)
    await db.close()


async def test_failed_and_cancelled_transactions_leave_nothing_behind(pooled: Database) -> None:
    async def fail(number: int) -> None:
        async with pooled.transaction("acme") as tx:
            await tx.execute(INSERT, thing("acme", number))
            await tx.value(Query("fail", "select 1 / 0") if number % 2 else SLEEP)

    tasks = [asyncio.create_task(fail(number)) for number in range(6)]
    with pytest.raises(MeshError):
        await tasks[1]
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    started = time.monotonic()
    async with pooled.sweep() as tx:
        assert await tx.value(COUNT) == 0
    assert time.monotonic() - started < 10


async def test_outbox_is_delivered(pooled: Database) -> None:
    outbox = Outbox("probe")
    seen: list[int] = []

    async def handler(item: OutboxItem) -> None:
        seen.append(item.outbox_id)

    async with pooled.transaction("acme") as tx:
        for number in range(20):
            await outbox.append(tx, "learn", f"k{number % 4}", b"{}")
    assert await Relay(pooled, outbox, {"learn": handler}).deliver_due() == 20
    assert sorted(seen) == list(range(1, 21))
