"""A request with the same `request_id` is answered once: the first answer is stored and given again.

The row is written in the transaction of the work, so there is no moment in which one of them exists without the other.
Its insert waits for a concurrent request with the same id: when that one commits, its answer is replayed; when it
rolls back, this one does the work. What was refused with an error stores nothing, so it can be tried again.
Source of the rule: AIP-155.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

import msgspec

from mesh.db.queries import load, plain_schema
from mesh.db.tenancy import tenant_table
from mesh.db.transaction import Tx
from mesh.kernel.errors import Aborted, ErrorDetails, FieldViolation, Internal, InvalidArgument
from mesh.kernel.identity import Call
from mesh.kernel.reasons import Reason

T = TypeVar("T")

LIFETIME = timedelta(hours=24)
"""How long an answer is kept for replay."""

SWEEP_ROWS = 1000
"""Most rows that one sweep removes, so that its transaction stays short."""

_FILE = load(__name__, "idempotency.sql")


@dataclass(frozen=True, slots=True)
class _Stored:
    request_digest: bytes
    answer: bytes | None


def idempotency_ddl(schema: str) -> str:
    """Return the statements that create the table, for a migration of the service that owns the schema."""
    table = f"{plain_schema(schema)}.idempotency"
    return (
        f"create table {table} (\n"
        "    tenant_id text not null,\n"
        "    user_id text not null,\n"
        "    method text not null,\n"
        "    request_id text not null,\n"
        "    request_digest bytea not null,\n"
        "    answer bytea,\n"
        "    expires_at timestamptz not null,\n"
        "    primary key (tenant_id, user_id, method, request_id)\n"
        ");\n"
        f"create index idempotency_expires_at on {table} (expires_at);\n" + tenant_table(table)
    )


class Idempotency:
    """The stored answers of one service."""

    def __init__(self, schema: str) -> None:
        queries = _FILE.in_schema(schema)
        self._claim = queries.get("claim")
        self._stored = queries.get("stored")
        self._answer = queries.get("answer")
        self._sweep = queries.get("sweep")

    async def once(self, tx: Tx, call: Call, kind: type[T], work: Callable[[], Awaitable[T]]) -> T:
        """Return the answer of `work`, or the one that the same request got before.

        Args:
            tx: the transaction in which `work` writes.
            call: names the caller, the method, the request id and the digest of the request. With an empty request id
                `work` simply runs.
            kind: the type of the answer, a dataclass that msgspec can encode as JSON.
            work: does what the request asks, inside `tx`.

        Raises:
            InvalidArgument: the id was used for another request (REQUEST_ID_REUSED, field `request_id`).
        """
        if not call.request_id:
            return await work()
        key = {
            "tenant_id": call.tenant_id,
            "user_id": call.user_id,
            "method": call.method,
            "request_id": call.request_id,
        }
        claim = {**key, "request_digest": call.request_digest, "lifetime": LIFETIME}
        if not await tx.execute(self._claim, claim):
            return await self._replay(tx, key, call.request_digest, kind)
        answer = await work()
        await tx.execute(self._answer, {**key, "answer": msgspec.json.encode(answer)})
        return answer

    async def sweep(self, tx: Tx, now: datetime) -> int:
        """Remove answers whose life is over, at most `SWEEP_ROWS`, and return how many. Runs under `Database.sweep`."""
        return await tx.execute(self._sweep, {"now": now, "most": SWEEP_ROWS})

    async def _replay(self, tx: Tx, key: dict[str, str], digest: bytes, kind: type[T]) -> T:
        stored = await tx.one(self._stored, key, into=_Stored)
        if stored is not None and stored.request_digest != digest:
            violation = FieldViolation("request_id", "was used for a different request", "REQUEST_ID_REUSED")
            raise InvalidArgument(
                Reason.REQUEST_ID_REUSED,
                "request_id: was used for a different request; use a new one",
                ErrorDetails(violations=(violation,)),
            )
        if stored is None or stored.answer is None:
            # The row went away in between (a sweep, an erasure), or its work failed and was committed all the same.
            raise Aborted(Reason.CONFLICT, "The first request with this request_id left no answer; use a new one.")
        try:
            return msgspec.json.decode(stored.answer, type=kind)
        except msgspec.DecodeError as exc:
            raise Internal(Reason.INTERNAL, "The stored answer cannot be read.") from exc
