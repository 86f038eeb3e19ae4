"""Whether a server that was just started can be used, asked over its own interfaces."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from mesh.rpc.channel import connect

PROBE_TIMEOUT_S = 2.0
_READINESS = "readiness"
_STATUS_BYTES = 64


async def grpc_is_ready(target: str) -> bool:
    """Tell whether a server's `grpc.health.v1` says that calls should come.

    A connection is tried first by itself: a gRPC channel that failed to connect waits longer and longer before it tries
    again, and each probe has one of its own for the same reason.

    Args:
        target: `host:port`.
    """
    if not await _accepts(target):
        return False
    async with connect(target, audience="", signer=None) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        try:
            answer = await stub.Check(health_pb2.HealthCheckRequest(service=_READINESS), timeout=PROBE_TIMEOUT_S)
        except grpc.aio.AioRpcError:
            return False
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


async def http_is_ready(target: str, path: str = "/readyz") -> bool:
    """Tell whether a GET is answered with 200.

    Args:
        target: `host:port`.
        path: to ask for.
    """
    host, _, port = target.rpartition(":")
    request = f"GET {path} HTTP/1.1\r\nHost: {target}\r\nConnection: close\r\n\r\n".encode()
    try:
        async with asyncio.timeout(PROBE_TIMEOUT_S):
            reader, writer = await asyncio.open_connection(host, int(port))
            try:
                writer.write(request)
                status_line = await reader.readline()
            finally:
                writer.close()
                with suppress(OSError):
                    await writer.wait_closed()
    except (OSError, TimeoutError, ValueError):
        return False
    return status_line[:_STATUS_BYTES].split(b" ")[1:2] == [b"200"]


async def _accepts(target: str) -> bool:
    host, _, port = target.rpartition(":")
    try:
        async with asyncio.timeout(PROBE_TIMEOUT_S):
            _, writer = await asyncio.open_connection(host, int(port))
    except (OSError, TimeoutError):
        return False
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return True
