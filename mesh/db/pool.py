"""The database of one server: transactions of a tenant, sweeps across tenants, reruns of those that lost a race."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeVar

from mesh.db.connect import connect
from mesh.db.connections import ConnectionPool, PoolStats
from mesh.db.errors import may_rerun
from mesh.db.metrics import observe_pool
from mesh.db.queries import load
from mesh.db.settings import DatabaseSettings
from mesh.db.transaction import Scope, Tx
from mesh.kernel.errors import Internal, MeshError
from mesh.kernel.identity import is_tenant_id
from mesh.kernel.reasons import Reason

__all__ = ["Database", "PoolStats"]

T = TypeVar("T")

MAX_RUNS = 4
"""How often `Database.run` runs a transaction at most: once, and three times more."""

RERUN_BASE_S = 0.01
"""The first wait before a rerun; it doubles each time and is multiplied by a random factor of 0.5 to 1.5."""

_PING = load(__name__, "transaction.sql").get("ping")


class Database:
    """The pool of one process and the transactions over it."""

    def __init__(self, settings: DatabaseSettings, *, application_name: str) -> None:
        self._settings = settings
        self._name = application_name
        self._pool = ConnectionPool(settings, lambda: connect(settings, application_name))

    async def open(self) -> None:
        """Open `pool_min` connections. A database that is away is no error: the first transaction tries again."""
        observe_pool(self._name, self._pool)
        await self._pool.fill()

    async def close(self) -> None:
        """Close the pool; transactions that still run keep their connection until they end."""
        await self._pool.close()

    def transaction(self, tenant_id: str) -> AbstractAsyncContextManager[Tx]:
        """Run the block in one transaction that sees one tenant's rows; an exception rolls it back.

        Keep the block short: no RPC, no model call and no file inside.

        Raises:
            Internal: the tenant id is not one, so nothing could ever be seen.
            ResourceExhausted: no connection became free in time (POOL_EXHAUSTED).
            Unavailable: the database cannot be reached, or the connection broke (DATABASE_UNAVAILABLE).
        """
        if not is_tenant_id(tenant_id):
            raise Internal(Reason.INTERNAL, "A transaction was opened without a tenant.")
        return self._transaction(Scope(tenant_id, bypass=False, statement_timeout_s=self._settings.statement_timeout_s))

    def sweep(self) -> AbstractAsyncContextManager[Tx]:
        """Run the block in one transaction that sees every tenant's rows. For workers only; raises as `transaction`."""
        return self._transaction(Scope("", bypass=True, statement_timeout_s=self._settings.statement_timeout_s))

    async def run(self, tenant_id: str, work: Callable[[Tx], Awaitable[T]]) -> T:
        """Return what `work` returns in a transaction, run again when it lost against a concurrent one.

        Args:
            tenant_id: whose rows it sees.
            work: may run up to `MAX_RUNS` times, so it must have no effect outside of the transaction.

        Raises:
            Aborted: it lost every time (SQLSTATE 40001 or 40P01).
        """
        for attempt in range(1, MAX_RUNS):
            try:
                return await self._once(tenant_id, work)
            except MeshError as error:
                if not may_rerun(error):
                    raise
            jitter = random.uniform(0.5, 1.5)  # noqa: S311 - spreads reruns, guards nothing
            await asyncio.sleep(RERUN_BASE_S * 2 ** (attempt - 1) * jitter)
        return await self._once(tenant_id, work)

    async def ping(self) -> None:
        """Ask the database for one answer.

        Raises:
            Unavailable: it gives none.
        """
        async with self.sweep() as tx:
            await tx.value(_PING)

    def stats(self) -> PoolStats:
        """Return the numbers of the pool."""
        return self._pool.stats()

    async def _once(self, tenant_id: str, work: Callable[[Tx], Awaitable[T]]) -> T:
        async with self.transaction(tenant_id) as tx:
            return await work(tx)

    @asynccontextmanager
    async def _transaction(self, scope: Scope) -> AsyncIterator[Tx]:
        connection = await self._pool.acquire()
        try:
            tx = Tx(connection, scope)
            try:
                yield tx
                await tx.commit()
            except BaseException:
                await tx.rollback()
                raise
        finally:
            await self._pool.release(connection)
