"""Fixtures of the engine's contract tests."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import psycopg
import pytest

from engine.schema import SCHEMA
from mesh.testing.postgres import Cluster, MeshDatabase
from tests.contract.engine.memory_server import MemoryServer
from tests.contract.engine.mesh_of_one import EMPTY, KEYS, MeshOfOne


@pytest.fixture(scope="session")
def shared_engine_database(postgres_cluster: Cluster) -> Iterator[MeshDatabase]:
    """A database with the engine's schema alone; making one takes longer than emptying it."""
    database = postgres_cluster.clone([SCHEMA])
    yield database
    postgres_cluster.drop(database)


@pytest.fixture
def engine_database(shared_engine_database: MeshDatabase) -> MeshDatabase:
    """The database, empty."""
    with psycopg.connect(shared_engine_database.admin_url, autocommit=True) as connection:
        connection.execute(EMPTY)
    return shared_engine_database


@pytest.fixture
async def mesh(engine_database: MeshDatabase) -> AsyncIterator[MeshOfOne]:
    """An empty database and a memory server; engines are started by the test."""
    with tempfile.TemporaryDirectory(prefix="mnemesh-") as name:
        directory = Path(name)
        memory = MemoryServer(KEYS, directory / "memory.sock")
        await memory.start()
        async with AsyncExitStack() as stack:
            yield MeshOfOne(engine_database.urls["engine"], engine_database.admin_url, directory, memory, stack)
        await memory.stop()
