"""A gRPC server of the mesh: contracts behind the same interceptors, with health and reflection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from grpc_health.v1 import health
from grpc_reflection.v1alpha import reflection

from mesh.kernel.clock import Clock, SystemClock
from mesh.kernel.errors import FailedPrecondition
from mesh.kernel.reasons import Reason
from mesh.rpc import tls
from mesh.rpc.access_log import AccessLogInterceptor
from mesh.rpc.admission import AdmissionInterceptor
from mesh.rpc.auth import Authenticator
from mesh.rpc.authentication import AuthenticationInterceptor
from mesh.rpc.deadline import DeadlineInterceptor
from mesh.rpc.error_boundary import StatusInterceptor
from mesh.rpc.health import Health
from mesh.rpc.interceptors import Interceptor, MethodTable, UnknownMethods, check_order
from mesh.rpc.method import methods_of
from mesh.rpc.settings import RpcSettings
from mesh.rpc.tracing import TraceInterceptor
from mesh.rpc.validate import RequestReader, ValidationInterceptor
from mesh.telemetry.metrics import RpcMeter
from mesh.telemetry.traces import Tracing, process_tracing

__all__ = ["MeshServer", "RpcSettings", "Service", "standard_interceptors"]


@dataclass(frozen=True, slots=True)
class Service:
    """A contract and what serves it.

    Args:
        descriptor: the service, such as `fact_service_pb2.DESCRIPTOR.services_by_name["FactService"]`.
        register: the stub's `add_…Servicer_to_server`.
        servicer: an object whose methods are coroutine functions, or async generators where the response is a stream.
    """

    descriptor: ServiceDescriptor
    register: Callable[[Any, grpc.aio.Server], None]
    servicer: Any


def standard_interceptors(
    settings: RpcSettings, authenticator: Authenticator, *, clock: Clock, tracing: Tracing
) -> list[Interceptor]:
    """Return the interceptors of a server, outermost first."""
    return [
        TraceInterceptor(tracing),
        AccessLogInterceptor(RpcMeter("server"), clock, log_success=settings.access_log),
        StatusInterceptor(),
        DeadlineInterceptor(settings.default_deadline_s, settings.max_deadline_s),
        AdmissionInterceptor(settings.max_concurrent_rpcs, settings.max_concurrent_streams),
        AuthenticationInterceptor(authenticator),
        ValidationInterceptor(RequestReader()),
    ]


class MeshServer:
    """One server process's gRPC side."""

    def __init__(
        self,
        name: str,
        settings: RpcSettings,
        services: Sequence[Service],
        authenticator: Authenticator,
        *,
        clock: Clock | None = None,
        tracing: Tracing | None = None,
    ) -> None:
        """Prepare the methods; the rules of every request type are compiled here.

        Args:
            name: the server's name, such as `engine`; the audience of tokens for it.
            settings: addresses and bounds.
            services: what it serves.
            authenticator: proves its callers.
            clock: measures the duration of calls.
            tracing: records spans; the process's tracing by default.

        Raises:
            FailedPrecondition: CONFIGURATION_INVALID, a method declares no scope.
            TypeError: a servicer does not implement a method of its contract.
        """
        self.name = name
        self._settings = settings
        self._names = [service.descriptor.full_name for service in services]
        self._health = Health(self._names)
        interceptors = standard_interceptors(
            settings, authenticator, clock=clock or SystemClock(), tracing=tracing or process_tracing()
        )
        check_order(interceptors)
        self._methods = _method_table(services, interceptors)
        self._server: grpc.aio.Server | None = None

    async def start(self) -> int:
        """Listen and answer, alive and not ready. Return the port of the first address, or 0 when it is a socket file.

        Raises:
            FailedPrecondition: CONFIGURATION_INVALID, an address cannot be listened on or a certificate cannot be read.
        """
        self._server = server = grpc.aio.server(options=_options(self._settings), maximum_concurrent_rpcs=None)
        server.add_generic_rpc_handlers((self._methods,))
        self._health.register(server)
        if self._settings.reflection:
            names = (*self._names, health.SERVICE_NAME, reflection.SERVICE_NAME)
            reflection.enable_server_reflection(names, server)
        server.add_generic_rpc_handlers((UnknownMethods(),))
        ports = [self._listen(server, address) for address in (self._settings.listen, *self._settings.also_listen)]
        await server.start()
        return 0 if self._settings.listen.startswith("unix:") else ports[0]

    async def set_ready(self, ready: bool) -> None:
        """Say through health whether calls should come here."""
        self._health.set_ready(ready)

    async def drain(self) -> None:
        """Say through health that no new calls should come, for good; calls are still answered."""
        self._health.drain()

    async def stop(self, grace_s: float | None = None) -> None:
        """Stop: refuse new calls, give those in progress some time, cancel the rest. Safe to call twice.

        Args:
            grace_s: seconds for calls in progress; `drain_s` of the settings by default.
        """
        if self._server is None:
            return
        await self.drain()
        self._health.close()
        await self._server.stop(self._settings.drain_s if grace_s is None else grace_s)

    def _listen(self, server: grpc.aio.Server, address: str) -> int:
        try:
            if self._settings.tls.cert_file is None:
                return server.add_insecure_port(address)
            return server.add_secure_port(address, tls.server_credentials(self._settings.tls))
        except RuntimeError as error:
            raise FailedPrecondition(
                Reason.CONFIGURATION_INVALID,
                f"{self.name} cannot listen on {address}; free the address or set another one",
            ) from error


class _HandlerCollector:
    """Stands in for a server while stubs register, to get at the handlers of a servicer."""

    def __init__(self) -> None:
        self.handlers: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}

    def add_registered_method_handlers(
        self, service_name: str, method_handlers: Mapping[str, grpc.RpcMethodHandler[Any, Any]]
    ) -> None:
        self.handlers.update({f"/{service_name}/{name}": handler for name, handler in method_handlers.items()})

    def add_generic_rpc_handlers(self, generic_rpc_handlers: Iterable[Any]) -> None:
        """Take the same handlers in gRPC's older form; they are known already."""


def _method_table(services: Sequence[Service], interceptors: Sequence[Interceptor]) -> MethodTable:
    table = MethodTable()
    for service in services:
        collector = _HandlerCollector()
        service.register(service.servicer, cast("grpc.aio.Server", collector))
        for method in methods_of(service.descriptor):
            table.add(method, collector.handlers[method.path], interceptors)
    return table


def _options(settings: RpcSettings) -> list[tuple[str, int]]:
    return [
        ("grpc.max_receive_message_length", settings.max_message_bytes),
        ("grpc.max_send_message_length", -1),
        ("grpc.max_concurrent_streams", settings.max_concurrent_rpcs + settings.max_concurrent_streams),
        ("grpc.so_reuseport", 0),  # a second server on the same port must fail, not share its calls
        ("grpc.keepalive_time_ms", 60_000),
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
        ("grpc.max_connection_age_ms", int(settings.max_connection_age_s * 1000)),
        ("grpc.max_connection_age_grace_ms", int(settings.max_deadline_s * 1000)),
    ]
