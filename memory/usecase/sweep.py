"""Removes what has served its time."""

from __future__ import annotations

from mesh.db.idempotency import SWEEP_ROWS, Idempotency
from mesh.db.pool import Database
from mesh.kernel.clock import Clock


class Sweep:
    """Sweeps across tenants, in short transactions."""

    def __init__(self, db: Database, idempotency: Idempotency, clock: Clock) -> None:
        self._db = db
        self._idempotency = idempotency
        self._clock = clock

    async def forget_old_answers(self) -> int:
        """Remove answers kept for repeated requests after their 24 hours, and return how many there were."""
        removed = 0
        while True:
            async with self._db.sweep() as tx:
                swept = await self._idempotency.sweep(tx, self._clock.now())
            removed += swept
            if swept < SWEEP_ROWS:
                return removed
