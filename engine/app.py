"""Builds the engine: settings in, a server or a worker out. The only place that constructs anything."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from engine.clients.memory import SERVER, MemoryClient
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
from engine.usecase.turns import GetTurn, ListTurns
from mesh.db.migrate import check_current
from mesh.db.pool import Database
from mesh.db.settings import DatabaseSettings
from mesh.jobs.outbox import Outbox
from mesh.kernel.clock import Clock, SystemClock
from mesh.kernel.ids import new_id
from mesh.models.protocols import LanguageModel
from mesh.rpc.auth import InternalAuthenticator, TokenSigner, TokenVerifier
from mesh.rpc.channel import ChannelSettings, connect
from mesh.rpc.server import MeshServer

NAME = SCHEMA.name


class EngineServer:
    """Serves conversations: a gRPC server, its pool, its model and the turns that it runs."""

    def __init__(self, settings: EngineSettings, model: LanguageModel, *, clock: Clock | None = None) -> None:
        clock = clock or SystemClock()
        limits = settings.limits
        self._settings = settings
        self._model = model
        self._db = Database(DatabaseSettings(settings.database_url), application_name=f"mnemesh-{NAME}")
        signer = TokenSigner(settings.identity_keys, SERVER, clock)
        self._channel = connect(settings.memory_target, "memory", signer, ChannelSettings(tls=settings.rpc.tls))
        memory = MemoryClient(
            self._channel, recall_timeout_s=limits.recall_budget_s, learn_timeout_s=settings.learn_timeout_s
        )
        self._running = RunningTurns(new_id(), limits.max_running_turns)
        strategy = FullReplay(limits.history_chars)
        converse = Converse(
            AcceptMessage(self._db, self._running, Model(model.provider, model.name), limits),
            RunTurn(
                model,
                ReadContext(self._db, memory, strategy, limits),
                LeaseKeeper(self._db, limits),
                SettleTurn(self._db, Outbox(SCHEMA.schema), limits),
            ),
            ReplayTurn(self._db),
            self._running,
        )
        servicer = ConversationServicer(converse, ListTurns(self._db), GetTurn(self._db))
        self._server = MeshServer(
            NAME,
            replace(settings.rpc, listen=settings.listen),
            [conversation_service(servicer)],
            InternalAuthenticator(TokenVerifier(settings.identity_keys, NAME, clock)),
            clock=clock,
        )

    async def start(self) -> int:
        """Serve, and return the port, or 0 for a socket file.

        Raises:
            FailedPrecondition: SCHEMA_BEHIND, or an address that cannot be listened on.
            Unavailable: the database cannot be reached.
        """
        await self._db.open()
        await check_current(self._db, SCHEMA.schema, SCHEMA.migrations_dir)
        port = await self._server.start()
        await self._server.set_ready(True)
        return port

    async def stop(self) -> None:
        """Refuse new turns, finish those that run within the drain time, and release everything."""
        drain_s = self._settings.rpc.drain_s
        async with asyncio.TaskGroup() as group:
            # Callers stay connected until turns that were cancelled have said so.
            group.create_task(self._server.stop(drain_s + CANCEL_BOUND_S))
            group.create_task(self._running.drain(drain_s))
        await self._channel.close()
        await self._model.close()
        await self._db.close()
