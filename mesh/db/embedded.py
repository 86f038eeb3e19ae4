"""A PostgreSQL of our own in a directory, for one machine: `embedded://<dir>`, and `memory://` for throw-away data.

It is the same PostgreSQL with pgvector that a deployment uses; no store has a second, simulated version. The server is
a daemon: it outlives the process that started it, also when that one is killed, and the next start finds it again.
Any number of processes may start it at once; a lock makes it one server. It listens on 127.0.0.1 alone and every
connection needs a password. A directory holds:

    cluster/         the data of PostgreSQL, owned by the user who runs it
    passwords.json   of the administrator and of the services, readable by its owner alone
    port             the port that was used last
    lock, server.log
"""

from __future__ import annotations

import fcntl
import os
import random
import shutil
import socket
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

import psycopg
from psycopg import sql

from mesh.db import postmaster
from mesh.db.initdb import Admin, initialise, require_version
from mesh.db.pg_programs import Account, Programs, account_for, find_programs, require_access
from mesh.db.program_copy import reachable_programs
from mesh.db.secrets_file import passwords
from mesh.db.settings import EmbeddedSettings
from mesh.db.urls import role_url
from mesh.kernel.errors import FailedPrecondition, Unavailable
from mesh.kernel.reasons import Reason

DATABASE = "mnemesh"
ADMIN = "postgres"
HOST = "127.0.0.1"

PORTS = range(15432, 32000)
"""Below the ports that systems give to clients. Within those, a client that retries while the server is down is sooner
or later given the very port it calls, is connected to itself, and keeps the server from coming back."""

SCHEMES = ("embedded://", "memory://")

_MAX_LOG_BYTES = 10 * 1024 * 1024
_POLL_S = 0.02
_RETRY_S = 0.3
_DYING_S = 2.0
_PORT_TRIES = 5
_PORT_CANDIDATES = 200

_SETTINGS = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "cluster_name": "mnemesh",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] %u@%d ",
    # Without the details, which quote values of rows.
    "log_error_verbosity": "terse",
    "password_encryption": "scram-sha-256",
    "shared_buffers": "128MB",
    "max_wal_size": "1GB",
    "checkpoint_timeout": "15min",
    # A new database has statistics soon after its first rows, and with them the plans that it keeps.
    "autovacuum_naptime": "10s",
    "random_page_cost": "1.1",
    "idle_in_transaction_session_timeout": "5min",
}
_NOT_DURABLE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


@dataclass(frozen=True, slots=True)
class EmbeddedServer:
    """A running server.

    Args:
        admin_url: URL of the administrator, database `mnemesh`; holds a password.
        port: on 127.0.0.1.
        pid: of the postmaster.
        version: of PostgreSQL, such as `18.4`.
        vector_version: of the pgvector that can be installed, or empty.
        started: whether this call started it, and did not find it running.
    """

    admin_url: str = field(repr=False)
    port: int
    pid: int
    version: str
    vector_version: str
    started: bool


