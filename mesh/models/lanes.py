"""A worker thread of which the most urgent piece of work goes first, with a bound on what may wait.

The event loop never computes: it queues closures and awaits them. Work is cut small by its owner, so that something
urgent waits for at most one piece that has begun.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeAlias, TypeVar

from mesh.kernel.errors import ErrorDetails, ResourceExhausted, Unavailable
from mesh.kernel.reasons import Reason

T = TypeVar("T")

Urgency: TypeAlias = tuple[int, int]
"""Smaller goes first: the lane, then the round within it."""

RETRY_AFTER = timedelta(seconds=1)
"""What a caller is told whose work does not fit; the queue moves many times in a second."""


@dataclass(order=True)
class _Job:
    urgency: Urgency
    number: int
    work: Callable[[], Any] = field(compare=False)
    future: Future[Any] = field(compare=False)


class Lanes:
    """Runs pieces of work on one thread, the most urgent first."""

    def __init__(self, name: str) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._lock = threading.Lock()
        self._waiting: list[_Job] = []
        self._numbers = itertools.count()
        self._closed = False

    def submit(self, urgency: Urgency, work: Callable[[], T]) -> asyncio.Future[T]:
        """Queue a piece of work; cancelling the future takes it out of the queue unless it has begun.

        Raises:
            Unavailable: EMBEDDER_UNAVAILABLE, the lanes are closed.
        """
        future: Future[T] = Future()
        with self._lock:
            if self._closed:
                raise _closed()
            heapq.heappush(self._waiting, _Job(urgency, next(self._numbers), work, future))
            self._executor.submit(self._run_most_urgent)
        return asyncio.wrap_future(future)

    async def close(self) -> None:
        """Fail what waits, finish what has begun, and end the thread. Safe to call twice."""
        with self._lock:
            self._closed = True
            waiting, self._waiting = self._waiting, []
        for job in waiting:
            if job.future.set_running_or_notify_cancel():
                job.future.set_exception(_closed())
        await asyncio.to_thread(self._executor.shutdown)

    def _run_most_urgent(self) -> None:
        with self._lock:
            if not self._waiting:
                return
            job = heapq.heappop(self._waiting)
        if not job.future.set_running_or_notify_cancel():
            return
        try:
            result = job.work()
        except BaseException as error:  # noqa: BLE001 - handed to whoever awaits the piece
            job.future.set_exception(error)
        else:
            job.future.set_result(result)


def abandon(futures: Iterable[asyncio.Future[Any]]) -> None:
    """Take what has not begun out of the queue, and mark the errors of the rest as seen."""
    for future in futures:
        if not future.cancel() and not future.cancelled():
            future.exception()


class Room:
    """A bound on how much may be in the queue at once.

    Args:
        most: the bound, in the units that callers take.
        what: what is counted, for the message.
    """

    def __init__(self, most: int, what: str) -> None:
        self._most = most
        self._what = what
        self._taken = 0

    @contextmanager
    def take(self, count: int) -> Iterator[None]:
        """Hold room for `count` units.

        Raises:
            ResourceExhausted: OVERLOADED, at once, when they do not fit.
        """
        if self._taken + count > self._most:
            message = f"too many {self._what} wait to be embedded; try again"
            raise ResourceExhausted(Reason.OVERLOADED, message, ErrorDetails(retry_after=RETRY_AFTER))
        self._taken += count
        try:
            yield
        finally:
            self._taken -= count


def _closed() -> Unavailable:
    return Unavailable(Reason.EMBEDDER_UNAVAILABLE, "the embedder is shutting down")
