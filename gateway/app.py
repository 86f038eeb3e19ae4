"""Builds the gateway: settings in, a server out. The only place that constructs anything."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import grpc

from gateway.clients.engine import SELF, EngineClient
from gateway.clients.health import is_ready
from gateway.http.auth import HttpAuth, is_loopback_host
from gateway.http.calls import Calls
from gateway.http.edge import Edge, EdgeParts
from gateway.http.observe import Observer
from gateway.http.pages import pages
from gateway.http.server import HttpServer
from gateway.http.transcode import Router, routes_of
from gateway.rpc.authenticator import EdgeAuthenticator
from gateway.rpc.services import MEMORY_CONTRACTS, OWN_CONTRACTS, UseCases, own_services, passed_on
from gateway.schema import SCHEMA
from gateway.settings import GatewaySettings
from gateway.usecase.api_keys import ApiKeys
from gateway.usecase.authenticate import Authenticate
from gateway.usecase.avatars import Avatars
from gateway.usecase.chat import Chat
from gateway.usecase.housekeeping import Housekeeping
from gateway.usecase.key_lookup import KeyLookup
from gateway.usecase.readiness import Readiness, database_check
from gateway.usecase.sessions import Sessions
from mesh.db.idempotency import Idempotency
from mesh.db.pool import Database
from mesh.db.revisions import check_current
from mesh.kernel.clock import Clock, SystemClock
from mesh.kernel.errors import FailedPrecondition
from mesh.kernel.reasons import Reason
from mesh.rpc.auth import InternalAuthenticator, TokenSigner, TokenVerifier
from mesh.rpc.channel import ChannelSettings, connect
from mesh.rpc.server import MeshServer
from mesh.rpc.settings import TlsSettings
from mesh.runtime.serve import Process, Worker, serve
from mesh.telemetry.process import Telemetry
from mesh.telemetry.traces import process_tracing

LAST_WORDS_S = 2.0
"""How long HTTP may take to tell its clients that the gateway stops, after the drain time."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Where a started gateway listens; a gRPC port of 0 means a socket file."""

    http: int
    grpc: int


@dataclass(frozen=True, slots=True)
class _Channels:
    own: grpc.aio.Channel
    engine: grpc.aio.Channel
    memory: grpc.aio.Channel

    async def close(self) -> None:
        for channel in (self.own, self.engine, self.memory):
            await channel.close()


