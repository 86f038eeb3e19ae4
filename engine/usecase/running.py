"""The turns that run in this process: their tasks, their streams, and the wait for them when the process stops.

A turn is entered inside the transaction that gives it its lease, before the commit. So whoever reads that lease finds
the turn here, and a lease of this process without a turn here is a turn that has ended without being able to say so.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from engine.domain.errors import interrupted, too_many_turns
from engine.domain.stream import Failed
from engine.domain.turn import Attempt
from engine.usecase.stream import TurnStream

_log = logging.getLogger(__name__)

CANCEL_BOUND_S = 2.0
"""How long turns that were cancelled at the end of a drain may take to record that they failed."""


@dataclass(slots=True)
class _Entry:
    attempt: int
    stream: TurnStream
    task: asyncio.Task[None] | None = None


class RunningTurns:
    """The turns of one process.

    Args:
        holder: the name under which this process holds leases; new for each start, so that a restarted process never
            takes itself for the one that died.
        most: most turns at once.
    """

    def __init__(self, holder: str, most: int) -> None:
        self.holder = holder
        self._most = most
        self._entries: dict[str, _Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def check_room(self) -> None:
        """Refuse a new turn when the process is full.

        Raises:
            ResourceExhausted: as many turns run as may (OVERLOADED).
        """
        if len(self._entries) >= self._most:
            raise too_many_turns()

    def runs(self, turn_id: str | None, attempt: int) -> bool:
        """Tell whether an attempt of a turn runs here."""
        entry = self._entries.get(turn_id or "")
        return entry is not None and entry.attempt == attempt

    def stream(self, turn_id: str) -> TurnStream:
        """Return the stream of a turn that runs here.

        Raises:
            KeyError: it does not.
        """
        return self._entries[turn_id].stream

    def enter(self, attempt: Attempt, stream: TurnStream) -> None:
        """Note a turn whose lease is about to be committed."""
        self._entries[attempt.turn_id] = _Entry(attempt.number, stream)

    def withdraw(self, attempt: Attempt) -> None:
        """Forget a turn whose lease was not committed."""
        entry = self._entries.get(attempt.turn_id)
        if entry is not None and entry.attempt == attempt.number and entry.task is None:
            del self._entries[attempt.turn_id]
            entry.stream.emit(Failed(attempt.turn_id, interrupted()))

    def start(self, attempt: Attempt, run: Callable[[TurnStream], Coroutine[Any, Any, None]]) -> TurnStream:
        """Run an entered turn to its end, whoever listens, and return its stream.

        Args:
            attempt: as it was entered.
            run: handles its own errors and ends the stream.
        """
        entry = self._entries[attempt.turn_id]
        entry.task = asyncio.create_task(run(entry.stream), name=f"turn {attempt.turn_id}")
        entry.task.add_done_callback(lambda task: self._ended(attempt, entry, task))
        return entry.stream

    async def drain(self, bound_s: float) -> None:
        """Wait for the running turns; cancel those that take longer than `bound_s` seconds, which then fail visibly."""
        loop = asyncio.get_running_loop()
        ends = loop.time() + bound_s
        while (tasks := self._tasks()) and loop.time() < ends:
            await asyncio.wait(tasks, timeout=ends - loop.time())
        for task in tasks:
            task.cancel()
        if tasks:
            _log.warning("turns cancelled at the end of the drain", extra={"turns": len(tasks)})
            await asyncio.wait(tasks, timeout=CANCEL_BOUND_S)

    def _tasks(self) -> set[asyncio.Task[None]]:
        return {entry.task for entry in self._entries.values() if entry.task is not None}

    def _ended(self, attempt: Attempt, entry: _Entry, task: asyncio.Task[None]) -> None:
        if self._entries.get(attempt.turn_id) is entry:
            del self._entries[attempt.turn_id]
        if not task.cancelled() and task.exception() is not None:
            _log.error("turn ended with a defect", exc_info=task.exception(), extra={"turn_id": attempt.turn_id})
        entry.stream.emit(Failed(attempt.turn_id, interrupted()))
