"""One connection to PostgreSQL: how it is opened, what it knows of types, and whether it still lives."""

from __future__ import annotations

import asyncio
import select
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from struct import Struct
from typing import Any, TypeAlias

import psycopg
from pgvector.psycopg.halfvec import register_halfvec_info
from pgvector.psycopg.vector import register_vector_info
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import ConnStatus, Format, TransactionStatus
from psycopg.types import TypeInfo

from mesh.db.errors import unavailable
from mesh.db.queries import load
from mesh.db.settings import DatabaseSettings
from mesh.kernel.errors import FailedPrecondition
from mesh.kernel.reasons import Reason

Connection: TypeAlias = psycopg.AsyncConnection[Any]

PREPARE_THRESHOLD = 5
"""Runs of one statement on a connection before it is prepared. Source: psycopg's default."""

_KEEPALIVE = {
    "keepalives": 1,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""A peer that is gone without a word is noticed within a minute. Source: libpq, section on connection parameters."""

_VECTOR_TYPES = load(__name__, "connect.sql").get("vector_types")
_REGISTER = {"vector": register_vector_info, "halfvec": register_halfvec_info}

_MICROSECONDS = Struct("!q")
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
"""Where PostgreSQL counts the microseconds of an instant from."""


class _UtcLoader(Loader):
    """Reads an instant in UTC. The driver's own uses the time zone that the session had before our setting of it."""

    format = Format.BINARY

    def load(self, data: Buffer) -> datetime:
        """Return the instant."""
        try:
            return _EPOCH + timedelta(microseconds=_MICROSECONDS.unpack(data)[0])
        except OverflowError:
            raise psycopg.DataError("the instant is infinite or beyond the year 9999") from None


async def connect(settings: DatabaseSettings, application_name: str) -> Connection:
    """Open an autocommit connection that knows `Vector`, `HalfVector` and arrays of numpy, and gives instants in UTC.

    Raises:
        Unavailable: the database cannot be reached, or refuses the role, within `connect_timeout_s`.
        FailedPrecondition: the URL cannot be read.
    """
    options = _options(settings, application_name)
    connection: Connection | None = None
    try:
        async with asyncio.timeout(settings.connect_timeout_s):
            connection = await psycopg.AsyncConnection.connect(
                autocommit=True,
                prepare_threshold=PREPARE_THRESHOLD if settings.prepared_statements else None,
                **options,
            )
            await _register_types(connection)
    except BaseException as exc:
        if connection is not None:
            await connection.close()
        if isinstance(exc, psycopg.Error | TimeoutError | OSError):
            raise unavailable(exc) from exc
        raise
    return connection


def is_alive(connection: Connection) -> bool:
    """Tell whether an idle connection can be used, without asking the server.

    An idle connection has nothing to read. When its socket is readable, the server has said goodbye or hung up.
    """
    pgconn = connection.pgconn
    if pgconn.status != ConnStatus.OK or pgconn.transaction_status != TransactionStatus.IDLE:
        return False
    poll = select.poll()
    poll.register(pgconn.socket, select.POLLIN)
    return not poll.poll(0)


def _options(settings: DatabaseSettings, application_name: str) -> dict[str, Any]:
    from_url: dict[str, Any] | None = None
    with suppress(psycopg.ProgrammingError):
        from_url = conninfo_to_dict(settings.url)
    if from_url is None:
        # Raised out here, because the driver's text repeats the URL with its password and must not become the context.
        raise FailedPrecondition(
            Reason.CONFIGURATION_INVALID, "The database URL cannot be read; it must look like postgresql://…"
        )
    defaults = {**_KEEPALIVE, "application_name": application_name, "client_encoding": "UTF8"}
    return {**defaults, **from_url, "connect_timeout": settings.connect_timeout_s}


async def _register_types(connection: Connection) -> None:
    connection.adapters.register_loader("timestamptz", _UtcLoader)
    cursor = await connection.execute(_VECTOR_TYPES.encoded)
    for name, oid, array_oid in await cursor.fetchall():
        _REGISTER[name](connection, TypeInfo(name, oid, array_oid))
