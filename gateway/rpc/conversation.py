"""The public half of `mnemesh.conversation.v1.ConversationService`, for callers of the gateway.

Sessions are the gateway's: it says whether one exists for the caller, the engine says what was said in it. A session in
which nothing was said yet has no thread, and that is no error.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator

from gateway.clients.engine import EngineClient
from gateway.usecase.sessions import Sessions
from mesh.kernel.errors import NotFound, Unimplemented, not_found
from mesh.kernel.reasons import Reason
from mesh.rpc.context import current_call
from mnemesh.conversation.v1 import conversation_service_pb2 as pb
from mnemesh.conversation.v1.conversation_service_pb2_grpc import ConversationServiceServicer

DESCRIPTOR = pb.DESCRIPTOR.services_by_name["ConversationService"]


class ConversationServicer(ConversationServiceServicer):
    """Turns of the calling user's sessions."""

    def __init__(self, sessions: Sessions, engine: EngineClient) -> None:
        self._sessions = sessions
        self._engine = engine

    async def Converse(
        self, _request: pb.ConverseRequest, _context: object
    ) -> AsyncGenerator[pb.ConverseResponse, None]:
        raise Unimplemented(Reason.METHOD_NOT_FOUND, "the server does not have this method")
        yield

    async def ListTurns(self, request: pb.ListTurnsRequest, _context: object) -> pb.ListTurnsResponse:
        await self._sessions.get(current_call(), request.session_id.lower())
        try:
            return await self._engine.list_turns(request)
        except NotFound as error:
            if error.reason is Reason.THREAD_NOT_FOUND:
                return pb.ListTurnsResponse()
            raise

    async def GetTurn(self, request: pb.GetTurnRequest, _context: object) -> pb.GetTurnResponse:
        await self._sessions.get(current_call(), request.session_id.lower())
        try:
            return await self._engine.get_turn(request)
        except NotFound as error:
            if error.reason is Reason.THREAD_NOT_FOUND:
                raise not_found(Reason.TURN_NOT_FOUND, "turn", request.turn_id) from None
            raise
