"""`mnemesh.gateway.v1.SessionService`."""

from __future__ import annotations

from gateway.rpc import convert
from gateway.usecase.sessions import Sessions
from mesh.rpc.context import current_call
from mnemesh.gateway.v1 import session_service_pb2 as pb
from mnemesh.gateway.v1.session_service_pb2_grpc import SessionServiceServicer

DESCRIPTOR = pb.DESCRIPTOR.services_by_name["SessionService"]


class SessionServicer(SessionServiceServicer):
    """Sessions of the calling user."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def CreateSession(self, request: pb.CreateSessionRequest, _context: object) -> pb.CreateSessionResponse:
        session = await self._sessions.create(current_call(), convert.new_session(request))
        return pb.CreateSessionResponse(session=convert.session(session))

    async def GetSession(self, request: pb.GetSessionRequest, _context: object) -> pb.GetSessionResponse:
        session = await self._sessions.get(current_call(), request.id.lower())
        return pb.GetSessionResponse(session=convert.session(session))

    async def ListSessions(self, request: pb.ListSessionsRequest, _context: object) -> pb.ListSessionsResponse:
        page = await self._sessions.list(
            current_call(), request.avatar_id.lower(), request.page_size, request.page_token
        )
        return pb.ListSessionsResponse(
            sessions=[convert.session(session) for session in page.items], next_page_token=page.next_page_token
        )

    async def UpdateSession(self, request: pb.UpdateSessionRequest, _context: object) -> pb.UpdateSessionResponse:
        session = await self._sessions.update(current_call(), convert.session_edit(request))
        return pb.UpdateSessionResponse(session=convert.session(session))

    async def DeleteSession(self, request: pb.DeleteSessionRequest, _context: object) -> pb.DeleteSessionResponse:
        session = await self._sessions.delete(current_call(), request.id.lower(), request.etag)
        return pb.DeleteSessionResponse(session=convert.session(session))
