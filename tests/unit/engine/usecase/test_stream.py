"""The stream of a running turn (G17)."""

from __future__ import annotations

import asyncio

from engine.domain.errors import interrupted
from engine.domain.stream import Delta, Failed, StreamEvent
from engine.usecase.stream import TurnStream


async def collect(stream: TurnStream) -> list[StreamEvent]:
    return [event async for event in stream.follow()]


async def test_every_follower_sees_every_event_in_order_whenever_it_comes() -> None:
    stream = TurnStream(epoch=3)
    early = asyncio.create_task(collect(stream))
    await asyncio.sleep(0)
    stream.emit(Delta("a"))
    await asyncio.sleep(0)
    middle = asyncio.create_task(collect(stream))
    stream.emit(Delta("b"))
    await asyncio.sleep(0)
    stream.emit(Failed("t", interrupted()))

    late = await collect(stream)

    assert await early == await middle == late
    assert [(event.epoch, event.sequence) for event in late] == [(3, 0), (3, 1), (3, 2)]


async def test_nothing_follows_the_terminal_event() -> None:
    stream = TurnStream(epoch=1)
    stream.emit(Failed("t", interrupted()))
    stream.emit(Delta("late"))
    stream.emit(Failed("t", interrupted()))

    assert len(await collect(stream)) == 1
    assert stream.has_ended


async def test_a_follower_that_leaves_changes_nothing_for_others() -> None:
    stream = TurnStream(epoch=1)
    leaving = asyncio.create_task(collect(stream))
    await asyncio.sleep(0)
    leaving.cancel()
    stream.emit(Delta("a"))
    stream.emit(Failed("t", interrupted()))

    assert len(await collect(stream)) == 2
