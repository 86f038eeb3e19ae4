"""Work that is due again and again, done by one process of a service at a time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from mesh.jobs.leases import Leases
from mesh.kernel.errors import MeshError

_LEASE_PERIODS = 3
"""Periods that a lease lasts: a holder that fails to come by twice loses it."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Periodic:
    """A sweep and how often it runs.

    Args:
        name: of its lease and in the log.
        every_s: from the end of one run to the start of the next.
        work: does it; must be harmless when it runs twice at once, since a lease can run out under a slow holder.
    """

    name: str
    every_s: float
    work: Callable[[], Awaitable[None]]

    async def run(self, leases: Leases, stop: asyncio.Event) -> None:
        """Run the work whenever this process holds the lease, until told to stop; what fails is logged and retried."""
        while not stop.is_set():
            await self._once(leases)
            try:
                async with asyncio.timeout(self.every_s):
                    await stop.wait()
            except TimeoutError:
                continue
        await self._give_up(leases)

    async def _once(self, leases: Leases) -> None:
        try:
            if await leases.take(self.name, self.every_s * _LEASE_PERIODS):
                await self.work()
        except MeshError as error:
            _log.warning("sweep %s failed (%s)", self.name, error.reason)
        except Exception:  # noqa: BLE001 - a sweep's defect must not end the sweeps; the log has it
            _log.exception("sweep %s failed", self.name)

    async def _give_up(self, leases: Leases) -> None:
        try:
            await leases.release(self.name)
        except MeshError as error:
            _log.debug("sweep %s: lease not released (%s)", self.name, error.reason)
