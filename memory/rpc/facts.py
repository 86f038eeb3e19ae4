"""`mnemesh.memory.v1.FactService`: each method is one use case."""

from __future__ import annotations

from typing import Any

import grpc

from memory.domain.fact import FactFilter
from memory.rpc import convert
from memory.rpc.budget import vector_budget_s
from memory.usecase.facts import Facts
from memory.usecase.learn import LearnFromTurn
from memory.usecase.remember import RememberFacts
from mesh.kernel.clock import Clock
from mesh.rpc.context import current_call
from mesh.rpc.server import Service
from mnemesh.memory.v1 import fact_service_pb2 as pb
from mnemesh.memory.v1.fact_service_pb2_grpc import FactServiceServicer, add_FactServiceServicer_to_server

Context = grpc.aio.ServicerContext[Any, Any]


class FactServicer(FactServiceServicer):
    """Serves facts."""

    def __init__(self, remember: RememberFacts, learn: LearnFromTurn, facts: Facts, clock: Clock) -> None:
        self._remember = remember
        self._learn = learn
        self._facts = facts
        self._clock = clock

    async def RememberFacts(self, request: pb.RememberFactsRequest, _context: Context) -> pb.RememberFactsResponse:
        """Store stated facts."""
        stated = [convert.new_fact(fact, index, self._clock) for index, fact in enumerate(request.facts)]
        stored = await self._remember.remember(current_call(), request.avatar_id.lower(), stated, vector_budget_s())
        return pb.RememberFactsResponse(results=convert.remembered(stored.results))

    async def LearnFromTurn(self, request: pb.LearnFromTurnRequest, _context: Context) -> pb.LearnFromTurnResponse:
        """Learn from a turn."""
        learned = await self._learn.learn(current_call(), convert.turn(request))
        return pb.LearnFromTurnResponse(
            results=convert.remembered(learned.results), chunks_inserted=learned.chunks_inserted
        )

    async def GetFact(self, request: pb.GetFactRequest, _context: Context) -> pb.GetFactResponse:
        """Return one fact."""
        return pb.GetFactResponse(fact=convert.fact(await self._facts.get(current_call(), request.id.lower())))

    async def ListFacts(self, request: pb.ListFactsRequest, _context: Context) -> pb.ListFactsResponse:
        """Return a page of facts."""
        which = FactFilter(
            convert.statuses(request.statuses), request.avatar_id.lower(), request.key, request.turn_id.lower()
        )
        page = await self._facts.list(current_call(), which, request.page_size, request.page_token)
        return pb.ListFactsResponse(
            facts=[convert.fact(fact) for fact in page.items], next_page_token=page.next_page_token
        )

    async def DeleteFact(self, request: pb.DeleteFactRequest, _context: Context) -> pb.DeleteFactResponse:
        """Delete a fact softly."""
        deleted = await self._facts.delete(current_call(), convert.deletion(request))
        return pb.DeleteFactResponse(fact=convert.fact(deleted.fact), chunks_deleted=deleted.chunks_deleted)


def fact_service(servicer: FactServicer) -> Service:
    """Return the service for the server to register."""
    return Service(pb.DESCRIPTOR.services_by_name["FactService"], add_FactServiceServicer_to_server, servicer)
