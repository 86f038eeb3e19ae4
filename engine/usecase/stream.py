"""The stream of one running turn: written by the turn, read by any number of callers, each at its own pace.

Every event is kept until the turn is forgotten, so a caller that joins late reads from the start and all of them see
the same cursors. A slow caller holds nothing up: it is a position in the list and no queue of its own. The list is
bounded, since an answer is (`limits.MAX_ANSWER_CHARS`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from engine.domain.stream import Payload, StreamEvent


class TurnStream:
    """Events of a turn, in order."""

    def __init__(self, epoch: int) -> None:
        self._epoch = epoch
        self._events: list[StreamEvent] = []
        self._grown = asyncio.Event()

    @property
    def has_ended(self) -> bool:
        """True when the terminal event is there."""
        return bool(self._events) and self._events[-1].is_terminal

    def emit(self, payload: Payload) -> None:
        """Append an event. After the terminal one nothing is appended any more, so there is exactly one."""
        if self.has_ended:
            return
        self._events.append(StreamEvent(self._epoch, len(self._events), payload))
        grown, self._grown = self._grown, asyncio.Event()
        grown.set()

    async def follow(self) -> AsyncGenerator[StreamEvent, None]:
        """Yield every event from the first to the terminal one."""
        position = 0
        while True:
            while position < len(self._events):
                event = self._events[position]
                position += 1
                yield event
                if event.is_terminal:
                    return
            await self._grown.wait()
