"""`grpc.health.v1` of a server: what is alive, what is ready, and what drains.

Names: `liveness` (the event loop answers; a supervisor restarts what does not), `readiness` (calls should come here),
the empty name and the full name of each service, which follow readiness. A draining server is alive and not ready.
The stock servicer starts as SERVING and flips every name when it shuts down, liveness too, hence the states are set
here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2_grpc
from grpc_health.v1.health_pb2 import HealthCheckResponse

LIVENESS = "liveness"
READINESS = "readiness"


class Health:
    """The health states of one server."""

    def __init__(self, services: Iterable[str]) -> None:
        self._servicer: Any = health.aio.HealthServicer()
        self._ready_names = ("", READINESS, *services)
        self._draining = False

    def register(self, server: grpc.aio.Server) -> None:
        """Add the health service to a server."""
        health_pb2_grpc.add_HealthServicer_to_server(self._servicer, server)

    async def start(self) -> None:
        """Be alive and not ready."""
        await self._servicer.set(LIVENESS, HealthCheckResponse.SERVING)
        await self.set_ready(False)

    async def set_ready(self, ready: bool) -> None:
        """Say whether calls should come here. A draining server stays not ready."""
        serving = ready and not self._draining
        status = HealthCheckResponse.SERVING if serving else HealthCheckResponse.NOT_SERVING
        for name in self._ready_names:
            await self._servicer.set(name, status)

    async def drain(self) -> None:
        """Be not ready from now on."""
        self._draining = True
        await self.set_ready(False)
