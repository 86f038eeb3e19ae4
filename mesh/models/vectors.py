"""What a provider's vectors must be before they are stored: as many as texts, of one size, finite, of length 1.

A vector that is not checked here is compared for years; a wrong one fails its batch instead (S5).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from mesh.kernel.errors import FailedPrecondition, invalid_field
from mesh.kernel.reasons import Reason
from mesh.models.attempts import Failure
from mesh.models.faults import output_invalid
from mesh.models.protocols import EMBEDDING_DIMENSIONS, Vectors

PROVIDER_BATCH = 32
"""Texts in one request to a provider. Source: seed S5."""

_SMALLEST_LENGTH = 1e-6


def checked_texts(texts: Sequence[str]) -> list[str]:
    """Return the texts of an embedding call.

    Raises:
        InvalidArgument: a text is blank; providers refuse the whole batch for one.
    """
    for index, text in enumerate(texts):
        if not text.strip():
            raise invalid_field(f"texts[{index}]", "must not be blank", "REQUIRED")
    return list(texts)


def stored_vectors(rows: Sequence[Sequence[float]], *, count: int, size: int | None = None) -> Vectors:
    """Return a provider's vectors as they are stored.

    Args:
        rows: one vector for each text, as the provider sent them.
        count: how many texts were sent.
        size: the size that was asked for; None when the model decides.

    Returns:
        `[count, 768] float32`, zero-padded, each row of length 1.

    Raises:
        Failure: MODEL_OUTPUT_INVALID for a wrong count, size or number; CONFIGURATION_INVALID for vectors that are
            larger than stored ones, which would have to be cut.
    """
    if len(rows) != count:
        raise output_invalid("the embedding provider answered with a wrong number of vectors")
    sizes = {len(row) for row in rows}
    if len(sizes) > 1 or 0 in sizes or (size is not None and sizes - {size}):
        raise output_invalid("the embedding provider answered with vectors of a wrong size")
    if sizes and max(sizes) > EMBEDDING_DIMENSIONS:
        message = f"the embedding model's vectors are larger than {EMBEDDING_DIMENSIONS}; choose another model"
        raise Failure(FailedPrecondition(Reason.CONFIGURATION_INVALID, message), retryable=False)
    return padded_unit(_matrix(rows))


def padded_unit(rows: NDArray[np.float32]) -> Vectors:
    """Return rows of length 1, zero-padded to the stored size; cosines stay as they were.

    Raises:
        Failure: MODEL_OUTPUT_INVALID for a row that is not finite or has no direction.
    """
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or (lengths < _SMALLEST_LENGTH).any():
        raise output_invalid("the embedding model answered with vectors that are not finite or have no direction")
    stored = np.zeros((len(rows), EMBEDDING_DIMENSIONS), np.float32)
    np.divide(rows, lengths, out=stored[:, : rows.shape[1]])
    return stored


def _matrix(rows: Sequence[Sequence[float]]) -> NDArray[np.float32]:
    try:
        matrix = np.asarray(rows, np.float32)
    except (TypeError, ValueError):
        raise output_invalid("the embedding provider answered with vectors that are not numbers") from None
    return matrix.reshape(len(rows), -1) if len(rows) else np.zeros((0, EMBEDDING_DIMENSIONS), np.float32)


def batches(texts: list[str], size: int = PROVIDER_BATCH) -> Iterator[list[str]]:
    """Yield the texts in order, `size` at a time."""
    for start in range(0, len(texts), size):
        yield texts[start : start + size]


def joined(parts: Sequence[Vectors]) -> Vectors:
    """Return the rows of all parts, in order; `[0, 768]` for none."""
    return np.concatenate(parts) if parts else np.zeros((0, EMBEDDING_DIMENSIONS), np.float32)
