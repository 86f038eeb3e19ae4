"""One transaction: statements go in, dataclasses and counts come out, errors of the mesh leave.

`BEGIN` and the settings of the transaction travel with its first statement in one round trip (the pipeline mode of the
protocol), and nothing is sent for a transaction that runs no statement. The settings are local to the transaction,
so they hold behind a transaction pooler and nothing of one tenant is left for the next user of the connection.

A `Tx` belongs to the `Database` that made it and to one task. It never commits by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, cast, overload

import psycopg
from psycopg import sql
from psycopg.pq import PipelineStatus, TransactionStatus
from psycopg.rows import AsyncRowFactory, class_row, tuple_row

from mesh.db.errors import translated, unavailable
from mesh.db.queries import Query, load
from mesh.kernel.errors import Internal
from mesh.kernel.reasons import Reason
from mesh.telemetry.traces import process_tracing

T = TypeVar("T")
Params: TypeAlias = Mapping[str, Any]
Connection: TypeAlias = psycopg.AsyncConnection[Any]
Cursor: TypeAlias = psycopg.AsyncCursor[Any]

ROLLBACK_TIMEOUT_S = 2.0
"""A connection that cannot roll back within this is closed, which rolls back as well."""

_QUERIES = load(__name__, "transaction.sql")
_BEGIN = _QUERIES.get("begin")
_SCOPE = _QUERIES.get("scope")
_COMMIT = _QUERIES.get("commit")
_ROLLBACK = _QUERIES.get("rollback")

_SPAN_ATTRIBUTES = {"db.system.name": "postgresql"}


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose rows a transaction sees.

    Args:
        tenant_id: the tenant; empty for a sweep.
        bypass: see every tenant's rows.
        statement_timeout_s: longest run of one statement.
    """

    tenant_id: str
    bypass: bool
    statement_timeout_s: float

    def params(self) -> dict[str, str]:
        """Return the parameters of the query `scope`."""
        return {
            "tenant_id": self.tenant_id,
            "rls_bypass": "on" if self.bypass else "off",
            "statement_timeout_ms": str(max(1, round(self.statement_timeout_s * 1000))),
        }


