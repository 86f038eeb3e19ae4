"""Builds the engine: settings in, a server or a worker out. The only place that constructs anything."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import grpc

from engine.clients.memory import SERVER, MemoryClient
from engine.domain.lesson import TOPIC
from engine.domain.turn import Model
from engine.rpc.conversation import ConversationServicer, conversation_service
from engine.schema import SCHEMA
from engine.settings import EngineSettings
from engine.usecase.accept import AcceptMessage
from engine.usecase.context import ReadContext
from engine.usecase.converse import Converse
from engine.usecase.history import FullReplay
from engine.usecase.lease import LeaseKeeper
from engine.usecase.replay import ReplayTurn
from engine.usecase.run_turn import RunTurn
from engine.usecase.running import CANCEL_BOUND_S, RunningTurns
from engine.usecase.settle import SettleTurn
from engine.usecase.sweep import Sweep
from engine.usecase.turns import GetTurn, ListTurns
from engine.worker.relay import TeachMemory
from engine.worker.sweep import sweeps
from mesh.db.idempotency import Idempotency
from mesh.db.pool import Database
from mesh.db.revisions import check_current
from mesh.jobs.leases import Leases
from mesh.jobs.outbox import Outbox
from mesh.jobs.relay import Relay
from mesh.jobs.settings import RelaySettings
from mesh.kernel.clock import Clock, SystemClock
from mesh.kernel.ids import new_id
from mesh.models.factory import language_model
from mesh.models.protocols import LanguageModel
from mesh.rpc.auth import InternalAuthenticator, TokenSigner, TokenVerifier
from mesh.rpc.channel import ChannelSettings, connect
from mesh.rpc.server import MeshServer
from mesh.runtime.serve import Closer, Process, Servable, Worker, serve
from mesh.telemetry.process import Telemetry

NAME = SCHEMA.name


class EngineServer:
    """Serves conversations: a gRPC server, its pool, its model and the turns that it runs."""

    def __init__(self, settings: EngineSettings, model: LanguageModel, clock: Clock | None = None) -> None:
        clock = clock or SystemClock()
        self._model = model
        self._db = _database(settings)
        self._channel = _memory_channel(settings, clock)
        self._running = RunningTurns(new_id(), settings.limits.max_running_turns)
        converse = self._converse(settings)
        servicer = ConversationServicer(converse, ListTurns(self._db), GetTurn(self._db))
        self._server = MeshServer(
            NAME,
            replace(settings.rpc, listen=settings.listen),
            [conversation_service(servicer)],
            InternalAuthenticator(TokenVerifier(settings.identity_keys, NAME, clock)),
            clock=clock,
        )

    async def start(self) -> int:
        """Answer calls, alive and not ready. Return the port, or 0 for a socket file.

        Raises:
            FailedPrecondition: SCHEMA_BEHIND, or an address that cannot be listened on.
            Unavailable: the database cannot be reached.
        """
        await self._db.open()
        await check_current(self._db, SCHEMA.schema, SCHEMA.migrations_dir)
        return await self._server.start()

    async def set_ready(self, ready: bool) -> None:
        """Say whether calls should come."""
        await self._server.set_ready(ready)

    async def drain(self) -> None:
        """Say that no new calls should come, for good."""
        await self._server.drain()

    async def stop(self, grace_s: float | None = None) -> None:
        """Refuse new turns and finish those that run; what takes longer is marked failed, so that it can be retried.

        Args:
            grace_s: seconds for all of it; without one there is no time and running turns fail at once.
        """
        grace_s = grace_s or 0.0
        async with asyncio.TaskGroup() as group:
            # Callers stay connected until turns that were cancelled have said so.
            group.create_task(self._server.stop(max(grace_s, CANCEL_BOUND_S)))
            group.create_task(self._running.drain(max(0.0, grace_s - CANCEL_BOUND_S)))

    async def close(self) -> None:
        """Release connections and the model. Call it after `stop`."""
        await self._channel.close()
        await self._model.close()
        await self._db.close()

    def _converse(self, settings: EngineSettings) -> Converse:
        db, model, limits = self._db, self._model, settings.limits
        memory = _memory(settings, self._channel)
        run = RunTurn(
            model,
            ReadContext(db, memory, FullReplay(limits.history_chars), limits),
            LeaseKeeper(db, limits),
            SettleTurn(db, Outbox(SCHEMA.schema), limits),
        )
        accept = AcceptMessage(db, self._running, Model(model.provider, model.name), limits)
        return Converse(accept, run, ReplayTurn(db), self._running)


class EngineWorker:
    """Does what no caller waits for: lessons to memory, and sweeps."""

    def __init__(self, settings: EngineSettings, clock: Clock | None = None) -> None:
        clock = clock or SystemClock()
        self._db = _database(settings)
        self._channel = _memory_channel(settings, clock)
        handlers = {TOPIC: TeachMemory(_memory(settings, self._channel))}
        lease_s = settings.relay_lease_s
        relay_settings = RelaySettings(max_attempts=settings.learn_attempts, lease_s=lease_s, heartbeat_s=lease_s / 4)
        self.relay = Relay(self._db, Outbox(SCHEMA.schema), handlers, relay_settings, clock)
        self.sweep = Sweep(self._db, Idempotency(SCHEMA.schema), clock)
        self._periodic = sweeps(self.sweep, settings.sweep_interval_s)
        self._leases = Leases(self._db, SCHEMA.schema, new_id(), clock)

    async def start(self) -> None:
        """Check the database.

        Raises:
            FailedPrecondition: SCHEMA_BEHIND.
            Unavailable: the database cannot be reached.
        """
        await self._db.open()
        await check_current(self._db, SCHEMA.schema, SCHEMA.migrations_dir)

    @property
    def loops(self) -> Mapping[str, Worker]:
        """What runs until told to stop, by name."""
        sweeping = {periodic.name: partial(periodic.run, self._leases) for periodic in self._periodic}
        return {"relay": self.relay.run, **sweeping}

    async def close(self) -> None:
        """Release connections."""
        await self._channel.close()
        await self._db.close()


async def serve_until(stop: asyncio.Event, settings: EngineSettings) -> None:
    """Serve conversations until told to stop.

    Raises:
        MeshError: it cannot start; the message tells the operator what to do.
    """
    telemetry = Telemetry(NAME, settings.telemetry)
    server = EngineServer(settings, language_model(settings.model))
    closers = {"engine": server.close, "telemetry": telemetry.close}
    await _started(server.start(), server.close)
    await serve(stop, _process(settings, closers, servers=[server]))


async def work_until(stop: asyncio.Event, settings: EngineSettings) -> None:
    """Deliver and sweep until told to stop.

    Raises:
        MeshError: it cannot start; the message tells the operator what to do.
    """
    telemetry = Telemetry(f"{NAME}-worker", settings.telemetry)
    worker = EngineWorker(settings)
    closers = {"engine": worker.close, "telemetry": telemetry.close}
    await _started(worker.start(), worker.close)
    await serve(stop, _process(settings, closers, workers=worker.loops))


async def _started(start: Awaitable[object], close: Callable[[], Awaitable[None]]) -> None:
    try:
        await start
    except BaseException:
        await close()
        raise


def _process(
    settings: EngineSettings,
    closers: Mapping[str, Closer],
    *,
    servers: Sequence[Servable] = (),
    workers: Mapping[str, Worker] | None = None,
) -> Process:
    return Process(
        servers=servers,
        workers=workers or {},
        closers=closers,
        drain=settings.drain,
        stall_threshold_s=settings.telemetry.stall_threshold_s,
    )


def _database(settings: EngineSettings) -> Database:
    return Database(settings.database, application_name=f"mnemesh-{NAME}")


def _memory_channel(settings: EngineSettings, clock: Clock) -> grpc.aio.Channel:
    signer = TokenSigner(settings.identity_keys, SERVER, clock)
    return connect(settings.memory_target, "memory", signer, ChannelSettings(tls=settings.rpc.tls))


def _memory(settings: EngineSettings, channel: grpc.aio.Channel) -> MemoryClient:
    return MemoryClient(channel, learn_timeout_s=settings.learn_timeout_s)
