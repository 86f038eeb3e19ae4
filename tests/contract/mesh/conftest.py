"""A database with the probe service in it, and the pool of its runtime role."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from mesh.db import postmaster
from mesh.db.embedded import EmbeddedPostgres
from mesh.db.migrate import ServiceSchema
from mesh.db.pool import Database
from mesh.db.settings import DatabaseSettings, EmbeddedSettings
from mesh.testing.postgres import Cluster, MeshDatabase, scratch_dir
from tests.contract.mesh.schemas import OTHER, PROBE

SETTINGS = EmbeddedSettings.from_environ(os.environ)  # noqa: TID251 - a test run has no settings object
QUICK = replace(SETTINGS, durable=False)
EMPTY = "truncate probe.things, probe.idempotency, probe.outbox, probe.leases restart identity"


@pytest.fixture(scope="module")
def shared_probe(postgres_cluster: Cluster) -> Iterator[MeshDatabase]:
    database = postgres_cluster.clone([PROBE, OTHER])
    yield database
    postgres_cluster.drop(database)


@pytest.fixture
def probe(shared_probe: MeshDatabase) -> MeshDatabase:
    """A database of the module, emptied for each test."""
    with psycopg.connect(shared_probe.admin_url, autocommit=True) as admin:
        admin.execute(EMPTY)
    return shared_probe


@pytest.fixture
def own_probe(migrated_database: Callable[[Sequence[ServiceSchema]], MeshDatabase]) -> MeshDatabase:
    """A database for a test that changes more than rows."""
    return migrated_database([PROBE, OTHER])


@pytest.fixture
async def db(probe: MeshDatabase) -> AsyncIterator[Database]:
    database = Database(DatabaseSettings(probe.urls["probe"], pool_max=5), application_name="probe")
    await database.open()
    yield database
    await database.close()


@pytest.fixture(scope="session")
def blank_home() -> Iterator[Path]:
    """The directory of a server that was made and stopped, to be copied: that is faster than making one."""
    with _directory() as path:
        home = path / "home"
        postgres = EmbeddedPostgres(home, QUICK)
        postgres.start()
        postgres.stop()
        yield home


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory that another user may enter, as the directories of pytest are not."""
    with _directory() as path:
        yield path


@pytest.fixture
def home(blank_home: Path, directory: Path) -> Path:
    """The directory of a server that was made and stopped."""
    return copy(blank_home, directory / "home")


@pytest.fixture
def own_server(home: Path) -> Iterator[EmbeddedPostgres]:
    """A server of its own, which keeps what it commits, for a test that kills it."""
    postgres = EmbeddedPostgres(home, SETTINGS)
    postgres.start()
    yield postgres
    postgres.stop()


@pytest.fixture(scope="module")
def spare_server(blank_home: Path) -> Iterator[EmbeddedPostgres]:
    """A server beside the one of the run, for the tests of a module that need roles of their own."""
    with _directory() as path:
        postgres = EmbeddedPostgres(copy(blank_home, path / "home"), QUICK)
        postgres.start()
        yield postgres


def copy(source: Path, target: Path) -> Path:
    """Copy a directory with the owners of its files."""
    subprocess.run(["cp", "-a", source, target], check=True)
    return target


@contextmanager
def _directory() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="mnemesh-embedded-", dir=scratch_dir()))
    path.chmod(0o755)
    try:
        yield path
    finally:
        for cluster in [*path.glob("cluster"), *path.glob("*/cluster")]:
            postmaster.stop(cluster, 10)
        shutil.rmtree(path, ignore_errors=True)
