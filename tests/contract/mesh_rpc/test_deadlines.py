"""Every call ends: deadlines of clients, defaults and caps of servers, and what is passed on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from mesh.kernel.errors import DeadlineExceeded
from mesh.kernel.reasons import Reason
from mesh.rpc.channel import ChannelSettings
from mesh.rpc.context import own_deadline, remaining_s
from mesh.rpc.status import from_rpc_error
from tests.contract.mesh_rpc.echo import EchoServicer, pb, serving


class Slow(EchoServicer):
    """Notes how long it may take, then never answers unless told to."""

    def __init__(self, *, answers: bool = False) -> None:
        super().__init__()
        self.remaining_s: list[float] = []
        self.entered = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.answers = answers

    async def wait(self) -> None:
        self.remaining_s.append(remaining_s())
        self.entered.set()
        if self.answers:
            return
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()

    async def Say(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        await self.wait()
        return pb().SayResponse()

    async def Count(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802 - the RPC's name
        yield pb().SayResponse(number=1)
        await self.wait()

    async def Gather(self, requests: AsyncIterator[Any], context: Any) -> Any:  # noqa: N802 - the RPC's name
        self.remaining_s.append(remaining_s())
        async for _ in requests:
            pass
        return pb().SayResponse()


async def exceeded(call: Any) -> DeadlineExceeded:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    error = from_rpc_error(caught.value)
    assert isinstance(error, DeadlineExceeded)
    assert error.reason is Reason.DEADLINE_EXCEEDED
    return error


async def test_call_without_a_deadline_gets_the_default() -> None:
    servicer = Slow()
    async with serving(servicer=servicer, settings={"default_deadline_s": 0.2}) as echo:
        started = time.monotonic()
        await exceeded(echo.bare_stub.Say(pb().SayRequest(), metadata=echo.identity()))
        assert 0.15 < time.monotonic() - started < 5
        await asyncio.wait_for(servicer.cancelled.wait(), 5)
    assert 0 < servicer.remaining_s[0] <= 0.2


async def test_deadline_beyond_the_cap_is_cut_to_it() -> None:
    servicer = Slow()
    async with serving(servicer=servicer, settings={"max_deadline_s": 0.2}) as echo:
        await exceeded(echo.bare_stub.Say(pb().SayRequest(), metadata=echo.identity(), timeout=3600))
        await exceeded(echo.bare_stub.Say(pb().SayRequest(), metadata=echo.identity()))
    assert all(0 < left <= 0.2 for left in servicer.remaining_s)


async def test_stream_without_a_deadline_lasts_as_long_as_the_cap_allows() -> None:
    servicer = Slow(answers=True)
    async with serving(servicer=servicer, settings={"default_deadline_s": 1, "max_deadline_s": 90}) as echo:
        call = echo.bare_stub.Count(pb().CountRequest(), metadata=echo.identity())
        assert [item.number async for item in call] == [1]
    assert 60 < servicer.remaining_s[0] <= 90


async def test_stream_ends_at_the_cap_after_what_was_sent() -> None:
    async with serving(servicer=Slow(), settings={"max_deadline_s": 0.2}) as echo:
        call = echo.bare_stub.Count(pb().CountRequest(), metadata=echo.identity())
        assert (await call.read()).number == 1
        await exceeded(call.read())


async def test_client_that_never_sends_its_stream_is_cut_off() -> None:
    async with serving(servicer=Slow(), settings={"default_deadline_s": 0.2}) as echo:
        call = echo.bare_stub.Gather(metadata=echo.identity())
        await exceeded(call)


async def test_deadline_of_the_client_cancels_the_handler() -> None:
    servicer = Slow()
    async with serving(servicer=servicer) as echo:
        await echo.bare.channel_ready()
        await exceeded(echo.bare_stub.Say(pb().SayRequest(), metadata=echo.identity(), timeout=1))
        await asyncio.wait_for(servicer.cancelled.wait(), 5)
    assert 0 < servicer.remaining_s[0] <= 1.1


async def test_client_that_leaves_cancels_the_handler() -> None:
    servicer = Slow()
    async with serving(servicer=servicer) as echo:
        call = echo.stub.Count(pb().CountRequest())
        await call.read()
        await asyncio.wait_for(servicer.entered.wait(), 5)
        call.cancel()
        await asyncio.wait_for(servicer.cancelled.wait(), 5)


async def test_remaining_time_is_passed_on_less_a_margin() -> None:
    servicer = Slow(answers=True)
    async with serving(servicer=servicer, channel=ChannelSettings(margin_s=0.5)) as echo:
        with own_deadline(5):
            await echo.stub.Say(pb().SayRequest())
            await echo.stub.Say(pb().SayRequest(), timeout=60)
            await echo.stub.Say(pb().SayRequest(), timeout=2)
    assert 4 < servicer.remaining_s[0] <= 4.6
    assert 4 < servicer.remaining_s[1] <= 4.6
    assert 1.5 < servicer.remaining_s[2] <= 2.1  # gRPC rounds what it sends up


async def test_call_that_nothing_limits_has_the_default_of_the_channel() -> None:
    servicer = Slow(answers=True)
    async with serving(servicer=servicer, channel=ChannelSettings(default_timeout_s=7)) as echo:
        await echo.stub.Say(pb().SayRequest())
    assert 6 < servicer.remaining_s[0] <= 7.1


async def test_call_without_time_left_fails_at_once_and_never_arrives() -> None:
    servicer = Slow()
    async with serving(servicer=servicer) as echo:
        for left_s in (0.0, -1.0, 0.04):  # the margin alone is more than the last
            with own_deadline(left_s), pytest.raises(DeadlineExceeded):
                echo.stub.Say(pb().SayRequest())
    assert servicer.remaining_s == []
