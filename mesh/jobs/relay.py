"""Delivers an outbox: claims what is due, gives it to its handler, removes what was delivered.

A claim is a lease, prolonged while the handler works. Whoever claims counts the attempt first, so an item that kills
its worker is not tried for ever. A crash at any moment, also between a handler's success and the removal, leads to
another delivery and never to none: handlers are idempotent. Items of one tenant and key are delivered one after the
other, in the order of appending; an item that waits for its next attempt holds back those behind it, a dead one does
not.

Times are those of the process. Processes that share an outbox may differ by less than a lease.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from mesh.db.pool import Database
from mesh.jobs.claims import Claims, OutboxStats
from mesh.jobs.metrics import RelayMeter
from mesh.jobs.outbox import Outbox, OutboxItem
from mesh.jobs.settings import RelaySettings
from mesh.kernel.clock import Clock, SystemClock
from mesh.kernel.errors import FailedPrecondition, InvalidArgument, MeshError
from mesh.kernel.ids import new_id
from mesh.kernel.reasons import Reason
from mesh.telemetry.context import REQUEST_ID, TENANT_ID, TRACE, parse_traceparent
from mesh.telemetry.traces import process_tracing

Handler: TypeAlias = Callable[[OutboxItem], Awaitable[None]]
"""Does the work of one item, any number of times with the effect of once; the item's tenant is in the log context."""

GIVE_BACK_TIMEOUT_S = 2.0
"""How long a stopping worker tries to give an item back; after that its lease has to run out."""

MAX_DATABASE_PAUSE_S = 5.0
"""Longest pause between two attempts to reach a database that is away."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why a delivery did not succeed; `permanent` when another one cannot help."""

    reason: Reason
    permanent: bool = False
    retry_after: timedelta = timedelta(0)


_LOST = _Failure(Reason.CONFLICT)
"""The lease went to somebody else: there is nothing to record."""

_EXHAUSTED = _Failure(Reason.INTERNAL, permanent=True)
"""The workers that tried it before all died."""


