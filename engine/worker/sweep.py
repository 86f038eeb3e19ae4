"""The engine's periodic work, each done by one worker at a time."""

from __future__ import annotations

from collections.abc import Sequence

from engine.usecase.sweep import MOST_AT_ONCE, Sweep
from mesh.jobs.periodic import Periodic

FORGET_EVERY_S = 300.0


def sweeps(sweep: Sweep, interval_s: float) -> Sequence[Periodic]:
    """Return what the worker runs.

    Args:
        sweep: the work.
        interval_s: how often turns whose engine died are looked for; together with the lease it bounds how long such a
            turn is stored as running. To readers it is failed as soon as its lease ends.
    """

    async def fail_abandoned() -> None:
        while await sweep.fail_abandoned_turns() == MOST_AT_ONCE:
            pass

    async def forget_answers() -> None:
        await sweep.forget_old_answers()

    return (
        Periodic("fail_abandoned_turns", interval_s, fail_abandoned),
        Periodic("forget_old_answers", FORGET_EVERY_S, forget_answers),
    )
