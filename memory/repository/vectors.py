"""Vectors as the driver takes them: halves, two bytes a number, which is what the columns store."""

from __future__ import annotations

from typing import Any

from pgvector import HalfVector


def halfvec(values: Any) -> HalfVector | None:
    """Return `[768] float32` as a parameter; None stays None."""
    return None if values is None else HalfVector(values)
