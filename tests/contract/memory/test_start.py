"""When a memory process starts, when it refuses to, and how it stops."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import psycopg
import pytest

from memory.schema import SCHEMA
from mesh.db.migrate import ServiceSchema
from mesh.kernel.errors import FailedPrecondition, MeshError, Unavailable
from mesh.kernel.identity import Principal
from mesh.kernel.reasons import Reason
from mesh.models.protocols import EmbeddingSpace
from mesh.rpc.auth import TokenSigner
from mesh.rpc.channel import connect
from mesh.testing.postgres import MeshDatabase
from tests.contract.memory.hashing_embedder import HashingEmbedder
from tests.contract.memory.memory_under_test import KEYS, MemoryUnderTest, User, new_uuid, said

Make = Callable[[Sequence[ServiceSchema]], MeshDatabase]


async def test_g8_another_embedder_than_that_of_the_stored_vectors_is_refused(
    migrated_database: Make, sockets: Path
) -> None:
    url = migrated_database([SCHEMA]).urls["memory"]
    empty = MemoryUnderTest(url, sockets, HashingEmbedder("never used"))
    await empty.start()
    await empty.stop()

    first = MemoryUnderTest(url, sockets, HashingEmbedder("one"))
    await first.start()
    await first.user().ingest(said("m", "Hello there"), dialog_key="d")
    told: list[EmbeddingSpace | None] = []
    second = MemoryUnderTest(url, sockets, HashingEmbedder("two"))
    worker = second.worker()
    for start in (second.start, worker.start):
        with pytest.raises(FailedPrecondition) as refused:
            await start()
        assert refused.value.reason is Reason.EMBEDDING_SPACE_MISMATCH
        assert refused.value.details.metadata == {
            "stored": "builtin/one@768",
            "configured": "builtin/two@768",
        }
    third = MemoryUnderTest(url, sockets)
    third.server._make_embedder = lambda stored: told.append(stored) or HashingEmbedder("one")  # type: ignore[func-returns-value]
    await third.start()
    assert told == [EmbeddingSpace("builtin", "one")]
    await worker.close()
    for server in (second, third, first):
        await server.stop()


async def test_servers_that_start_together_agree_on_the_space(migrated_database: Make, sockets: Path) -> None:
    url = migrated_database([SCHEMA]).urls["memory"]
    servers = [MemoryUnderTest(url, sockets) for _ in range(4)]
    await asyncio.gather(*(server.start() for server in servers))
    await asyncio.gather(*(server.user().ingest(said("m", "Hello"), dialog_key="d") for server in servers))
    for server in servers:
        await server.stop()


async def test_a_schema_that_is_behind_is_refused(migrated_database: Make, sockets: Path) -> None:
    database = migrated_database([SCHEMA])
    with psycopg.connect(database.admin_url, autocommit=True) as connection:
        connection.execute("update memory.alembic_version set version_num = '0000'")
    server = MemoryUnderTest(database.urls["memory"], sockets)
    with pytest.raises(FailedPrecondition) as refused:
        await server.start()
    assert refused.value.reason is Reason.SCHEMA_BEHIND
    await server.stop()


async def test_a_database_that_is_away_is_no_start(sockets: Path) -> None:
    server = MemoryUnderTest("postgresql://mnemesh_memory@127.0.0.1:1/none", sockets)
    with pytest.raises(Unavailable):
        await server.start()
    await server.stop()


async def test_serve_and_work_run_as_processes_and_stop_cleanly(migrated_database: Make, sockets: Path) -> None:
    address = f"unix:{sockets}/memory.sock"
    environment = {
        "PYTHONPATH": ":".join(sys.path),
        "MNEMESH_DATABASE_URL": migrated_database([SCHEMA]).urls["memory"],
        "MNEMESH_IDENTITY_KEYS": ",".join(KEYS),
        "MNEMESH_MEMORY_LISTEN": address,
        "MNEMESH_HOME": str(sockets),
        "MNEMESH_EMBEDDER": "openai",
        "MNEMESH_OPENAI_BASE_URL": "http://127.0.0.1:1/v1",
        "MNEMESH_OPENAI_EMBEDDING_MODEL": "away",
        "MNEMESH_MODEL_PROVIDER": "builtin",
        "MNEMESH_HTTP_PORT": "8080",
    }
    server, worker = await start("serve", environment), await start("work", environment)
    async with connect(address, "memory", TokenSigner(KEYS, "gateway")) as channel:
        user = User(channel, Principal("acme", new_uuid(), frozenset({"*"})))
        await eventually(user.list)
        for process in (server, worker):
            process.send_signal(signal.SIGTERM)
        outputs = [await asyncio.wait_for(process.communicate(), 20) for process in (server, worker)]
    assert [server.returncode, worker.returncode] == [0, 0], outputs


async def test_a_wrong_setting_is_named_and_nothing_starts() -> None:
    process = await start("serve", {"PYTHONPATH": ":".join(sys.path), "MNEMESH_MEMORY_CHUNK_CHAR": "1"})
    output = await asyncio.wait_for(process.communicate(), 20)
    assert process.returncode == 1
    text = b"".join(part or b"" for part in output).decode()
    assert "MNEMESH_DATABASE_URL" in text
    assert "MNEMESH_MEMORY_CHUNK_CHAR " in text


async def start(command: str, environment: dict[str, str]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "memory",
        command,
        env=environment,
        stderr=asyncio.subprocess.STDOUT,
        stdout=asyncio.subprocess.PIPE,
    )


async def eventually(call: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while True:
            try:
                await call()  # type: ignore[misc]
                return
            except MeshError:
                await asyncio.sleep(0.05)
