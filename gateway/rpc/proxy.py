"""Public services of other servers on the gateway's gRPC port: checked here, passed on as they are.

One generic handler a method. Answers cross as bytes. Methods of the mesh's own servers (scope `internal`) are not
passed on for anybody.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any

import grpc
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message_factory import GetMessageClass

from mesh.kernel.errors import Unimplemented
from mesh.kernel.identity import INTERNAL_SCOPE
from mesh.kernel.reasons import Reason
from mesh.rpc.server import Service
from mesh.rpc.status import from_rpc_error
from mnemesh.common.v1 import authorization_pb2


def proxied(descriptor: ServiceDescriptor, channel: grpc.aio.Channel) -> Service:
    """Return a service that passes its public methods on.

    Args:
        descriptor: a contract without streams of requests.
        channel: to the server that has it.
    """
    handlers = {method.name: _handler(method, channel) for method in descriptor.methods}

    def register(_: Any, server: grpc.aio.Server) -> None:
        server.add_registered_method_handlers(descriptor.full_name, handlers)

    return Service(descriptor, register, servicer=None)


def _handler(method: MethodDescriptor, channel: grpc.aio.Channel) -> Any:
    if method.client_streaming:
        raise ValueError(f"{method.full_name}: a stream of requests cannot be passed on")
    forward = _stream if method.server_streaming else _unary
    factory: Any = (
        grpc.unary_stream_rpc_method_handler if method.server_streaming else grpc.unary_unary_rpc_method_handler
    )
    return factory(_refused(method) or forward(method, channel), response_serializer=_as_they_are)


def _unary(method: MethodDescriptor, channel: grpc.aio.Channel) -> Callable[[Any, Any], Any]:
    call: Any = channel.unary_unary(_path(method), request_serializer=_serializer(method))

    async def forward(request: Any, _: object) -> bytes:
        try:
            answer: bytes = await call(request)
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from error
        return answer

    return forward


def _stream(method: MethodDescriptor, channel: grpc.aio.Channel) -> Callable[[Any, Any], Any]:
    call: Any = channel.unary_stream(_path(method), request_serializer=_serializer(method))

    async def forward(request: Any, _: object) -> AsyncGenerator[bytes, None]:
        running = call(request)
        try:
            async for answer in running:
                yield answer
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from error
        finally:
            running.cancel()

    return forward


def _refused(method: MethodDescriptor) -> Callable[[Any, Any], Any] | None:
    if method.GetOptions().Extensions[authorization_pb2.scope] != INTERNAL_SCOPE:
        return None
    if method.server_streaming:

        async def refuse_stream(_: Any, __: object) -> AsyncGenerator[bytes, None]:
            raise _unknown()
            yield b""

        return refuse_stream

    async def refuse(_: Any, __: object) -> bytes:
        raise _unknown()

    return refuse


def _unknown() -> Unimplemented:
    return Unimplemented(Reason.METHOD_NOT_FOUND, "the server does not have this method")


def _path(method: MethodDescriptor) -> str:
    return f"/{method.containing_service.full_name}/{method.name}"


def _serializer(method: MethodDescriptor) -> Callable[[Any], bytes]:
    serializer: Callable[[Any], bytes] = GetMessageClass(method.input_type).SerializeToString
    return serializer


def _as_they_are(answer: bytes) -> bytes:
    return answer
