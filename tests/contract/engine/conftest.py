"""Fixtures of the engine's contract tests."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from engine.schema import SCHEMA
from mesh.db.migrate import ServiceSchema
from mesh.testing.postgres import MeshDatabase
from tests.contract.engine.memory_server import MemoryServer
from tests.contract.engine.mesh_of_one import KEYS, MeshOfOne


@pytest.fixture
async def mesh(engine_database: MeshDatabase) -> AsyncIterator[MeshOfOne]:
    """A database of its own and a memory server; engines are started by the test."""
    with tempfile.TemporaryDirectory(prefix="mnemesh-") as name:
        directory = Path(name)
        memory = MemoryServer(KEYS, directory / "memory.sock")
        await memory.start()
        async with AsyncExitStack() as stack:
            yield MeshOfOne(engine_database.urls["engine"], engine_database.admin_url, directory, memory, stack)
        await memory.stop()


@pytest.fixture
def engine_database(migrated_database: Callable[[Sequence[ServiceSchema]], MeshDatabase]) -> MeshDatabase:
    """A fresh database with the engine's schema alone."""
    return migrated_database([SCHEMA])
