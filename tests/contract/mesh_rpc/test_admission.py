"""Overload: what is over the bound is refused at once, and what is under it is not disturbed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from mesh.kernel.errors import ResourceExhausted
from mesh.kernel.reasons import Reason
from mesh.rpc.status import from_rpc_error
from tests.contract.mesh_rpc.echo import EchoServicer, pb, serving


class Gated(EchoServicer):
    """Answers when the gate opens, and says how many calls wait before it."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.inside = 0
        self.changed = asyncio.Condition()

    async def pass_gate(self) -> None:
        async with self.changed:
            self.inside += 1
            self.changed.notify_all()
        await self.gate.wait()

    async def until_inside(self, number: int) -> None:
        async with self.changed:
            await asyncio.wait_for(self.changed.wait_for(lambda: self.inside == number), 10)

    async def Say(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        await self.pass_gate()
        return pb().SayResponse(text=request.text)

    async def Count(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802 - the RPC's name
        await self.pass_gate()
        yield pb().SayResponse()


async def shed(call: Any) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await asyncio.wait_for(call, 5)
    error = from_rpc_error(caught.value)
    assert isinstance(error, ResourceExhausted)
    assert error.reason is Reason.OVERLOADED
    assert error.details.retry_after is not None
    assert 0 < error.details.retry_after.total_seconds() <= 5


async def test_calls_over_the_bound_are_refused_at_once_and_the_others_finish() -> None:
    servicer = Gated()
    async with serving(servicer=servicer, settings={"max_concurrent_rpcs": 3}) as echo:
        calls = [asyncio.ensure_future(_say(echo.stub, str(number))) for number in range(3)]
        await servicer.until_inside(3)
        for _ in range(5):
            await shed(echo.stub.Say(pb().SayRequest()))
        servicer.gate.set()
        assert await asyncio.gather(*calls) == ["0", "1", "2"]
        assert await _say(echo.stub, "again") == "again"


async def test_streams_have_a_bound_of_their_own() -> None:
    servicer = Gated()
    async with serving(servicer=servicer, settings={"max_concurrent_streams": 2, "max_concurrent_rpcs": 1}) as echo:
        streams = [echo.stub.Count(pb().CountRequest()) for _ in range(2)]
        reads = [asyncio.ensure_future(stream.read()) for stream in streams]
        await servicer.until_inside(2)
        await shed(echo.stub.Count(pb().CountRequest()).read())
        await shed(echo.stub.Gather())
        unary = asyncio.ensure_future(_say(echo.stub, "still room"))
        await servicer.until_inside(3)
        servicer.gate.set()
        assert await unary == "still room"
        await asyncio.gather(*reads)


async def test_place_of_a_call_that_failed_or_left_is_free_again() -> None:
    servicer = Gated()
    async with serving(servicer=servicer, settings={"max_concurrent_rpcs": 1, "max_concurrent_streams": 1}) as echo:
        left = echo.stub.Say(pb().SayRequest())
        await servicer.until_inside(1)
        left.cancel()
        await _until_served(echo.stub, servicer)
        for _ in range(3):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await echo.raw("Say", b"\xff")
            assert from_rpc_error(caught.value).reason is Reason.MALFORMED_MESSAGE


async def test_health_is_answered_by_a_full_server() -> None:
    servicer = Gated()
    async with serving(servicer=servicer, settings={"max_concurrent_rpcs": 1}) as echo:
        call = asyncio.ensure_future(_say(echo.stub, "x"))
        await servicer.until_inside(1)
        health = health_pb2_grpc.HealthStub(echo.bare)
        answer = await health.Check(health_pb2.HealthCheckRequest(service="liveness"), timeout=5)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        servicer.gate.set()
        await call


async def _say(stub: Any, text: str) -> str:
    answer = await stub.Say(pb().SayRequest(text=text))
    return str(answer.text)


async def _until_served(stub: Any, servicer: Gated) -> None:
    """Call until the place is free; the server learns of a client that left a moment later."""
    servicer.gate.set()
    for _ in range(1000):
        try:
            await _say(stub, "x")
        except grpc.aio.AioRpcError as error:
            assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED  # noqa: PT017 - any other is a failure
        else:
            return
    raise AssertionError("the place was never free again")
