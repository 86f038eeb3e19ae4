"""A database with the probe service in it, and the pool of its runtime role."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence

import psycopg
import pytest

from mesh.db.migrate import ServiceSchema
from mesh.db.pool import Database
from mesh.db.settings import DatabaseSettings
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
