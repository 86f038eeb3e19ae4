"""A whole mesh in this process: three servers over socket files, HTTP through the real gateway, a real database.

Learning is done by `learn`, on demand, so that no test has to wait for a worker's next look.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import httpx

from engine.app import EngineServer, EngineWorker
from engine.settings import EngineSettings
from engine.usecase.limits import TurnLimits
from gateway.app import GatewayServer
from gateway.example_avatars import MIA, seed
from gateway.http.limits import HttpLimits
from gateway.settings import GatewaySettings
from memory.app import MemoryServer
from memory.settings import MemorySettings
from mesh.db.settings import DatabaseSettings
from mesh.models.factory import embedder, language_model, structured_model
from mesh.models.settings import ModelSettings
from mesh.rpc.auth import TokenSigner, service_principal
from mesh.rpc.settings import RpcSettings
from mesh.testing.postgres import MeshDatabase
from mnemesh.gateway.v1 import api_key_service_pb2
from mnemesh.gateway.v1.api_key_service_pb2_grpc import ApiKeyServiceStub

KEYS = ("identity-key-of-the-mesh-in-one-process",)
RPC = RpcSettings(drain_s=1.0)


@dataclass(frozen=True)
class MeshOptions:
    """What a test changes.

    Args:
        models: who answers, extracts and makes vectors.
        limits: bounds of a turn; recall gets more time than in production, since everything shares one processor.
        http: bounds of HTTP.
        auth_mode: how callers are proven.
    """

    models: ModelSettings = field(default_factory=ModelSettings)
    limits: TurnLimits = field(default_factory=lambda: TurnLimits(recall_budget_s=5.0))
    http: HttpLimits = field(default_factory=HttpLimits)
    auth_mode: Any = "none"


@dataclass(frozen=True)
class Event:
    """One server-sent event.

    Args:
        id: `epoch.sequence`, or empty.
        name: such as `delta`.
        data: decoded JSON.
    """

    id: str
    name: str
    data: dict[str, Any]


@dataclass(frozen=True)
class Person:
    """A caller over HTTP."""

    http: httpx.AsyncClient
    headers: Mapping[str, str]

    async def call(self, verb: str, path: str, **options: Any) -> httpx.Response:
        """Send a request as this person."""
        headers = {**self.headers, **options.pop("headers", {})}
        return await self.http.request(verb, path, headers=headers, **options)

    async def get(self, path: str, **params: Any) -> Any:
        """Return the JSON of a GET that must succeed."""
        return _checked(await self.call("GET", path, params=params))

    async def post(self, path: str, **body: Any) -> Any:
        """Return the JSON of a POST that must succeed."""
        return _checked(await self.call("POST", path, json=body))

    async def new_session(self, avatar_id: str = MIA.uid) -> str:
        """Return the id of a new session."""
        return str((await self.post("/v1/sessions", avatarId=avatar_id))["session"]["id"])

    async def say(self, session: str, text: str, **more: Any) -> list[Event]:
        """Return every event of a turn."""
        return [event async for event in self.stream(session, text, **more)]

    async def stream(self, session: str, text: str, **more: Any) -> AsyncIterator[Event]:
        """Yield the events of a turn as they come."""
        headers = {**self.headers, "Accept": "text/event-stream"}
        path = f"/v1/sessions/{session}:converse"
        async with self.http.stream("POST", path, json={"text": text, **more}, headers=headers) as answer:
            if answer.status_code != httpx.codes.OK:
                await answer.aread()
                _checked(answer)
            async for event in events_of(answer):
                yield event


@dataclass
class Mesh:
    """A mesh that runs."""

    gateway: GatewayServer
    engine: EngineServer
    memory: MemoryServer
    worker: EngineWorker
    http: httpx.AsyncClient
    grpc: grpc.aio.Channel
    database: MeshDatabase

    def person(self, user_id: str = "") -> Person:
        """Return a caller of mode `none`: a user of their own in the tenant `default`."""
        return Person(self.http, {"X-User-ID": user_id or str(uuid.uuid4())})

    async def keyed_person(self, tenant: str, user_id: str = "", **more: Any) -> Person:
        """Return a caller with an API key of a tenant, which the operator makes."""
        user = user_id or str(uuid.uuid4())
        token = TokenSigner(KEYS, "operator").sign(service_principal("operator", tenant, user), "gateway")
        request = api_key_service_pb2.CreateApiKeyRequest(display_name="test", user_id=user, scopes=["*"], **more)
        stub: Any = ApiKeyServiceStub(self.grpc)
        answer = await stub.CreateApiKey(request, metadata=(("x-mnemesh-identity", token),))
        return Person(self.http, {"Authorization": f"Bearer {answer.secret}"})

    async def learn(self) -> None:
        """Deliver every committed turn to memory."""
        while await self.worker.relay.deliver_due():
            pass


@asynccontextmanager
async def running_mesh(database: MeshDatabase, directory: Path, options: MeshOptions) -> AsyncIterator[Mesh]:
    """Start a mesh on a migrated database, and stop it.

    Args:
        database: with the schemas of all services.
        directory: for socket files; the built-in embedder keeps its prepared model beside it.
        options: what to change.
    """
    seed(database.admin_url)
    addresses = {name: f"unix:{directory}/{name}.sock" for name in ("engine", "memory")}
    async with AsyncExitStack() as stack:
        memory = await _memory(stack, database, addresses["memory"], options)
        engine, worker = await _engine(stack, database, addresses, options)
        gateway, http_port, grpc_port = await _gateway(stack, database, addresses, options)
        http = httpx.AsyncClient(base_url=f"http://127.0.0.1:{http_port}", timeout=30)
        await stack.enter_async_context(http)
        channel = grpc.aio.insecure_channel(f"127.0.0.1:{grpc_port}")  # noqa: TID251 - a caller from outside
        await stack.enter_async_context(channel)
        yield Mesh(gateway, engine, memory, worker, http, channel, database)


async def events_of(answer: httpx.Response) -> AsyncIterator[Event]:
    """Yield the events of a `text/event-stream` body; comments are left out."""
    fields: dict[str, str] = {}
    async for line in answer.aiter_lines():
        if line.startswith(":"):
            continue
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif fields:
            yield Event(fields.get("id", ""), fields.get("event", ""), json.loads(fields["data"]))
            fields = {}


def text_of(events: list[Event]) -> str:
    """Return the answer that a stream's deltas make."""
    return "".join(event.data["delta"]["text"] for event in events if event.name == "delta")


