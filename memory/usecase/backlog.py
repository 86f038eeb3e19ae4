"""Makes the vectors that writers could not wait for (G1)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from memory.repository import backlog as rows
from memory.repository.backlog import Kind, Pending
from mesh.db.pool import Database
from mesh.kernel.errors import Code, MeshError, Unavailable
from mesh.kernel.reasons import Reason
from mesh.models.protocols import Embedder, Vectors

BATCH = 64
EMBED_TIMEOUT_S = 60.0

_TEXTS_FAULT = frozenset({Code.INVALID_ARGUMENT, Code.FAILED_PRECONDITION})
"""Codes by which an embedder refuses a text, not the time at which it came."""

_log = logging.getLogger(__name__)


async def _always() -> bool:
    return True


class EmbedBacklog:
    """Embeds rows without a vector, of all tenants, oldest first."""

    def __init__(self, db: Database, embedder: Embedder, space_id: int) -> None:
        self._db = db
        self._embedder = embedder
        self._space_id = space_id

    async def work_off(self, may_go_on: Callable[[], Awaitable[bool]] = _always) -> int:
        """Embed what is pending, batch by batch, and return how many vectors were stored.

        Args:
            may_go_on: asked before each batch; False ends the work.

        Raises:
            MeshError: the embedder or the database is away; what was done is stored.
        """
        stored = 0
        kinds: tuple[Kind, ...] = ("fact", "chunk")
        for kind in kinds:
            while await may_go_on():
                async with self._db.sweep() as tx:
                    batch = await rows.pending(tx, kind, BATCH)
                if not batch:
                    break
                stored += await self._embed(kind, batch)
        return stored

    async def _embed(self, kind: Kind, batch: Sequence[Pending]) -> int:
        try:
            vectors = await self._vectors(batch)
        except MeshError as error:
            if error.code not in _TEXTS_FAULT:
                raise
            if len(batch) > 1:
                # One of them is at fault: found by halving, so that it does not hold up the others.
                half = len(batch) // 2
                return await self._embed(kind, batch[:half]) + await self._embed(kind, batch[half:])
            _log.warning("the embedder refused a text", extra={"row": batch[0].id, "reason": error.reason.value})
            async with self._db.sweep() as tx:
                await rows.count_attempt(tx, kind, batch[0])
            return 0
        async with self._db.sweep() as tx:
            return await rows.store(tx, kind, batch, vectors, self._space_id)

    async def _vectors(self, batch: Sequence[Pending]) -> Vectors:
        try:
            async with asyncio.timeout(EMBED_TIMEOUT_S):
                return await self._embedder.embed_documents([row.text for row in batch])
        except TimeoutError:
            raise Unavailable(Reason.EMBEDDER_UNAVAILABLE, "the embedder did not answer in time") from None
