"""A bounded pool of connections.

It is ours and small, because three things must hold that a pool with background reconnection does not give: a caller
whose connection cannot be made learns that at once and as UNAVAILABLE, not as a wait that ran out; nothing is retried
in the background, so the first call after a restart of the database connects without a back-off; and a connection that
the server closed while idle is noticed before use, by looking at its socket, without a round trip.

A *slot* is the right to hold one connection; there are `pool_max`. Slots are handed over in the order of waiting.
All state changes happen between two awaits of one event loop, so there is no lock.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from psycopg.pq import TransactionStatus

from mesh.db.connect import Connection, is_alive
from mesh.db.errors import RETRY_AFTER, unavailable
from mesh.db.settings import DatabaseSettings
from mesh.kernel.errors import ErrorDetails, MeshError, ResourceExhausted
from mesh.kernel.reasons import Reason

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PoolStats:
    """What the pool holds now, and what happened since it was opened.

    Args:
        max_size: most connections.
        in_use: connections, or places for one, that callers hold.
        idle: open connections that nobody holds.
        waiting: callers in the queue.
        acquired: connections handed out so far.
        wait_s: seconds that all callers together waited in the queue.
        refused: callers turned away because the queue was full or their wait ran out.
        connect_failures: connections that could not be made.
    """

    max_size: int
    in_use: int
    idle: int
    waiting: int
    acquired: int
    wait_s: float
    refused: int
    connect_failures: int


@dataclass(slots=True)
class _Idle:
    connection: Connection
    since: float


@dataclass(slots=True)
class _Counters:
    acquired: int = 0
    wait_s: float = 0.0
    refused: int = 0
    connect_failures: int = 0


class ConnectionPool:
    """Connections on demand, at most `pool_max`, reused last in first out."""

    def __init__(self, settings: DatabaseSettings, connect: Callable[[], Awaitable[Connection]]) -> None:
        self._settings = settings
        self._connect = connect
        self._idle: list[_Idle] = []
        self._born: dict[int, float] = {}
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._in_use = 0
        self._closed = False
        self._away = False
        self._counters = _Counters()

    async def fill(self) -> None:
        """Open `pool_min` connections, or as many as can be."""
        held: list[Connection] = []
        try:
            while len(held) < self._settings.pool_min:
                held.append(await self.acquire())
        except MeshError:
            pass  # it is in the log; the pool serves as soon as the database does
        finally:
            for connection in held:
                await self.release(connection)

    async def acquire(self) -> Connection:
        """Return a live connection, which the caller must `release`.

        Raises:
            ResourceExhausted: all connections are in use and the queue is full, or the wait ran out.
            Unavailable: no connection can be made, or the pool is closed.
        """
        await self._take_slot()
        try:
            connection = await self._live_idle() or await self._open()
        except BaseException:
            self._free_slot()
            raise
        self._counters.acquired += 1
        return connection

    async def release(self, connection: Connection) -> None:
        """Take a connection back; one that is broken, old or inside a transaction is closed."""
        try:
            if self._reusable(connection):
                self._idle.append(_Idle(connection, time.monotonic()))
            else:
                await self._discard(connection)
            await self._close_unused()
        finally:
            self._free_slot()

    async def close(self) -> None:
        """Close every idle connection; those in use are closed when they come back."""
        self._closed = True
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_exception(unavailable())
        self._waiters.clear()
        while self._idle:
            await self._discard(self._idle.pop().connection)

    def stats(self) -> PoolStats:
        """Return the current numbers."""
        counters = self._counters
        return PoolStats(
            max_size=self._settings.pool_max,
            in_use=self._in_use,
            idle=len(self._idle),
            waiting=sum(not waiter.done() for waiter in self._waiters),
            acquired=counters.acquired,
            wait_s=counters.wait_s,
            refused=counters.refused,
            connect_failures=counters.connect_failures,
        )

    async def _take_slot(self) -> None:
        if self._closed:
            raise unavailable()
        if self._in_use < self._settings.pool_max:
            self._in_use += 1
            return
        if len(self._waiters) >= self._settings.max_waiting:
            raise self._refusal()
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        started = time.monotonic()
        try:
            async with asyncio.timeout(self._settings.acquire_timeout_s):
                await waiter
        except BaseException as exc:
            self._leave_queue(waiter)
            if isinstance(exc, TimeoutError):
                raise self._refusal() from None
            raise
        finally:
            self._counters.wait_s += time.monotonic() - started

    def _leave_queue(self, waiter: asyncio.Future[None]) -> None:
        if waiter in self._waiters:
            self._waiters.remove(waiter)
        elif waiter.done() and not waiter.cancelled() and waiter.exception() is None:
            # The slot was handed over in the same moment in which this caller gave up: pass it on.
            self._free_slot()

    def _free_slot(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._in_use -= 1

    async def _live_idle(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop().connection
            if not self._too_old(connection) and is_alive(connection):
                return connection
            await self._discard(connection)
        return None

    async def _open(self) -> Connection:
        try:
            connection = await self._connect()
        except MeshError as error:
            self._counters.connect_failures += 1
            # Once for each outage, not once for each caller in it.
            _log.log(logging.DEBUG if self._away else logging.WARNING, "cannot connect: %s", error.__cause__ or error)
            self._away = True
            raise
        self._away = False
        self._born[id(connection)] = time.monotonic()
        return connection

    def _reusable(self, connection: Connection) -> bool:
        if self._closed or connection.closed or self._too_old(connection):
            return False
        return connection.pgconn.transaction_status == TransactionStatus.IDLE

    def _too_old(self, connection: Connection) -> bool:
        born = self._born.get(id(connection), 0.0)
        return time.monotonic() - born > self._settings.max_lifetime_s

    async def _close_unused(self) -> None:
        """Close what has been idle for long: the bottom of the stack, since the top is used first."""
        latest = time.monotonic() - self._settings.idle_timeout_s
        while len(self._idle) > self._settings.pool_min and self._idle[0].since < latest:
            await self._discard(self._idle.pop(0).connection)

    async def _discard(self, connection: Connection) -> None:
        self._born.pop(id(connection), None)
        await connection.close()

    def _refusal(self) -> ResourceExhausted:
        self._counters.refused += 1
        return ResourceExhausted(
            Reason.POOL_EXHAUSTED,
            "Too many requests are waiting for the database; try again shortly.",
            ErrorDetails(retry_after=RETRY_AFTER),
        )
