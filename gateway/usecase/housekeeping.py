"""What the gateway does beside its calls: writes when keys were used, and removes answers that are kept no longer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from gateway.usecase.key_lookup import KeyLookup
from mesh.db.idempotency import Idempotency
from mesh.db.pool import Database
from mesh.kernel.clock import Clock
from mesh.kernel.errors import MeshError

FLUSH_EVERY_S = 30.0
SWEEP_EVERY_S = 600.0

_LOG = logging.getLogger("gateway.housekeeping")


class Housekeeping:
    """Two loops, each until it is told to stop. What fails is tried again the next time."""

    def __init__(self, db: Database, keys: KeyLookup, idempotency: Idempotency, clock: Clock) -> None:
        self._db = db
        self._keys = keys
        self._idempotency = idempotency
        self._clock = clock

    async def write_key_uses(self, stop: asyncio.Event) -> None:
        """Write when keys were last used, every half minute and once more at the end."""
        await _repeat(self._flush, FLUSH_EVERY_S, stop)
        await _attempt(self._flush)

    async def sweep_answers(self, stop: asyncio.Event) -> None:
        """Remove answers to repeated requests whose day is over, a bounded number at a time."""
        await _repeat(self._sweep, SWEEP_EVERY_S, stop)

    async def _flush(self) -> None:
        await self._keys.flush()

    async def _sweep(self) -> None:
        removed = 1
        while removed:
            async with self._db.sweep() as tx:
                removed = await self._idempotency.sweep(tx, self._clock.now())


async def _repeat(work: Callable[[], Awaitable[None]], every_s: float, stop: asyncio.Event) -> None:
    while not stop.is_set():
        with suppress(TimeoutError):
            async with asyncio.timeout(every_s):
                await stop.wait()
        if not stop.is_set():
            await _attempt(work)


async def _attempt(work: Callable[[], Awaitable[None]]) -> None:
    try:
        await work()
    except MeshError as error:
        _LOG.warning("housekeeping failed (%s)", error.reason.value)
