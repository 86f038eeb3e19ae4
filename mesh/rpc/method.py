"""What the interceptors need to know of a method, read once from its descriptor when the server is built."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import grpc
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from mesh.kernel.errors import FailedPrecondition
from mesh.kernel.identity import Principal
from mesh.kernel.reasons import Reason
from mnemesh.common.v1 import authorization_pb2

REQUEST_ID_FIELD = "request_id"
"""The request field that holds the caller's idempotency key, in every message that takes one."""


@dataclass(frozen=True, slots=True)
class Method:
    """One method of a served contract.

    Args:
        path: `/package.Service/Method`.
        service: full name of its service.
        scope: the scope that a caller must hold.
        request: the class of its request message.
        takes_request_id: True when the request has a text field `request_id`.
        client_streaming: True when the client sends a stream.
        server_streaming: True when the server answers with a stream.
    """

    path: str
    service: str
    scope: str
    request: type[Message]
    takes_request_id: bool
    client_streaming: bool
    server_streaming: bool

    @property
    def is_streaming(self) -> bool:
        return self.client_streaming or self.server_streaming


@dataclass(slots=True)
class Rpc:
    """One call on its way through the interceptors; each of them fills in what it finds out.

    Args:
        context: gRPC's context.
        request: the request's bytes, or the iterator of them; the validation interceptor puts messages in their place.
        metadata: the call's text metadata.
        request_id: correlation id.
        principal: the proven caller, once known.
        code: the status, once known.
        reason: the reason of an error, once known.
    """

    context: grpc.aio.ServicerContext[Any, Any]
    request: bytes | Message | AsyncIterator[bytes] | AsyncIterator[Message]
    metadata: Mapping[str, str] = field(default_factory=dict)
    request_id: str = ""
    principal: Principal | None = None
    code: grpc.StatusCode = grpc.StatusCode.OK
    reason: str = ""


Handler: TypeAlias = Callable[[Rpc], Awaitable[bytes | None]]
"""Serves one call of any of the four kinds.

A unary response is returned as bytes. A stream is written to `rpc.context` as it comes and the result is None. So an
interceptor is one coroutine around another, whatever the kind.
"""


def methods_of(service: ServiceDescriptor) -> list[Method]:
    """Return the methods of a contract.

    Raises:
        FailedPrecondition: CONFIGURATION_INVALID, a method declares no scope.
    """
    return [_method(service, descriptor) for descriptor in service.methods]


def _method(service: ServiceDescriptor, descriptor: MethodDescriptor) -> Method:
    path = f"/{service.full_name}/{descriptor.name}"
    scope = descriptor.GetOptions().Extensions[authorization_pb2.scope]
    if not scope:
        raise FailedPrecondition(
            Reason.CONFIGURATION_INVALID,
            f"{path} declares no scope; add `option (mnemesh.common.v1.scope)` to its contract",
        )
    return Method(
        path=path,
        service=service.full_name,
        scope=scope,
        request=GetMessageClass(descriptor.input_type),
        takes_request_id=_takes_request_id(descriptor.input_type),
        client_streaming=descriptor.client_streaming,
        server_streaming=descriptor.server_streaming,
    )


def _takes_request_id(message: Descriptor) -> bool:
    found = message.fields_by_name.get(REQUEST_ID_FIELD)
    return found is not None and found.type == FieldDescriptor.TYPE_STRING and not found.is_repeated