class Relay:
    """One worker of an outbox; any number of them may work on the same one."""

    def __init__(
        self,
        db: Database,
        outbox: Outbox,
        handlers: Mapping[str, Handler],
        settings: RelaySettings | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Name the parts.

        Args:
            db: the database of the outbox.
            outbox: what is delivered.
            handlers: by topic; items of other topics stay for workers that know them.
            settings: bounds; None takes the defaults.
            clock: None takes the machine's.
        """
        self._schema = outbox.schema
        self._handlers = dict(handlers)
        self._settings = settings or RelaySettings()
        self._clock = clock or SystemClock()
        self._claims = Claims(db, outbox, new_id(), self._clock)
        self._meter = RelayMeter(outbox.schema)
        self._topics = list(handlers)
        self._pause_s = self._settings.poll_interval_s
        self._wake = asyncio.Event()
        self._running: set[asyncio.Task[None]] = set()

    async def run(self, stop: asyncio.Event) -> None:
        """Deliver until told to stop, then let running handlers end for `drain_s` and give the rest back.

        A database that is away is waited for. Only a defect ends this with an exception.
        """
        async with asyncio.TaskGroup() as group:
            side_tasks = [group.create_task(self._wake_on(stop)), group.create_task(self._keep_stats())]
            try:
                while not stop.is_set():
                    self._wake.clear()
                    if not await self._claim_into(group):
                        await self._pause()
                await self._drain()
            finally:
                for task in side_tasks:
                    task.cancel()

    async def deliver_due(self) -> int:
        """Deliver what is due now, until nothing is, and return how many deliveries were tried.

        For tests and for tools that must know that the outbox was worked off; `run` is for servers.
        """
        delivered = 0
        while items := await self._claims.claim(self._topics, self._settings.concurrency, self._settings.lease_s):
            async with asyncio.TaskGroup() as group:
                for item in items:
                    group.create_task(self._deliver(item))
            delivered += len(items)
        return delivered

    def wake(self) -> None:
        """Look for items now, for a caller in this process that has just committed one."""
        self._wake.set()

    async def stats(self) -> OutboxStats:
        """Return what waits and what is dead, over all tenants."""
        return await self._claims.stats()

    async def _claim_into(self, group: asyncio.TaskGroup) -> bool:
        """Start as many deliveries as there is room for, and tell whether there may be more to start at once."""
        free = self._settings.concurrency - len(self._running)
        if not free:
            return False
        items = await self._claim(free)
        for item in items:
            task = group.create_task(self._deliver(item))
            self._running.add(task)
            task.add_done_callback(self._ended)
        return len(items) == free

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        # The next item of the same key can be claimed only now.
        self._wake.set()

    async def _claim(self, most: int) -> list[OutboxItem]:
        """Return what was claimed; nothing when the database is away, which makes the next pause longer."""
        try:
            items = await self._claims.claim(self._topics, most, self._settings.lease_s)
        except MeshError as error:
            _log.warning("outbox %s: cannot claim (%s)", self._schema, error.reason)
            self._pause_s = min(self._pause_s * 2, max(MAX_DATABASE_PAUSE_S, self._settings.poll_interval_s))
            return []
        self._pause_s = self._settings.poll_interval_s
        return items

    async def _deliver(self, item: OutboxItem) -> None:
        TENANT_ID.set(item.tenant_id)
        REQUEST_ID.set(f"outbox.{self._schema}.{item.outbox_id}")
        TRACE.set(parse_traceparent(item.traceparent))
        try:
            outcome = await self._attempt(item)
            self._meter.delivered(item, outcome, self._clock.now())
        except MeshError as error:
            # The database left between the work and its record: the lease runs out and the item is delivered again.
            _log.warning("outbox item %d: outcome not recorded (%s)", item.outbox_id, error.reason)
        except asyncio.CancelledError:
            await self._give_back(item)
            raise

    async def _attempt(self, item: OutboxItem) -> str:
        """Run the handler, record what became of it, and return that in one word."""
        failure = await self._handle(item) if item.attempts <= self._settings.max_attempts else _EXHAUSTED
        if failure is None:
            await self._claims.finish(item)
            return "delivered"
        if failure is _LOST:
            _log.warning("outbox item %d: another worker took it over", item.outbox_id)
            return "lost"
        if failure.permanent or item.attempts >= self._settings.max_attempts:
            return await self._bury(item, failure.reason)
        return await self._retry_later(item, failure)

    async def _handle(self, item: OutboxItem) -> _Failure | None:
        lost = asyncio.Event()
        try:
            with process_tracing().span(f"deliver {item.topic}"):
                async with asyncio.timeout(self._settings.handler_timeout_s) as scope, self._kept(item, scope, lost):
                    await self._handlers[item.topic](item)
        except TimeoutError:
            return _LOST if lost.is_set() else _Failure(Reason.DEADLINE_EXCEEDED)
        except MeshError as error:
            permanent = isinstance(error, InvalidArgument | FailedPrecondition)
            return _Failure(error.reason, permanent, error.details.retry_after or timedelta(0))
        except Exception:  # noqa: BLE001 - the boundary of a handler: one item's defect must not stop the others
            _log.exception("outbox item %d: handler of %s failed", item.outbox_id, item.topic)
            return _Failure(Reason.INTERNAL)
        return None

    async def _retry_later(self, item: OutboxItem, failure: _Failure) -> str:
        _log.info("outbox item %d: attempt %d failed (%s)", item.outbox_id, item.attempts, failure.reason)
        delay = max(self._settings.backoff(item.attempts), failure.retry_after)
        await self._claims.retry_later(item, delay, failure.reason)
        return "retried"

    async def _bury(self, item: OutboxItem, reason: Reason) -> str:
        _log.error(
            "outbox item %d of %s is dead after %d attempts (%s)", item.outbox_id, item.topic, item.attempts, reason
        )
        await self._claims.bury(item, reason)
        return "dead"

    @asynccontextmanager
    async def _kept(self, item: OutboxItem, scope: asyncio.Timeout, lost: asyncio.Event) -> AsyncIterator[None]:
        """Prolong the lease while the block runs; end the block through its time limit when the lease is lost."""
        beat = asyncio.create_task(self._beat(item, scope, lost))
        try:
            yield
        finally:
            beat.cancel()
            await asyncio.wait([beat])
            if not beat.cancelled() and (defect := beat.exception()) is not None:
                raise defect

    async def _beat(self, item: OutboxItem, scope: asyncio.Timeout, lost: asyncio.Event) -> None:
        ends_at = self._clock.monotonic_s() + self._settings.lease_s
        while True:
            await asyncio.sleep(self._settings.heartbeat_s)
            try:
                kept = await self._claims.extend(item, self._settings.lease_s)
            except MeshError:
                kept = self._clock.monotonic_s() < ends_at
            else:
                ends_at = self._clock.monotonic_s() + self._settings.lease_s
            if not kept:
                lost.set()
                scope.reschedule(asyncio.get_running_loop().time())
                return

    async def _give_back(self, item: OutboxItem) -> None:
        try:
            async with asyncio.timeout(GIVE_BACK_TIMEOUT_S):
                await self._claims.give_back(item)
        except (MeshError, TimeoutError):
            _log.warning("outbox item %d: not given back, its lease has to run out", item.outbox_id)

    async def _drain(self) -> None:
        if self._running:
            await asyncio.wait(self._running, timeout=self._settings.drain_s)
        for task in self._running:
            task.cancel()

    async def _wake_on(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._wake.set()

    async def _pause(self) -> None:
        """Wait for the next look, or for a reason to look now."""
        try:
            async with asyncio.timeout(self._pause_s):
                await self._wake.wait()
        except TimeoutError:
            return

    async def _keep_stats(self) -> None:
        while True:
            try:
                self._meter.stats = await self.stats()
            except MeshError as error:
                _log.debug("outbox %s: no statistics (%s)", self._schema, error.reason)
            await asyncio.sleep(self._settings.stats_interval_s)
