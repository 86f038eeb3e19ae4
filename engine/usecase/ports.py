"""What the use cases need of the other servers."""

from __future__ import annotations

from typing import Protocol

from engine.domain.lesson import Lesson
from engine.domain.recall import Recalled, RecallQuery
from engine.domain.thread import ThreadKey


class Memory(Protocol):
    """The memory server."""

    async def recall(self, owner: ThreadKey, query: RecallQuery, timeout_s: float) -> Recalled:
        """Return what memory holds about a query, for the owner of a thread.

        Raises:
            MeshError: memory is late, down or refuses.
        """
        ...

    async def learn(self, tenant_id: str, lesson: Lesson) -> None:
        """Make memory learn from a turn; a second time changes nothing.

        Raises:
            MeshError: memory is late, down or refuses.
        """
        ...
