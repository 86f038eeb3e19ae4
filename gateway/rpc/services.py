"""Every service of the gateway's gRPC ports, and the contracts that its HTTP routes come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import grpc
from google.protobuf.descriptor import ServiceDescriptor

from gateway.clients.engine import EngineClient
from gateway.rpc import api_keys, avatars, chat, conversation, sessions
from gateway.rpc.proxy import proxied
from gateway.usecase.api_keys import ApiKeys
from gateway.usecase.avatars import Avatars
from gateway.usecase.chat import Chat
from gateway.usecase.sessions import Sessions
from mesh.rpc.server import Service
from mnemesh.conversation.v1.conversation_service_pb2 import ConverseResponse
from mnemesh.conversation.v1.conversation_service_pb2_grpc import add_ConversationServiceServicer_to_server
from mnemesh.gateway.v1.api_key_service_pb2_grpc import add_ApiKeyServiceServicer_to_server
from mnemesh.gateway.v1.avatar_service_pb2_grpc import add_AvatarServiceServicer_to_server
from mnemesh.gateway.v1.chat_service_pb2_grpc import add_ChatServiceServicer_to_server
from mnemesh.gateway.v1.session_service_pb2_grpc import add_SessionServiceServicer_to_server
from mnemesh.memory.v1 import chunk_service_pb2, fact_service_pb2, recall_service_pb2

OWN_CONTRACTS: tuple[ServiceDescriptor, ...] = (
    sessions.DESCRIPTOR,
    avatars.DESCRIPTOR,
    chat.DESCRIPTOR,
    api_keys.DESCRIPTOR,
    conversation.DESCRIPTOR,
)
"""Served by the gateway itself."""

MEMORY_CONTRACTS: tuple[ServiceDescriptor, ...] = (
    fact_service_pb2.DESCRIPTOR.services_by_name["FactService"],
    chunk_service_pb2.DESCRIPTOR.services_by_name["ChunkService"],
    recall_service_pb2.DESCRIPTOR.services_by_name["RecallService"],
)
"""Served by memory."""


@dataclass(frozen=True, slots=True)
class UseCases:
    """What the gateway's own services are made of."""

    sessions: Sessions
    avatars: Avatars
    api_keys: ApiKeys
    chat: Chat[ConverseResponse]
    engine: EngineClient


def own_services(use_cases: UseCases) -> list[Service]:
    """Return the services that the gateway itself serves, in the order of `OWN_CONTRACTS`."""
    return [
        Service(
            sessions.DESCRIPTOR,
            add_SessionServiceServicer_to_server,
            sessions.SessionServicer(use_cases.sessions),
        ),
        Service(
            avatars.DESCRIPTOR,
            add_AvatarServiceServicer_to_server,
            avatars.AvatarServicer(use_cases.avatars),
        ),
        Service(
            chat.DESCRIPTOR,
            add_ChatServiceServicer_to_server,
            chat.ChatServicer(use_cases.chat),
        ),
        Service(
            api_keys.DESCRIPTOR,
            add_ApiKeyServiceServicer_to_server,
            api_keys.ApiKeyServicer(use_cases.api_keys),
        ),
        Service(
            conversation.DESCRIPTOR,
            add_ConversationServiceServicer_to_server,
            conversation.ConversationServicer(use_cases.sessions, use_cases.engine),
        ),
    ]


def passed_on(memory: grpc.aio.Channel) -> Sequence[Service]:
    """Return the services of memory, passed on over a channel to it."""
    return [proxied(contract, memory) for contract in MEMORY_CONTRACTS]
