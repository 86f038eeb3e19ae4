"""The database of a mesh on this machine: embedded and looked after here, or somebody else's and used as it is."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import psycopg

from mesh.cli.home import Home, load_credentials
from mesh.cli.problems import Problem, environment_problem
from mesh.cli.services import Service
from mesh.cli.settings import inherited_environment
from mesh.cli.supervisor import Listener, RestartPolicy
from mesh.db import postmaster
from mesh.db.embedded import EmbeddedPostgres, EmbeddedServer, is_embedded, resolve
from mesh.db.queries import load
from mesh.db.settings import EmbeddedSettings
from mesh.db.urls import role_url
from mesh.kernel.errors import MeshError

POSTGRES = "postgres"
WATCH_POLL_S = 0.2
CONNECT_TIMEOUT_S = 10
_VECTOR_VERSION = load(__name__, "database.sql").get("vector_version")


@dataclass(frozen=True, slots=True)
class DatabaseInfo:
    """A database that can be used.

    Args:
        admin_url: for migrations; a secret.
        version: of PostgreSQL, such as `18.4`.
        vector_version: of pgvector, such as `0.8.5`; empty when it is not known.
        place: where it is, for people.
        port: it listens on, 0 when it is not ours.
        pid: of its main process, 0 when it is not ours.
    """

    admin_url: str
    version: str
    vector_version: str
    place: str
    port: int = 0
    pid: int = 0


class Database(Protocol):
    """What `up` and `migrate` need of a database. Every method but `keep` blocks."""

    def start(self) -> DatabaseInfo:
        """Start it where it is ours, and describe it; raises `Problem`."""

    def used(self) -> AbstractContextManager[DatabaseInfo]:
        """Start it for a block, and leave it as it was found."""

    def passwords(self, services: Sequence[Service]) -> Mapping[str, str]:
        """Return the passwords of the runtime roles, by server."""

    async def keep(self, listener: Listener) -> None:
        """Keep it alive where it is ours; returns only when it is not."""

    def stop(self) -> None:
        """Stop it where it is ours."""


class EmbeddedDatabase:
    """A PostgreSQL in a directory of this machine; started again when it was killed."""

    def __init__(self, server: EmbeddedPostgres, policy: RestartPolicy | None = None) -> None:
        self._server = server
        self._policy = policy or RestartPolicy()
        self._running: EmbeddedServer | None = None

    def start(self) -> DatabaseInfo:
        with explained():
            self._running = running = self._server.start()
        return DatabaseInfo(
            admin_url=running.admin_url,
            version=running.version,
            vector_version=running.vector_version,
            place=f"embedded, {shortened(self._server.data_dir.parent)}",
            port=running.port,
            pid=running.pid,
        )

    @property
    def is_running(self) -> bool:
        """True when it runs now, whoever started it."""
        return postmaster.find(self._server.data_dir / "cluster") is not None

    @contextmanager
    def used(self) -> Iterator[DatabaseInfo]:
        was_running = self.is_running
        try:
            yield self.start()
        finally:
            if not was_running:
                self.stop()

    def passwords(self, services: Sequence[Service]) -> Mapping[str, str]:
        with explained():
            return self._server.passwords([service.name for service in services])

    async def keep(self, listener: Listener) -> None:
        failures = 0
        while self._running is not None:
            await asyncio.sleep(WATCH_POLL_S)
            if postmaster.is_alive(self._running.pid):
                failures = 0
                continue
            failures += 1
            await self._start_again(listener, failures)

    def stop(self) -> None:
        self._running = None
        with explained():
            self._server.stop()

    async def _start_again(self, listener: Listener, failures: int) -> None:
        was = self._running
        pause_s = self._policy.pause_s(failures)
        listener.ended(POSTGRES, "its process is gone", pause_s)
        await asyncio.sleep(pause_s)
        try:
            running = await asyncio.to_thread(self.start)
        except Problem:
            if failures >= self._policy.most_failures:
                raise
            return
        if was is not None and running.port != was.port:
            raise environment_problem(
                f"another program took port {was.port}, which PostgreSQL had before it was killed",
                "start again, and PostgreSQL takes another port",
            )
        listener.started(POSTGRES, running.pid)
        listener.ready(POSTGRES)


class ExternalDatabase:
    """A PostgreSQL that somebody else runs.

    Args:
        admin_url: of a role that may create roles and owns the database.
        home: keeps the passwords of the runtime roles.
    """

    def __init__(self, admin_url: str, home: Home) -> None:
        self._admin_url = admin_url
        self._home = home

    def start(self) -> DatabaseInfo:
        try:
            return self._describe()
        except (psycopg.Error, ValueError) as error:
            said = str(error).strip().splitlines()[:1]
            raise environment_problem(
                "the database in MNEMESH_DATABASE_URL cannot be used",
                "check its host, its role and whether it runs",
                tuple(said),
            ) from error

    def _describe(self) -> DatabaseInfo:
        with psycopg.connect(self._admin_url, connect_timeout=CONNECT_TIMEOUT_S) as connection:
            version = (connection.info.parameter_status("server_version") or "").split(" ")[0]
            found = connection.execute(_VECTOR_VERSION.encoded).fetchone()
            place = f"{connection.info.host}:{connection.info.port}/{connection.info.dbname}"
        return DatabaseInfo(self._admin_url, version, str(found[0]) if found else "", place)

    @contextmanager
    def used(self) -> Iterator[DatabaseInfo]:
        yield self.start()

    def passwords(self, services: Sequence[Service]) -> Mapping[str, str]:
        names = tuple(service.name for service in services)
        return load_credentials(self._home, names).role_passwords

    async def keep(self, listener: Listener) -> None:
        pass

    def stop(self) -> None:
        pass


def choose_database(url: str, home: Home) -> Database:
    """Return the database that a URL means; an empty one means the embedded database of the home.

    Raises:
        Problem: the URL is of no kind that can be used.
    """
    if not url:
        return EmbeddedDatabase(EmbeddedPostgres(home.postgres, embedded_settings()))
    if is_embedded(url):
        try:
            return EmbeddedDatabase(resolve(url, embedded_settings()))
        except ValueError as error:
            raise environment_problem(f"MNEMESH_DATABASE_URL cannot be used: {error}", "correct it") from error
    if "://" in url and not url.startswith(("postgresql://", "postgres://")):
        kinds = "postgresql://, embedded:// or memory://"
        raise environment_problem("MNEMESH_DATABASE_URL is of no kind that can be used", f"write {kinds}")
    return ExternalDatabase(url, home)


def embedded_settings() -> EmbeddedSettings:
    """Return how the environment wants an embedded PostgreSQL to be run."""
    return EmbeddedSettings.from_environ(inherited_environment())


def runtime_url(info: DatabaseInfo, service: Service, password: str) -> str:
    """Return the URL by which a server reaches the database, as its runtime role."""
    return role_url(info.admin_url, f"mnemesh_{service.name}", password)


def shortened(path: Path) -> str:
    """Return a path for people, with `~` for the home directory."""
    try:
        return f"~/{path.relative_to(Path.home())}"
    except (ValueError, RuntimeError):
        return str(path)


@contextmanager
def explained() -> Iterator[None]:
    """Turn errors of the mesh, whose messages tell an operator what to do, into problems of this machine."""
    try:
        yield
    except MeshError as error:
        raise environment_problem(error.message.rstrip("."), "") from error
