"""A memory server for tests: the real contract behind the real interceptors, answers from a script."""

# ruff: noqa: N802 - methods have the names of the contract

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from mesh.kernel.errors import MeshError, Unimplemented
from mesh.kernel.identity import Call
from mesh.kernel.reasons import Reason
from mesh.rpc.auth import InternalAuthenticator, TokenVerifier
from mesh.rpc.context import current_call, remaining_s
from mesh.rpc.server import MeshServer, RpcSettings, Service
from mnemesh.memory.v1 import chunk_pb2, fact_pb2, fact_service_pb2, recall_service_pb2
from mnemesh.memory.v1.fact_service_pb2_grpc import FactServiceServicer, add_FactServiceServicer_to_server
from mnemesh.memory.v1.recall_service_pb2_grpc import RecallServiceServicer, add_RecallServiceServicer_to_server


def stamp(at: datetime) -> Timestamp:
    value = Timestamp()
    value.FromDatetime(at)
    return value


FACT = recall_service_pb2.RecallResult(
    fact=fact_pb2.Fact(
        id="00000000-0000-4000-8000-00000000fac7",
        subject="user",
        key="home_city",
        value="Lviv",
        source=fact_pb2.FactSource(excerpt="I live in Lviv"),
        observe_time=stamp(datetime(2026, 5, 20, 10, tzinfo=UTC)),
        etag="etag-1",
    ),
    score=0.91,
)
CHUNK = recall_service_pb2.RecallResult(
    chunk=chunk_pb2.Chunk(
        id="00000000-0000-4000-8000-0000000c4a4c",
        source=chunk_pb2.CHUNK_SOURCE_CONVERSATION,
        speaker="Mia",
        text="We went to the opera.",
        sent_time=stamp(datetime(2026, 5, 21, 8, 30, tzinfo=UTC)),
    ),
    score=0.86,
)


class MemoryServer:
    """What the engine asked for, and what it is answered."""

    def __init__(self, keys: tuple[str, ...], socket: Path) -> None:
        self.target = f"unix:{socket}"
        self.recalls: list[tuple[Call, recall_service_pb2.RecallRequest]] = []
        self.lessons: list[tuple[Call, fact_service_pb2.LearnFromTurnRequest]] = []
        self.recall_budgets_s: list[float] = []
        self.results: list[recall_service_pb2.RecallResult] = [FACT, CHUNK]
        self.degraded: list[recall_service_pb2.DegradedArm] = []
        self.recall_error: MeshError | None = None
        self.learn_error: MeshError | None = None
        self.recall_gate: asyncio.Event | None = None
        self.learned = asyncio.Event()
        self._keys = keys
        self._server: MeshServer | None = None

    async def start(self) -> None:
        services = [
            Service(
                recall_service_pb2.DESCRIPTOR.services_by_name["RecallService"],
                add_RecallServiceServicer_to_server,
                _Recall(self),
            ),
            Service(
                fact_service_pb2.DESCRIPTOR.services_by_name["FactService"],
                add_FactServiceServicer_to_server,
                _Facts(self),
            ),
        ]
        authenticator = InternalAuthenticator(TokenVerifier(self._keys, "memory"))
        self._server = MeshServer("memory", RpcSettings(listen=self.target), services, authenticator)
        await self._server.start()

    async def stop(self) -> None:
        if self._server is not None:
            await self._server.stop(0)
            self._server = None


class _Recall(RecallServiceServicer):
    def __init__(self, memory: MemoryServer) -> None:
        self._memory = memory

    async def Recall(self, request: Any, context: object) -> recall_service_pb2.RecallResponse:
        memory = self._memory
        memory.recalls.append((current_call(), request))
        memory.recall_budgets_s.append(remaining_s())
        if memory.recall_gate is not None:
            await memory.recall_gate.wait()
        if memory.recall_error is not None:
            raise memory.recall_error
        return recall_service_pb2.RecallResponse(results=memory.results, degraded=memory.degraded)


class _Facts(FactServiceServicer):
    def __init__(self, memory: MemoryServer) -> None:
        self._memory = memory

    async def LearnFromTurn(self, request: Any, context: object) -> fact_service_pb2.LearnFromTurnResponse:
        memory = self._memory
        memory.lessons.append((current_call(), request))
        memory.learned.set()
        if memory.learn_error is not None:
            raise memory.learn_error
        return fact_service_pb2.LearnFromTurnResponse()

    async def RememberFacts(self, request: Any, context: object) -> Any:
        raise _not_here()

    async def GetFact(self, request: Any, context: object) -> Any:
        raise _not_here()

    async def ListFacts(self, request: Any, context: object) -> Any:
        raise _not_here()

    async def DeleteFact(self, request: Any, context: object) -> Any:
        raise _not_here()


def _not_here() -> MeshError:
    return Unimplemented(Reason.METHOD_NOT_FOUND, "not part of these tests")
