"""Whether another server is ready, asked over the standard health protocol."""

from __future__ import annotations

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

READINESS = "readiness"


async def is_ready(channel: grpc.aio.Channel, timeout_s: float) -> bool:
    """Tell whether the server behind a channel says, within some seconds, that calls should come to it."""
    check = health_pb2_grpc.HealthStub(channel).Check
    try:
        answer = await check(health_pb2.HealthCheckRequest(service=READINESS), timeout=timeout_s)
    except grpc.aio.AioRpcError:
        return False
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)
