# ruff: noqa: N802 - methods of a servicer have the names of their RPCs
"""The test service: compiled on first use, served on a socket file, its behaviour set by each test."""

from __future__ import annotations

import importlib
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import grpc
import grpc_tools
from grpc_tools import protoc

from mesh.kernel.identity import Principal
from mesh.kernel.ids import new_id
from mesh.rpc.auth import Authenticator, InternalAuthenticator, TokenSigner, TokenVerifier
from mesh.rpc.channel import ChannelSettings, connect
from mesh.rpc.context import acting_as
from mesh.rpc.server import MeshServer, RpcSettings, Service
from mesh.telemetry.traces import Tracing

ROOT = Path(__file__).parents[3]
KEYS = ("test-key-a-0123456789abcdef0123456789", "test-key-b-0123456789abcdef0123456789")
USER_ID = "6a1f6a46-6d0c-4c5e-9a3e-3f6a5b0c7d11"
CALLER = Principal("acme", USER_ID, frozenset({"echo.read", "echo.write"}), credential="api_key:1")


@cache
def stubs() -> tuple[Any, Any]:
    """Return the modules of the compiled contract: messages and gRPC."""
    here = Path(__file__).parent
    out = tempfile.mkdtemp(prefix="mesh_rpc_echo")
    includes = [here, ROOT / "proto", ROOT / "proto" / "third_party", Path(grpc_tools.__file__).parent / "_proto"]
    arguments = ["protoc", *(f"-I{path}" for path in includes), f"--python_out={out}", f"--grpc_python_out={out}"]
    assert protoc.main([*arguments, "mesh_rpc_echo.proto"]) == 0
    sys.path.insert(0, out)
    return importlib.import_module("mesh_rpc_echo_pb2"), importlib.import_module("mesh_rpc_echo_pb2_grpc")


def pb() -> Any:
    return stubs()[0]


Say = Callable[[Any], Awaitable[Any]]


class EchoServicer:
    """Answers as its attributes say."""

    def __init__(self) -> None:
        self.say: Say = self._echo
        self.count: Callable[[Any], AsyncIterator[Any]] = self._numbers
        self.seen: list[Any] = []
        self.initial_metadata: Mapping[str, str] = {}

    async def _echo(self, request: Any) -> Any:
        return pb().SayResponse(text=request.text)

    async def _numbers(self, request: Any) -> AsyncIterator[Any]:
        for number in range(request.to):
            yield pb().SayResponse(number=number)

    async def Say(self, request: Any, context: Any) -> Any:
        self.seen.append(request)
        return await self.say(request)

    async def Maintain(self, request: Any, context: Any) -> Any:
        return await self.say(request)

    async def Count(self, request: Any, context: Any) -> AsyncIterator[Any]:
        async for item in self.count(request):
            yield item

    async def Gather(self, requests: AsyncIterator[Any], context: Any) -> Any:
        texts = [request.text async for request in requests]
        return pb().SayResponse(text=" ".join(texts), number=len(texts))

    async def Chat(self, requests: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:
        async for request in requests:
            yield await self.say(request)


@dataclass
class Echo:
    """A running test server and ways to reach it."""

    server: MeshServer
    servicer: EchoServicer
    target: str
    signer: TokenSigner
    bare: grpc.aio.Channel
    channel: grpc.aio.Channel
    port: int = 0
    stub: Any = field(init=False)

    def __post_init__(self) -> None:
        self.stub = stubs()[1].EchoServiceStub(self.channel)

    @property
    def bare_stub(self) -> Any:
        """A stub whose calls carry only what the test gives them."""
        return stubs()[1].EchoServiceStub(self.bare)

    def identity(self, principal: Principal = CALLER, audience: str = "echo") -> tuple[tuple[str, str], ...]:
        return (("x-mnemesh-identity", self.signer.sign(principal, audience)),)

    async def raw(self, method: str, request: bytes, **options: Any) -> bytes:
        """Call a unary method with bytes, with the caller's identity unless metadata is given."""
        options.setdefault("metadata", self.identity())
        call = self.bare.unary_unary(f"/meshtest.echo.v1.EchoService/{method}")
        answer: bytes = await call(request, **options)
        return answer


def echo_service(servicer: Any, name: str = "EchoService") -> Service:
    messages, grpc_module = stubs()
    register = getattr(grpc_module, f"add_{name}Servicer_to_server")
    return Service(messages.DESCRIPTOR.services_by_name[name], register, servicer)


@asynccontextmanager
async def serving(
    *,
    settings: Mapping[str, Any] | None = None,
    authenticator: Authenticator | None = None,
    servicer: EchoServicer | None = None,
    channel: ChannelSettings | None = None,
    tracing: Tracing | None = None,
    ready: bool = True,
) -> AsyncIterator[Echo]:
    """Serve the test contract on a socket file, with the caller's identity current in the block."""
    servicer = servicer or EchoServicer()
    with tempfile.TemporaryDirectory(prefix="mn") as folder:
        target = f"unix:{folder}/{new_id()[:8]}.sock"
        rpc_settings = RpcSettings(**{"listen": target, **(settings or {})})
        verifier = authenticator or InternalAuthenticator(TokenVerifier(KEYS, "echo"))
        server = MeshServer("echo", rpc_settings, [echo_service(servicer)], verifier, tracing=tracing)
        port = await server.start()
        await server.set_ready(ready)
        signer = TokenSigner(KEYS, "tests")
        target = rpc_settings.listen if port == 0 else f"127.0.0.1:{port}"
        bare = grpc.aio.insecure_channel(target)  # noqa: TID251 - a client that is not ours
        mesh = connect(target, "echo", signer, channel, tracing=tracing)
        try:
            with acting_as(CALLER):
                yield Echo(server, servicer, target, signer, bare, mesh, port)
        finally:
            await mesh.close()
            await bare.close()
            await server.stop(0)
