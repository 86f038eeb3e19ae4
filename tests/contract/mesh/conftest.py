"""A database with the probe service in it, and the pool of its runtime role."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager

import psycopg
import pytest

from mesh.db.embedded import EmbeddedPostgres, resolve
from mesh.db.migrate import ServiceSchema
from mesh.db.pool import Database
from mesh.db.settings import DatabaseSettings, EmbeddedSettings
from mesh.testing.postgres import Cluster, MeshDatabase
from tests.contract.mesh.schemas import OTHER, PROBE

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


@pytest.fixture
def own_server() -> Iterator[EmbeddedPostgres]:
    """A server of its own, for a test that kills it."""
    with _server() as postgres:
        yield postgres


@pytest.fixture(scope="module")
def spare_server() -> Iterator[EmbeddedPostgres]:
    """A server beside the one of the run, for the tests of a module that need roles of their own."""
    with _server() as postgres:
        yield postgres


@contextmanager
def _server() -> Iterator[EmbeddedPostgres]:
    postgres = resolve("memory://", EmbeddedSettings.from_environ(os.environ))  # noqa: TID251 - as in a test run
    postgres.start()
    try:
        yield postgres
    finally:
        postgres.stop()
