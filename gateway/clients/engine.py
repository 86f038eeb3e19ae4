"""The engine: turns and their history."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import grpc

from gateway.domain.chat import ChatMessage, ChatPartner
from mesh.kernel.errors import FailedPrecondition, InvalidArgument, MeshError
from mesh.kernel.identity import Principal
from mesh.kernel.reasons import Reason
from mesh.rpc.auth import service_principal
from mesh.rpc.context import acting_as
from mesh.rpc.status import from_rpc_error
from mnemesh.conversation.v1 import conversation_service_pb2 as pb
from mnemesh.conversation.v1.conversation_service_pb2_grpc import ConversationServiceStub

SELF = "gateway"


class EngineClient:
    """Calls the engine; its errors come back as the domain's."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub = ConversationServiceStub(channel)

    async def converse(
        self, caller: Principal, partner: ChatPartner, message: ChatMessage
    ) -> AsyncGenerator[pb.ConverseResponse, None]:
        """Stream one turn. The method is the mesh's own, so the gateway calls it as itself, for the caller's user."""
        request = pb.ConverseRequest(
            session_id=message.session_id,
            avatar=_profile(partner),
            text=message.text,
            request_id=message.request_id,
            time_zone=message.time_zone,
        )
        with acting_as(service_principal(SELF, caller.tenant_id, caller.user_id)):
            call = self._stub.Converse(request)
        try:
            async for event in call:
                yield event
        except grpc.aio.AioRpcError as error:
            raise _explained(from_rpc_error(error)) from error
        finally:
            call.cancel()

    async def list_turns(self, request: pb.ListTurnsRequest) -> pb.ListTurnsResponse:
        """Return a page of turns, as the calling user."""
        try:
            return await self._stub.ListTurns(request)
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from error

    async def get_turn(self, request: pb.GetTurnRequest) -> pb.GetTurnResponse:
        """Return a turn, as the calling user."""
        try:
            return await self._stub.GetTurn(request)
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from error


def _profile(partner: ChatPartner) -> pb.AvatarProfile:
    return pb.AvatarProfile(
        uid=partner.avatar_id,
        slug=partner.slug,
        name=partner.name,
        system_prompt=partner.system_prompt,
        lora_adapter_path=partner.lora_adapter_path,
        lora_quality_passed=partner.lora_quality_passed,
        collection_name=partner.collection_name,
        voice_clone_path=partner.voice_clone_path,
        voice_clone_text=partner.voice_clone_text,
    )


def _explained(error: MeshError) -> MeshError:
    """Return an error that the caller can understand: the avatar is not something that they sent."""
    broken = [one.field for one in error.details.violations if one.field.startswith("avatar.")]
    if not (broken and isinstance(error, InvalidArgument)):
        return error
    fields = ", ".join(field.removeprefix("avatar.") for field in broken)
    return FailedPrecondition(
        Reason.CONFIGURATION_INVALID, f"the avatar of this session cannot be used: its {fields} breaks a limit"
    )
