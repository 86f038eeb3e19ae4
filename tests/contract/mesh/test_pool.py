"""Every wait for a connection has a bound, and a broken connection never outlives its discovery."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import psycopg
import pytest

from mesh.db.pool import Database
from mesh.db.queries import Query
from mesh.db.settings import DatabaseSettings
from mesh.kernel.errors import FailedPrecondition, ResourceExhausted, Unavailable
from mesh.kernel.reasons import Reason
from mesh.testing.postgres import MeshDatabase
from tests.contract.mesh.waiting import until

PLAIN = Query("plain", "select 1")
BACKEND = Query("backend", "select pg_backend_pid()")
PREPARED = Query("prepared", "select count(*) from pg_prepared_statements where statement like 'select 1%%'")


@asynccontextmanager
async def pool(probe: MeshDatabase, **settings: Any) -> AsyncIterator[Database]:
    db = Database(DatabaseSettings(probe.urls["probe"], **settings), application_name="probe")
    await db.open()
    try:
        yield db
    finally:
        await db.close()


async def backend(db: Database) -> int:
    async with db.transaction("acme") as tx:
        return int(await tx.value(BACKEND))


def terminate(probe: MeshDatabase, pid: int) -> None:
    with psycopg.connect(probe.admin_url, autocommit=True) as admin:
        admin.execute("select pg_terminate_backend(%s, 5000)", (pid,))


async def test_one_connection_serves_one_after_the_other(probe: MeshDatabase) -> None:
    async with pool(probe) as db:
        assert len({await backend(db) for _ in range(5)}) == 1
        assert (db.stats().idle, db.stats().in_use, db.stats().acquired) == (1, 0, 5)


async def test_caller_beyond_the_queue_is_refused_at_once_with_advice(probe: MeshDatabase) -> None:
    async with pool(probe, pool_max=1, max_waiting=0) as db, db.transaction("acme"):
        started = time.monotonic()
        with pytest.raises(ResourceExhausted) as caught:
            await backend(db)
    assert time.monotonic() - started < 0.5
    assert caught.value.reason == Reason.POOL_EXHAUSTED
    assert caught.value.details.retry_after is not None


async def test_wait_for_a_connection_runs_out(probe: MeshDatabase) -> None:
    async with pool(probe, pool_max=1, acquire_timeout_s=0.05) as db:
        async with db.transaction("acme"):
            with pytest.raises(ResourceExhausted):
                await backend(db)
        assert (db.stats().refused, db.stats().waiting, db.stats().in_use) == (1, 0, 0)
        assert await backend(db)


async def test_callers_are_served_in_the_order_of_waiting(probe: MeshDatabase) -> None:
    served: list[int] = []

    async def call(db: Database, number: int) -> None:
        async with db.transaction("acme") as tx:
            served.append(number)
            await tx.value(PLAIN)

    async with pool(probe, pool_max=1) as db, asyncio.TaskGroup() as group, AsyncExitStack() as held:
        await held.enter_async_context(db.transaction("acme"))
        for number in range(5):
            group.create_task(call(db, number))
        await until(lambda: db.stats().waiting == 5)
        await held.aclose()
        await until(lambda: len(served) == 5)
    assert served == [0, 1, 2, 3, 4]


async def test_caller_that_gave_up_takes_no_place(probe: MeshDatabase) -> None:
    async with pool(probe, pool_max=1) as db:
        async with db.transaction("acme"):
            waiting = [asyncio.create_task(backend(db)) for _ in range(3)]
            await until(lambda: db.stats().waiting == 3)
            waiting[0].cancel()
        # The place is handed to the first of the others in the same step in which it is cancelled.
        waiting[1].cancel()
        assert await waiting[2]
        await asyncio.wait(waiting)
        assert (db.stats().in_use, db.stats().idle, db.stats().waiting) == (0, 1, 0)


async def test_more_callers_than_connections_are_all_served(probe: MeshDatabase) -> None:
    async with pool(probe, pool_max=3) as db:
        backends = await asyncio.gather(*(backend(db) for _ in range(40)))
        assert len(set(backends)) <= 3
        assert db.stats().in_use == 0


async def test_connections_are_opened_ahead_when_asked(probe: MeshDatabase) -> None:
    async with pool(probe, pool_min=3) as db:
        assert db.stats().idle == 3


async def test_closed_port_is_unavailable_at_once(caplog: pytest.LogCaptureFixture) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"postgresql://someone:hidden-word@127.0.0.1:{unused.getsockname()[1]}/x"
    db = Database(DatabaseSettings(url, pool_min=1), application_name="probe")
    started = time.monotonic()
    with caplog.at_level(logging.WARNING):
        await db.open()
        with pytest.raises(Unavailable) as caught:
            await db.ping()
    assert time.monotonic() - started < 1
    assert caught.value.reason == Reason.DATABASE_UNAVAILABLE
    assert caught.value.details.retry_after is not None
    assert (db.stats().in_use, db.stats().connect_failures) == (0, 2)
    assert "hidden-word" not in caplog.text


async def test_server_that_never_answers_is_unavailable_in_time() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"postgresql://someone@127.0.0.1:{silent.getsockname()[1]}/x"
        db = Database(DatabaseSettings(url, connect_timeout_s=1), application_name="probe")
        started = time.monotonic()
        with pytest.raises(Unavailable):
            await db.ping()
        assert time.monotonic() - started < 2


async def test_url_that_cannot_be_read_is_not_repeated() -> None:
    db = Database(DatabaseSettings("postgresql://a:hidden-word@[/x"), application_name="probe")
    with pytest.raises(FailedPrecondition) as caught:
        await db.ping()
    assert caught.value.reason == Reason.CONFIGURATION_INVALID
    assert "hidden-word" not in repr((caught.value.message, caught.value.__cause__, caught.value.__context__))


async def test_connection_that_died_while_idle_is_replaced_unnoticed(probe: MeshDatabase) -> None:
    async with pool(probe) as db:
        first = await backend(db)
        terminate(probe, first)
        assert await backend(db) != first
        assert db.stats().idle == 1


async def test_connection_that_breaks_in_a_transaction_is_unavailable_and_replaced(probe: MeshDatabase) -> None:
    async def work(db: Database) -> None:
        async with db.transaction("acme") as tx:
            terminate(probe, int(await tx.value(BACKEND)))
            await tx.value(PLAIN)

    async with pool(probe, pool_max=1) as db:
        for _ in range(3):
            with pytest.raises(Unavailable) as caught:
                await work(db)
            assert caught.value.reason == Reason.DATABASE_UNAVAILABLE
            assert await backend(db)
        assert db.stats().in_use == 0


async def test_connection_that_breaks_before_the_commit_is_no_success(probe: MeshDatabase) -> None:
    async def work(db: Database) -> None:
        async with db.transaction("acme") as tx:
            terminate(probe, int(await tx.value(BACKEND)))

    async with pool(probe) as db:
        with pytest.raises(Unavailable):
            await work(db)


async def test_old_and_unused_connections_are_replaced(probe: MeshDatabase) -> None:
    async with pool(probe, max_lifetime_s=0.0) as db:
        assert await backend(db) != await backend(db)
    async with pool(probe, idle_timeout_s=0.0) as db:
        async with db.transaction("acme") as one, db.transaction("acme") as two:
            await one.value(PLAIN)
            await two.value(PLAIN)
        await backend(db)
        assert db.stats().idle <= 1


@pytest.mark.parametrize(("prepared", "expected"), [(True, 1), (False, 0)])
async def test_statements_are_prepared_unless_a_pooler_forbids_it(
    probe: MeshDatabase, prepared: bool, expected: int
) -> None:
    async with pool(probe, prepared_statements=prepared) as db, db.transaction("acme") as tx:
        for _ in range(10):
            await tx.value(PLAIN)
        assert await tx.value(PREPARED) == expected


async def test_closed_pool_serves_nobody_and_keeps_no_connection(probe: MeshDatabase) -> None:
    async with pool(probe, pool_max=1) as db:
        await backend(db)
        async with db.transaction("acme"):
            waiting = asyncio.create_task(backend(db))
            await until(lambda: db.stats().waiting == 1)
            await db.close()
            with pytest.raises(Unavailable):
                await waiting
        with pytest.raises(Unavailable):
            await backend(db)
        assert (db.stats().idle, db.stats().in_use) == (0, 0)
