"""`mnemesh.gateway.v1.AvatarService`."""

from __future__ import annotations

from gateway.rpc import convert
from gateway.usecase.avatars import Avatars
from mesh.rpc.context import current_call
from mnemesh.gateway.v1 import avatar_service_pb2 as pb
from mnemesh.gateway.v1.avatar_service_pb2_grpc import AvatarServiceServicer

DESCRIPTOR = pb.DESCRIPTOR.services_by_name["AvatarService"]


class AvatarServicer(AvatarServiceServicer):
    """Avatars, read only."""

    def __init__(self, avatars: Avatars) -> None:
        self._avatars = avatars

    async def GetAvatar(self, request: pb.GetAvatarRequest, _context: object) -> pb.GetAvatarResponse:
        avatar = await self._avatars.get(current_call(), request.uid.lower())
        return pb.GetAvatarResponse(avatar=convert.avatar(avatar))

    async def ListAvatars(self, request: pb.ListAvatarsRequest, _context: object) -> pb.ListAvatarsResponse:
        page = await self._avatars.list(current_call(), request.page_size, request.page_token)
        return pb.ListAvatarsResponse(
            avatars=[convert.avatar(avatar) for avatar in page.items], next_page_token=page.next_page_token
        )
