"""Memory's periodic sweeps, each done by one worker at a time."""

from __future__ import annotations

from memory.usecase.sweep import Sweep
from mesh.jobs.periodic import Periodic

FORGET_EVERY_S = 300.0


def forget_answers(sweep: Sweep) -> Periodic:
    """Return the job that removes answers kept for repeated requests."""

    async def work() -> None:
        await sweep.forget_old_answers()

    return Periodic("forget_old_answers", FORGET_EVERY_S, work)
