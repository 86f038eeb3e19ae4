"""Vectors as memory keeps them: numbers, and the space in which they may be compared (G8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class StoredVector:
    """A vector and the space that it belongs to.

    Args:
        values: `[768] float32`, of length 1.
        space_id: row of `memory.embedding_config`.
    """

    values: Any
    space_id: int