async def _memory(stack: AsyncExitStack, database: MeshDatabase, address: str, options: MeshOptions) -> MemoryServer:
    settings = MemorySettings(
        database=DatabaseSettings(database.urls["memory"]),
        identity_keys=KEYS,
        listen=address,
        models=options.models,
        rpc=RPC,
    )
    make = partial(embedder, options.models, settings.model_cache)
    server = MemoryServer(settings, make, structured_model(options.models))
    await _start(stack, server)
    return server


async def _engine(
    stack: AsyncExitStack, database: MeshDatabase, addresses: Mapping[str, str], options: MeshOptions
) -> tuple[EngineServer, EngineWorker]:
    settings = EngineSettings(
        database=DatabaseSettings(database.urls["engine"]),
        identity_keys=KEYS,
        listen=addresses["engine"],
        memory_target=addresses["memory"],
        limits=options.limits,
        model=options.models,
        rpc=RPC,
    )
    server = EngineServer(settings, language_model(options.models))
    await _start(stack, server)
    worker = EngineWorker(settings)
    stack.push_async_callback(worker.close)
    await worker.start()
    return server, worker


async def _gateway(
    stack: AsyncExitStack, database: MeshDatabase, addresses: Mapping[str, str], options: MeshOptions
) -> tuple[GatewayServer, int, int]:
    settings = GatewaySettings(
        database=DatabaseSettings(database.urls["gateway"]),
        identity_keys=KEYS,
        http_port=0,
        listen="127.0.0.1:0",
        engine_target=addresses["engine"],
        memory_target=addresses["memory"],
        auth_mode=options.auth_mode,
        limits=options.http,
        rpc=RPC,
    )
    server = GatewayServer(settings)
    ports = await _start(stack, server)
    return server, ports.http, ports.grpc


async def _start(stack: AsyncExitStack, server: Any) -> Any:
    stack.push_async_callback(server.close)
    stack.push_async_callback(server.stop, 0.5)
    where = await server.start()
    await server.set_ready(True)
    return where


def _checked(answer: httpx.Response) -> Any:
    assert answer.status_code == httpx.codes.OK, answer.text
    return answer.json()
