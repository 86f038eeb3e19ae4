"""The interceptors of a server as data, and the one adapter that puts them around methods of all four kinds.

An interceptor is a coroutine around a coroutine (`mesh.rpc.method.Handler`), put together once for each method and
handed to gRPC as the method's handler. So a call costs the coroutines and nothing else; `grpc.aio.ServerInterceptor`
would build the chain anew for every call. Each interceptor names those that must stand outside of it; a server
refuses another order. Services that are not ours (health, reflection) are registered as they are: they are no
contract of the mesh, and the stock `Health.Watch` breaks inside wrappers.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import Any, Protocol, TypeAlias, cast

import grpc

from mesh.kernel.errors import Unimplemented
from mesh.kernel.reasons import Reason
from mesh.rpc.method import Handler, Method, Rpc
from mesh.rpc.status import DETAILS_KEY, to_status

_RpcMethodHandler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class Interceptor(Protocol):
    """One concern of every call."""

    @property
    def name(self) -> str:
        """Its name in the order."""
        ...

    @property
    def requires(self) -> Sequence[str]:
        """Names of those that must stand outside of it."""
        ...

    def wrap(self, method: Method, proceed: Handler) -> Handler:
        """Return a handler that does its part and calls `proceed`; called once for each method."""
        ...


def check_order(interceptors: Sequence[Interceptor]) -> None:
    """Raise ValueError unless every interceptor stands inside of those that it requires, outermost first."""
    outside: set[str] = set()
    for interceptor in interceptors:
        missing = set(interceptor.requires) - outside
        if missing:
            raise ValueError(f"interceptor {interceptor.name} must stand inside of {', '.join(sorted(missing))}")
        outside.add(interceptor.name)


class MethodTable(grpc.GenericRpcHandler):
    """Finds the wrapped handler of a method; gRPC asks it for every call.

    Handlers are not also registered with gRPC's core one by one: grpc.aio then waits on one future for each method, and
    renews all of those waits at every call.
    """

    def __init__(self) -> None:
        self._handlers: dict[str, _RpcMethodHandler] = {}

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> _RpcMethodHandler | None:
        return self._handlers.get(handler_call_details.method)

    def add(self, method: Method, handler: _RpcMethodHandler, interceptors: Sequence[Interceptor]) -> None:
        """Put the interceptors, outermost first, around the handler that a stub made for a servicer's method.

        Raises:
            TypeError: the servicer implements the method in a way that cannot be served asynchronously, or not at all.
        """
        chain = _endpoint(method, handler)
        for interceptor in reversed(interceptors):
            chain = interceptor.wrap(method, chain)
        self._handlers[method.path] = _adapt(method, chain)


class UnknownMethods(grpc.GenericRpcHandler):
    """Answers whatever no other handler knows; to be added last."""

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> _RpcMethodHandler:  # noqa: ARG002 - any
        return _UNKNOWN_METHOD


def _endpoint(method: Method, handler: _RpcMethodHandler) -> Handler:
    """Return the innermost handler: the servicer's method, its answer turned into bytes."""
    behaviour = _behaviour(method, handler)
    serialize = cast("Callable[[Any], bytes]", handler.response_serializer)
    if not method.server_streaming:

        async def answer(rpc: Rpc) -> bytes:
            return serialize(await behaviour(rpc.request, rpc.context))

        return answer

    async def stream(rpc: Rpc) -> None:
        async with aclosing(behaviour(rpc.request, rpc.context)) as responses:
            async for response in responses:
                await rpc.context.write(serialize(response))

    return stream


def _behaviour(method: Method, handler: _RpcMethodHandler) -> Callable[[Any, _Context], Any]:
    requests = "stream" if method.client_streaming else "unary"
    responses = "stream" if method.server_streaming else "unary"
    behaviour = getattr(handler, f"{requests}_{responses}")
    is_right = inspect.isasyncgenfunction if method.server_streaming else inspect.iscoroutinefunction
    if not is_right(behaviour):
        kind = "an async generator" if method.server_streaming else "a coroutine function"
        raise TypeError(f"the servicer must implement {method.path} as {kind}")
    return cast("Callable[[Any, _Context], Any]", behaviour)


def _adapt(method: Method, chain: Handler) -> _RpcMethodHandler:
    """Return gRPC's handler for a chain. Requests and responses cross it as bytes."""

    async def run(request: Any, context: _Context) -> bytes | None:
        return await chain(Rpc(context, request))

    factory = {
        (False, False): grpc.unary_unary_rpc_method_handler,
        (False, True): grpc.unary_stream_rpc_method_handler,
        (True, False): grpc.stream_unary_rpc_method_handler,
        (True, True): grpc.stream_stream_rpc_method_handler,
    }[method.client_streaming, method.server_streaming]
    return cast("_RpcMethodHandler", cast("Callable[[Any], Any]", factory)(run))


async def _refuse(requests: AsyncIterator[bytes], context: _Context) -> None:  # noqa: ARG001 - none is read
    status = to_status(Unimplemented(Reason.METHOD_NOT_FOUND, "the server does not have this method"))
    trailing = ((DETAILS_KEY, status.SerializeToString()),)
    await context.abort(grpc.StatusCode.UNIMPLEMENTED, status.message, trailing)


_UNKNOWN_METHOD = cast(
    "_RpcMethodHandler", cast("Callable[[Any], Any]", grpc.stream_stream_rpc_method_handler)(_refuse)
)
