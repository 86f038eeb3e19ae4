"""What a transaction gives and takes, and what it leaves when something fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString

import numpy as np
import psycopg
import pytest
from pgvector import HalfVector, Vector
from psycopg import sql

from mesh.db.errors import constraint_of
from mesh.db.pool import MAX_RUNS, Database
from mesh.db.queries import Query
from mesh.db.settings import DatabaseSettings
from mesh.db.transaction import Tx
from mesh.kernel.errors import Aborted, AlreadyExists, DeadlineExceeded, Internal, InvalidArgument, MeshError
from mesh.kernel.reasons import Reason
from mesh.testing.postgres import MeshDatabase
from tests.contract.mesh.schemas import ALL, COUNT, INSERT, Thing, thing
from tests.contract.mesh.waiting import until

ONE = Query("one", "select tenant_id, id, name, at from probe.things where id = %(id)s")
SLEEP = Query("sleep", "select pg_sleep(30)")
FAIL = Query("fail", "select 1 / 0")
PLAIN = Query("plain", "select 1")


def alter(database: MeshDatabase, statement: LiteralString) -> None:
    with psycopg.connect(database.admin_url, autocommit=True) as admin:
        admin.execute(sql.SQL(statement).format(sql.Identifier(admin.info.dbname)))


async def count(db: Database) -> int:
    async with db.sweep() as tx:
        return int(await tx.value(COUNT))


async def test_values_come_out_as_they_went_in(db: Database) -> None:
    async with db.transaction("acme") as tx:
        assert await tx.execute(INSERT, thing("acme", 1, "naïve 漢字 🦊")) == 1
        found = await tx.one(ONE, {"id": 1}, Thing)
        assert found is not None
        assert found.name == "naïve 漢字 🦊"
        assert await tx.one(ONE, {"id": 2}, into=Thing) is None
        assert await tx.value(Query("none", "select 1 where false")) is None
        assert await tx.value(Query("percent", "select '100%%'")) == "100%"
        assert await tx.all(ALL, None, Thing) == [found]


async def test_block_that_raises_keeps_nothing(db: Database) -> None:
    async def fail_late(tx: Tx) -> None:
        await tx.execute(INSERT, thing("acme", 1))
        raise LookupError

    with pytest.raises(LookupError):
        await db.run("acme", fail_late)
    assert await count(db) == 0


async def test_transaction_that_ran_nothing_sends_nothing(db: Database) -> None:
    async with db.transaction("acme"):
        pass
    connection = await db._pool.acquire()
    await db._pool.release(connection)
    assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


@pytest.mark.parametrize("query", [FAIL, SLEEP])
async def test_connection_is_used_again_after_a_first_statement_that_failed(probe: MeshDatabase, query: Query) -> None:
    settings = DatabaseSettings(probe.urls["probe"], pool_max=1, statement_timeout_s=0.1)
    db = Database(settings, application_name="probe")
    for _ in range(3):
        with pytest.raises(MeshError):
            async with db.transaction("acme") as tx:
                await tx.value(query)
        async with db.transaction("acme") as tx:
            assert await tx.value(PLAIN) == 1
    assert db.stats().idle == 1
    assert db.stats().connect_failures == 0
    await db.close()


async def test_failed_statement_that_was_ignored_is_never_taken_for_a_commit(db: Database) -> None:
    async def ignore_a_failure(tx: Tx) -> None:
        await tx.execute(INSERT, thing("acme", 1))
        with pytest.raises(InvalidArgument):
            await tx.value(FAIL)

    with pytest.raises(Internal, match="ignored"):
        await db.run("acme", ignore_a_failure)
    assert await count(db) == 0


async def test_savepoint_undoes_its_block_alone(db: Database) -> None:
    async def insert_both(tx: Tx) -> None:
        async with tx.savepoint():
            await tx.execute(INSERT, thing("acme", 2))
            await tx.execute(INSERT, thing("acme", 1))

    async with db.transaction("acme") as tx:
        async with tx.savepoint():
            await tx.execute(INSERT, thing("acme", 1))
        with pytest.raises(AlreadyExists) as caught:
            await insert_both(tx)
        await tx.execute(INSERT, thing("acme", 3))
        rows = await tx.all(ALL, into=Thing)
    assert [row.id for row in rows] == [1, 3]
    assert constraint_of(caught.value) == "things_pkey"


async def test_savepoint_can_open_the_transaction(db: Database) -> None:
    async with db.transaction("acme") as tx, tx.savepoint():
        await tx.execute(INSERT, thing("acme", 1))
    assert await count(db) == 1


async def test_many_rows_go_in_at_once(db: Database) -> None:
    async with db.transaction("acme") as tx:
        await tx.execute_many(INSERT, [thing("acme", number) for number in range(50)])
    assert await count(db) == 50


async def test_rows_with_vectors_are_copied_in_binary(db: Database) -> None:
    stage = Query("stage", "create temporary table stage (name text, embedding halfvec(3)) on commit drop")
    copy = Query("copy", "copy stage (name, embedding) from stdin (format binary)")
    rows = [(f"n{number}", HalfVector([number, 0, 1])) for number in range(50)]
    async with db.transaction("acme") as tx:
        await tx.execute(stage)
        assert await tx.copy_in(copy, rows, types=["text", "halfvec"]) == 50
        assert await tx.value(Query("sum", "select sum((embedding::vector::real[])[1]) from stage")) == sum(range(50))


async def test_copy_may_open_the_transaction_and_may_be_text(db: Database) -> None:
    copy = Query("copy", "copy probe.leases (name, holder, until) from stdin")
    async with db.transaction("acme") as tx:
        assert await tx.copy_in(copy, [("a", "me", "now"), ("b", "me", "now")]) == 2
    async with db.transaction("acme") as tx:
        assert await tx.value(Query("leases", "select count(*) from probe.leases")) == 2


async def test_copy_that_fails_keeps_nothing(db: Database) -> None:
    copy = Query("copy", "copy probe.leases (name, holder, until) from stdin")
    with pytest.raises(InvalidArgument):
        await db.run("acme", lambda tx: tx.copy_in(copy, [("a", "me", "now"), ("b", "me", "no time")]))
    async with db.transaction("acme") as tx:
        assert await tx.value(Query("leases", "select count(*) from probe.leases")) == 0


@dataclass
class Vectors:
    half: HalfVector
    full: Vector
    array: Vector


async def test_vectors_go_in_and_come_out_in_binary(db: Database) -> None:
    query = Query("vectors", "select %(half)s::halfvec as half, %(full)s::vector as full, %(array)s::vector as array")
    params = {"half": HalfVector([1, 2, 3]), "full": Vector([0.1, 0.2]), "array": np.array([1.5, 2.5], np.float32)}
    async with db.transaction("acme") as tx:
        row = await tx.one(query, params, Vectors)
    assert row is not None
    assert row.half.to_list() == [1, 2, 3]
    assert row.full.to_numpy().tolist() == np.array([0.1, 0.2], np.float32).tolist()
    assert row.array.to_list() == [1.5, 2.5]


@pytest.mark.parametrize("first", [True, False])
async def test_instants_are_utc_whatever_zone_the_server_keeps(own_probe: MeshDatabase, first: bool) -> None:
    alter(own_probe, "alter database {} set timezone to 'Asia/Tokyo'")
    db = Database(DatabaseSettings(own_probe.urls["probe"]), application_name="probe")
    moment = datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
    async with db.transaction("acme") as tx:
        if not first:
            await tx.value(PLAIN)
        values = await tx.value(Query("moment", "select array[%(at)s::timestamptz]"), {"at": moment})
        day = await tx.value(Query("day", "select date_trunc('day', %(at)s::timestamptz)"), {"at": moment})
    assert values == [moment]
    assert values[0].utcoffset() == timedelta(0)
    assert day == datetime(2024, 5, 6, tzinfo=UTC)
    await db.close()


async def test_long_statement_ends_with_its_deadline(probe: MeshDatabase) -> None:
    db = Database(DatabaseSettings(probe.urls["probe"], statement_timeout_s=0.05), application_name="probe")
    with pytest.raises(DeadlineExceeded):
        async with db.transaction("acme") as tx:
            await tx.value(SLEEP)
    await db.close()


@pytest.mark.parametrize("text", ["a\0b", "half \ud83e"])
async def test_text_that_cannot_be_stored_is_the_callers_mistake(db: Database, text: str) -> None:
    async def insert(tx: Tx, warm: bool) -> None:
        if warm:
            await tx.value(PLAIN)
        await tx.execute(INSERT, thing("acme", 1, text))

    for warm in (False, True):
        with pytest.raises(InvalidArgument) as caught:
            await db.run("acme", lambda tx, warm=warm: insert(tx, warm))
        assert caught.value.reason == Reason.TEXT_NOT_STORABLE
    assert await count(db) == 0


async def test_rule_of_the_table_is_the_callers_mistake(db: Database) -> None:
    with pytest.raises(InvalidArgument) as caught:
        async with db.transaction("acme") as tx:
            await tx.execute(INSERT, thing("acme", 1, "x" * 101))
    assert constraint_of(caught.value) == "things_name"


RUNNING = "select count(*) from pg_stat_activity where application_name = 'to-cancel' and state = 'active'"


@pytest.mark.parametrize("first", [True, False])
async def test_cancelled_statement_is_stopped_in_the_server_and_its_place_used_again(
    probe: MeshDatabase, first: bool
) -> None:
    db = Database(DatabaseSettings(probe.urls["probe"], pool_max=1), application_name="to-cancel")

    async def wait(tx: Tx) -> None:
        if not first:
            await tx.value(PLAIN)
        await tx.value(SLEEP)

    with psycopg.connect(probe.admin_url, autocommit=True) as admin:
        task = asyncio.create_task(db.run("acme", wait))
        await until(lambda: admin.execute(RUNNING).fetchone() == (1,))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert admin.execute(RUNNING).fetchone() == (0,)
    async with db.transaction("acme") as tx:
        assert await tx.value(PLAIN) == 1
    assert db.stats().in_use == 0
    await db.close()


@pytest.fixture
async def quick_deadlocks(own_probe: MeshDatabase) -> AsyncIterator[Database]:
    alter(own_probe, "alter database {} set deadlock_timeout to '20ms'")
    db = Database(DatabaseSettings(own_probe.urls["probe"]), application_name="probe")
    yield db
    await db.close()


async def test_transaction_that_lost_a_deadlock_is_run_again(quick_deadlocks: Database) -> None:
    db = quick_deadlocks
    touch = Query("touch", "update probe.things set name = name || %(mark)s where id = %(id)s")
    async with db.transaction("acme") as tx:
        await tx.execute_many(INSERT, [thing("acme", 1, ""), thing("acme", 2, "")])
    both = asyncio.Barrier(2)
    runs = {"a": 0, "b": 0}

    async def work(tx: Tx, mark: str, first: int, second: int) -> None:
        runs[mark] += 1
        await tx.execute(touch, {"id": first, "mark": mark})
        if runs[mark] == 1:
            await both.wait()
        await tx.execute(touch, {"id": second, "mark": mark})

    await asyncio.gather(
        db.run("acme", lambda tx: work(tx, "a", 1, 2)),
        db.run("acme", lambda tx: work(tx, "b", 2, 1)),
    )
    async with db.transaction("acme") as tx:
        rows = await tx.all(ALL, into=Thing)
    assert sum(runs.values()) == 3
    assert [sorted(row.name) for row in rows] == [["a", "b"], ["a", "b"]]


async def test_transaction_that_always_loses_gives_up(db: Database) -> None:
    runs = 0
    lose = Query("lose", "do $$ begin raise exception 'lost' using errcode = '40001'; end $$")

    async def work(tx: Tx) -> Any:
        nonlocal runs
        runs += 1
        await tx.execute(lose)

    with pytest.raises(Aborted):
        await db.run("acme", work)
    assert runs == MAX_RUNS


async def test_other_failures_are_not_run_again(db: Database) -> None:
    runs = 0

    async def work(tx: Tx) -> None:
        nonlocal runs
        runs += 1
        await tx.value(FAIL)

    with pytest.raises(InvalidArgument):
        await db.run("acme", work)
    assert runs == 1
