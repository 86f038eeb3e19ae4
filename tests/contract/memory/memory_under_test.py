"""A memory server in this process on a socket file, and callers that speak to it as users."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from memory.app import MemoryServer, MemoryWorker
from memory.settings import MemorySettings
from mesh.db.settings import DatabaseSettings
from mesh.kernel.errors import MeshError
from mesh.kernel.identity import Principal
from mesh.models.protocols import Embedder, StructuredModel
from mesh.rpc.auth import TokenSigner, service_principal
from mesh.rpc.channel import connect
from mesh.rpc.context import acting_as
from mesh.rpc.status import from_rpc_error
from mnemesh.memory.v1 import chunk_pb2, chunk_service_pb2, fact_pb2, fact_service_pb2, recall_service_pb2
from mnemesh.memory.v1.chunk_service_pb2_grpc import ChunkServiceStub
from mnemesh.memory.v1.fact_service_pb2_grpc import FactServiceStub
from mnemesh.memory.v1.recall_service_pb2_grpc import RecallServiceStub
from tests.contract.memory.hashing_embedder import HashingEmbedder

KEYS = ("a key for tests that is longer than 32 bytes",)
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
AVATAR = "0b6f3f5e-58b5-4a1c-9f0e-6176617461aa"


def new_uuid() -> str:
    return str(uuid.uuid4())


def stamp(at: datetime) -> Timestamp:
    message = Timestamp()
    message.FromDatetime(at)
    return message


def said(source_id: str, text: str, minute: int = 0, **fields: Any) -> chunk_pb2.DialogMessage:
    """Return a message of a dialogue that was said some minutes after `START`."""
    at = START + timedelta(minutes=minute)
    return chunk_pb2.DialogMessage(source_id=source_id, text=text, sent_time=stamp(at), **fields)


def stated(key: str, value: str, hour: int = 0, **fields: Any) -> fact_pb2.NewFact:
    """Return a fact that was observed some hours after `START`."""
    return fact_pb2.NewFact(key=key, value=value, observe_time=stamp(START + timedelta(hours=hour)), **fields)


@dataclass(frozen=True)
class User:
    """Speaks to the server as one user of one tenant."""

    channel: grpc.aio.Channel
    principal: Principal

    async def _call(self, method: Callable[[Any], Awaitable[Any]], request: Any, **options: Any) -> Any:
        with acting_as(self.principal):
            try:
                return await method(request, **options)
            except grpc.aio.AioRpcError as error:
                raise from_rpc_error(error) from error

    async def remember(self, *facts: fact_pb2.NewFact, **fields: Any) -> fact_service_pb2.RememberFactsResponse:
        request = fact_service_pb2.RememberFactsRequest(facts=facts, **fields)
        return await self._call(FactServiceStub(self.channel).RememberFacts, request)

    async def learn(self, text: str, **fields: Any) -> fact_service_pb2.LearnFromTurnResponse:
        request = lesson(text, **fields)
        return await self.as_engine()._call(FactServiceStub(self.channel).LearnFromTurn, request)

    async def get(self, fact_id: str) -> fact_pb2.Fact:
        response = await self._call(FactServiceStub(self.channel).GetFact, fact_service_pb2.GetFactRequest(id=fact_id))
        return response.fact

    async def list(self, **fields: Any) -> fact_service_pb2.ListFactsResponse:
        return await self._call(FactServiceStub(self.channel).ListFacts, fact_service_pb2.ListFactsRequest(**fields))

    async def facts(self, **fields: Any) -> dict[str, str]:
        """Return active facts as key and value."""
        return {fact.key: fact.value for fact in (await self.list(**fields)).facts}

    async def delete(self, fact_id: str, **fields: Any) -> fact_service_pb2.DeleteFactResponse:
        request = fact_service_pb2.DeleteFactRequest(id=fact_id, **fields)
        return await self._call(FactServiceStub(self.channel).DeleteFact, request)

    async def ingest(self, *messages: chunk_pb2.DialogMessage, **fields: Any) -> chunk_service_pb2.IngestDialogResponse:
        options = {"timeout": fields.pop("timeout")} if "timeout" in fields else {}
        request = chunk_service_pb2.IngestDialogRequest(messages=messages, **fields)
        return await self._call(ChunkServiceStub(self.channel).IngestDialog, request, **options)

    async def search(self, query: str, **fields: Any) -> chunk_service_pb2.SearchChunksResponse:
        request = chunk_service_pb2.SearchChunksRequest(query=query, **fields)
        return await self._call(ChunkServiceStub(self.channel).SearchChunks, request)

    async def recall(self, query: str, **fields: Any) -> recall_service_pb2.RecallResponse:
        options = {"timeout": fields.pop("timeout")} if "timeout" in fields else {}
        request = recall_service_pb2.RecallRequest(query=query, **fields)
        return await self._call(RecallServiceStub(self.channel).Recall, request, **options)

    async def recalled(self, query: str, **fields: Any) -> list[str]:
        """Return the texts of what is recalled, best first; a fact as `key=value`."""
        return [text_of(result) for result in (await self.recall(query, **fields)).results]

    def as_engine(self) -> User:
        """Return the engine acting for this user."""
        return User(self.channel, service_principal("engine", self.principal.tenant_id, self.principal.user_id))

    def with_scopes(self, *scopes: str) -> User:
        principal = Principal(self.principal.tenant_id, self.principal.user_id, frozenset(scopes))
        return User(self.channel, principal)


def text_of(result: recall_service_pb2.RecallResult) -> str:
    if result.WhichOneof("item") == "fact":
        return f"{result.fact.key}={result.fact.value}"
    return result.chunk.text


def lesson(text: str, **fields: Any) -> fact_service_pb2.LearnFromTurnRequest:
    """Return a turn in which the user said a text."""
    defaults: dict[str, Any] = {
        "session_id": new_uuid(),
        "turn_id": new_uuid(),
        "user_seq": 0,
        "assistant_seq": 1,
        "avatar_id": AVATAR,
        "avatar_name": "Mira",
        "turn_time": stamp(START),
        "time_zone": "Europe/Kyiv",
    }
    return fact_service_pb2.LearnFromTurnRequest(user_text=text, **{**defaults, **fields})


class MemoryUnderTest:
    """The server, and what a test needs to reach it."""

    def __init__(
        self, database_url: str, directory: Path, embedder: Embedder | None = None, model: StructuredModel | None = None
    ) -> None:
        self.embedder = HashingEmbedder() if embedder is None else embedder
        self.settings = MemorySettings(
            database=DatabaseSettings(database_url, pool_max=8),
            identity_keys=KEYS,
            listen=f"unix:{directory}/{new_uuid()[:8]}.sock",
        )
        self.server = MemoryServer(self.settings, lambda stored: self.embedder, model)
        self.channel = connect(self.settings.listen, "memory", TokenSigner(KEYS, "gateway"))

    async def start(self) -> None:
        await self.server.start()
        await self.server.set_ready(True)

    async def stop(self) -> None:
        await self.channel.close()
        await self.server.stop(0)
        await self.server.close()

    def user(self, tenant_id: str = "acme", user_id: str = "") -> User:
        """Return a user whom no other test knows."""
        return User(self.channel, Principal(tenant_id, user_id or new_uuid(), frozenset({"*"})))

    def worker(self) -> MemoryWorker:
        return MemoryWorker(self.settings, lambda stored: self.embedder)


async def refused(call: Awaitable[Any]) -> MeshError:
    """Return the error of a call that must fail."""
    with pytest.raises(MeshError) as caught:
        await call
    return caught.value


def fields_of(error: MeshError) -> list[str]:
    return [violation.field for violation in error.details.violations]
