"""A database that stops, dies or hangs is unavailable for as long as that lasts, and no longer."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator

import psycopg
import pytest

from mesh.db import postmaster
from mesh.db.embedded import EmbeddedPostgres
from mesh.db.migrate import migrate
from mesh.db.pool import Database
from mesh.db.queries import Query
from mesh.db.settings import DatabaseSettings
from mesh.db.urls import role_url
from mesh.kernel.errors import MeshError, Unavailable
from mesh.kernel.reasons import Reason
from tests.contract.mesh.schemas import COUNT, INSERT, PROBE, thing
from tests.contract.mesh.waiting import until, until_now

BACKEND = Query("backend", "select pg_backend_pid()")


@pytest.fixture
async def served(own_server: EmbeddedPostgres) -> AsyncIterator[Database]:
    url = own_server.start().admin_url
    await asyncio.to_thread(migrate, url, [PROBE], passwords={"probe": "x"})
    settings = DatabaseSettings(role_url(url, "mnemesh_probe", "x"), pool_max=4, connect_timeout_s=1)
    db = Database(settings, application_name="probe")
    await db.open()
    yield db
    await db.close()


async def insert(db: Database, number: int) -> None:
    async with db.transaction("acme") as tx:
        await tx.execute(INSERT, thing("acme", number))


async def count(db: Database) -> int:
    async with db.sweep() as tx:
        return int(await tx.value(COUNT))


async def warm(db: Database) -> None:
    """Fill the pool with idle connections."""
    together = asyncio.Barrier(4)

    async def hold() -> None:
        async with db.sweep() as tx:
            await tx.value(COUNT)
            await together.wait()

    await asyncio.gather(*(hold() for _ in range(4)))


async def test_restarted_database_is_used_again_without_one_failed_call(
    served: Database, own_server: EmbeddedPostgres
) -> None:
    await warm(served)
    await asyncio.to_thread(restart, own_server)
    for number in range(8):
        await insert(served, number)
    assert await count(served) == 8
    assert served.stats().in_use == 0


def restart(postgres: EmbeddedPostgres) -> None:
    """Stop and start a throw-away server and keep its directory."""
    pid = postgres.start().pid
    os.kill(pid, signal.SIGINT)
    until_now(lambda: not postmaster.is_alive(pid))
    postgres.start()


async def test_killed_database_is_unavailable_until_it_is_back(served: Database, own_server: EmbeddedPostgres) -> None:
    await warm(served)
    acknowledged = 0
    failed: list[MeshError] = []

    async def keep_writing(stop: asyncio.Event, first: int) -> None:
        nonlocal acknowledged
        number = first
        while not stop.is_set():
            try:
                await insert(served, number)
            except MeshError as error:
                failed.append(error)
            else:
                acknowledged += 1
            number += 1
            await asyncio.sleep(0)

    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for first in (0, 1_000_000, 2_000_000):
            group.create_task(keep_writing(stop, first))
        await until(lambda: acknowledged > 30)
        os.kill(own_server.start().pid, signal.SIGKILL)
        await until(lambda: len(failed) > 10)
        await asyncio.to_thread(own_server.start)
        before = acknowledged
        await until(lambda: acknowledged > before + 30)
        stop.set()
    assert {error.reason for error in failed} == {Reason.DATABASE_UNAVAILABLE}
    # A commit whose answer was lost may have been kept; one that was acknowledged always is.
    assert acknowledged <= await count(served) <= acknowledged + 3
    assert served.stats().in_use == 0


async def test_hanging_database_is_unavailable_in_time_and_serves_again_afterwards(
    served: Database, own_server: EmbeddedPostgres
) -> None:
    postmaster_pid = own_server.start().pid
    async with served.sweep() as tx:
        backend_pid = int(await tx.value(BACKEND))
    for pid in (postmaster_pid, backend_pid):
        os.kill(pid, signal.SIGSTOP)
    try:
        hanging = asyncio.create_task(insert(served, 1))
        await until(lambda: served.stats().in_use == 1)
        started = time.monotonic()
        with pytest.raises(Unavailable):
            await insert(served, 2)
        assert time.monotonic() - started < 3
    finally:
        for pid in (backend_pid, postmaster_pid):
            os.kill(pid, signal.SIGCONT)
    await hanging
    await insert(served, 3)
    assert await count(served) == 2


async def test_ping_tells_whether_the_database_answers(served: Database, own_server: EmbeddedPostgres) -> None:
    await served.ping()
    os.kill(own_server.start().pid, signal.SIGQUIT)
    with pytest.raises(Unavailable):
        await asyncio.wait_for(_ping_until_it_fails(served), 10)


async def _ping_until_it_fails(db: Database) -> None:
    while True:
        await db.ping()


def test_server_that_was_restarted_keeps_its_address(own_server: EmbeddedPostgres) -> None:
    port = own_server.start().port
    restart(own_server)
    with psycopg.connect(own_server.start().admin_url) as admin:
        assert admin.info.port == port
