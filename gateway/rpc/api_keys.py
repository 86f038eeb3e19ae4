"""`mnemesh.gateway.v1.ApiKeyService`."""

from __future__ import annotations

from gateway.rpc import convert
from gateway.usecase.api_keys import ApiKeys
from mesh.rpc.context import current_call
from mnemesh.gateway.v1 import api_key_service_pb2 as pb
from mnemesh.gateway.v1.api_key_service_pb2_grpc import ApiKeyServiceServicer

DESCRIPTOR = pb.DESCRIPTOR.services_by_name["ApiKeyService"]


class ApiKeyServicer(ApiKeyServiceServicer):
    """Keys of the calling tenant."""

    def __init__(self, keys: ApiKeys) -> None:
        self._keys = keys

    async def CreateApiKey(self, request: pb.CreateApiKeyRequest, _context: object) -> pb.CreateApiKeyResponse:
        call = current_call()
        issued = await self._keys.create(call, convert.new_api_key(request, call.user_id))
        return pb.CreateApiKeyResponse(api_key=convert.api_key(issued.key), secret=issued.secret)

    async def ListApiKeys(self, request: pb.ListApiKeysRequest, _context: object) -> pb.ListApiKeysResponse:
        page = await self._keys.list(current_call(), request.page_size, request.page_token)
        return pb.ListApiKeysResponse(
            api_keys=[convert.api_key(key) for key in page.items], next_page_token=page.next_page_token
        )

    async def RevokeApiKey(self, request: pb.RevokeApiKeyRequest, _context: object) -> pb.RevokeApiKeyResponse:
        key = await self._keys.revoke(current_call(), request.id.lower())
        return pb.RevokeApiKeyResponse(api_key=convert.api_key(key))
