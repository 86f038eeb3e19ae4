"""Vectors for what is stored and asked, within a time limit, and never as a condition of storing.

An embedder that is down or late costs vectors, not data: the row is stored without one, is found by its words, and
`memory.worker.embed_backlog` makes the vector afterwards (G1).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from memory.domain.vector import StoredVector
from mesh.kernel.errors import MeshError
from mesh.kernel.reasons import Reason
from mesh.models.protocols import Embedder

BATCH = 256
"""Texts of one call to the embedder: what is ready when the time is over is kept."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class QueryVector:
    """The vector of a question, or why there is none."""

    vector: StoredVector | None
    missing_because: Reason | None = None


class Embeddings:
    """The embedder and the space that its vectors are stored under."""

    def __init__(self, embedder: Embedder, space_id: int) -> None:
        self._embedder = embedder
        self._space_id = space_id

    @property
    def space_id(self) -> int:
        """Row of `memory.embedding_config`."""
        return self._space_id

    async def documents(self, texts: Sequence[str], budget_s: float) -> list[StoredVector | None]:
        """Return a vector for each text, in order; None for those that were not ready in time.

        Args:
            texts: any number.
            budget_s: seconds that the caller can wait.
        """
        made: list[StoredVector | None] = []
        try:
            async with asyncio.timeout(budget_s):
                for start in range(0, len(texts), BATCH):
                    vectors = await self._embedder.embed_documents(texts[start : start + BATCH])
                    made += [StoredVector(vector, self._space_id) for vector in vectors]
        except TimeoutError:
            _log.warning(
                "the embedder was late; vectors are left to the worker", extra={"missing": len(texts) - len(made)}
            )
        except MeshError as error:
            _log.warning(
                "the embedder failed; vectors are left to the worker",
                extra={"missing": len(texts) - len(made), "reason": error.reason.value},
            )
        return made + [None] * (len(texts) - len(made))

    async def query(self, text: str, budget_s: float) -> QueryVector:
        """Return the vector of a question; without one, the reason.

        Args:
            text: the question.
            budget_s: seconds that the caller can wait.
        """
        try:
            async with asyncio.timeout(budget_s):
                vector = await self._embedder.embed_query(text)
        except TimeoutError:
            return QueryVector(None, Reason.DEADLINE_EXCEEDED)
        except MeshError as error:
            _log.warning("a question has no vector", extra={"reason": error.reason.value})
            return QueryVector(None, error.reason)
        return QueryVector(StoredVector(vector, self._space_id))
