"""Every item is delivered, at least once, in order, by whoever lives, or ends as a dead letter."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from mesh.db.pool import Database
from mesh.db.settings import DatabaseSettings
from mesh.jobs.claims import Claims
from mesh.jobs.dead_letters import list_dead
from mesh.jobs.outbox import Outbox, OutboxItem
from mesh.jobs.relay import Handler, Relay
from mesh.jobs.settings import RelaySettings
from mesh.kernel.clock import SystemClock
from mesh.kernel.errors import ErrorDetails, FailedPrecondition, InvalidArgument, MeshError, NotFound, Unavailable
from mesh.kernel.reasons import Reason
from mesh.telemetry.context import REQUEST_ID, TENANT_ID, TRACE, TraceContext
from mesh.testing.clock import ManualClock
from mesh.testing.postgres import MeshDatabase
from tests.contract.mesh.waiting import until

OUTBOX = Outbox("probe")
QUICK = RelaySettings(
    poll_interval_s=0.02, lease_s=0.9, heartbeat_s=0.05, backoff_base_s=0.01, backoff_max_s=0.05, max_attempts=4
)


class Recorder:
    """A handler that keeps what it got and fails as it is told."""

    def __init__(self, *failures: Exception) -> None:
        self.items: list[OutboxItem] = []
        self.failures = list(failures)

    async def __call__(self, item: OutboxItem) -> None:
        self.items.append(item)
        if self.failures:
            raise self.failures.pop(0)

    @property
    def ids(self) -> list[int]:
        return [item.outbox_id for item in self.items]


async def append(db: Database, *keys: str, tenant: str = "acme") -> None:
    for key in keys:
        async with db.transaction(tenant) as tx:
            await OUTBOX.append(tx, "learn", key, b"{}")


def relay(db: Database, handler: Handler, settings: RelaySettings = QUICK) -> Relay:
    return Relay(db, OUTBOX, {"learn": handler}, settings)


@asynccontextmanager
async def running(worker: Relay) -> AsyncIterator[asyncio.Task[None]]:
    stop = asyncio.Event()
    task = asyncio.create_task(worker.run(stop))
    try:
        yield task
    finally:
        stop.set()
        await task


def pending(probe: MeshDatabase) -> Callable[[], int]:
    """Return a function that counts the items that are not delivered and not dead."""

    def count() -> int:
        with psycopg.connect(probe.admin_url) as admin:
            row = admin.execute("select count(*) from probe.outbox where dead_at is null").fetchone()
        return int(row[0]) if row else 0

    return count


async def dead(db: Database) -> list[tuple[int, str, int]]:
    async with db.sweep() as tx:
        return [(letter.outbox_id, letter.last_error, letter.attempts) for letter in await list_dead(tx, OUTBOX)]


async def test_items_are_delivered_once_and_in_order(db: Database, probe: MeshDatabase) -> None:
    handler = Recorder()
    await append(db, "a", "b", "a", "a", "b")
    async with running(relay(db, handler)):
        await append(db, "a")
        await until(lambda: len(handler.items) == 6 and pending(probe)() == 0)
    by_key = {key: [item.outbox_id for item in handler.items if item.key == key] for key in "ab"}
    assert by_key == {"a": [1, 3, 4, 6], "b": [2, 5]}


async def test_keys_do_not_wait_for_each_other(db: Database) -> None:
    meet = asyncio.Barrier(3)

    async def handler(item: OutboxItem) -> None:
        await meet.wait()

    await append(db, "a", "b", "c")
    async with asyncio.timeout(10):
        assert await relay(db, handler).deliver_due() == 3


async def test_no_more_run_at_once_than_allowed(db: Database) -> None:
    now = most = 0

    async def handler(item: OutboxItem) -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1

    handled = Recorder()

    async def both(item: OutboxItem) -> None:
        await handler(item)
        await handled(item)

    await append(db, *(f"k{number}" for number in range(12)))
    async with running(relay(db, both, replace(QUICK, concurrency=3))):
        await until(lambda: len(handled.items) == 12)
    assert most == 3


async def test_handler_knows_tenant_request_and_trace(db: Database) -> None:
    seen: list[tuple[str, str, TraceContext | None]] = []

    async def handler(item: OutboxItem) -> None:
        seen.append((TENANT_ID.get(), REQUEST_ID.get(), TRACE.get()))

    token = TRACE.set(TraceContext("c" * 32, "d" * 16, sampled=True))
    await append(db, "a", tenant="zeta")
    TRACE.reset(token)
    await relay(db, handler).deliver_due()
    ((tenant, request_id, trace),) = seen
    assert (tenant, request_id) == ("zeta", "outbox.probe.1")
    assert trace is not None
    assert trace.trace_id == "c" * 32


@pytest.mark.parametrize(
    "failure",
    [
        Unavailable(Reason.SERVICE_UNAVAILABLE, "away"),
        NotFound(Reason.THREAD_NOT_FOUND, "not yet"),
        ZeroDivisionError("a defect"),
    ],
)
async def test_failed_delivery_is_tried_again(db: Database, probe: MeshDatabase, failure: Exception) -> None:
    handler = Recorder(failure, failure)
    await append(db, "a", "a")
    async with running(relay(db, handler)):
        await until(lambda: pending(probe)() == 0)
    assert handler.ids == [1, 1, 1, 2]
    assert [item.attempts for item in handler.items] == [1, 2, 3, 1]
    assert await dead(db) == []


@pytest.mark.parametrize("kind", [InvalidArgument, FailedPrecondition])
async def test_what_no_retry_can_help_is_dead_at_once_and_lets_others_pass(db: Database, kind: type[MeshError]) -> None:
    handler = Recorder(kind(Reason.MODEL_REFUSED, "the words of a user"))
    await append(db, "a", "a")
    await relay(db, handler).deliver_due()
    assert handler.ids == [1, 2]
    assert await dead(db) == [(1, "MODEL_REFUSED", 1)]


async def test_too_many_attempts_end_as_a_dead_letter_without_words(db: Database, probe: MeshDatabase) -> None:
    handler = Recorder(*[Unavailable(Reason.MODEL_UNAVAILABLE, "secret words")] * 9)
    await append(db, "a")
    async with running(relay(db, handler)):
        await until(lambda: pending(probe)() == 0)
    assert len(handler.items) == QUICK.max_attempts
    assert await dead(db) == [(1, "MODEL_UNAVAILABLE", QUICK.max_attempts)]
    with psycopg.connect(probe.admin_url) as admin:
        assert "secret" not in str(admin.execute("select o::text from probe.outbox o").fetchall())


async def test_advice_of_the_other_side_is_waited_for(db: Database) -> None:
    advice = ErrorDetails(retry_after=timedelta(seconds=30))
    handler = Recorder(Unavailable(Reason.MODEL_UNAVAILABLE, "later", advice))
    clock = ManualClock(datetime.now(UTC) + timedelta(seconds=5))
    worker = Relay(db, OUTBOX, {"learn": handler}, QUICK, clock)
    await append(db, "a")
    assert await worker.deliver_due() == 1
    clock.advance(29)
    assert await worker.deliver_due() == 0
    clock.advance(2)
    assert await worker.deliver_due() == 1


async def test_long_work_keeps_its_lease(db: Database) -> None:
    settings = replace(QUICK, lease_s=0.3, heartbeat_s=0.05)
    handler = Recorder()

    async def slow(item: OutboxItem) -> None:
        await handler(item)
        await asyncio.sleep(0.8)

    await append(db, "a")
    async with running(relay(db, slow, settings)), running(relay(db, slow, settings)):
        await until(lambda: bool(handler.items))
        await asyncio.sleep(0.9)
    assert handler.ids == [1]


async def test_work_whose_lease_went_to_another_is_ended(db: Database, probe: MeshDatabase) -> None:
    ended = asyncio.Event()
    begun = asyncio.Event()

    async def endless(item: OutboxItem) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    await append(db, "a")
    delivery = asyncio.create_task(relay(db, endless).deliver_due())
    await begun.wait()
    with psycopg.connect(probe.admin_url, autocommit=True) as admin:
        admin.execute("update probe.outbox set claimed_by = 'another', claimed_until = now() + interval '1 hour'")
    async with asyncio.timeout(10):
        await ended.wait()
        await delivery
    assert pending(probe)() == 1
    assert await dead(db) == []


async def test_handler_that_takes_too_long_is_ended_and_tried_again(db: Database, probe: MeshDatabase) -> None:
    handler = Recorder()

    async def stuck_once(item: OutboxItem) -> None:
        await handler(item)
        if item.attempts == 1:
            await asyncio.Event().wait()

    await append(db, "a")
    async with running(relay(db, stuck_once, replace(QUICK, handler_timeout_s=0.05))):
        await until(lambda: pending(probe)() == 0)
    assert handler.ids == [1, 1]


async def test_stopping_worker_lets_work_end(db: Database, probe: MeshDatabase) -> None:
    begun = asyncio.Event()
    go_on = asyncio.Event()

    async def handler(item: OutboxItem) -> None:
        begun.set()
        await go_on.wait()

    stop = asyncio.Event()
    await append(db, "a")
    task = asyncio.create_task(relay(db, handler).run(stop))
    await begun.wait()
    stop.set()
    go_on.set()
    await task
    assert pending(probe)() == 0


async def test_stopping_worker_gives_back_what_does_not_end(db: Database) -> None:
    begun = asyncio.Event()

    async def endless(item: OutboxItem) -> None:
        begun.set()
        await asyncio.Event().wait()

    stop = asyncio.Event()
    await append(db, "a")
    task = asyncio.create_task(relay(db, endless, replace(QUICK, drain_s=0.05)).run(stop))
    await begun.wait()
    stop.set()
    await task
    handler = Recorder()
    assert await relay(db, handler).deliver_due() == 1
    assert handler.items[0].attempts == 1


async def test_item_that_kills_its_workers_is_not_tried_for_ever(db: Database) -> None:
    clock = ManualClock(datetime.now(UTC) + timedelta(seconds=5))
    await append(db, "a", "a")
    for attempt in range(QUICK.max_attempts):
        (item,) = await Claims(db, OUTBOX, f"victim {attempt}", clock).claim(["learn"], 1, 60)
        assert item.attempts == attempt + 1
        clock.advance(61)
    handler = Recorder()
    await Relay(db, OUTBOX, {"learn": handler}, QUICK, clock).deliver_due()
    assert handler.ids == [2]
    assert [number for number, *_ in await dead(db)] == [1]


async def test_database_that_is_away_is_waited_for(own_probe: MeshDatabase) -> None:
    db = Database(DatabaseSettings(own_probe.urls["probe"]), application_name="relay")
    await append(db, "a")
    handler = Recorder()
    with psycopg.connect(own_probe.admin_url, autocommit=True) as admin:
        admin.execute("revoke select on probe.outbox from mnemesh_probe")
        async with running(relay(db, handler)) as task:
            await until(lambda: db.stats().acquired > 5)
            assert not task.done()
            assert handler.items == []
            admin.execute("grant select on probe.outbox to mnemesh_probe")
            await until(lambda: handler.ids == [1])
    await db.close()


WORKER = """
import asyncio, sys
from mesh.db.pool import Database
from mesh.db.settings import DatabaseSettings
from mesh.jobs.outbox import Outbox
from mesh.jobs.relay import Relay
from mesh.jobs.settings import RelaySettings

