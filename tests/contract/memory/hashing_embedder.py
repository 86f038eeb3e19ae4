"""An embedder whose vectors are made of words: quick, the same everywhere, and able to fail when a test says so."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence

import numpy as np

from memory.domain.lexical import lexemes
from mesh.kernel.errors import FailedPrecondition, MeshError, Unavailable
from mesh.kernel.reasons import Reason
from mesh.models.protocols import EMBEDDING_DIMENSIONS, EmbeddingSpace, Vector, Vectors

DOWN = Unavailable(Reason.EMBEDDER_UNAVAILABLE, "the embedder is down")
REFUSED = FailedPrecondition(Reason.MODEL_REFUSED, "the provider refused the text")

MEANINGS = {"supper": "dinner", "automobil": "car", "felin": "cat"}
"""Lexemes that mean the same to it, so that a test can ask in other words than were stored."""


class HashingEmbedder:
    """Adds one random direction a word; texts that share words, or meanings, are near each other."""

    def __init__(self, model: str = "hashing") -> None:
        self.space = EmbeddingSpace("builtin", model)
        self.failure: MeshError | None = None
        self.hang: asyncio.Event | None = None
        self.refused_word = ""
        self.documents: list[str] = []

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        await self._may_fail()
        if self.refused_word and any(self.refused_word in text for text in texts):
            raise REFUSED
        self.documents += texts
        return np.array([_vector(text) for text in texts], np.float32).reshape(len(texts), EMBEDDING_DIMENSIONS)

    async def embed_query(self, text: str) -> Vector:
        await self._may_fail()
        return _vector(text)

    async def close(self) -> None:
        """Hold nothing."""

    async def _may_fail(self) -> None:
        if self.hang is not None:
            await self.hang.wait()
        if self.failure is not None:
            raise self.failure


def _vector(text: str) -> Vector:
    total = np.full(EMBEDDING_DIMENSIONS, 1e-6, np.float32)
    for word in lexemes(text).distinct:
        total += _direction(MEANINGS.get(word, word))
    return (total / np.linalg.norm(total)).astype(np.float32)


def _direction(word: str) -> Vector:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(EMBEDDING_DIMENSIONS).astype(np.float32)
