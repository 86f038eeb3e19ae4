"""One of many holds a lease, and another one takes over when it is gone."""

from __future__ import annotations

import asyncio

import pytest

from mesh.db.pool import Database
from mesh.jobs.leases import Leases
from mesh.jobs.periodic import Periodic
from mesh.kernel.clock import SystemClock
from mesh.kernel.errors import Unavailable
from mesh.kernel.reasons import Reason
from mesh.testing.clock import ManualClock
from tests.contract.mesh.waiting import until


async def test_lease_has_one_holder_until_it_ends(db: Database) -> None:
    clock = ManualClock()
    one, two = (Leases(db, "probe", holder, clock) for holder in ("one", "two"))
    assert await one.take("sweep", 10)
    assert not await two.take("sweep", 10)
    assert await two.take("another", 10)
    clock.advance(9)
    assert await one.take("sweep", 10)
    clock.advance(9)
    assert not await two.take("sweep", 10)
    clock.advance(1)
    assert await two.take("sweep", 10)
    assert not await one.take("sweep", 10)


async def test_released_lease_is_free_at_once_and_only_its_holder_releases_it(db: Database) -> None:
    clock = ManualClock()
    one, two = (Leases(db, "probe", holder, clock) for holder in ("one", "two"))
    await one.take("sweep", 10)
    await two.release("sweep")
    assert not await two.take("sweep", 10)
    await one.release("sweep")
    assert await two.take("sweep", 10)


async def test_of_many_that_want_it_at_once_one_gets_it(db: Database) -> None:
    clock = ManualClock()
    takers = [Leases(db, "probe", f"h{number}", clock) for number in range(8)]
    got = await asyncio.gather(*(taker.take("sweep", 10) for taker in takers))
    assert sum(got) == 1


async def test_sweep_runs_on_one_process_and_moves_on_when_that_stops(db: Database) -> None:
    runs: list[str] = []

    def sweeper(name: str) -> tuple[Periodic, Leases]:
        async def work() -> None:
            runs.append(name)

        return Periodic("sweep", 0.02, work), Leases(db, "probe", name, SystemClock())

    stops = {name: asyncio.Event() for name in ("one", "two")}
    async with asyncio.TaskGroup() as group:
        for name, stop in stops.items():
            periodic, leases = sweeper(name)
            group.create_task(periodic.run(leases, stop))
        await until(lambda: len(runs) >= 3)
        assert len(set(runs)) == 1
        stops[runs[0]].set()
        other = ({"one", "two"} - {runs[0]}).pop()
        await until(lambda: other in runs)
        stops[other].set()


@pytest.mark.parametrize("failure", [Unavailable(Reason.SERVICE_UNAVAILABLE, "away"), ZeroDivisionError()])
async def test_sweep_that_failed_runs_again(db: Database, failure: Exception) -> None:
    stop = asyncio.Event()
    runs = 0

    async def work() -> None:
        nonlocal runs
        runs += 1
        if runs == 1:
            raise failure
        stop.set()

    async with asyncio.timeout(10):
        await Periodic("sweep", 0.01, work).run(Leases(db, "probe", "one", SystemClock()), stop)
    assert runs == 2
