"""Vectors that are still to be made, worked off by one worker at a time."""

from __future__ import annotations

import asyncio

from memory.usecase.backlog import EmbedBacklog
from mesh.jobs.leases import Leases
from mesh.jobs.periodic import Periodic

NAME = "embed_backlog"
LEASE_S = 90.0
"""Longer than a batch may take, so that a long backlog stays with the worker that began it."""


def embed_backlog(backlog: EmbedBacklog, interval_s: float, leases: Leases, stop: asyncio.Event) -> Periodic:
    """Return the job; a failing embedder is tried again after the interval.

    Args:
        backlog: the work.
        interval_s: from the end of one run to the start of the next.
        leases: keep the lease alive from batch to batch.
        stop: ends a long run early.
    """

    async def may_go_on() -> bool:
        return not stop.is_set() and await leases.take(NAME, LEASE_S)

    async def work() -> None:
        await backlog.work_off(may_go_on)

    return Periodic(NAME, interval_s, work)
