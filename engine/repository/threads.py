"""Threads and their leases. A lease is judged by the database's clock alone, so replicas need not agree on the time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.domain.thread import ThreadKey, ThreadState
from engine.domain.turn import Attempt
from mesh.db.queries import load
from mesh.db.transaction import Tx

_QUERIES = load(__name__, "threads.sql")
_CREATE = _QUERIES.get("create_thread")
_LOCK = _QUERIES.get("lock_thread")
_TAKE_LEASE = _QUERIES.get("take_lease")
_EXTEND_LEASE = _QUERIES.get("extend_lease")
_END_LEASE = _QUERIES.get("end_lease")
_LOCK_ENDED = _QUERIES.get("lock_ended_leases")
_EXISTS = _QUERIES.get("thread_exists")


@dataclass(frozen=True, slots=True)
class Lease:
    """What a thread's row becomes when an attempt starts.

    Args:
        length_s: how long the lease lasts, in seconds from now.
        next_seq: sequence of the next event.
        leaf_event_id: the newest event.
        epoch: the thread's epoch from now on.
    """

    attempt: Attempt
    length_s: float
    avatar_id: str
    next_seq: int
    leaf_event_id: str | None
    epoch: int


@dataclass(frozen=True, slots=True)
class Position:
    """Where a thread stands when its turn has ended.

    Args:
        next_seq: sequence of the next event.
        leaf_event_id: the newest event.
        history_chars: characters of all committed turns.
    """

    next_seq: int
    leaf_event_id: str | None
    history_chars: int


async def create(tx: Tx, key: ThreadKey, avatar_id: str) -> None:
    """Create the thread of a session; nothing happens when it exists, whoever owns it."""
    await tx.execute(_CREATE, {**_where(key), "session_id": key.session_id, "avatar_id": avatar_id})


async def lock(tx: Tx, key: ThreadKey) -> ThreadState | None:
    """Lock a thread until the transaction ends and return its row; None when the user has no such thread."""
    return await tx.one(_LOCK, _where(key), into=ThreadState)


async def take_lease(tx: Tx, key: ThreadKey, lease: Lease) -> None:
    """Give the lease of a locked thread to an attempt."""
    params = {
        **_where(key),
        **_holder(lease.attempt),
        "lease_s": lease.length_s,
        "avatar_id": lease.avatar_id,
        "next_seq": lease.next_seq,
        "leaf_event_id": lease.leaf_event_id,
        "epoch": lease.epoch,
    }
    await tx.execute(_TAKE_LEASE, params)


async def extend_lease(tx: Tx, key: ThreadKey, attempt: Attempt, length_s: float) -> bool:
    """Prolong the lease of an attempt; False when the attempt does not hold it any more."""
    params = {**_where(key), **_holder(attempt), "lease_s": length_s}
    return await tx.execute(_EXTEND_LEASE, params) == 1


async def end_lease(tx: Tx, key: ThreadKey, position: Position) -> None:
    """End the lease of a locked thread and say where the thread stands now."""
    params = {
        **_where(key),
        "next_seq": position.next_seq,
        "leaf_event_id": position.leaf_event_id,
        "history_chars": position.history_chars,
    }
    await tx.execute(_END_LEASE, params)


async def lock_ended_leases(tx: Tx, most: int) -> Sequence[ThreadKey]:
    """Lock threads of every tenant whose lease is over; for `Database.sweep` only."""
    return await tx.all(_LOCK_ENDED, {"most": most}, into=ThreadKey)


async def exists(tx: Tx, key: ThreadKey) -> bool:
    """Tell whether the user has the thread."""
    return bool(await tx.value(_EXISTS, _where(key)))


def _where(key: ThreadKey) -> dict[str, object]:
    return {"tenant_id": key.tenant_id, "thread_id": key.thread_id, "user_id": key.user_id}


def _holder(attempt: Attempt) -> dict[str, object]:
    return {"turn_id": attempt.turn_id, "attempt": attempt.number, "holder": attempt.holder}