async def handler(item):
    print(item.outbox_id, flush=True)
    await asyncio.Event().wait()

async def main():
    db = Database(DatabaseSettings(sys.argv[1]), application_name="victim")
    settings = RelaySettings(poll_interval_s=0.05, lease_s=0.9, heartbeat_s=0.05)
    await Relay(db, Outbox("probe"), {"learn": handler}, settings).run(asyncio.Event())

asyncio.run(main())
"""


async def test_item_of_a_killed_worker_is_delivered_by_another_after_the_lease(
    db: Database, probe: MeshDatabase
) -> None:
    await append(db, "a", "a")
    victim = subprocess.Popen(  # noqa: ASYNC220 - started and killed, never waited for in between
        [sys.executable, "-c", WORKER, probe.urls["probe"]],
        cwd=Path(__file__).parents[3],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert victim.stdout is not None
    assert (await asyncio.to_thread(victim.stdout.readline)).strip() == "1"
    handler = Recorder()
    async with running(relay(db, handler)):
        victim.send_signal(signal.SIGKILL)
        victim.communicate()
        await until(lambda: pending(probe)() == 0)
    assert handler.ids == [1, 2]
    assert [item.attempts for item in handler.items] == [2, 1]


async def test_success_that_could_not_be_recorded_leads_to_another_delivery(db: Database, probe: MeshDatabase) -> None:
    """As when the worker dies between the end of the handler and the removal of the item."""
    handler = Recorder()

    async def and_lose_the_connection(item: OutboxItem) -> None:
        await handler(item)
        if item.attempts == 1:
            with psycopg.connect(probe.admin_url, autocommit=True) as admin:
                admin.execute("revoke delete on probe.outbox from mnemesh_probe")

    await append(db, "a")
    async with running(relay(db, and_lose_the_connection)):
        await until(lambda: len(handler.items) == 1)
        await asyncio.sleep(0.1)
        with psycopg.connect(probe.admin_url, autocommit=True) as admin:
            admin.execute("grant delete on probe.outbox to mnemesh_probe")
        await until(lambda: pending(probe)() == 0)
    assert handler.ids == [1, 1]


async def test_many_workers_lose_and_double_nothing(db: Database, probe: MeshDatabase) -> None:
    delivered: list[tuple[str, int]] = []

    async def handler(item: OutboxItem) -> None:
        delivered.append((item.key, item.outbox_id))
        await asyncio.sleep(0)

    async with db.transaction("acme") as tx:
        for number in range(120):
            await OUTBOX.append(tx, "learn", f"k{number % 12}", b"{}")
    # A lease that no slow machine outlasts: nothing may be delivered twice.
    patient = replace(QUICK, lease_s=60)
    async with (
        running(relay(db, handler, patient)),
        running(relay(db, handler, patient)),
        running(relay(db, handler, patient)),
    ):
        await until(lambda: pending(probe)() == 0)
    assert sorted(number for _, number in delivered) == list(range(1, 121))
    for key in {key for key, _ in delivered}:
        ids = [number for each, number in delivered if each == key]
        assert ids == sorted(ids)


async def test_stats_tell_what_waits(db: Database) -> None:
    await append(db, "a", "b")
    worker = Relay(db, OUTBOX, {}, QUICK, SystemClock())
    stats = await worker.stats()
    assert (stats.pending, stats.dead) == (2, 0)


async def test_caller_in_this_process_can_wake_a_sleeping_worker(db: Database) -> None:
    handler = Recorder()
    worker = relay(db, handler, replace(QUICK, poll_interval_s=60))
    async with running(worker):
        await until(lambda: db.stats().acquired > 1 and db.stats().in_use == 0)
        await append(db, "a")
        worker.wake()
        await until(lambda: handler.ids == [1])
