"""SearchChunks: raw evidence by meaning and words, or by the plain ranking of the source design (S6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from memory.domain.chunk import Chunk
from memory.domain.fusion import WEIGHTS, Weights
from memory.domain.retrieval import ChunkScope, Ranking
from memory.repository import search
from memory.usecase.embedding import Embeddings
from memory.usecase.recall import DEFAULT_LIMIT, MAX_VECTOR_WAIT_S, QUERY_CHARS, VECTOR_SHARE, Degraded, ask
from memory.usecase.scopes import ScopeSizes
from mesh.db.pool import Database
from mesh.kernel.clock import Clock
from mesh.kernel.identity import Call


@dataclass(frozen=True, slots=True)
class FoundChunk:
    """A chunk and why it was found.

    Args:
        chunk: the chunk.
        score: what it was ranked by.
        match_score: cosine, 0 without a vector.
        boost: boost of its source; 0 in the fused ranking.
    """

    chunk: Chunk
    score: float
    match_score: float
    boost: float = 0.0


@dataclass(frozen=True, slots=True)
class Found:
    """Chunks, best first, and the arms that are missing."""

    results: Sequence[FoundChunk] = ()
    degraded: Sequence[Degraded] = field(default_factory=tuple)


class SearchChunks:
    """Searches the calling user's chunks."""

    def __init__(
        self, db: Database, embeddings: Embeddings, sizes: ScopeSizes, clock: Clock, weights: Weights = WEIGHTS
    ) -> None:
        self._db = db
        self._embeddings = embeddings
        self._sizes = sizes
        self._clock = clock
        self._weights = weights

    async def hybrid(self, call: Call, text: str, scope: ChunkScope, limit: int, budget_s: float) -> Found:
        """Return chunks by the fused ranking of Recall.

        Raises:
            NotFound: the user has no dialog of that key (DIALOG_NOT_FOUND).
        """
        question, degraded = await ask(self._embeddings, text, self._clock.now(), budget_s)
        ranking = Ranking(limit or DEFAULT_LIMIT, with_facts=False, with_chunks=True, weights=self._weights)
        async with self._db.transaction(call.tenant_id) as tx:
            ranking = replace(ranking, scope_size=await self._sizes.size(tx, scope))
            hits = await search.recall(tx, scope, question, ranking) if question.can_find else []
        found = [FoundChunk(hit.item, hit.score, hit.parts.cosine) for hit in hits if isinstance(hit.item, Chunk)]
        return Found(found, degraded)

    async def by_cosine(self, call: Call, text: str, scope: ChunkScope, limit: int, budget_s: float) -> Found:
        """Return chunks by cosine plus the boost of their source, exactly; by their words when there is no vector (S7).

        Raises:
            NotFound: the user has no dialog of that key (DIALOG_NOT_FOUND).
        """
        made = await self._embeddings.query(text[:QUERY_CHARS], min(budget_s * VECTOR_SHARE, MAX_VECTOR_WAIT_S))
        if made.vector is None:
            return await self.hybrid(call, text, scope, limit, budget_s * (1 - VECTOR_SHARE))
        async with self._db.transaction(call.tenant_id) as tx:
            await self._sizes.size(tx, scope)
            rows = await search.match_chunks(tx, scope, made.vector, limit or DEFAULT_LIMIT)
        return Found([FoundChunk(row.chunk, row.weighted_score, row.match_score, row.boost) for row in rows])