class GatewayServer:
    """Serves HTTP and gRPC.

    HTTP reaches the gateway's own services over a socket file in a private directory, so that both ways in run the same
    interceptors; memory is called directly. All of them are told the caller by a signed identity.
    """

    def __init__(self, settings: GatewaySettings, *, clock: Clock | None = None) -> None:
        """Build everything; nothing listens yet.

        Raises:
            FailedPrecondition: CONFIGURATION_INVALID, such as mode `none` on an address that others reach.
        """
        require_loopback(settings)
        clock = clock or SystemClock()
        self._settings = settings
        self._directory = Path(tempfile.mkdtemp(prefix="mnemesh-gateway-"))
        self._db = Database(settings.database, application_name=f"mnemesh-{SELF}")
        idempotency = Idempotency(SCHEMA.schema)
        self._keys = KeyLookup(self._db, clock)
        self._housekeeping = Housekeeping(self._db, self._keys, idempotency, clock)
        self._channels = self._connect(clock)
        use_cases = self._use_cases(idempotency)
        authenticate = Authenticate(settings.auth_mode, self._keys)
        internal = InternalAuthenticator(TokenVerifier(settings.identity_keys, SELF, clock))
        inner_settings = replace(settings.rpc, listen=self._inner_address, tls=TlsSettings(), reflection=False)
        self._inner = MeshServer(SELF, inner_settings, own_services(use_cases), internal, clock=clock)
        self._public = MeshServer(
            SELF,
            replace(settings.rpc, listen=settings.listen),
            [*own_services(use_cases), *passed_on(self._channels.memory)],
            EdgeAuthenticator(internal, authenticate),
            clock=clock,
        )
        self._readiness = self._checks()
        self._http = HttpServer(
            Edge(self._edge_parts(authenticate)),
            settings.http_host,
            settings.http_port,
            settings.rpc.drain_s + LAST_WORDS_S,
        )
        self._serving: asyncio.Task[None] | None = None
        self._stopping = False

    async def start(self) -> Ports:
        """Listen and answer, alive and not ready over gRPC.

        Raises:
            FailedPrecondition: SCHEMA_BEHIND, or an address that cannot be listened on.
            Unavailable: the database cannot be reached.
        """
        await self._db.open()
        await check_current(self._db, SCHEMA.schema, SCHEMA.migrations_dir)
        await self._inner.start()
        grpc_port = await self._public.start()
        http_port = self._http.listen()
        self._serving = asyncio.create_task(self._http.serve(), name="http")
        return Ports(http_port, grpc_port)

    @property
    def workers(self) -> Mapping[str, Worker]:
        """The loops beside the calls, by name."""
        return {
            "http": self._watch_http,
            "key_uses": self._housekeeping.write_key_uses,
            "answers": self._housekeeping.sweep_answers,
        }

    async def set_ready(self, ready: bool) -> None:
        """Say over gRPC whether calls should come here; HTTP asks for itself at `/readyz`."""
        await self._inner.set_ready(ready)
        await self._public.set_ready(ready)

    async def drain(self) -> None:
        """Say that no new calls should come, for good; calls are still answered."""
        self._readiness.drain()
        await self._public.drain()

    async def stop(self, grace_s: float | None = None) -> None:
        """Refuse new calls and finish those in progress. What takes longer than that is told so. Safe to call twice.

        Args:
            grace_s: seconds for calls in progress; the drain time of the settings by default.
        """
        self._stopping = True
        grace_s = self._settings.rpc.drain_s if grace_s is None else grace_s
        await self.drain()
        self._http.stop()
        await asyncio.gather(self._public.stop(grace_s), self._http_finished(grace_s))
        # Streams that still run over HTTP end with an error event now, because their calls do.
        await self._inner.stop(0)
        await self._http_finished(LAST_WORDS_S)

    async def close(self) -> None:
        """Release connections and files, after `stop`."""
        await self._channels.close()
        await self._db.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    async def _http_finished(self, timeout_s: float) -> None:
        if self._serving is not None:
            await asyncio.wait({self._serving}, timeout=timeout_s)

    @property
    def _inner_address(self) -> str:
        return f"unix:{self._directory}/gateway.sock"

    def _connect(self, clock: Clock) -> _Channels:
        settings = self._settings
        signer = TokenSigner(settings.identity_keys, SELF, clock)
        outer = ChannelSettings(tls=settings.rpc.tls)
        return _Channels(
            own=connect(self._inner_address, SELF, signer),
            engine=connect(settings.engine_target, "engine", signer, outer),
            memory=connect(settings.memory_target, "memory", signer, outer),
        )

    def _use_cases(self, idempotency: Idempotency) -> UseCases:
        engine = EngineClient(self._channels.engine)
        return UseCases(
            sessions=Sessions(self._db, idempotency),
            avatars=Avatars(self._db),
            api_keys=ApiKeys(self._db, idempotency, self._keys.forget),
            chat=Chat(self._db, engine),
            engine=engine,
        )

    def _checks(self) -> Readiness:
        timeout_s = self._settings.ready_timeout_s
        checks = {
            "database": database_check(self._db),
            "engine": lambda: is_ready(self._channels.engine, timeout_s),
            "memory": lambda: is_ready(self._channels.memory, timeout_s),
        }
        return Readiness(checks, timeout_s)

    def _edge_parts(self, authenticate: Authenticate) -> EdgeParts:
        routes = routes_of((*OWN_CONTRACTS, *MEMORY_CONTRACTS))
        of_memory = {contract.full_name for contract in MEMORY_CONTRACTS}
        channels = self._channels
        return EdgeParts(
            router=Router(routes),
            calls=Calls(routes, lambda service: channels.memory if service in of_memory else channels.own),
            pages=pages(routes, self._readiness),
            auth=HttpAuth(self._settings.auth_mode, authenticate),
            limits=self._settings.limits,
            observer=Observer(process_tracing(), log_success=self._settings.rpc.access_log),
        )

    async def _watch_http(self, stop: asyncio.Event) -> None:
        """Fail when HTTP ends although nobody stopped it."""
        serving = self._serving
        if serving is None:
            raise RuntimeError("start first")
        waiting = asyncio.ensure_future(stop.wait())
        await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if serving.done() and not self._stopping:
            waiting.cancel()
            serving.result()
            raise RuntimeError("HTTP ended by itself")
        await waiting


def require_loopback(settings: GatewaySettings) -> None:
    """Refuse mode `none` where anybody but this machine could call.

    Raises:
        FailedPrecondition: CONFIGURATION_INVALID, with what to set.
    """
    if settings.auth_mode != "none":
        return
    addresses = {"MNEMESH_HTTP_HOST": settings.http_host, "MNEMESH_GATEWAY_LISTEN": settings.listen}
    for variable, address in addresses.items():
        if not (address.startswith("unix:") or is_loopback_host(address)):
            raise FailedPrecondition(
                Reason.CONFIGURATION_INVALID,
                f"{variable} is not a loopback address, and MNEMESH_AUTH_MODE=none lets in whoever can reach it; "
                "set MNEMESH_AUTH_MODE=api_key, or listen on 127.0.0.1",
            )


async def serve_until(stop: asyncio.Event, settings: GatewaySettings) -> None:
    """Run a gateway, with its telemetry, until the event is set.

    Raises:
        MeshError: it cannot start; the message says what to set.
    """
    telemetry = Telemetry(SELF, settings.telemetry)
    server = GatewayServer(settings)
    try:
        await server.start()
    except BaseException:
        await server.stop(0)
        await server.close()
        raise
    process = Process(
        servers=[server],
        workers=server.workers,
        closers={"connections": server.close, "telemetry": telemetry.close},
        drain=settings.drain,
        stall_threshold_s=settings.telemetry.stall_threshold_s,
    )
    await serve(stop, process)
