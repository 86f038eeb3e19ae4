"""Notes when facts were put before a model (L10), without a reader ever waiting for it.

The marks are collected in memory and written in batches by a task beside the server. A process that is killed loses
the marks of the last second: they order a list for people and nothing depends on them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from datetime import datetime

from memory.repository import facts
from mesh.db.pool import Database
from mesh.kernel.clock import Clock
from mesh.kernel.errors import MeshError
from mesh.kernel.identity import Call

MAX_PENDING = 10_000
"""Marks held while the database is away; more are dropped."""

_log = logging.getLogger(__name__)


class SeenFacts:
    """Facts that were seen and are to be marked."""

    def __init__(self, db: Database, clock: Clock, every_s: float = 1.0) -> None:
        self._db = db
        self._clock = clock
        self._every_s = every_s
        self._pending: dict[tuple[str, str, str], datetime] = {}

    def note(self, call: Call, fact_ids: Iterable[str]) -> None:
        """Remember that facts of the calling user were seen now."""
        now = self._clock.now()
        for fact_id in fact_ids:
            if len(self._pending) < MAX_PENDING:
                self._pending[call.tenant_id, call.user_id, fact_id] = now

    async def run(self, stop: asyncio.Event) -> None:
        """Write marks every second until told to stop, and once more then."""
        while not stop.is_set():
            try:
                async with asyncio.timeout(self._every_s):
                    await stop.wait()
            except TimeoutError:
                pass
            await self.flush()

    async def flush(self) -> None:
        """Write the marks that are pending; those that cannot be written now are kept."""
        pending, self._pending = self._pending, {}
        for tenant_id in {tenant for tenant, _, _ in pending}:
            seen = [(user, fact, at) for (tenant, user, fact), at in pending.items() if tenant == tenant_id]
            try:
                async with self._db.transaction(tenant_id) as tx:
                    await facts.touch_seen(tx, sorted(seen))
            except MeshError as error:
                _log.warning("facts could not be marked as seen", extra={"reason": error.reason.value})
                for user, fact, at in seen:
                    self._pending.setdefault((tenant_id, user, fact), at)
