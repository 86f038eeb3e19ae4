"""Fixtures of memory's contract tests."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from memory.schema import SCHEMA
from mesh.testing.postgres import Cluster, MeshDatabase
from tests.contract.memory.hashing_embedder import HashingEmbedder
from tests.contract.memory.memory_under_test import MemoryUnderTest, User


@pytest.fixture(scope="session")
def memory_database(postgres_cluster: Cluster) -> Iterator[MeshDatabase]:
    """A database with memory's schema alone. Tests share it: each has users of its own."""
    database = postgres_cluster.clone([SCHEMA])
    yield database
    postgres_cluster.drop(database)


@pytest.fixture
def sockets() -> Iterator[Path]:
    """A directory whose name is short enough for socket files."""
    with tempfile.TemporaryDirectory(prefix="mnemesh-") as name:
        yield Path(name)


@pytest.fixture
async def memory(memory_database: MeshDatabase, sockets: Path) -> AsyncIterator[MemoryUnderTest]:
    server = MemoryUnderTest(memory_database.urls["memory"], sockets)
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
def embedder(memory: MemoryUnderTest) -> HashingEmbedder:
    assert isinstance(memory.embedder, HashingEmbedder)
    return memory.embedder


@pytest.fixture
def olena(memory: MemoryUnderTest) -> User:
    """A user."""
    return memory.user()