class Tx:
    """A running transaction. Use the connection of one `Tx` from one task at a time."""

    def __init__(self, connection: Connection, scope: Scope) -> None:
        self._connection = connection
        self._scope = scope
        self._begun = False
        self._savepoints = 0

    @property
    def tenant_id(self) -> str:
        """The tenant whose rows this transaction sees; empty in a sweep."""
        return self._scope.tenant_id

    @overload
    async def all(self, query: Query, params: Params | None, into: type[T]) -> list[T]: ...
    @overload
    async def all(self, query: Query, params: Params | None = None, *, into: type[T]) -> list[T]: ...
    async def all(self, query: Query, params: Params | None = None, into: type[T] | None = None) -> list[T]:
        """Return every row.

        Args:
            query: a statement that returns rows.
            params: its parameters by name.
            into: the dataclass of a row; its fields are the columns.
        """
        cursor = await self._run(query, params, class_row(cast("type[T]", into)))
        with translated():
            return cast("list[T]", await cursor.fetchall())

    @overload
    async def one(self, query: Query, params: Params | None, into: type[T]) -> T | None: ...
    @overload
    async def one(self, query: Query, params: Params | None = None, *, into: type[T]) -> T | None: ...
    async def one(self, query: Query, params: Params | None = None, into: type[T] | None = None) -> T | None:
        """Return the first row, or None when there is none; the arguments are those of `all`."""
        cursor = await self._run(query, params, class_row(cast("type[T]", into)))
        with translated():
            return cast("T | None", await cursor.fetchone())

    async def value(self, query: Query, params: Params | None = None) -> Any:
        """Return the first column of the first row, or None when there is no row."""
        cursor = await self._run(query, params)
        with translated():
            row = await cursor.fetchone()
        return None if row is None else row[0]

    async def execute(self, query: Query, params: Params | None = None) -> int:
        """Run a statement and return how many rows it changed."""
        cursor = await self._run(query, params)
        return max(cursor.rowcount, 0)

    async def execute_many(self, query: Query, seq_of_params: Iterable[Params]) -> None:
        """Run a statement once for each set of parameters, without waiting for each."""
        await self._begin()
        with _span(query), translated():
            await self._cursor(tuple_row).executemany(query.encoded, seq_of_params)

    async def copy_in(self, query: Query, rows: Iterable[Sequence[Any]], *, types: Sequence[str] = ()) -> int:
        """Load rows through `COPY … FROM STDIN` and return how many there were.

        PostgreSQL refuses this for a table under row-level security, so it serves to fill a temporary table, from which
        `insert … select` goes on.

        Args:
            query: the COPY statement; with `types` it may say `(format binary)`.
            rows: one sequence of values for each row, in the order of the statement's columns.
            types: PostgreSQL type names of the columns, needed for the binary format.
        """
        await self._begin()
        cursor = self._cursor(tuple_row)
        with _span(query), translated():
            async with cursor.copy(query.encoded) as copy:
                if types:
                    copy.set_types(types)
                for row in rows:
                    await copy.write_row(row)
        return max(cursor.rowcount, 0)

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        """Undo what the block did, and keep the transaction usable, when the block raises."""
        await self._begin()
        self._savepoints += 1
        name = sql.Identifier(f"mesh_{self._savepoints}")
        await self._command(sql.SQL("savepoint {}").format(name))
        try:
            yield
        except BaseException:
            if self._connection.pgconn.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
                await self._command(sql.SQL("rollback to savepoint {}").format(name))
            raise
        await self._command(sql.SQL("release savepoint {}").format(name))

    async def commit(self) -> None:
        """Commit. Called by `Database` alone, when the block of the transaction ended well.

        Raises:
            Internal: a statement had failed and the block went on, so PostgreSQL would roll back in silence.
            Unavailable: the connection broke; whether the transaction was committed is unknown.
        """
        if not self._begun:
            return
        cursor = self._cursor(tuple_row)
        with _span(_COMMIT), translated():
            await cursor.execute(_COMMIT.encoded)
        if cursor.statusmessage != "COMMIT":
            # PostgreSQL answers so, and reports no error, when a statement had failed before.
            raise Internal(Reason.DB_ERROR, "A failed statement was ignored, so nothing of the transaction was kept.")

    async def rollback(self) -> None:
        """Roll back, or close a connection that cannot. Called by `Database` alone; raises nothing of the driver's."""
        pgconn = self._connection.pgconn
        if not self._begun or pgconn.transaction_status == TransactionStatus.IDLE:
            return
        try:
            if pgconn.pipeline_status == PipelineStatus.OFF and pgconn.transaction_status in (
                TransactionStatus.INTRANS,
                TransactionStatus.INERROR,
            ):
                async with asyncio.timeout(ROLLBACK_TIMEOUT_S):
                    await self._cursor(tuple_row).execute(_ROLLBACK.encoded)
                return
        except (psycopg.Error, TimeoutError):
            pass
        await self._connection.close()

    async def _run(self, query: Query, params: Params | None, rows: AsyncRowFactory[Any] = tuple_row) -> Cursor:
        cursor = self._cursor(rows)
        # Never None: without parameters the driver would send %% as it is.
        given = params or {}
        with _span(query), translated():
            if self._begun:
                await cursor.execute(query.encoded, given)
            else:
                async with self._connection.pipeline():
                    await self._send_begin()
                    await cursor.execute(query.encoded, given)
        return cursor

    async def _begin(self) -> None:
        if self._begun:
            return
        with _span(_BEGIN), translated():
            async with self._connection.pipeline():
                await self._send_begin()

    async def _send_begin(self) -> None:
        self._begun = True
        cursor = self._cursor(tuple_row)
        await cursor.execute(_BEGIN.encoded)
        await cursor.execute(_SCOPE.encoded, self._scope.params())

    async def _command(self, command: sql.Composed) -> None:
        with translated():
            await self._cursor(tuple_row).execute(command)

    def _cursor(self, rows: AsyncRowFactory[Any]) -> Cursor:
        if self._connection.closed:
            raise unavailable()
        # Binary results: a vector of 768 numbers is read at once and not parsed number by number.
        return self._connection.cursor(row_factory=rows, binary=True)


def _span(query: Query) -> AbstractContextManager[Any]:
    return process_tracing().span(query.name, **_SPAN_ATTRIBUTES)
