"""What a process must know to reach its database, or to run one.

Every wait that the pool can cause has a bound here, so that no request can hang on the database alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


def _env(*names: str, doc: str, secret: bool = False) -> dict[str, Any]:
    return {"env": names, "doc": doc, "secret": secret}


@dataclass(frozen=True, slots=True)
class DatabaseSettings:
    """How one server reaches PostgreSQL, read from the environment by `mesh.runtime.settings`.

    Args:
        url: `postgresql://` URL or libpq connection string of the runtime role. Empty leaves all of it to libpq, which
            reads PGHOST, PGPORT, PGDATABASE, PGUSER, PGPASSWORD, PGSSLMODE and PGCHANNELBINDING itself.
        host: PGHOST, read only to tell an empty URL from a forgotten one.
        pool_min: connections opened at start; fewer are kept while the database is away.
        pool_max: most connections of this process.
        acquire_timeout_s: longest wait for a free connection.
        max_waiting: callers that may wait at once; the next one is refused immediately.
        statement_timeout_s: longest run of one statement; set in each transaction, so it holds behind a pooler.
        prepared_statements: False behind a transaction pooler, which mixes up the statements that clients prepare.
        connect_timeout_s: longest time to reach the database, name resolution and authentication included.
        idle_timeout_s: a connection unused for longer is closed when the pool is next used.
        max_lifetime_s: a connection older than this is replaced, so that load follows changes behind a proxy.
    """

    url: str = field(
        default="",
        repr=False,
        metadata=_env("MNEMESH_DATABASE_URL", doc="Database as the server's runtime role.", secret=True),
    )
    host: str = field(default="", metadata=_env("PGHOST", doc="Host of the database when there is no URL."))
    pool_min: int = 0
    pool_max: int = field(
        default=10, metadata=_env("MNEMESH_DB_POOL_MAX", "DB_POOL_MAX", doc="Most database connections of one process.")
    )
    acquire_timeout_s: float = field(
        default=2.0,
        metadata=_env("MNEMESH_DB_ACQUIRE_TIMEOUT_SECONDS", doc="Seconds that a call waits for a free connection."),
    )
    max_waiting: int = field(
        default=40, metadata=_env("MNEMESH_DB_MAX_WAITING", doc="Calls that may wait for a connection at once.")
    )
    statement_timeout_s: float = field(
        default=10.0,
        metadata=_env("MNEMESH_DB_STATEMENT_TIMEOUT_SECONDS", doc="Seconds that one statement may run."),
    )
    prepared_statements: bool = field(
        default=True,
        metadata=_env("MNEMESH_DB_PREPARED_STATEMENTS", doc="Set to false behind a pooler in transaction mode."),
    )
    connect_timeout_s: int = field(
        default=5, metadata=_env("MNEMESH_DB_CONNECT_TIMEOUT_SECONDS", doc="Seconds to reach the database.")
    )
    idle_timeout_s: float = 300.0
    max_lifetime_s: float = 3600.0

    def __post_init__(self) -> None:
        if not self.url and not self.host:
            raise ValueError("must be set, or PGHOST and its companions")
        if not 0 <= self.pool_min <= self.pool_max or self.pool_max < 1:
            raise ValueError("pool_min and pool_max must satisfy 0 <= pool_min <= pool_max and pool_max >= 1")
        if self.max_waiting < 0:
            raise ValueError("max_waiting must not be negative")
        bounds = (self.acquire_timeout_s, self.statement_timeout_s, self.connect_timeout_s)
        if min(bounds) <= 0:
            raise ValueError("acquire_timeout_s, statement_timeout_s and connect_timeout_s must be positive")


@dataclass(frozen=True, slots=True)
class EmbeddedSettings:
    """How a PostgreSQL of our own is run.

    Args:
        bin_dir: where `postgres` and `initdb` are; None takes those of an installed wheel (`MNEMESH_PG_BIN`).
        os_user: who runs it when we are root, since PostgreSQL refuses to run as root (`MNEMESH_PG_OS_USER`). A cluster
            that exists is run by the owner of its files instead.
        durable: whether a commit is on the disk before it is answered. False is for tests and throw-away data.
        max_connections: of all processes together.
        start_timeout_s: longest wait for a start, crash recovery included.
    """

    bin_dir: Path | None = None
    os_user: str = "nobody"
    durable: bool = True
    max_connections: int = 200
    start_timeout_s: float = 60.0

    @classmethod
    def from_environ(cls, environ: Mapping[str, str], *, durable: bool = True) -> EmbeddedSettings:
        """Return the settings that the environment asks for."""
        bin_dir = environ.get("MNEMESH_PG_BIN", "")
        return cls(
            bin_dir=Path(bin_dir) if bin_dir else None,
            os_user=environ.get("MNEMESH_PG_OS_USER", "") or "nobody",
            durable=durable,
        )
