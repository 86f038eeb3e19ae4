"""`mnemesh.memory.v1.RecallService`."""

from __future__ import annotations

from typing import Any

import grpc

from memory.rpc import convert
from memory.rpc.budget import read_budget_s
from memory.usecase.recall import Recall
from mesh.rpc.context import current_call
from mesh.rpc.server import Service
from mnemesh.memory.v1 import recall_service_pb2 as pb
from mnemesh.memory.v1.recall_service_pb2_grpc import RecallServiceServicer, add_RecallServiceServicer_to_server

Context = grpc.aio.ServicerContext[Any, Any]


class RecallServicer(RecallServiceServicer):
    """Serves recall."""

    def __init__(self, recall: Recall) -> None:
        self._recall = recall

    async def Recall(self, request: pb.RecallRequest, _context: Context) -> pb.RecallResponse:
        """Return what memory holds about a question."""
        call = current_call()
        recalled = await self._recall.recall(call, convert.recall_query(request, call.user_id), read_budget_s())
        return pb.RecallResponse(
            results=[convert.recall_result(hit, request.explain) for hit in recalled.hits],
            degraded=convert.degraded(recalled.degraded),
        )


def recall_service(servicer: RecallServicer) -> Service:
    """Return the service for the server to register."""
    return Service(pb.DESCRIPTOR.services_by_name["RecallService"], add_RecallServiceServicer_to_server, servicer)
