"""Delivers what the outbox holds: each committed turn becomes a lesson for memory."""

from __future__ import annotations

from engine.domain.lesson import decode_lesson
from engine.usecase.ports import Memory
from mesh.jobs.outbox import OutboxItem
from mesh.kernel.errors import FailedPrecondition, Unavailable


class TeachMemory:
    """Handler of topic `learn_turn`; memory changes nothing when it gets a turn twice."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def __call__(self, item: OutboxItem) -> None:
        """Deliver one lesson.

        Raises:
            InvalidArgument: the lesson can never be learned; the relay buries it.
            MeshError: memory is late or down; the relay tries again.
        """
        try:
            await self._memory.learn(item.tenant_id, decode_lesson(item.payload))
        except FailedPrecondition as error:
            # Memory is not in a state to learn, such as on an older schema: waiting helps, unlike for other callers.
            raise Unavailable(error.reason, error.message, error.details) from error
