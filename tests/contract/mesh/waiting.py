"""Waits for something that another process or task brings about, for a bounded time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

LIMIT_S = 20.0


async def until(holds: Callable[[], bool]) -> None:
    """Return as soon as a condition holds."""
    async with asyncio.timeout(LIMIT_S):
        while not holds():  # noqa: ASYNC110 - what is waited for happens in another process
            await asyncio.sleep(0.005)


def until_now(holds: Callable[[], bool]) -> None:
    """Return as soon as a condition holds, for tests without an event loop."""
    ends_at = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < ends_at, "it never came to hold"
        time.sleep(0.005)
