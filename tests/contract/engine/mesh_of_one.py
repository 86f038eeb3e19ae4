"""An engine and what surrounds it in a test: its database, a memory server, a scripted model, a client."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import grpc
import psycopg
from psycopg.rows import dict_row

from engine.app import EngineServer
from engine.settings import EngineSettings
from engine.usecase.limits import TurnLimits
from mesh.db.settings import DatabaseSettings
from mesh.rpc.auth import TokenSigner, service_principal
from mesh.rpc.channel import connect
from mesh.rpc.context import acting_as
from mnemesh.conversation.v1 import conversation_service_pb2 as pb
from mnemesh.conversation.v1.conversation_service_pb2_grpc import ConversationServiceStub
from tests.contract.engine.memory_server import MemoryServer
from tests.contract.engine.scripted_model import ScriptedModel

if TYPE_CHECKING:
    from mnemesh.conversation.v1.conversation_service_pb2_grpc import ConversationServiceAsyncStub

KEYS = ("0123456789abcdef0123456789abcdef",)
TENANT = "default"
USER = "11111111-1111-4111-8111-111111111111"
AVATAR = pb.AvatarProfile(
    uid="aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa", slug="mia", name="Mia", system_prompt="You are Mia."
)

EMPTY = """
truncate engine.thread_state, engine.session_events, engine.turns, engine.token_usage, engine.outbox,
         engine.idempotency, engine.leases
"""


def new_uuid() -> str:
    return str(uuid.uuid4())


@dataclass(frozen=True)
class Caller:
    """A user as the gateway would present it."""

    tenant_id: str = TENANT
    user_id: str = USER


@dataclass
class EngineUnderTest:
    """One running engine."""

    server: EngineServer
    stub: ConversationServiceAsyncStub

    async def converse(
        self, session_id: str, text: str = "Hi", request_id: str = "", caller: Caller = Caller(), **fields: Any
    ) -> list[pb.ConverseResponse]:
        """Return the whole stream of one message."""
        return await rest(self.call(session_id, text, request_id, caller, **fields))

    def call(
        self, session_id: str, text: str = "Hi", request_id: str = "", caller: Caller = Caller(), **fields: Any
    ) -> grpc.aio.UnaryStreamCall[pb.ConverseRequest, pb.ConverseResponse]:
        """Start the call of one message."""
        avatar = pb.AvatarProfile()
        avatar.CopyFrom(AVATAR)
        avatar.MergeFrom(pb.AvatarProfile(**fields.pop("avatar_changes", {})))
        request = pb.ConverseRequest(session_id=session_id, avatar=avatar, text=text, request_id=request_id, **fields)
        with acting_as(service_principal("gateway", caller.tenant_id, caller.user_id)):
            return self.stub.Converse(request)

    async def turns(self, session_id: str, caller: Caller = Caller(), **fields: Any) -> pb.ListTurnsResponse:
        with acting_as(service_principal("gateway", caller.tenant_id, caller.user_id)):
            return await self.stub.ListTurns(pb.ListTurnsRequest(session_id=session_id, **fields))

    async def turn(self, session_id: str, turn_id: str, caller: Caller = Caller()) -> Any:
        with acting_as(service_principal("gateway", caller.tenant_id, caller.user_id)):
            response = await self.stub.GetTurn(pb.GetTurnRequest(session_id=session_id, turn_id=turn_id))
        return response.turn


@dataclass
class MeshOfOne:
    """Starts engines over one database and one memory server."""

    database_url: str
    admin_url: str
    directory: Path
    memory: MemoryServer
    stack: AsyncExitStack
    limits: TurnLimits = field(default_factory=lambda: TurnLimits(recall_budget_s=5.0))
    count: int = 0
    caller: Caller = field(default_factory=Caller)

    def settings(self, **changes: Any) -> EngineSettings:
        self.count += 1
        values: dict[str, Any] = {
            "database": DatabaseSettings(self.database_url),
            "identity_keys": KEYS,
            "listen": f"unix:{self.directory}/engine-{self.count}.sock",
            "memory_target": self.memory.target,
            "limits": self.limits,
        }
        return EngineSettings(**{**values, **changes})

    async def engine(self, model: ScriptedModel | None = None, **changes: Any) -> EngineUnderTest:
        """Start an engine."""
        settings = self.settings(**changes)
        server = EngineServer(settings, model or ScriptedModel())
        await server.start()
        self.stack.push_async_callback(server.close)
        self.stack.push_async_callback(server.stop)
        channel = connect(settings.listen, "engine", TokenSigner(KEYS, "gateway"))
        self.stack.push_async_callback(channel.close)
        return EngineUnderTest(server, ConversationServiceStub(channel))

    async def rows(self, query: str, *params: Any) -> list[dict[str, Any]]:
        """Return rows of a query that sees every tenant."""
        connection = await psycopg.AsyncConnection.connect(self.admin_url, autocommit=True, row_factory=dict_row)
        async with connection:
            cursor = await connection.execute(query.encode(), params)
            return await cursor.fetchall() if cursor.description else []


async def eventually(check: Callable[[], Awaitable[bool]], timeout_s: float = 10.0) -> None:
    """Wait until a condition of the outer world holds."""
    async with asyncio.timeout(timeout_s):
        while True:
            if await check():
                return
            await asyncio.sleep(0.02)


async def first(call: grpc.aio.UnaryStreamCall[pb.ConverseRequest, pb.ConverseResponse]) -> pb.ConverseResponse:
    """Return the first event of a stream: its message is stored by then."""
    return cast("pb.ConverseResponse", await call.read())


async def rest(call: grpc.aio.UnaryStreamCall[pb.ConverseRequest, pb.ConverseResponse]) -> list[pb.ConverseResponse]:
    """Return what a stream still holds."""
    events = []
    while (event := await call.read()) is not grpc.aio.EOF:
        events.append(cast("pb.ConverseResponse", event))
    return events


def kinds(events: list[pb.ConverseResponse]) -> list[str]:
    """Return the kinds of a stream's events, deltas as one."""
    found = [str(event.WhichOneof("event")) for event in events]
    return [kind for at, kind in enumerate(found) if kind != "delta" or at == 0 or found[at - 1] != "delta"]


def answer(events: list[pb.ConverseResponse]) -> str:
    """Return the streamed answer."""
    return "".join(event.delta.text for event in events if event.WhichOneof("event") == "delta")
