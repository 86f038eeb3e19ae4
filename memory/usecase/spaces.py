"""Chooses the embedding space at start, and refuses one that stored vectors do not belong to (G8)."""

from __future__ import annotations

from memory.repository import embedding_space
from memory.repository.embedding_space import SpaceRow
from mesh.db.pool import Database
from mesh.db.transaction import Tx
from mesh.kernel.errors import ErrorDetails, FailedPrecondition
from mesh.kernel.reasons import Reason
from mesh.models.protocols import EmbeddingSpace


async def stored_space(db: Database) -> EmbeddingSpace | None:
    """Return the space of the stored vectors; None when there are none, so that any embedder may be chosen."""
    async with db.sweep() as tx:
        stored = await embedding_space.active_space(tx)
        if stored is None or not await embedding_space.has_vectors(tx):
            return None
    return EmbeddingSpace(stored.provider, stored.model, stored.dimensions)


async def ensure_space(db: Database, space: EmbeddingSpace) -> int:
    """Return the id of the space of the configured embedder; while no vector is stored, it may be another than before.

    Raises:
        FailedPrecondition: vectors of another space are stored (EMBEDDING_SPACE_MISMATCH).
    """
    async with db.sweep() as tx:
        stored = await embedding_space.active_space(tx)
        if stored is not None and _same(stored, space):
            return stored.space_id
        return await _choose(tx, space)


async def _choose(tx: Tx, space: EmbeddingSpace) -> int:
    await embedding_space.lock_spaces(tx)
    stored = await embedding_space.active_space(tx)
    if stored is not None and _same(stored, space):
        return stored.space_id
    if stored is not None and await embedding_space.has_vectors(tx):
        raise _mismatch(stored, space)
    return await embedding_space.activate_space(tx, space.provider, space.model, space.dimensions)


def _same(stored: SpaceRow, space: EmbeddingSpace) -> bool:
    return (stored.provider, stored.model, stored.dimensions) == (space.provider, space.model, space.dimensions)


def _mismatch(stored: SpaceRow, space: EmbeddingSpace) -> FailedPrecondition:
    there = f"{stored.provider}/{stored.model}@{stored.dimensions}"
    return FailedPrecondition(
        Reason.EMBEDDING_SPACE_MISMATCH,
        f"stored vectors belong to the space {there}, but the configured embedder is {space}; "
        f"configure the embedder of {there} again",
        ErrorDetails(metadata={"stored": there, "configured": str(space)}),
    )
