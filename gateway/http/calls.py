"""The RPCs behind the routes: one prepared call a method, on the channel of the server that has it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Any

import grpc
from google.protobuf.message import Message

from gateway.http.transcode import Route
from mesh.rpc.status import from_rpc_error


class Calls:
    """Calls the methods of some routes."""

    def __init__(self, routes: Iterable[Route], channel_for: Callable[[str], grpc.aio.Channel]) -> None:
        """Prepare the calls.

        Args:
            routes: what will be called.
            channel_for: returns the channel to the server that has a service, by the service's full name.
        """
        self._calls: dict[str, Any] = {}
        for route in routes:
            channel = channel_for(route.method.containing_service.full_name)
            prepare = channel.unary_stream if route.streams else channel.unary_unary
            self._calls[route.rpc] = prepare(
                route.rpc,
                request_serializer=route.request.SerializeToString,
                response_deserializer=route.response.FromString,
            )

    async def unary(self, route: Route, request: Message) -> Message:
        """Return the answer.

        Raises:
            MeshError: as the server answered.
        """
        try:
            answer: Message = await self._calls[route.rpc](request)
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from error
        return answer

    async def stream(self, route: Route, request: Message) -> AsyncGenerator[Message, None]:
        """Yield the answers of a server stream; closing the iterator cancels the call.

        Raises:
            MeshError: as the server answered.
        """
        call = self._calls[route.rpc](request)
        try:
            async for answer in call:
                yield answer
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from error
        finally:
            call.cancel()
