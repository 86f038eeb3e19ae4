"""`mnemesh.conversation.v1.ConversationService`: each method is one use case."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import grpc

from engine.rpc import convert
from engine.usecase.converse import Converse
from engine.usecase.turns import GetTurn, ListTurns
from mesh.rpc.context import current_call
from mesh.rpc.server import Service
from mnemesh.conversation.v1 import conversation_service_pb2 as pb
from mnemesh.conversation.v1.conversation_service_pb2_grpc import (
    ConversationServiceServicer,
    add_ConversationServiceServicer_to_server,
)

Context = grpc.aio.ServicerContext[Any, Any]


class ConversationServicer(ConversationServiceServicer):
    """Serves conversations."""

    def __init__(self, converse: Converse, list_turns: ListTurns, get_turn: GetTurn) -> None:
        self._converse = converse
        self._list_turns = list_turns
        self._get_turn = get_turn

    async def Converse(self, request: pb.ConverseRequest, _context: Context) -> AsyncIterator[pb.ConverseResponse]:
        """Stream one turn."""
        async with aclosing(await self._converse(current_call(), convert.message(request))) as events:
            async for event in events:
                yield convert.response(event)

    async def ListTurns(self, request: pb.ListTurnsRequest, _context: Context) -> pb.ListTurnsResponse:
        """Return a page of turns."""
        page = await self._list_turns(current_call(), request.session_id.lower(), request.page_size, request.page_token)
        return pb.ListTurnsResponse(
            turns=[convert.turn(turn) for turn in page.items], next_page_token=page.next_page_token
        )

    async def GetTurn(self, request: pb.GetTurnRequest, _context: Context) -> pb.GetTurnResponse:
        """Return one turn."""
        turn = await self._get_turn(current_call(), request.session_id.lower(), request.turn_id.lower())
        return pb.GetTurnResponse(turn=convert.turn(turn))


def conversation_service(servicer: ConversationServicer) -> Service:
    """Return the service for the server to register."""
    descriptor = pb.DESCRIPTOR.services_by_name["ConversationService"]
    return Service(descriptor, add_ConversationServiceServicer_to_server, servicer)
