"""The table `memory.embedding_config`: which space every stored vector belongs to. No tenant's data."""

from __future__ import annotations

from dataclasses import dataclass

from mesh.db.queries import load
from mesh.db.transaction import Tx

_QUERIES = load(__name__, "embedding_space.sql")
_LOCK = _QUERIES.get("lock_spaces")
_ACTIVE = _QUERIES.get("active_space")
_HAS_VECTORS = _QUERIES.get("has_vectors")
_RETIRE = _QUERIES.get("retire_spaces")
_ACTIVATE = _QUERIES.get("activate_space")


@dataclass(frozen=True, slots=True)
class SpaceRow:
    """A stored embedding space."""

    space_id: int
    provider: str
    model: str
    dimensions: int


async def active_space(tx: Tx) -> SpaceRow | None:
    """Return the active space; None before the first server started."""
    return await tx.one(_ACTIVE, None, into=SpaceRow)


async def lock_spaces(tx: Tx) -> None:
    """Wait until no other server chooses the space."""
    await tx.execute(_LOCK)


async def has_vectors(tx: Tx) -> bool:
    """Tell whether any vector is stored; needs a transaction that sees every tenant."""
    return bool(await tx.value(_HAS_VECTORS))


async def activate_space(tx: Tx, provider: str, model: str, dimensions: int) -> int:
    """Make a space the only active one and return its id."""
    await tx.execute(_RETIRE)
    params = {"provider": provider, "model": model, "dimensions": dimensions}
    space_id: int = await tx.value(_ACTIVATE, params)
    return space_id
