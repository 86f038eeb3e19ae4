"""What a channel does besides metadata: retries by the service config, balancing, reconnecting."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from google.protobuf.message_factory import GetMessageClass

from mesh.kernel.errors import Unavailable
from mesh.kernel.reasons import Reason
from mesh.rpc.auth import InternalAuthenticator, TokenSigner, TokenVerifier, service_principal
from mesh.rpc.channel import connect
from mesh.rpc.context import acting_as
from mesh.rpc.server import MeshServer, RpcSettings, Service
from mesh.rpc.status import from_rpc_error
from mnemesh.memory.v1 import fact_service_pb2, fact_service_pb2_grpc
from tests.contract.mesh_rpc.echo import KEYS, USER_ID

FACT_SERVICE = fact_service_pb2.DESCRIPTOR.services_by_name["FactService"]
FACT_ID = "0b7a3b0e-2f0e-4f7e-9a53-1b1b1b1b1b1b"


class Facts:
    """Serves every method of the contract: fails as often as it is told to, then answers with an empty message."""

    def __init__(self, failures: int = 0, error: Exception | None = None) -> None:
        self.failures = failures
        self.error = error or Unavailable(Reason.DATABASE_UNAVAILABLE, "away")
        self.calls = 0
        for method in FACT_SERVICE.methods:
            setattr(self, method.name, self._method(GetMessageClass(method.output_type)))

    def _method(self, answer: Any) -> Any:
        async def serve(request: Any, context: Any) -> Any:
            self.calls += 1
            if self.calls <= self.failures:
                raise self.error
            return answer()

        return serve


def _server(facts: Facts, listen: str) -> MeshServer:
    service = Service(FACT_SERVICE, fact_service_pb2_grpc.add_FactServiceServicer_to_server, facts)
    settings = RpcSettings(listen=listen, max_connection_age_s=600)
    return MeshServer("memory", settings, [service], InternalAuthenticator(TokenVerifier(KEYS, "memory")))


@asynccontextmanager
async def memory(*servers: Facts) -> AsyncIterator[Any]:
    """Serve on one address for each servicer, and yield a stub to all of them."""
    running = [_server(facts, "127.0.0.1:0") for facts in servers]
    ports = [await server.start() for server in running]
    target = "ipv4:" + ",".join(f"127.0.0.1:{port}" for port in ports)
    channel = connect(target, "memory", TokenSigner(KEYS, "tests"))
    try:
        with acting_as(service_principal("tests", "acme", USER_ID)):
            yield fact_service_pb2_grpc.FactServiceStub(channel)
    finally:
        await channel.close()
        for server in running:
            await server.stop(0)


def _get() -> Any:
    return fact_service_pb2.GetFactRequest(id=FACT_ID)


async def test_read_is_retried_when_the_server_is_unavailable() -> None:
    facts = Facts(failures=2)
    async with memory(facts) as stub:
        await stub.GetFact(_get())
    assert facts.calls == 3


async def test_write_is_not_retried() -> None:
    facts = Facts(failures=1)
    async with memory(facts) as stub:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.DeleteFact(fact_service_pb2.DeleteFactRequest(id=FACT_ID))
    assert from_rpc_error(caught.value).reason is Reason.DATABASE_UNAVAILABLE
    assert facts.calls == 1


async def test_other_errors_are_not_retried() -> None:
    facts = Facts(failures=1, error=RuntimeError("x"))
    async with memory(facts) as stub:
        with pytest.raises(grpc.aio.AioRpcError):
            await stub.GetFact(_get())
    assert facts.calls == 1


async def test_retries_have_a_budget() -> None:
    facts = Facts(failures=10_000)
    async with memory(facts) as stub:
        for _ in range(12):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await stub.GetFact(_get())
            assert from_rpc_error(caught.value).reason is Reason.DATABASE_UNAVAILABLE
    assert 12 < facts.calls < 12 * 4 - 12, "retries must dry up when nothing succeeds"


async def test_calls_are_spread_over_all_addresses() -> None:
    first, second = Facts(), Facts()
    async with memory(first, second) as stub:
        for _ in range(3):  # until both connections stand
            await stub.GetFact(_get(), wait_for_ready=True)
        while not (first.calls and second.calls):
            await stub.GetFact(_get())
        before = first.calls, second.calls
        for _ in range(20):
            await stub.GetFact(_get())
    assert (first.calls - before[0], second.calls - before[1]) == (10, 10)


async def test_channel_finds_a_server_that_was_restarted() -> None:
    with tempfile.TemporaryDirectory(prefix="mn") as folder, acting_as(service_principal("tests", "acme", USER_ID)):
        listen = f"unix:{folder}/s"
        channel = connect(listen, "memory", TokenSigner(KEYS, "tests"))
        stub = fact_service_pb2_grpc.FactServiceStub(channel)
        for _ in range(2):
            server = _server(Facts(), listen)
            await server.start()
            await stub.GetFact(_get(), timeout=20, wait_for_ready=True)
            await server.stop(0)
        await channel.close()


async def test_channel_is_a_grpc_channel() -> None:
    channel = connect("127.0.0.1:1", "memory", None)
    async with channel as entered:
        assert isinstance(entered, grpc.aio.Channel)
        assert entered.get_state() is grpc.ChannelConnectivity.IDLE
