"""Vectors that are still to be made, worked off by one worker at a time."""

from __future__ import annotations

import asyncio

from memory.usecase.backlog import EmbedBacklog
from mesh.jobs.periodic import Periodic


def embed_backlog(backlog: EmbedBacklog, interval_s: float, stop: asyncio.Event) -> Periodic:
    """Return the job; a failing embedder is tried again after the interval.

    Args:
        backlog: the work.
        interval_s: from the end of one run to the start of the next.
        stop: ends a long run early.
    """

    async def work() -> None:
        await backlog.work_off(stop.is_set)

    return Periodic("embed_backlog", interval_s, work)
