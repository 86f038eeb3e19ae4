"""Dead letters: items that were tried too often, or that no retry can help. They stay until somebody decides."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from mesh.db.transaction import Tx
from mesh.jobs.outbox import Outbox


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One dead letter, without its payload, which may hold a user's words.

    Args:
        tenant_id: whose data it is about.
        outbox_id: its id; a position for the next page.
        topic: which handler it was for.
        key: what it was ordered by.
        attempts: deliveries that were tried.
        last_error: reason code of the last failure.
        created_at: when it was appended, UTC.
        dead_at: when it was given up, UTC.
    """

    tenant_id: str
    outbox_id: int
    topic: str
    key: str
    attempts: int
    last_error: str
    created_at: datetime
    dead_at: datetime


async def list_dead(tx: Tx, outbox: Outbox, *, after: int = 0, most: int = 100) -> list[DeadLetter]:
    """Return dead letters, oldest first: of the transaction's tenant, or in a sweep of every tenant.

    Args:
        tx: a tenant's transaction, or a sweep.
        outbox: where they are.
        after: `outbox_id` of the last one of the page before.
        most: size of the page.
    """
    if tx.tenant_id:
        params = {"tenant_id": tx.tenant_id, "after": after, "most": most}
        return await tx.all(outbox.queries.get("dead_letters"), params, into=DeadLetter)
    return await tx.all(outbox.queries.get("dead_letters_of_all"), {"after": after, "most": most}, into=DeadLetter)


async def requeue(tx: Tx, outbox: Outbox, tenant_id: str, outbox_id: int, now: datetime) -> bool:
    """Make a dead letter deliverable again, with its attempts counted from zero; tell whether there was one."""
    params = {"tenant_id": tenant_id, "outbox_id": outbox_id, "now": now}
    return await tx.execute(outbox.queries.get("requeue"), params) == 1


async def discard(tx: Tx, outbox: Outbox, tenant_id: str, outbox_id: int) -> bool:
    """Remove a dead letter for good; tell whether there was one."""
    return await tx.execute(outbox.queries.get("discard"), {"tenant_id": tenant_id, "outbox_id": outbox_id}) == 1
