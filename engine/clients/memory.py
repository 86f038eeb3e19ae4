"""The memory server. Calls carry the engine's own identity, acting for the user of the thread.

A turn outlives the call that started it, so nothing of that call's time or credential is used here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import grpc
from google.protobuf.timestamp_pb2 import Timestamp

from engine.domain.lesson import Lesson
from engine.domain.recall import Recalled, RecalledChunk, RecalledFact, RecallQuery, Skipped
from engine.domain.thread import ThreadKey
from mesh.rpc.auth import service_principal
from mesh.rpc.context import acting_as, own_deadline
from mesh.rpc.status import from_rpc_error
from mnemesh.memory.v1.chunk_pb2 import Chunk, ChunkSource
from mnemesh.memory.v1.fact_pb2 import Fact
from mnemesh.memory.v1.fact_service_pb2 import LearnFromTurnRequest
from mnemesh.memory.v1.fact_service_pb2_grpc import FactServiceStub
from mnemesh.memory.v1.recall_service_pb2 import RecallRequest, RecallResponse
from mnemesh.memory.v1.recall_service_pb2_grpc import RecallServiceStub

SERVER = "engine"
"""The name under which this client acts."""

_SOURCE_PREFIX = "CHUNK_SOURCE_"


class MemoryClient:
    """Recall and learning at the memory server.

    Args:
        channel: to the memory server.
        learn_timeout_s: the deadline of learning from one turn.
    """

    def __init__(self, channel: grpc.aio.Channel, *, learn_timeout_s: float) -> None:
        self._learn_timeout_s = learn_timeout_s
        self._recalls = RecallServiceStub(channel)
        self._facts = FactServiceStub(channel)

    async def recall(self, owner: ThreadKey, query: RecallQuery, timeout_s: float) -> Recalled:
        """Return what memory holds about a query. Memory is told the deadline, so that it can leave out what is late.

        Raises:
            MeshError: memory is late, down or refuses.
        """
        request = RecallRequest(
            query=query.text, avatar_id=query.avatar_id, exclude_session=query.exclude_session, limit=query.limit
        )
        with _as_engine(owner.tenant_id, owner.user_id):
            response: RecallResponse = await self._recalls.Recall(request, timeout=timeout_s)
        return _recalled(response)

    async def learn(self, tenant_id: str, lesson: Lesson) -> None:
        """Make memory learn from a turn; a second time changes nothing.

        Raises:
            MeshError: memory is late, down or refuses.
        """
        turn_time = Timestamp()
        turn_time.FromDatetime(lesson.accepted_at)
        request = LearnFromTurnRequest(
            session_id=lesson.session_id,
            turn_id=lesson.turn_id,
            user_seq=lesson.user_seq,
            assistant_seq=lesson.assistant_seq,
            avatar_id=lesson.avatar_id,
            avatar_name=lesson.avatar_name,
            user_text=lesson.user_text,
            assistant_text=lesson.assistant_text,
            assistant_grounded=lesson.assistant_grounded,
            turn_time=turn_time,
            time_zone=lesson.time_zone,
        )
        with _as_engine(tenant_id, lesson.user_id):
            await self._facts.LearnFromTurn(request, timeout=self._learn_timeout_s)


@contextmanager
def _as_engine(tenant_id: str, user_id: str) -> Iterator[None]:
    with acting_as(service_principal(SERVER, tenant_id, user_id)), own_deadline(math.inf):
        try:
            yield
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from error


def _recalled(response: RecallResponse) -> Recalled:
    facts: list[RecalledFact] = []
    chunks: list[RecalledChunk] = []
    for result in response.results:
        match result.WhichOneof("item"):
            case "fact":
                facts.append(_fact(result.fact, result.score))
            case "chunk":
                chunks.append(_chunk(result.chunk, result.score))
    return Recalled(facts, chunks, [Skipped(arm.arm, arm.reason) for arm in response.degraded])


def _fact(fact: Fact, score: float) -> RecalledFact:
    return RecalledFact(
        id=fact.id,
        revision=fact.etag,
        subject=fact.subject,
        key=fact.key,
        value=fact.value,
        excerpt=fact.source.excerpt,
        at=_time(fact.observe_time) if fact.HasField("observe_time") else None,
        score=score,
        message=fact.SerializeToString(),
    )


def _chunk(chunk: Chunk, score: float) -> RecalledChunk:
    return RecalledChunk(
        id=chunk.id,
        source=ChunkSource.Name(chunk.source).removeprefix(_SOURCE_PREFIX).lower(),
        speaker=chunk.speaker,
        text=chunk.text,
        at=_time(chunk.sent_time) if chunk.HasField("sent_time") else None,
        score=score,
        message=chunk.SerializeToString(),
    )


def _time(value: Timestamp) -> datetime:
    return value.ToDatetime(tzinfo=UTC)
