"""Turns whose engine died are found without anybody asking for them, across all tenants."""

from __future__ import annotations

import logging

from engine.repository import threads
from engine.usecase import metrics
from engine.usecase.abandoned import fail_abandoned
from mesh.db.idempotency import Idempotency
from mesh.db.pool import Database
from mesh.kernel.clock import Clock

MOST_AT_ONCE = 100

_log = logging.getLogger(__name__)


class Sweep:
    """The engine's periodic work."""

    def __init__(self, db: Database, idempotency: Idempotency, clock: Clock) -> None:
        self._db = db
        self._idempotency = idempotency
        self._clock = clock

    async def fail_abandoned_turns(self) -> int:
        """Mark turns failed whose lease is over, and return how many; at most `MOST_AT_ONCE` a call."""
        async with self._db.sweep() as tx:
            keys = await threads.lock_ended_leases(tx, MOST_AT_ONCE)
            for key in keys:
                thread = await threads.lock(tx, key)
                if thread is not None:
                    await fail_abandoned(tx, key, thread)
        if keys:
            metrics.abandoned(len(keys))
            _log.warning("turns found dead", extra={"turns": len(keys)})
        return len(keys)

    async def forget_old_answers(self) -> int:
        """Remove idempotency rows whose life is over, and return how many."""
        async with self._db.sweep() as tx:
            return await self._idempotency.sweep(tx, self._clock.now())
