"""Rows of every tenant whose vector is still to be made. Runs under `Database.sweep`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from memory.repository.vectors import halfvec
from mesh.db.queries import load
from mesh.db.transaction import Tx

_QUERIES = load(__name__, "backlog.sql")
_PENDING = {"chunk": _QUERIES.get("chunks_without_vector"), "fact": _QUERIES.get("facts_without_vector")}
_STORE = {"chunk": _QUERIES.get("set_chunk_vectors"), "fact": _QUERIES.get("set_fact_vectors")}
_COUNT = {"chunk": _QUERIES.get("count_chunk_attempt"), "fact": _QUERIES.get("count_fact_attempt")}

Kind = Literal["fact", "chunk"]

MAX_ATTEMPTS = 5
"""How often a text that the embedder refuses is tried; it stays findable by its words."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A row without a vector, and the text to embed."""

    tenant_id: str
    user_id: str
    id: str
    text: str


async def pending(tx: Tx, kind: Kind, most: int) -> list[Pending]:
    """Return rows without a vector, oldest first."""
    return await tx.all(_PENDING[kind], {"most": most, "max_attempts": MAX_ATTEMPTS}, into=Pending)


async def store(tx: Tx, kind: Kind, rows: Sequence[Pending], vectors: Iterable[Any], space_id: int) -> int:
    """Store one vector a row and return how many were still missing."""
    params = {
        "tenant_ids": [row.tenant_id for row in rows],
        "user_ids": [row.user_id for row in rows],
        "ids": [row.id for row in rows],
        "embeddings": [halfvec(vector) for vector in vectors],
        "space_id": space_id,
    }
    return await tx.execute(_STORE[kind], params)


async def count_attempt(tx: Tx, kind: Kind, row: Pending) -> None:
    """Note that the embedder refused a row."""
    await tx.execute(_COUNT[kind], {"tenant_id": row.tenant_id, "user_id": row.user_id, "id": row.id})
