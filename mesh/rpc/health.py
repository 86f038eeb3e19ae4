"""`grpc.health.v1` of a server: what is alive, what is ready, and what drains.

Names: `liveness` (the event loop answers; a supervisor restarts what does not), `readiness` (calls should come here),
the empty name and the full name of each service, which follow readiness. A draining server is alive and not ready.

The stock servicer is not used: it starts as SERVING, flips every name when it shuts down, liveness too, and its Watch
never ends, so that one watching balancer holds a stopping server until the grace is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, TypeAlias

import grpc
from grpc_health.v1 import health_pb2_grpc
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

LIVENESS = "liveness"
READINESS = "readiness"

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class Health:
    """The health states of one server."""

    def __init__(self, services: Iterable[str]) -> None:
        self._names = frozenset({"", LIVENESS, READINESS, *services})
        self._ready = False
        self._draining = False
        self._closed = False
        self._changed = asyncio.Event()

    def register(self, server: grpc.aio.Server) -> None:
        """Add the health service to a server."""
        health_pb2_grpc.add_HealthServicer_to_server(_Servicer(self), server)

    def status(self, name: str) -> Any:
        """Return the state of a name; SERVICE_UNKNOWN when the server does not have it."""
        if name not in self._names:
            return HealthCheckResponse.SERVICE_UNKNOWN
        serving = name == LIVENESS or (self._ready and not self._draining)
        return HealthCheckResponse.SERVING if serving else HealthCheckResponse.NOT_SERVING

    def set_ready(self, ready: bool) -> None:
        """Say whether calls should come here. A draining server stays not ready."""
        self._ready = ready
        self._notify()

    def drain(self) -> None:
        """Be not ready from now on."""
        self._draining = True
        self._notify()

    def close(self) -> None:
        """End the streams of those that watch."""
        self._closed = True
        self._notify()

    async def watch(self, name: str, context: _Context) -> None:
        """Write the state of a name, and again each time it changes, until the server stops."""
        told: Any = None
        while True:
            changed = self._changed  # taken before the state is read, so that no change is missed while writing
            status = self.status(name)
            if status != told:
                told = status
                await context.write(HealthCheckResponse(status=status))
            if self._closed:
                return
            await changed.wait()

    def _notify(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


class _Servicer(health_pb2_grpc.HealthServicer):  # type: ignore[misc] # the package has no types
    def __init__(self, health: Health) -> None:
        self._health = health

    async def Check(self, request: HealthCheckRequest, context: _Context) -> HealthCheckResponse:
        status = self._health.status(request.service)
        if status == HealthCheckResponse.SERVICE_UNKNOWN:
            await context.abort(grpc.StatusCode.NOT_FOUND, "the server has no such name")
        return HealthCheckResponse(status=status)

    async def Watch(self, request: HealthCheckRequest, context: _Context) -> None:
        await self._health.watch(request.service, context)
