"""The worker's loop: vectors that are missing are made, answers that are old are forgotten, one worker at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import psycopg

from memory.app import MemoryWorker
from memory.usecase.sweep import Sweep
from mesh.db.idempotency import Idempotency
from mesh.db.pool import Database
from mesh.db.settings import DatabaseSettings
from mesh.kernel.clock import SystemClock
from mesh.testing.postgres import MeshDatabase
from tests.contract.memory.hashing_embedder import DOWN, HashingEmbedder
from tests.contract.memory.memory_under_test import MemoryUnderTest, User, new_uuid, said, stated


@asynccontextmanager
async def working(memory: MemoryUnderTest) -> AsyncIterator[None]:
    """Run two workers while the block runs."""
    settings = replace(memory.settings, backlog_interval_s=0.05)
    workers = [MemoryWorker(settings, lambda stored: memory.embedder) for _ in range(2)]
    stop = asyncio.Event()
    for worker in workers:
        await worker.start()
    async with asyncio.TaskGroup() as group:
        for worker in workers:
            group.create_task(worker.run(stop))
        try:
            yield
        finally:
            stop.set()
    for worker in workers:
        await worker.close()


async def pending(user: User, count: int) -> int:
    messages = [said(f"m{n}", f"Message number {n}", n) for n in range(count)]
    return (await user.ingest(*messages, dialog_key="d")).pending_vectors


async def until_none_is_pending(user: User, count: int) -> None:
    async with asyncio.timeout(20):
        while await pending(user, count):  # noqa: ASYNC110 - the worker tells nobody when it is done
            await asyncio.sleep(0.02)


async def test_g1_an_embedder_that_comes_back_makes_what_is_missing_once(
    memory: MemoryUnderTest, olena: User, embedder: HashingEmbedder
) -> None:
    embedder.failure = DOWN
    assert await pending(olena, 150) == 150
    await olena.remember(stated("likes", "zeppelins", multiple=True))
    async with working(memory):
        await asyncio.sleep(0)
        embedder.failure = None
        await until_none_is_pending(olena, 150)
    response = await olena.recall("zeppelins", explain=True, kinds=[1])
    assert [part.value > 0 for part in response.results[0].parts if part.arm == "vector"] == [True]
    assert len([text for text in embedder.documents if text.startswith("Message number")]) == 150


async def test_answers_of_yesterday_are_forgotten(memory_database: MeshDatabase, olena: User) -> None:
    old, fresh = new_uuid(), new_uuid()
    for request_id in (old, fresh):
        await olena.remember(stated("likes", request_id, multiple=True), request_id=request_id)
    with psycopg.connect(memory_database.admin_url, autocommit=True) as connection:
        connection.execute(
            "update memory.idempotency set expires_at = now() - interval '1 second' where request_id = %s", (old,)
        )
        db = Database(DatabaseSettings(memory_database.urls["memory"], pool_max=1), application_name="test")
        assert await Sweep(db, Idempotency("memory"), SystemClock()).forget_old_answers() >= 1
        await db.close()
        rows = connection.execute(
            "select request_id from memory.idempotency where request_id = any(%s)", ([old, fresh],)
        ).fetchall()
    assert rows == [(fresh,)]
