"""A transaction that outlives a short absence of the database.

For transactions of a running turn: the caller waits for the answer anyway, and giving up at the first refused
connection would throw it away. The work must be safe to repeat also when an earlier run was committed and only its
answer was lost.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from engine.domain.errors import LeaseLost
from mesh.db.pool import Database
from mesh.db.transaction import Tx
from mesh.kernel.errors import Code, MeshError

T = TypeVar("T")

FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 1.0

_PASSING = frozenset({Code.UNAVAILABLE, Code.RESOURCE_EXHAUSTED, Code.DEADLINE_EXCEEDED, Code.ABORTED})

_log = logging.getLogger(__name__)


async def persist(db: Database, tenant_id: str, work: Callable[[Tx], Awaitable[T]], bound_s: float) -> T:
    """Return what `work` returns in a transaction, tried again while the database is away or full.

    Args:
        db: where it runs.
        tenant_id: whose rows it sees.
        work: as for `Database.run`.
        bound_s: no try starts later than this many seconds after the first.

    Raises:
        LeaseLost: as `work` raised it, at once.
        MeshError: the last error when the time ran out, or one that waiting does not cure, at once.
    """
    loop = asyncio.get_running_loop()
    give_up_at = loop.time() + bound_s
    pause_s = FIRST_PAUSE_S
    while True:
        try:
            return await db.run(tenant_id, work)
        except LeaseLost:
            raise
        except MeshError as error:
            if error.code not in _PASSING or loop.time() + pause_s > give_up_at:
                raise
            _log.warning("transaction of a turn is tried again", extra={"reason": error.reason.value})
        await asyncio.sleep(pause_s * random.uniform(0.5, 1.5))  # noqa: S311 - spreads retries, guards nothing
        pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
