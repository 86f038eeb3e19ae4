"""A real PostgreSQL for tests: one cluster per run, one migrated template, a fresh copy for each test that asks.

The cluster is shared by all workers of pytest-xdist and goes away with the run, however that ends. With
MNEMESH_TEST_DATABASE_URL (an administrator of a PostgreSQL 15 or newer with pgvector, kept for tests alone, since the
passwords of Mnemesh's roles are set) that server is used and its databases are removed again.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib
import importlib.util
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from psycopg import errors as pg_errors
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from mesh.db.embedded import EmbeddedPostgres
from mesh.db.migrate import ServiceSchema, migrate
from mesh.db.roles import AdminConnection
from mesh.db.settings import EmbeddedSettings
from mesh.db.urls import database_url, role_url

TEST_DATABASE_VARIABLE = "MNEMESH_TEST_DATABASE_URL"
SERVICES = ("gateway", "engine", "memory", "skills")
"""Services that may exist; those whose `schema.py` can be found are migrated."""

_RUN_VARIABLE = "PYTEST_MNEMESH_RUN"
_environ = os.environ  # noqa: TID251 - a test run has no settings object; workers inherit the run through this
_MIN_MEMORY_BYTES = 4 * 1024**3
_BUSY_TRIES = 100
_BUSY_PAUSE_S = 0.05


@dataclass(frozen=True, slots=True)
class MeshDatabase:
    """A migrated database of its own.

    Args:
        admin_url: of the administrator, for looking at what no service may see.
        urls: of each service's runtime role, by service name.
    """

    admin_url: str
    urls: Mapping[str, str]


class Cluster:
    """The server of this run, the templates and the copies on it."""

    def __init__(self, admin_url: str, run_dir: Path) -> None:
        self.admin_url = admin_url
        self._run_dir = run_dir
        self._run_id = run_dir.name.rpartition("-")[2]

    def clone(self, services: Sequence[ServiceSchema]) -> MeshDatabase:
        """Return a new database in which the schemas of the services stand, empty."""
        name = f"mnemesh_test_{self._run_id}_{uuid.uuid4().hex[:8]}"
        self._copy(self._template(services), name)
        admin = database_url(self.admin_url, name)
        urls = {service.name: role_url(admin, service.runtime_role, _password(service)) for service in services}
        return MeshDatabase(admin, urls)

    def drop(self, database: MeshDatabase) -> None:
        """Remove a database, with whoever is still connected."""
        name = conninfo_to_dict(database.admin_url)["dbname"]
        with self._admin() as connection:
            _drop(connection, str(name))

    def drop_all(self) -> None:
        """Remove every database of this run."""
        with self._admin() as connection:
            rows = connection.execute(
                "select datname from pg_database where datname like %s", (f"mnemesh\\_%\\_{self._run_id}\\_%",)
            ).fetchall()
            for (name,) in rows:
                _drop(connection, name)

    def _template(self, services: Sequence[ServiceSchema]) -> str:
        """Return the name of the database to copy; the first worker that needs it makes it."""
        name = f"mnemesh_template_{self._run_id}_{_fingerprint(services)}"
        with _file_lock(self._run_dir / f"{name}.lock"):
            with self._admin() as connection:
                if connection.execute("select 1 from pg_database where datname = %s", (name,)).fetchone():
                    return name
            draft = f"{name}_draft"
            with self._admin() as connection:
                _drop(connection, draft)
                connection.execute(sql.SQL("create database {}").format(sql.Identifier(draft)))
            passwords = {service.name: _password(service) for service in services}
            migrate(database_url(self.admin_url, draft), services, passwords=passwords)
            rename = sql.SQL("alter database {} rename to {}").format(sql.Identifier(draft), sql.Identifier(name))
            self._when_free(rename)
        return name

    def _copy(self, template: str, name: str) -> None:
        # Files are copied as such: the other way writes every page to the log, and takes twice as long.
        statement = sql.SQL("create database {} template {} strategy file_copy")
        self._when_free(statement.format(sql.Identifier(name), sql.Identifier(template)))

    def _when_free(self, statement: sql.Composed) -> None:
        """Run a statement that needs a database without sessions; one that was just closed takes a moment to leave."""
        with self._admin() as connection:
            for attempt in range(1, _BUSY_TRIES + 1):
                try:
                    connection.execute(statement)
                    return
                except pg_errors.ObjectInUse:
                    if attempt == _BUSY_TRIES:
                        raise
                    time.sleep(_BUSY_PAUSE_S)

    def _admin(self) -> AdminConnection:
        return psycopg.connect(self.admin_url, autocommit=True)


def scratch_dir() -> Path:
    """Return where throw-away clusters go: memory where there is plenty, as they are made of a thousand small files."""
    memory = Path("/dev/shm")  # noqa: S108 - what is made there has a random name and rights of its own
    if memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > _MIN_MEMORY_BYTES:
        return memory
    return Path(tempfile.gettempdir())


def found_services() -> list[ServiceSchema]:
    """Return the schemas of all services that exist, from the `SCHEMA` of their `schema.py`."""
    names = [name for name in SERVICES if importlib.util.find_spec(name) and importlib.util.find_spec(f"{name}.schema")]
    return [importlib.import_module(f"{name}.schema").SCHEMA for name in names]


def pytest_configure(config: pytest.Config) -> None:
    """Name the directory of the run in the process that starts the workers; they inherit the name."""
    if not hasattr(config, "workerinput"):
        directory = scratch_dir() / f"mnemesh-tests-{uuid.uuid4().hex[:12]}"
        _environ[_RUN_VARIABLE] = f"{os.getpid()}:{directory}"


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Remove the cluster, or on a given server the databases, when all workers are done."""
    if hasattr(session.config, "workerinput"):
        return
    owner_pid, run_dir = _run()
    if not run_dir.exists():
        return
    given = _given_url()
    if given:
        Cluster(given, run_dir).drop_all()
    else:
        _embedded(run_dir, owner_pid).stop()
    shutil.rmtree(run_dir, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_cluster() -> Cluster:
    """Return the PostgreSQL of this run."""
    owner_pid, run_dir = _run()
    run_dir.mkdir(mode=0o755, exist_ok=True)
    return Cluster(_given_url() or _embedded(run_dir, owner_pid).start().admin_url, run_dir)


@pytest.fixture
def mesh_database(postgres_cluster: Cluster) -> Iterator[MeshDatabase]:
    """Give one test a database with the schemas of all services."""
    with _cloned(postgres_cluster) as database:
        yield database


@pytest.fixture
def admin_url(mesh_database: MeshDatabase) -> str:
    """Return the administrator's URL of the test's database."""
    return mesh_database.admin_url


@pytest.fixture
def database_urls(mesh_database: MeshDatabase) -> Mapping[str, str]:
    """Return the URL of each service's runtime role on the test's database."""
    return mesh_database.urls


@pytest.fixture(scope="module")
def module_mesh_database(postgres_cluster: Cluster) -> Iterator[MeshDatabase]:
    """Give the tests of one module a database that they share."""
    with _cloned(postgres_cluster) as database:
        yield database


@pytest.fixture(scope="module")
def module_database_urls(module_mesh_database: MeshDatabase) -> Mapping[str, str]:
    """Return the URL of each service's runtime role on the module's database."""
    return module_mesh_database.urls


@pytest.fixture
def migrated_database(postgres_cluster: Cluster) -> Iterator[Callable[[Sequence[ServiceSchema]], MeshDatabase]]:
    """Return a function that makes a database with the schemas it is given, for this test."""
    made: list[MeshDatabase] = []

    def make(services: Sequence[ServiceSchema]) -> MeshDatabase:
        made.append(postgres_cluster.clone(services))
        return made[-1]

    yield make
    for database in made:
        postgres_cluster.drop(database)


@contextmanager
def _cloned(cluster: Cluster) -> Iterator[MeshDatabase]:
    database = cluster.clone(found_services())
    try:
        yield database
    finally:
        cluster.drop(database)


def _given_url() -> str:
    return _environ.get(TEST_DATABASE_VARIABLE, "")


def _run() -> tuple[int, Path]:
    """Return the process that owns the run, and the directory of the run."""
    owner_pid, _, directory = _environ[_RUN_VARIABLE].partition(":")
    return int(owner_pid), Path(directory)


def _embedded(run_dir: Path, owner_pid: int) -> EmbeddedPostgres:
    return EmbeddedPostgres(
        run_dir / "postgres", EmbeddedSettings.from_environ(_environ, durable=False), owner_pid=owner_pid
    )


def _password(service: ServiceSchema) -> str:
    return f"test-{service.name}"


def _fingerprint(services: Sequence[ServiceSchema]) -> str:
    """Return a name for what the services' revisions make, so that changed files make a new template."""
    digest = hashlib.sha256()
    for service in services:
        digest.update(repr((service.name, service.schema, service.bootstrap_sql, service.extra_sql)).encode())
        for path in sorted((service.migrations_dir / "versions").glob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _drop(connection: AdminConnection, name: str) -> None:
    connection.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))


@contextmanager
def _file_lock(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
