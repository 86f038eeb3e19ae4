"""Whether the gateway can do its work now: its database and the servers behind it answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from mesh.db.pool import Database
from mesh.kernel.errors import MeshError

Check: TypeAlias = Callable[[], Awaitable[bool]]


class Readiness:
    """Asks everything at once, each within a bound."""

    def __init__(self, checks: Mapping[str, Check], timeout_s: float) -> None:
        """Take the checks.

        Args:
            checks: by the name of what is asked; each tells whether it is there.
            timeout_s: after this a check counts as failed.
        """
        self._checks = checks
        self._timeout_s = timeout_s
        self._accepts = True

    def drain(self) -> None:
        """Be not ready from now on."""
        self._accepts = False

    async def __call__(self) -> dict[str, bool]:
        """Return what is there, by name; `gateway` itself is first and false while it stops."""
        answers = await asyncio.gather(*(self._bounded(check) for check in self._checks.values()))
        return {"gateway": self._accepts, **dict(zip(self._checks, answers, strict=True))}

    async def _bounded(self, check: Check) -> bool:
        try:
            async with asyncio.timeout(self._timeout_s):
                return await check()
        except TimeoutError:
            return False


def database_check(db: Database) -> Check:
    """Return the check that the database answers."""

    async def check() -> bool:
        try:
            await db.ping()
        except MeshError:
            return False
        return True

    return check
