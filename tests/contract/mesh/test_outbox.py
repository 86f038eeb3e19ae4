"""An item exists exactly when its data does, and waits for its turn."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from mesh.db.pool import Database
from mesh.jobs.claims import MAX_WINDOWS, WINDOW, Claims
from mesh.jobs.dead_letters import discard, list_dead, requeue
from mesh.jobs.outbox import Outbox
from mesh.kernel.errors import Internal
from mesh.kernel.reasons import Reason
from mesh.telemetry.context import TRACE, TraceContext
from mesh.testing.clock import ManualClock
from mesh.testing.postgres import MeshDatabase
from tests.contract.mesh.schemas import INSERT, thing

OUTBOX = Outbox("probe")
TOPICS = ["learn", "forget"]


@pytest.fixture
def clock() -> ManualClock:
    # Ahead of the server's clock, which dates what is appended.
    return ManualClock(datetime.now(UTC) + timedelta(seconds=10))


def claims(db: Database, clock: ManualClock, holder: str = "one") -> Claims:
    return Claims(db, OUTBOX, holder, clock)


async def append(db: Database, *keys: str, tenant: str = "acme", topic: str = "learn") -> None:
    for key in keys:
        async with db.transaction(tenant) as tx:
            await OUTBOX.append(tx, topic, key, b'{"n": 1}')


async def test_item_is_kept_exactly_when_the_data_is(db: Database, clock: ManualClock) -> None:
    async def fail() -> None:
        async with db.transaction("acme") as tx:
            await tx.execute(INSERT, thing("acme", 1))
            await OUTBOX.append(tx, "learn", "k", b"{}")
            await tx.execute(INSERT, thing("acme", 1))

    with pytest.raises(Exception, match="exists"):
        await fail()
    assert (await claims(db, clock).stats()).pending == 0
    async with db.transaction("acme") as tx:
        await tx.execute(INSERT, thing("acme", 1))
        await OUTBOX.append(tx, "learn", "k", b"{}")
    assert (await claims(db, clock).stats()).pending == 1


async def test_item_carries_what_was_appended(db: Database, clock: ManualClock) -> None:
    token = TRACE.set(TraceContext("a" * 32, "b" * 16, sampled=True))
    try:
        await append(db, "thread-1")
    finally:
        TRACE.reset(token)
    (item,) = await claims(db, clock).claim(TOPICS, 10, 60)
    assert (item.tenant_id, item.topic, item.key, item.payload) == ("acme", "learn", "thread-1", b'{"n": 1}')
    assert item.traceparent == f"00-{'a' * 32}-{'b' * 16}-01"
    assert item.attempts == 1
    assert abs(item.created_at - datetime.now(UTC)) < timedelta(seconds=5)


async def test_item_needs_a_tenant(db: Database) -> None:
    with pytest.raises(Internal):
        async with db.sweep() as tx:
            await OUTBOX.append(tx, "learn", "k", b"{}")


async def test_tenant_sees_its_own_items_alone(db: Database, probe: MeshDatabase) -> None:
    await append(db, "k")
    await append(db, "k", tenant="zeta")
    with psycopg.connect(probe.urls["probe"]) as raw:
        assert raw.execute("select count(*) from probe.outbox").fetchone() == (0,)
        raw.execute("select set_config('app.tenant_id', 'zeta', true)")
        assert raw.execute("select tenant_id from probe.outbox").fetchall() == [("zeta",)]


async def test_claimed_item_is_nobody_elses_until_its_lease_ends(db: Database, clock: ManualClock) -> None:
    await append(db, "k")
    first, second = claims(db, clock, "one"), claims(db, clock, "two")
    (item,) = await first.claim(TOPICS, 10, 60)
    assert await second.claim(TOPICS, 10, 60) == []
    clock.advance(59)
    assert await second.claim(TOPICS, 10, 60) == []
    assert await first.extend(item, 60)
    clock.advance(59)
    assert await second.claim(TOPICS, 10, 60) == []
    clock.advance(2)
    (again,) = await second.claim(TOPICS, 10, 60)
    assert (again.outbox_id, again.attempts) == (item.outbox_id, 2)


async def test_holder_that_lost_its_lease_changes_nothing(db: Database, clock: ManualClock) -> None:
    await append(db, "k")
    late, quick = claims(db, clock, "late"), claims(db, clock, "quick")
    (item,) = await late.claim(TOPICS, 10, 60)
    clock.advance(61)
    (again,) = await quick.claim(TOPICS, 10, 60)
    changed = [
        await late.extend(item, 60),
        await late.finish(item),
        await late.retry_later(item, timedelta(0), Reason.INTERNAL),
        await late.give_back(item),
        await late.bury(item, Reason.INTERNAL),
    ]
    assert changed == [False] * 5
    assert await quick.finish(again)
    assert (await quick.stats()).pending == 0


async def test_keys_are_served_side_by_side_and_each_in_order(db: Database, clock: ManualClock) -> None:
    await append(db, "a", "a", "b", "a")
    await append(db, "a", tenant="zeta")
    worker = claims(db, clock)
    first = await worker.claim(TOPICS, 10, 60)
    assert [(item.tenant_id, item.key, item.outbox_id) for item in first] == [
        ("acme", "a", 1),
        ("acme", "b", 3),
        ("zeta", "a", 5),
    ]
    assert await worker.claim(TOPICS, 10, 60) == []
    await worker.finish(first[0])
    assert [item.outbox_id for item in await worker.claim(TOPICS, 10, 60)] == [2]


async def test_item_that_waits_holds_back_those_behind_it_and_a_dead_one_does_not(
    db: Database, clock: ManualClock
) -> None:
    await append(db, "a", "a")
    worker = claims(db, clock)
    (item,) = await worker.claim(TOPICS, 10, 60)
    await worker.retry_later(item, timedelta(seconds=30), Reason.SERVICE_UNAVAILABLE)
    assert await worker.claim(TOPICS, 10, 60) == []
    clock.advance(31)
    (item,) = await worker.claim(TOPICS, 10, 60)
    assert (item.outbox_id, item.attempts) == (1, 2)
    await worker.bury(item, Reason.MODEL_REFUSED)
    assert [each.outbox_id for each in await worker.claim(TOPICS, 10, 60)] == [2]


async def test_item_given_back_counts_no_attempt(db: Database, clock: ManualClock) -> None:
    await append(db, "a")
    worker = claims(db, clock)
    (item,) = await worker.claim(TOPICS, 10, 60)
    await worker.give_back(item)
    (item,) = await worker.claim(TOPICS, 10, 60)
    assert item.attempts == 1


async def test_item_is_not_delivered_before_its_time_nor_to_a_worker_of_other_topics(
    db: Database, clock: ManualClock
) -> None:
    async with db.transaction("acme") as tx:
        await OUTBOX.append(tx, "learn", "later", b"{}", available_at=clock.now() + timedelta(minutes=1))
    await append(db, "k", topic="unknown")
    worker = claims(db, clock)
    assert await worker.claim(TOPICS, 10, 60) == []
    clock.advance(61)
    assert [item.key for item in await worker.claim(TOPICS, 10, 60)] == ["later"]
    assert [item.key for item in await worker.claim(["unknown"], 10, 60)] == ["k"]


async def test_workers_that_claim_at_once_share_the_items(db: Database, clock: ManualClock) -> None:
    await append(db, *(f"k{number}" for number in range(30)))
    workers = [claims(db, clock, f"w{number}") for number in range(5)]
    taken = await asyncio.gather(*(worker.claim(TOPICS, 10, 60) for worker in workers for _ in range(2)))
    ids = [item.outbox_id for items in taken for item in items]
    assert len(ids) == len(set(ids))
    rest = await workers[0].claim(TOPICS, 30, 60)
    assert sorted(ids + [item.outbox_id for item in rest]) == list(range(1, 31))


async def test_dead_letters_are_listed_requeued_and_discarded(db: Database, clock: ManualClock) -> None:
    await append(db, "a", "b")
    await append(db, "c", tenant="zeta")
    worker = claims(db, clock)
    for item in await worker.claim(TOPICS, 10, 60):
        await worker.bury(item, Reason.MODEL_OUTPUT_INVALID)
    async with db.sweep() as tx:
        every = await list_dead(tx, OUTBOX)
        assert [(letter.tenant_id, letter.key) for letter in every] == [("acme", "a"), ("acme", "b"), ("zeta", "c")]
        assert [letter.outbox_id for letter in await list_dead(tx, OUTBOX, after=1, most=1)] == [2]
    async with db.transaction("acme") as tx:
        mine = await list_dead(tx, OUTBOX)
        assert [letter.key for letter in mine] == ["a", "b"]
        assert (mine[0].last_error, mine[0].attempts) == ("MODEL_OUTPUT_INVALID", 1)
        assert await requeue(tx, OUTBOX, "acme", mine[0].outbox_id, clock.now())
        assert not await requeue(tx, OUTBOX, "acme", mine[0].outbox_id, clock.now())
        assert not await requeue(tx, OUTBOX, "zeta", every[2].outbox_id, clock.now())
        assert await discard(tx, OUTBOX, "acme", mine[1].outbox_id)
    (item,) = await worker.claim(TOPICS, 10, 60)
    assert (item.key, item.attempts) == ("a", 1)
    stats = await worker.stats()
    assert (stats.pending, stats.dead) == (1, 1)


async def test_age_of_the_oldest_item_is_told(db: Database, clock: ManualClock) -> None:
    worker = claims(db, clock)
    assert (await worker.stats()).oldest_pending_seconds == 0
    await append(db, "a")
    clock.advance(100)
    assert (await worker.stats()).oldest_pending_seconds == pytest.approx(110, abs=5)


def fill(probe: MeshDatabase, items: int, keys: int, available: str = "now()") -> None:
    with psycopg.connect(probe.admin_url, autocommit=True) as admin:
        admin.execute(
            "insert into probe.outbox (tenant_id, topic, key, payload, available_at) "
            "select 'acme', 'learn', 'k' || lpad((n %% %(keys)s)::text, 6, '0'), '{}', %(at)s::text::timestamptz "
            "from generate_series(1, %(items)s) n",
            {"items": items, "keys": keys, "at": available},
        )
        admin.execute("analyze probe.outbox")


@pytest.mark.parametrize(("items", "keys"), [(20_000, 500), (20_000, 1)])
async def test_claim_stays_quick_with_a_long_backlog(
    db: Database, clock: ManualClock, probe: MeshDatabase, items: int, keys: int
) -> None:
    fill(probe, items, keys)
    worker = claims(db, clock)
    started = asyncio.get_running_loop().time()
    for _ in range(10):
        claimed = await worker.claim(TOPICS, 8, 60)
        assert len(claimed) == min(8, keys)
        for item in claimed:
            await worker.finish(item)
    assert asyncio.get_running_loop().time() - started < 5


async def test_every_key_has_its_turn(db: Database, clock: ManualClock, probe: MeshDatabase) -> None:
    fill(probe, 3 * 1000, 1000)
    worker = claims(db, clock)
    served: list[str] = []
    for _ in range(10):
        for item in await worker.claim(TOPICS, 100, 60):
            served.append(item.key)
            await worker.finish(item)
    assert len(set(served)) == len(served) == 1000


async def test_keys_that_wait_do_not_hide_one_that_is_due(
    db: Database, clock: ManualClock, probe: MeshDatabase
) -> None:
    fill(probe, 3 * WINDOW, 3 * WINDOW, "infinity")
    await append(db, "zzz")
    worker = claims(db, clock)
    assert [item.key for item in await worker.claim(TOPICS, 8, 60)] == ["zzz"]
    await append(db, "a")
    assert [item.key for item in await worker.claim(TOPICS, 8, 60)] == ["a"]


async def test_more_waiting_keys_than_one_look_covers_are_passed_in_several(
    db: Database, clock: ManualClock, probe: MeshDatabase
) -> None:
    waiting = WINDOW * MAX_WINDOWS
    fill(probe, waiting, waiting, "infinity")
    await append(db, "zzz")
    worker = claims(db, clock)
    assert await worker.claim(TOPICS, 8, 60) == []
    assert [item.key for item in await worker.claim(TOPICS, 8, 60)] == ["zzz"]
