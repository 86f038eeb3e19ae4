"""`mnemesh.gateway.v1.ChatService`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from gateway.rpc import convert
from gateway.usecase.chat import Chat
from mesh.rpc.context import current_call
from mnemesh.conversation.v1.conversation_service_pb2 import ConverseResponse
from mnemesh.gateway.v1 import chat_service_pb2 as pb
from mnemesh.gateway.v1.chat_service_pb2_grpc import ChatServiceServicer

DESCRIPTOR = pb.DESCRIPTOR.services_by_name["ChatService"]


class ChatServicer(ChatServiceServicer):
    """Talking."""

    def __init__(self, chat: Chat[ConverseResponse]) -> None:
        self._chat = chat

    async def Converse(self, request: pb.ConverseRequest, _context: object) -> AsyncGenerator[ConverseResponse, None]:
        async with aclosing(self._chat.converse(current_call(), convert.chat_message(request))) as events:
            async for event in events:
                yield event
