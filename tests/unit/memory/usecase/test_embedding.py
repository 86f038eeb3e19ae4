"""Vectors within a time limit, never as a condition of storing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np

from memory.usecase.embedding import BATCH, Embeddings
from mesh.kernel.errors import Unavailable
from mesh.kernel.reasons import Reason
from mesh.models.protocols import EmbeddingSpace, Vector, Vectors


class SlowEmbedder:
    """Answers so many batches, then hangs or fails."""

    space = EmbeddingSpace("builtin", "slow")

    def __init__(self, batches: int, *, fails: bool = False) -> None:
        self._batches = batches
        self._fails = fails

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        await self._next()
        return np.ones((len(texts), 768), np.float32)

    async def embed_query(self, text: str) -> Vector:
        await self._next()
        return np.ones(768, np.float32)

    async def close(self) -> None:
        """Hold nothing."""

    async def _next(self) -> None:
        if self._batches == 0:
            if self._fails:
                raise Unavailable(Reason.EMBEDDER_UNAVAILABLE, "away")
            await asyncio.Event().wait()
        self._batches -= 1


async def test_what_was_ready_in_time_is_kept() -> None:
    for fails in (False, True):
        made = await Embeddings(SlowEmbedder(1, fails=fails), 7).documents(["x"] * (BATCH + 5), 0.05)
        assert [vector is not None for vector in made] == [True] * BATCH + [False] * 5
        assert made[0] is not None
        assert made[0].space_id == 7


async def test_no_texts_need_no_embedder() -> None:
    assert await Embeddings(SlowEmbedder(0, fails=True), 1).documents([], 0.01) == []


async def test_a_question_without_a_vector_says_why() -> None:
    late = await Embeddings(SlowEmbedder(0), 1).query("x", 0.01)
    assert (late.vector, late.missing_because) == (None, Reason.DEADLINE_EXCEEDED)
    failed = await Embeddings(SlowEmbedder(0, fails=True), 1).query("x", 1)
    assert (failed.vector, failed.missing_because) == (None, Reason.EMBEDDER_UNAVAILABLE)
    found = await Embeddings(SlowEmbedder(1), 3).query("x", 1)
    assert found.vector is not None
    assert (found.vector.space_id, found.missing_because) == (3, None)
