"""A server's life: health, draining, addresses, and contracts that it refuses."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from mesh.kernel.errors import FailedPrecondition
from mesh.kernel.reasons import Reason
from mesh.rpc.auth import InternalAuthenticator, TokenVerifier
from mesh.rpc.server import MeshServer, RpcSettings
from tests.contract.mesh_rpc.echo import KEYS, Echo, EchoServicer, echo_service, pb, serving, stubs

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
SERVICE = "meshtest.echo.v1.EchoService"
READY_NAMES = ("", "readiness", SERVICE)


async def _status(echo: Echo, name: str) -> Any:
    health = health_pb2_grpc.HealthStub(echo.bare)
    return (await health.Check(health_pb2.HealthCheckRequest(service=name), timeout=5)).status


async def _states(echo: Echo) -> dict[str, Any]:
    return {name: await _status(echo, name) for name in ("liveness", *READY_NAMES)}


def _expected(ready: Any) -> dict[str, Any]:
    return {"liveness": SERVING, **dict.fromkeys(READY_NAMES, ready)}


async def test_server_is_alive_but_not_ready_until_it_says_so() -> None:
    async with serving(ready=False) as echo:
        assert await _states(echo) == _expected(NOT_SERVING)
        await echo.server.set_ready(True)
        assert await _states(echo) == _expected(SERVING)
        await echo.server.set_ready(False)
        assert await _states(echo) == _expected(NOT_SERVING)


async def test_draining_server_is_alive_not_ready_for_good_and_still_answers() -> None:
    async with serving() as echo:
        await echo.server.drain()
        await echo.server.set_ready(True)
        assert await _states(echo) == _expected(NOT_SERVING)
        assert (await echo.stub.Say(pb().SayRequest(text="still"))).text == "still"


async def test_watch_reports_every_change() -> None:
    async with serving(ready=False) as echo:
        health = health_pb2_grpc.HealthStub(echo.bare)
        watch = health.Watch(health_pb2.HealthCheckRequest(service="readiness"))
        assert (await watch.read()).status == NOT_SERVING
        await echo.server.set_ready(True)
        assert (await watch.read()).status == SERVING
        await echo.server.drain()
        assert (await watch.read()).status == NOT_SERVING
        watch.cancel()


async def test_watcher_does_not_hold_a_server_that_stops() -> None:
    async with serving() as echo:
        watch = health_pb2_grpc.HealthStub(echo.bare).Watch(health_pb2.HealthCheckRequest(service=SERVICE))
        assert (await watch.read()).status == SERVING
        await asyncio.wait_for(echo.server.stop(60), 10)
        assert (await watch.read()).status == NOT_SERVING
        assert await watch.read() is grpc.aio.EOF
        assert await watch.code() is grpc.StatusCode.OK


async def test_watching_an_unknown_name_says_so_and_stays_open() -> None:
    async with serving() as echo:
        watch = health_pb2_grpc.HealthStub(echo.bare).Watch(health_pb2.HealthCheckRequest(service="nobody"))
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
        assert not watch.done()
        watch.cancel()


async def test_unknown_name_is_not_found_and_no_credential_is_asked_for() -> None:
    async with serving() as echo:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await _status(echo, "nobody")
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND


async def test_call_in_progress_finishes_while_the_server_drains_and_new_ones_are_unavailable() -> None:
    servicer = EchoServicer()
    entered, gate = asyncio.Event(), asyncio.Event()

    async def say(request: Any) -> Any:
        entered.set()
        await gate.wait()
        return pb().SayResponse(text=request.text)

    servicer.say = say
    async with serving(servicer=servicer) as echo:
        call = asyncio.ensure_future(_text(echo.stub.Say(pb().SayRequest(text="in progress"))))
        await entered.wait()
        stopping = asyncio.create_task(echo.server.stop(20))
        await _until_refused(echo)
        gate.set()
        assert await call == "in progress"
        await asyncio.wait_for(stopping, 10)


async def test_call_that_does_not_finish_is_cancelled_after_the_grace() -> None:
    servicer = EchoServicer()
    entered, cancelled = asyncio.Event(), asyncio.Event()

    async def say(request: Any) -> Any:
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    servicer.say = say
    async with serving(servicer=servicer) as echo:
        call = echo.stub.Say(pb().SayRequest())
        waiting = asyncio.ensure_future(_text(call))
        await entered.wait()
        await asyncio.wait_for(echo.server.stop(0.1), 10)
        await asyncio.wait_for(cancelled.wait(), 5)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await waiting
        assert caught.value.code() in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}


async def test_stopping_twice_and_stopping_before_the_start_are_harmless() -> None:
    async with serving() as echo:
        await echo.server.stop(0)
        await echo.server.stop(0)
    await _server(RpcSettings()).stop()


async def test_free_port_is_chosen_and_reported() -> None:
    async with serving(settings={"listen": "127.0.0.1:0"}) as echo:
        assert echo.port > 0
        assert (await echo.stub.Say(pb().SayRequest(text="tcp"))).text == "tcp"


async def test_one_server_answers_on_several_addresses() -> None:
    async with serving(settings={"listen": "127.0.0.1:0", "also_listen": ("unix-abstract:mnemesh-test-two",)}) as echo:
        other = grpc.aio.insecure_channel("unix-abstract:mnemesh-test-two")  # noqa: TID251 - a client that is not ours
        answer = await stubs()[1].EchoServiceStub(other).Say(pb().SayRequest(text="2"), metadata=echo.identity())
        assert answer.text == (await echo.stub.Say(pb().SayRequest(text="2"))).text == "2"
        await other.close()


async def test_taken_port_is_an_error_that_names_it() -> None:
    async with serving(settings={"listen": "127.0.0.1:0"}) as echo:
        second = _server(RpcSettings(listen=f"127.0.0.1:{echo.port}"))
        with pytest.raises(FailedPrecondition, match=f"echo cannot listen on 127.0.0.1:{echo.port}") as caught:
            await second.start()
        assert caught.value.reason is Reason.CONFIGURATION_INVALID


def test_method_without_a_scope_is_refused() -> None:
    with pytest.raises(FailedPrecondition, match="OpenService/Say declares no scope"):
        MeshServer("echo", RpcSettings(), [echo_service(EchoServicer(), "OpenService")], _authenticator())


def test_method_that_is_not_implemented_is_refused() -> None:
    class Partial(stubs()[1].EchoServiceServicer):  # type: ignore[misc]
        async def Say(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
            return pb().SayResponse()

    with pytest.raises(TypeError, match="EchoService/Count as an async generator"):
        MeshServer("echo", RpcSettings(), [echo_service(Partial())], _authenticator())


def test_synchronous_method_is_refused() -> None:
    class Synchronous(EchoServicer):
        def Say(self, request: Any, context: Any) -> Any:  # type: ignore[override]  # noqa: N802 - the RPC's name
            return pb().SayResponse()

    with pytest.raises(TypeError, match="EchoService/Say as a coroutine function"):
        MeshServer("echo", RpcSettings(), [echo_service(Synchronous())], _authenticator())


@pytest.mark.parametrize("reflection", [True, False])
async def test_reflection_lists_the_contracts_when_it_is_on(reflection: bool) -> None:
    async with serving(settings={"reflection": reflection}) as echo:
        stub = reflection_pb2_grpc.ServerReflectionStub(echo.bare)
        call = stub.ServerReflectionInfo()
        if not reflection:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call.read()
            assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
            return
        await call.write(reflection_pb2.ServerReflectionRequest(list_services=""))
        listed = [service.name for service in (await call.read()).list_services_response.service]
        await call.done_writing()
        assert SERVICE in listed
        assert "grpc.health.v1.Health" in listed


async def test_socket_file_is_gone_after_the_stop() -> None:
    async with serving() as echo:
        folder = Path(echo.target.removeprefix("unix:")).parent
        assert len(_files(folder)) == 1
        await echo.server.stop(0)
        assert _files(folder) == []


def _files(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def _text(call: Any) -> str:
    return str((await call).text)


async def _until_refused(echo: Echo) -> None:
    """Return when a new connection is refused."""
    for _ in range(2000):
        async with grpc.aio.insecure_channel(  # noqa: TID251 - a client that is not ours
            echo.target, options=[("grpc.use_local_subchannel_pool", 1)]
        ) as channel:
            health = health_pb2_grpc.HealthStub(channel)
            try:
                await health.Check(health_pb2.HealthCheckRequest(service="liveness"), timeout=5)
            except grpc.aio.AioRpcError as error:
                assert error.code() is grpc.StatusCode.UNAVAILABLE  # noqa: PT017 - any other is a failure
                return
    raise AssertionError("the server never refused a call")


def _authenticator() -> InternalAuthenticator:
    return InternalAuthenticator(TokenVerifier(KEYS, "echo"))


def _server(settings: RpcSettings) -> MeshServer:
    return MeshServer("echo", settings, [echo_service(EchoServicer())], _authenticator())
