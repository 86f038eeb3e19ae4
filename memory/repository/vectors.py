"""Vectors as the driver takes them: halves, two bytes a number, which is what the columns store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pgvector import HalfVector


@dataclass(frozen=True, slots=True)
class StoredVector:
    """A vector and the space that it belongs to.

    Args:
        values: `[768] float32`, of length 1.
        space_id: row of `memory.embedding_config`.
    """

    values: Any
    space_id: int


def halfvec(values: Any) -> HalfVector | None:
    """Return `[768] float32` as a parameter; None stays None."""
    return None if values is None else HalfVector(values)
