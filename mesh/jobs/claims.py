"""The statements of one worker on an outbox, each in a transaction of its own.

A statement about a claimed item names its holder, so a worker that lost its lease changes nothing any more.

Only the oldest living item of a tenant and key (its *head*) can be claimed. Each worker walks over the heads in the
order of tenant and key and goes on where it stopped, so every key has its turn, a key with a long backlog costs no more
than one with a single item, and keys that all wait for their next attempt do not hide one that is due.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from mesh.db.pool import Database
from mesh.db.queries import Query
from mesh.db.transaction import Tx
from mesh.jobs.outbox import Outbox, OutboxItem
from mesh.kernel.clock import Clock
from mesh.kernel.reasons import Reason

WINDOW = 200
"""Heads that one statement walks over: a few milliseconds."""

MAX_WINDOWS = 10
"""Statements of one look for due items; the next look goes on from there."""

_START = ("", "")


@dataclass(frozen=True, slots=True)
class OutboxStats:
    """What an outbox holds.

    Args:
        pending: items that wait or are being delivered.
        dead: dead letters.
        oldest_pending_seconds: age of the oldest pending item; 0 when there is none.
    """

    pending: int
    dead: int
    oldest_pending_seconds: float


@dataclass(frozen=True, slots=True)
class _Head:
    tenant_id: str
    key: str
    outbox_id: int
    due: bool


class Claims:
    """Claims of one holder."""

    def __init__(self, db: Database, outbox: Outbox, holder: str, clock: Clock) -> None:
        self._db = db
        self._queries = outbox.queries
        self._holder = holder
        self._clock = clock
        self._position = _START

    async def claim(self, topics: Sequence[str], most: int, lease_s: float) -> list[OutboxItem]:
        """Lease up to `most` items that are due, at most one of each tenant and key."""
        async with self._db.sweep() as tx:
            heads = await self._due_heads(tx, topics, most)
            if not heads:
                return []
            now = self._clock.now()
            params = {
                "now": now,
                "until": now + timedelta(seconds=lease_s),
                "holder": self._holder,
                "tenant_ids": [head.tenant_id for head in heads],
                "outbox_ids": [head.outbox_id for head in heads],
            }
            items = await tx.all(self._queries.get("claim"), params, into=OutboxItem)
        return sorted(items, key=lambda item: item.outbox_id)

    async def _due_heads(self, tx: Tx, topics: Sequence[str], most: int) -> list[_Head]:
        """Walk on from the last position until enough is found, all was seen, or it was far enough for one look."""
        found: dict[int, _Head] = {}
        from_start = self._position == _START
        for _ in range(MAX_WINDOWS):
            heads = await self._window(tx, topics)
            for head in heads:
                self._position = (head.tenant_id, head.key)
                if head.due:
                    found[head.outbox_id] = head
                if len(found) == most:
                    return list(found.values())
            if len(heads) < WINDOW:
                self._position = _START
                if from_start:
                    break
                from_start = True
        return list(found.values())

    async def _window(self, tx: Tx, topics: Sequence[str]) -> list[_Head]:
        tenant_id, key = self._position
        params = {
            "after_tenant": tenant_id,
            "after_key": key,
            "window": WINDOW,
            "now": self._clock.now(),
            "topics": list(topics),
        }
        return await tx.all(self._queries.get("heads"), params, into=_Head)

    async def extend(self, item: OutboxItem, lease_s: float) -> bool:
        """Prolong the lease of an item and tell whether it is still held."""
        until = self._clock.now() + timedelta(seconds=lease_s)
        return await self._change("extend", item, until=until)

    async def finish(self, item: OutboxItem) -> bool:
        """Remove a delivered item and tell whether it was still held."""
        return await self._change("finish", item)

    async def retry_later(self, item: OutboxItem, delay: timedelta, reason: Reason) -> bool:
        """Give an item back for an attempt after a delay."""
        return await self._change("retry_later", item, available_at=self._clock.now() + delay, last_error=reason.value)

    async def give_back(self, item: OutboxItem) -> bool:
        """Give an item back as if it had not been claimed."""
        return await self._change("give_back", item)

    async def bury(self, item: OutboxItem, reason: Reason) -> bool:
        """Make an item a dead letter."""
        return await self._change("bury", item, now=self._clock.now(), last_error=reason.value)

    async def stats(self) -> OutboxStats:
        """Count what waits and what is dead."""
        async with self._db.sweep() as tx:
            stats = await tx.one(self._queries.get("stats"), {"now": self._clock.now()}, into=OutboxStats)
        return stats or OutboxStats(0, 0, 0.0)

    async def _change(self, name: str, item: OutboxItem, **params: Any) -> bool:
        query: Query = self._queries.get(name)
        key = {"tenant_id": item.tenant_id, "outbox_id": item.outbox_id, "holder": self._holder}
        async with self._db.transaction(item.tenant_id) as tx:
            return await tx.execute(query, {**key, **params}) == 1