class EmbeddedPostgres:
    """The server of one directory. Its methods block; they take about a second for a new directory, else far less."""

    def __init__(self, data_dir: Path, settings: EmbeddedSettings | None = None, *, owner_pid: int = 0) -> None:
        """Name the directory; nothing happens before `start`.

        Args:
            data_dir: absolute; made when it is missing.
            settings: None takes the defaults.
            owner_pid: when set, server and directory are thrown away with `stop`, or when that process ends.
        """
        if not data_dir.is_absolute():
            raise ValueError("the directory of an embedded database must be absolute")
        self.data_dir = data_dir
        self._settings = settings or EmbeddedSettings()
        self._owner_pid = owner_pid

    @property
    def log_file(self) -> Path:
        """Where the server writes its log."""
        return self.data_dir / "server.log"

    @property
    def _cluster(self) -> Path:
        return self.data_dir / "cluster"

    def start(self) -> EmbeddedServer:
        """Start the server, or find it running; make the cluster and the database `mnemesh` when they are missing.

        Raises:
            FailedPrecondition: PostgreSQL is missing, or the directory cannot be used; the message says what helps.
            Unavailable: the server did not start in time; the message names its log.
        """
        programs = find_programs(self._settings.bin_dir)
        with self._locked():
            account = account_for(self._cluster, self._settings.os_user)
            require_access(account, self.data_dir)
            programs = reachable_programs(programs, account, self.data_dir)
            if not self._cluster.exists():
                password = passwords(self._password_file, [ADMIN])[ADMIN]
                initialise(programs, account, self._cluster, Admin(ADMIN, password), durable=self._settings.durable)
            require_version(self._cluster, programs)
            server = self._found() or self._launched(programs, account)
            if server.started and self._owner_pid:
                postmaster.remove_after(self._owner_pid, self.data_dir)
            return server

    def stop(self) -> None:
        """Stop the server without waiting for its clients, whose transactions roll back. No error when it is not up.

        The directory of a `memory://` database is removed.
        """
        with self._locked():
            postmaster.stop(self._cluster, self._settings.start_timeout_s)
        if self._owner_pid:
            shutil.rmtree(self.data_dir, ignore_errors=True)

    def passwords(self, names: Iterable[str]) -> dict[str, str]:
        """Return the kept password of each service, made when it is missing; `migrate` is what sets them."""
        with self._locked():
            return passwords(self._password_file, list(names))

    def service_url(self, server: EmbeddedServer, service: str) -> str:
        """Return the URL of a service's runtime role on the running server."""
        return role_url(server.admin_url, f"mnemesh_{service}", self.passwords([service])[service])

    def _found(self) -> EmbeddedServer | None:
        """Return the server that runs already. One that was killed a moment ago may still look alive; it is none."""
        if postmaster.find(self._cluster) is None:
            return None
        try:
            return self._describe(self._await_ready(), started=False)
        except Unavailable:
            if not postmaster.is_gone_within(self._cluster, _DYING_S):
                raise
            return None

    def _launched(self, programs: Programs, account: Account) -> EmbeddedServer:
        self._launch(programs, account)
        return self._describe(self._await_ready(), started=True)

    def _launch(self, programs: Programs, account: Account) -> None:
        """Start a server, again when its port was taken meanwhile or while a killed one still leaves."""
        killed = postmaster.was_killed(self._cluster)
        deadline = time.monotonic() + self._settings.start_timeout_s
        tries = 0
        self._rotate_log()
        while True:
            tries += 1
            pid = postmaster.launch(programs, account, self._cluster, self._server_settings(), self.log_file)
            while postmaster.is_alive(pid):
                running = postmaster.find(self._cluster)
                if running is not None and running.ready:
                    return
                if time.monotonic() > deadline:
                    raise self._not_up()
                time.sleep(_POLL_S)
            if time.monotonic() > deadline or (not killed and tries >= _PORT_TRIES):
                raise self._not_up()
            time.sleep(_RETRY_S)

    def _server_settings(self) -> dict[str, str]:
        settings = {**_SETTINGS, "port": str(self._pick_port())}
        settings["max_connections"] = str(self._settings.max_connections)
        if not self._settings.durable:
            settings.update(_NOT_DURABLE)
        return settings

    def _pick_port(self) -> int:
        """Return the port of last time when it is free, else a free one, and remember it."""
        memory = self.data_dir / "port"
        wanted = memory.read_text(encoding="ascii").strip() if memory.exists() else ""
        if wanted.isdigit() and _is_free(int(wanted)):
            return int(wanted)
        for port in random.sample(PORTS, _PORT_CANDIDATES):
            if _is_free(port):
                memory.write_text(f"{port}\n", encoding="ascii")
                return port
        raise Unavailable(Reason.DATABASE_UNAVAILABLE, f"No port is free on {HOST}.")

    def _await_ready(self) -> postmaster.Postmaster:
        """Wait for a server that somebody else may have started a moment ago, or that recovers from a crash."""
        deadline = time.monotonic() + self._settings.start_timeout_s
        while time.monotonic() < deadline:
            running = postmaster.find(self._cluster)
            if running is None:
                break
            if running.ready:
                return running
            time.sleep(_POLL_S)
        raise self._not_up()

    def _describe(self, running: postmaster.Postmaster, *, started: bool) -> EmbeddedServer:
        password = passwords(self._password_file, [ADMIN])[ADMIN]
        url = role_url(f"postgresql://{HOST}:{running.port}/{DATABASE}", ADMIN, password)
        try:
            with psycopg.connect(url, dbname=ADMIN, autocommit=True, connect_timeout=10) as connection:
                if not connection.execute("select 1 from pg_database where datname = %s", (DATABASE,)).fetchone():
                    connection.execute(sql.SQL("create database {}").format(sql.Identifier(DATABASE)))
                vector = connection.execute(
                    "select default_version from pg_available_extensions where name = 'vector'"
                ).fetchone()
                version = connection.info.parameter_status("server_version") or ""
        except psycopg.Error as exc:
            raise self._not_up() from exc
        return EmbeddedServer(
            admin_url=url,
            port=running.port,
            pid=running.pid,
            version=version.split(" ")[0],
            vector_version=str(vector[0]) if vector else "",
            started=started,
        )

    def _rotate_log(self) -> None:
        if self.log_file.exists() and self.log_file.stat().st_size > _MAX_LOG_BYTES:
            self.log_file.replace(self.log_file.with_suffix(".log.1"))

    def _not_up(self) -> Unavailable:
        return Unavailable(Reason.DATABASE_UNAVAILABLE, f"PostgreSQL is not up; its log is {self.log_file}")

    @property
    def _password_file(self) -> Path:
        return self.data_dir / "passwords.json"

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep every other process out, until the block or this process ends."""
        try:
            if not self.data_dir.exists():
                self.data_dir.mkdir(parents=True, exist_ok=True)
                # Another user may have to run the cluster and enters here; the secrets have rights of their own.
                self.data_dir.chmod(0o755)
            descriptor = os.open(self.data_dir / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as exc:
            raise _refusal(
                f"{self.data_dir} cannot be used ({exc.strerror}); choose another with MNEMESH_HOME"
            ) from exc
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def resolve(url: str, settings: EmbeddedSettings | None = None) -> EmbeddedPostgres:
    """Return the server that an `embedded://` or `memory://` URL stands for, not started yet.

    Args:
        url: `embedded:///absolute/dir`, or `memory://` for a new directory that goes away with us.
        settings: None takes the defaults; `memory://` is never durable.

    Raises:
        ValueError: the URL is of another kind, or its directory is not absolute.
    """
    parts = urlsplit(url)
    if parts.scheme == "memory":
        directory = Path(tempfile.mkdtemp(prefix="mnemesh-"))
        directory.chmod(0o755)
        quick = replace(settings or EmbeddedSettings(), durable=False)
        return EmbeddedPostgres(directory, quick, owner_pid=os.getpid())
    if parts.scheme != "embedded" or parts.netloc or not parts.path.startswith("/"):
        raise ValueError("an embedded database is embedded:///absolute/dir or memory://")
    return EmbeddedPostgres(Path(unquote(parts.path)), settings)


def is_embedded(url: str) -> bool:
    """Tell whether a URL stands for a server of our own."""
    return url.startswith(SCHEMES)


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def _refusal(message: str) -> FailedPrecondition:
    return FailedPrecondition(Reason.CONFIGURATION_INVALID, message)
