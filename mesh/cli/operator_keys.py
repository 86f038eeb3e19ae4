"""API keys of any tenant, as the operator of this machine: identity is signed with the keys of this home.

It calls the gateway's gRPC, because only there is a signed identity a credential.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import grpc
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from google.protobuf.message import Message

from mesh.cli.home import Home, load_credentials, locate_home, read_state
from mesh.cli.problems import ExitCode, Problem, usage_problem
from mesh.cli.services import service_named
from mesh.cli.settings import CliSettings, read_settings
from mesh.kernel.errors import MeshError, Unavailable
from mesh.kernel.identity import ALL_SCOPES, Principal, is_tenant_id
from mesh.rpc.auth import TokenSigner
from mesh.rpc.channel import connect
from mesh.rpc.context import acting_as
from mesh.rpc.status import from_rpc_error
from mnemesh.gateway.v1 import api_key_service_pb2 as pb
from mnemesh.gateway.v1.api_key_service_pb2_grpc import ApiKeyServiceStub

T = TypeVar("T")

LOCAL_USER = "00000000-0000-4000-8000-000000000001"
"""Whom a key acts as when no user is named: the user that the gateway takes callers for while it asks for no key, so
that what was remembered before keys were asked for is still remembered."""

PAGE_SIZE = 1000


class OperatorKeys:
    """Keys of one tenant.

    Args:
        target: address of the gateway's gRPC.
        signer: of identities.
        principal: the operator in the tenant.
    """

    def __init__(self, target: str, signer: TokenSigner, principal: Principal) -> None:
        self._target = target
        self._signer = signer
        self._principal = principal

    def create(self, request: Mapping[str, Any]) -> dict[str, Any]:
        message = _parsed(request, pb.CreateApiKeyRequest())
        return _as_json(self._run(lambda stub: stub.CreateApiKey(message)))

    def list(self) -> list[dict[str, Any]]:
        async def pages(stub: Any) -> list[dict[str, Any]]:
            keys: list[dict[str, Any]] = []
            token = ""
            while True:
                page = await stub.ListApiKeys(pb.ListApiKeysRequest(page_size=PAGE_SIZE, page_token=token))
                keys.extend(_as_json(key) for key in page.api_keys)
                token = page.next_page_token
                if not token:
                    return keys

        return self._run(pages)

    def revoke(self, key_id: str, request_id: str) -> dict[str, Any]:
        message = pb.RevokeApiKeyRequest(id=key_id, request_id=request_id)
        return _as_json(self._run(lambda stub: stub.RevokeApiKey(message)))

    def _run(self, call: Callable[[Any], Awaitable[T]]) -> T:
        async def connected() -> T:
            async with connect(self._target, "gateway", self._signer) as channel:
                with acting_as(self._principal):
                    return await call(ApiKeyServiceStub(channel))

        try:
            return asyncio.run(connected())
        except grpc.aio.AioRpcError as error:
            raise self._problem(from_rpc_error(error)) from error
        except MeshError as error:
            raise self._problem(error) from error

    def _problem(self, error: MeshError) -> Problem:
        if isinstance(error, Unavailable):
            return Problem(
                f"no gateway answers at {self._target}",
                "start one with `mnemesh up`, or set MNEMESH_GATEWAY_TARGET",
                ExitCode.UNREACHABLE,
            )
        return Problem(f"{error.message.rstrip('.')} ({error.reason.value})")


def operator_keys(tenant: str) -> OperatorKeys:
    """Return the keys of a tenant of the mesh of this home.

    Raises:
        Problem: the tenant's name is no name, or this home has no identity keys.
    """
    if not is_tenant_id(tenant):
        raise usage_problem(f"{tenant!r} is no tenant", "use letters, digits, '.', '_' and '-'")
    settings = read_settings()
    home = locate_home(settings)
    principal = Principal(tenant, LOCAL_USER, frozenset({ALL_SCOPES}), credential="internal:operator")
    signer = TokenSigner(_identity_keys(settings, home), "operator")
    return OperatorKeys(_gateway_target(settings, home), signer, principal)


def _identity_keys(settings: CliSettings, home: Home) -> tuple[str, ...]:
    if settings.identity_keys:
        return settings.identity_keys
    if not home.credentials.exists():
        raise Problem(
            f"{home.root} holds no identity keys",
            "run this where `mnemesh up` runs, or set MNEMESH_IDENTITY_KEYS to the keys of the mesh",
            ExitCode.ENVIRONMENT,
        )
    return load_credentials(home).identity_keys


def _gateway_target(settings: CliSettings, home: Home) -> str:
    if settings.gateway_target:
        return settings.gateway_target
    state = read_state(home)
    port = int(state["ports"]["gateway"]) if state else service_named("gateway").grpc_port
    return f"127.0.0.1:{port}"


def _parsed(request: Mapping[str, Any], message: Any) -> Any:
    try:
        return ParseDict(dict(request), message)
    except ParseError as error:
        raise usage_problem(f"the request is not well formed ({error})") from error


def _as_json(message: Message) -> dict[str, Any]:
    return dict(MessageToDict(message))
