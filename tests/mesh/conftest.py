"""Meshes in one process, shared by the tests of a module; tests keep apart by being different users."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import pytest_asyncio

from mesh.models.settings import ModelSettings
from mesh.testing.postgres import MeshDatabase
from tests.mesh.harness import Mesh, MeshOptions, running_mesh
from tests.mesh.mesh_gemini import MeshGemini


@pytest.fixture(scope="module")
def socket_directory() -> Iterator[Path]:
    """A directory with a short name, since that of a socket file is limited to about 100 characters."""
    with TemporaryDirectory(prefix="mnemesh-") as name:
        yield Path(name)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def mesh(module_mesh_database: MeshDatabase, socket_directory: Path) -> AsyncIterator[Mesh]:
    """A mesh with nothing but built-in parts."""
    async with running_mesh(module_mesh_database, socket_directory, MeshOptions()) as running:
        yield running


@pytest.fixture(scope="module")
def gemini() -> Iterator[MeshGemini]:
    """A fake Gemini at the wire."""
    with MeshGemini() as fake:
        yield fake


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def gemini_mesh(
    module_mesh_database: MeshDatabase, socket_directory: Path, gemini: MeshGemini
) -> AsyncIterator[Mesh]:
    """A mesh whose model, extractor and embedder are Gemini."""
    models = ModelSettings(
        gemini_api_key="test-key",
        gemini_base_url=gemini.base_url,
        first_token_timeout_s=1.5,
        stall_timeout_s=1.5,
        request_timeout_s=1.5,
        attempts=1,
    )
    async with running_mesh(module_mesh_database, socket_directory, MeshOptions(models=models)) as running:
        yield running
