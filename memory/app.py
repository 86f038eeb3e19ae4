"""Builds memory: settings in, a server or a worker out. The only place that constructs anything."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from memory.rpc.chunks import ChunkServicer, chunk_service
from memory.rpc.facts import FactServicer, fact_service
from memory.rpc.recall import RecallServicer, recall_service
from memory.schema import SCHEMA
from memory.settings import MemorySettings
from memory.usecase.backlog import EmbedBacklog
from memory.usecase.embedding import Embeddings
from memory.usecase.extraction import BuiltinExtractor, ModelExtractor
from memory.usecase.facts import Facts
from memory.usecase.ingest import IngestDialog
from memory.usecase.learn import LearnFromTurn, LearnRules
from memory.usecase.ports import FactExtractor
from memory.usecase.recall import Recall
from memory.usecase.remember import RememberFacts
from memory.usecase.scopes import ScopeSizes
from memory.usecase.search import SearchChunks
from memory.usecase.seen import SeenFacts
from memory.usecase.spaces import ensure_space, stored_space
from memory.usecase.sweep import Sweep
from memory.worker.embed_backlog import embed_backlog
from memory.worker.sweep import forget_answers
from mesh.db.idempotency import Idempotency
from mesh.db.pool import Database
from mesh.db.revisions import check_current
from mesh.jobs.leases import Leases
from mesh.kernel.clock import Clock, SystemClock
from mesh.kernel.errors import MeshError
from mesh.kernel.ids import new_id
from mesh.models.factory import embedder, structured_model, warm_up
from mesh.models.protocols import Embedder, EmbeddingSpace, StructuredModel
from mesh.rpc.auth import InternalAuthenticator, TokenVerifier
from mesh.rpc.server import MeshServer, Service
from mesh.runtime.serve import Process, serve
from mesh.telemetry.process import Telemetry

NAME = SCHEMA.name

_log = logging.getLogger(__name__)


EmbedderFactory: TypeAlias = Callable[[EmbeddingSpace | None], Embedder]
"""Makes the embedder, told the space of the stored vectors: an embedder that nobody chose keeps to it."""


class MemoryServer:
    """Serves facts, chunks and recall. The parts that need the embedding space are built when it starts.

    Args:
        settings: what the process was told.
        make_embedder: makes the embedder; it is closed with the server.
        model: extracts facts; None leaves that to the built-in rules. Closed with the server.
        clock: what time it is.
    """

    def __init__(
        self,
        settings: MemorySettings,
        make_embedder: EmbedderFactory,
        model: StructuredModel | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._settings = settings
        self._make_embedder = make_embedder
        self._embedder: Embedder | None = None
        self._model = model
        self._clock = clock or SystemClock()
        self._db = _database(settings)
        self.seen = SeenFacts(self._db, self._clock)
        self._server: MeshServer | None = None

    async def start(self) -> int:
        """Answer calls, alive and not ready. Return the port, or 0 for a socket file.

        Raises:
            FailedPrecondition: SCHEMA_BEHIND, EMBEDDING_SPACE_MISMATCH, or an address that cannot be listened on.
            Unavailable: the database cannot be reached.
        """
        await self._db.open()
        await check_current(self._db, SCHEMA.schema, SCHEMA.migrations_dir)
        self._embedder = self._make_embedder(await stored_space(self._db))
        embeddings = Embeddings(self._embedder, await ensure_space(self._db, self._embedder.space))
        self._server = MeshServer(
            NAME,
            replace(self._settings.rpc, listen=self._settings.listen),
            self._services(embeddings),
            InternalAuthenticator(TokenVerifier(self._settings.identity_keys, NAME, self._clock)),
            clock=self._clock,
        )
        return await self._server.start()

    async def set_ready(self, ready: bool) -> None:
        """Say whether calls should come."""
        if self._server is not None:
            await self._server.set_ready(ready)

    async def drain(self) -> None:
        """Say that no new calls should come, for good."""
        if self._server is not None:
            await self._server.drain()

    async def stop(self, grace_s: float | None = None) -> None:
        """Refuse new calls and end those in progress after a grace period."""
        if self._server is not None:
            await self._server.stop(grace_s)

    async def close(self) -> None:
        """Release connections and models. Call it after `stop`."""
        await self.seen.flush()
        if self._embedder is not None:
            await self._embedder.close()
        if self._model is not None:
            await self._model.close()
        await self._db.close()

    async def warm_up(self, stop: asyncio.Event) -> None:
        """Load a local embedder before its first question, then rest until told to stop."""
        if self._embedder is not None:
            try:
                await warm_up(self._embedder)
            except MeshError as error:
                _log.warning(
                    "the embedder is not ready; the first use tries again", extra={"reason": error.reason.value}
                )
        await stop.wait()

    def _services(self, embeddings: Embeddings) -> list[Service]:
        db, settings, idempotency = self._db, self._settings, Idempotency(SCHEMA.schema)
        sizes = ScopeSizes(self._clock)
        rules = LearnRules(settings.chunk_chars, settings.merge_distance, settings.learn_embed_timeout_s)
        remember = RememberFacts(db, idempotency, embeddings, settings.merge_distance)
        learn = LearnFromTurn(db, embeddings, self._extractor(), rules)
        ingest = IngestDialog(db, idempotency, embeddings, settings.chunk_chars)
        return [
            fact_service(FactServicer(remember, learn, Facts(db, idempotency), self._clock)),
            chunk_service(ChunkServicer(ingest, SearchChunks(db, embeddings, sizes, self._clock))),
            recall_service(RecallServicer(Recall(db, embeddings, sizes, self.seen, self._clock))),
        ]

    def _extractor(self) -> FactExtractor:
        if self._model is None:
            return BuiltinExtractor()
        return ModelExtractor(self._model, self._settings.extract_timeout_s)


class MemoryWorker:
    """Does what no caller waits for: vectors that are still to be made, and sweeps."""

    def __init__(self, settings: MemorySettings, make_embedder: EmbedderFactory, clock: Clock | None = None) -> None:
        clock = clock or SystemClock()
        self._settings = settings
        self._make_embedder = make_embedder
        self._embedder: Embedder | None = None
        self._clock = clock
        self._db = _database(settings)
        self._leases = Leases(self._db, SCHEMA.schema, new_id(), clock)
        self._backlog: EmbedBacklog | None = None

    async def start(self) -> None:
        """Check the database.

        Raises:
            FailedPrecondition: SCHEMA_BEHIND or EMBEDDING_SPACE_MISMATCH.
            Unavailable: the database cannot be reached.
        """
        await self._db.open()
        await check_current(self._db, SCHEMA.schema, SCHEMA.migrations_dir)
        self._embedder = self._make_embedder(await stored_space(self._db))
        space_id = await ensure_space(self._db, self._embedder.space)
        self._backlog = EmbedBacklog(self._db, self._embedder, space_id)

    @property
    def backlog(self) -> EmbedBacklog:
        """The vectors that are still to be made; there after `start`."""
        if self._backlog is None:
            raise RuntimeError("the worker was not started")
        return self._backlog

    async def run(self, stop: asyncio.Event) -> None:
        """Work until told to stop; `start` comes first."""
        sweep = Sweep(self._db, Idempotency(SCHEMA.schema), self._clock)
        jobs = (
            embed_backlog(self.backlog, self._settings.backlog_interval_s, self._leases, stop),
            forget_answers(sweep),
        )
        async with asyncio.TaskGroup() as group:
            for job in jobs:
                group.create_task(job.run(self._leases, stop), name=job.name)

    async def close(self) -> None:
        """Release connections and the embedder."""
        if self._embedder is not None:
            await self._embedder.close()
        await self._db.close()


async def serve_memory(settings: MemorySettings, stop: asyncio.Event) -> None:
    """Serve memory until told to stop."""
    telemetry = Telemetry(NAME, settings.telemetry)
    server = MemoryServer(settings, _embedder_of(settings), structured_model(settings.models))
    await server.start()
    process = Process(
        servers=[server],
        workers={"seen": server.seen.run, "warm_up": server.warm_up},
        closers={"connections": server.close, "telemetry": telemetry.close},
        drain=settings.drain,
        stall_threshold_s=settings.telemetry.stall_threshold_s,
    )
    await serve(stop, process)


async def work_memory(settings: MemorySettings, stop: asyncio.Event) -> None:
    """Make vectors and sweep until told to stop."""
    telemetry = Telemetry(f"{NAME}-worker", settings.telemetry)
    worker = MemoryWorker(settings, _embedder_of(settings))
    await worker.start()
    process = Process(
        workers={"worker": worker.run},
        closers={"connections": worker.close, "telemetry": telemetry.close},
        drain=settings.drain,
        stall_threshold_s=settings.telemetry.stall_threshold_s,
    )
    await serve(stop, process)


def _embedder_of(settings: MemorySettings) -> EmbedderFactory:
    return lambda stored: embedder(settings.models, settings.model_cache, stored)


def _database(settings: MemorySettings) -> Database:
    return Database(settings.database, application_name=f"mnemesh-{NAME}")
