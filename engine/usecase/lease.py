"""Running under a lease: prolonged while the work goes on, which stops when the lease is lost or the time is over."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from engine.domain.errors import LeaseLost, too_slow
from engine.repository import threads
from engine.usecase.accepted import Accepted
from engine.usecase.limits import TurnLimits
from mesh.db.pool import Database
from mesh.kernel.errors import MeshError

T = TypeVar("T")

_log = logging.getLogger(__name__)


class LeaseKeeper:
    """Prolongs the leases of this process's turns."""

    def __init__(self, db: Database, limits: TurnLimits) -> None:
        self._db = db
        self._limits = limits

    async def keep(self, turn: Accepted, work: Callable[[], Awaitable[T]]) -> T:
        """Return what `work` returns.

        Raises:
            LeaseLost: another attempt took the turn over; `work` was cancelled.
            DeadlineExceeded: the turn took longer than it may; `work` was cancelled.
        """
        bound = asyncio.timeout(self._limits.max_turn_s)
        lost = False

        def lose() -> None:
            nonlocal lost
            lost = True
            bound.reschedule(asyncio.get_running_loop().time())

        try:
            async with bound:
                beat = asyncio.create_task(self._beat(turn, lose), name=f"lease {turn.turn_id}")
                try:
                    return await work()
                finally:
                    await _ended(beat)
        except TimeoutError as exc:
            if not bound.expired():
                raise
            raise (LeaseLost(turn.turn_id) if lost else too_slow()) from exc

    async def _beat(self, turn: Accepted, lose: Callable[[], None]) -> None:
        while True:
            await asyncio.sleep(self._limits.heartbeat_s)
            try:
                held = await self._extend(turn)
            except MeshError as error:
                # The database is away: whether the lease still holds is decided at the commit.
                _log.warning("lease not prolonged", extra={"turn_id": turn.turn_id, "reason": error.reason.value})
                continue
            if not held:
                lose()
                return

    async def _extend(self, turn: Accepted) -> bool:
        async with self._db.transaction(turn.key.tenant_id) as tx:
            return await threads.extend_lease(tx, turn.key, turn.attempt, self._limits.lease_s)


async def _ended(beat: asyncio.Task[None]) -> None:
    beat.cancel()
    await asyncio.wait({beat})
    if not beat.cancelled() and (defect := beat.exception()) is not None:
        # The turn was not in danger: without a heartbeat its lease may end, and then its commit is refused.
        _log.error("%s ended with a defect", beat.get_name(), exc_info=defect)
