"""The worker thread: urgency, bounds, cancelling, closing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from mesh.kernel.errors import ResourceExhausted, Unavailable
from mesh.kernel.reasons import Reason
from mesh.models.lanes import Lanes, Room, abandon


@pytest.fixture
async def lanes() -> AsyncIterator[Lanes]:
    lanes = Lanes("test")
    yield lanes
    await lanes.close()


class Held:
    """A piece of work that occupies the thread until it is let go."""

    def __init__(self, lanes: Lanes) -> None:
        self._begun = threading.Event()
        self._let_go = threading.Event()
        self.future = lanes.submit((0, 0), self._run)

    def _run(self) -> None:
        self._begun.set()
        assert self._let_go.wait(10)

    async def begun(self) -> None:
        assert await asyncio.to_thread(self._begun.wait, 10)

    def let_go(self) -> None:
        self._let_go.set()


async def test_most_urgent_goes_first_and_equals_keep_their_order(lanes: Lanes) -> None:
    held = Held(lanes)
    await held.begun()
    order: list[str] = []
    waiting = [
        lanes.submit(urgency, lambda name=name: order.append(name))  # type: ignore[misc]
        for name, urgency in [("d0", (1, 0)), ("d1", (1, 1)), ("e0", (1, 0)), ("q0", (0, 0)), ("q1", (0, 0))]
    ]
    held.let_go()
    await asyncio.gather(*waiting)
    assert order == ["q0", "q1", "d0", "e0", "d1"]


async def test_cancelled_work_is_never_begun(lanes: Lanes) -> None:
    held = Held(lanes)
    await held.begun()
    ran: list[int] = []
    dropped = lanes.submit((0, 0), lambda: ran.append(1))
    dropped.cancel()
    await asyncio.sleep(0)
    held.let_go()
    await lanes.submit((1, 0), lambda: None)
    assert ran == []


async def test_error_reaches_its_own_waiter_only(lanes: Lanes) -> None:
    def broken() -> None:
        raise ValueError("mine")

    failing = lanes.submit((0, 0), broken)
    assert await lanes.submit((0, 0), lambda: "fine") == "fine"
    with pytest.raises(ValueError, match="mine"):
        await failing


async def test_closing_fails_what_waits_and_finishes_what_has_begun() -> None:
    lanes = Lanes("test")
    held = Held(lanes)
    await held.begun()
    waiting = lanes.submit((0, 0), lambda: None)
    closing = asyncio.create_task(lanes.close())
    with pytest.raises(Unavailable) as caught:
        await waiting
    assert caught.value.reason is Reason.EMBEDDER_UNAVAILABLE
    held.let_go()
    await closing
    await held.future
    with pytest.raises(Unavailable):
        lanes.submit((0, 0), lambda: None)
    await lanes.close()


async def test_abandoned_work_leaves_no_unseen_errors(lanes: Lanes) -> None:
    problems: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: problems.append(context))

    def broken() -> None:
        raise ValueError("unseen")

    futures = [lanes.submit((0, 0), broken) for _ in range(3)]
    await lanes.submit((1, 0), lambda: None)
    abandon(futures)
    del futures
    await asyncio.sleep(0)
    assert problems == []


async def test_room_is_refused_at_once_and_given_back() -> None:
    room = Room(3, "documents")
    with room.take(2):
        with pytest.raises(ResourceExhausted) as caught, room.take(2):
            pass
        with room.take(1):
            pass
    assert caught.value.reason is Reason.OVERLOADED
    assert caught.value.details.retry_after is not None
    with room.take(3):
        pass
