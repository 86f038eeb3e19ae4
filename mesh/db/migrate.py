"""Brings the schemas of services to the revisions that their files describe.

Run by a command or a job with the administrator's URL, never by a server. Each service's revisions are run by Alembic
as the service's owner role and recorded in `<schema>.alembic_version`. Two of these at once are safe: the second waits
for the first and then finds nothing to do. The URL must lead to PostgreSQL itself and not to a transaction pooler,
since the lock and the role belong to a session.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeAlias

import psycopg
import sqlalchemy
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from psycopg import errors as pg_errors
from psycopg import sql
from sqlalchemy.pool import NullPool

from mesh.db.errors import translate
from mesh.db.revisions import check_current, head, last_pre
from mesh.db.roles import (
    AdminConnection,
    ServiceSchema,
    acting_as,
    ensure_roles,
    ensure_schema,
    ensure_vector,
    protect_history,
    require_server,
)
from mesh.kernel.errors import DeadlineExceeded, FailedPrecondition
from mesh.kernel.reasons import Reason

__all__ = ["ServiceSchema", "Stage", "check_current", "head", "migrate"]

Stage: TypeAlias = Literal["pre", "post", "all"]

LOCK_KEY = 0x6D6E656D657368
"""The advisory lock of all migrations in one database: the bytes of `mnemesh`."""

LOCK_WAIT_S = 900.0
"""How long a migrator waits for another one."""

LOCK_TIMEOUT = "5s"
"""How long a revision may wait for a table and thereby hold up everybody behind it."""

LOCK_TRIES = 6
"""How often a revision that met `LOCK_TIMEOUT` is tried."""

STATEMENT_TIMEOUT = "1h"
"""The longest statement of a revision, such as the build of a large index."""

_POLL_S = 0.1
_LOCK_PAUSE_S = 1.0
_ENV_DIR = Path(__file__).parent / "alembic"

_alembic = threading.Lock()
"""Alembic keeps the connection that revisions run on in a global: one migration of a process at a time."""

_log = logging.getLogger(__name__)


def migrate(
    admin_url: str,
    services: Sequence[ServiceSchema],
    *,
    passwords: Mapping[str, str] | None = None,
    stage: Stage = "all",
) -> None:
    """Create what is missing and apply the revisions of a stage.

    Args:
        admin_url: `postgresql://` URL of a superuser, or of a role with CREATEROLE that owns the database.
        services: what to migrate, in this order.
        passwords: passwords of the runtime roles, by service name; a service that is not in it keeps its own.
        stage: `pre` stops after the last revision that new code needs; `post` and `all` go to the end.

    Raises:
        Unavailable: the database cannot be reached.
        FailedPrecondition: the server, its pgvector or the role does not suffice, or a revision failed; the message
            tells the operator what to do.
        DeadlineExceeded: another migrator held the lock for too long.
    """
    known = passwords or {}
    with _session(admin_url) as connection, _locked(connection):
        require_server(connection)
        with _explained("the preparation of roles and schemas"):
            ensure_vector(connection)
            for service in services:
                ensure_roles(connection, service, known.get(service.name))
                ensure_schema(connection, service)
            for service in services:
                _run_all(connection, service.bootstrap_sql)
        for service in services:
            with _explained(f"a revision of schema {service.schema}"):
                target = last_pre(service.migrations_dir) if stage == "pre" else head(service.migrations_dir)
                if _is_behind(connection, service, target):
                    _upgrade(admin_url, service, target)
                protect_history(connection, service)
                _run_all(connection, service.extra_sql)


def _is_behind(connection: AdminConnection, service: ServiceSchema, target: str) -> bool:
    """Tell whether the target is ahead: a schema may have gone further, by a newer version or by *post* revisions."""
    table = sql.Identifier(service.schema, "alembic_version")
    with acting_as(connection, service.owner_role):
        exists = connection.execute("select to_regclass(%s)", (table.as_string(connection),)).fetchone()
        if exists is None or exists[0] is None:
            return True
        row = connection.execute(sql.SQL("select version_num from {}").format(table)).fetchone()
    current = str(row[0]) if row else ""
    if current > head(service.migrations_dir):
        _log.warning("schema %s is at %s, further than this version knows", service.schema, current)
    return current < target


def _upgrade(admin_url: str, service: ServiceSchema, target: str) -> None:
    for attempt in range(1, LOCK_TRIES + 1):
        try:
            _run_alembic(admin_url, service, target)
            return
        except sqlalchemy.exc.DBAPIError as exc:
            if not isinstance(exc.orig, pg_errors.LockNotAvailable) or attempt == LOCK_TRIES:
                raise
        _log.warning("schema %s: a table is in use, trying again", service.schema)
        time.sleep(_LOCK_PAUSE_S)


def _run_alembic(admin_url: str, service: ServiceSchema, target: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(_ENV_DIR).replace("%", "%%"))
    config.set_main_option("path_separator", "newline")
    config.set_main_option("version_locations", str(service.migrations_dir / "versions").replace("%", "%%"))
    _check_links(config)
    engine = sqlalchemy.create_engine("postgresql+psycopg://", creator=lambda: _connect(admin_url), poolclass=NullPool)
    with engine.connect() as connection:
        quote = engine.dialect.identifier_preparer.quote
        for statement in (
            f"set role {quote(service.owner_role)}",
            f"set search_path to {quote(service.schema)}, public",
            f"set lock_timeout to '{LOCK_TIMEOUT}'",
            f"set statement_timeout to '{STATEMENT_TIMEOUT}'",
        ):
            connection.exec_driver_sql(statement)
        connection.commit()
        config.attributes.update(connection=connection, schema=service.schema)
        with _alembic:
            command.upgrade(config, target)
        connection.commit()


def _check_links(config: Config) -> None:
    """Refuse a history whose file names do not say what Alembic will run."""
    following = None
    for script in ScriptDirectory.from_config(config).walk_revisions():
        number = Path(script.path).name.partition("_")[0]
        if script.revision != number or (following is not None and following != number):
            raise CommandError(f"{script.path}: revision and down_revision do not follow the numbers of the files")
        following = script.down_revision


def _connect(admin_url: str) -> AdminConnection:
    return psycopg.connect(admin_url, application_name="mnemesh-migrate", connect_timeout=10)


@contextmanager
def _session(admin_url: str) -> Iterator[AdminConnection]:
    try:
        connection = _connect(admin_url)
    except psycopg.Error as exc:
        raise translate(exc) from exc
    with connection:
        connection.autocommit = True
        yield connection


@contextmanager
def _locked(connection: AdminConnection) -> Iterator[None]:
    """Hold the lock of all migrations.

    It is polled for and not waited for: a session that waits inside a statement holds a snapshot, and the other
    migrator's `create index concurrently` would wait for that one, for ever.
    """
    deadline = time.monotonic() + LOCK_WAIT_S
    while True:
        row = connection.execute("select pg_try_advisory_lock(%s)", (LOCK_KEY,)).fetchone()
        if row and row[0]:
            break
        if time.monotonic() > deadline:
            raise DeadlineExceeded(Reason.DEADLINE_EXCEEDED, "Another migration has not ended; try again later.")
        time.sleep(_POLL_S)
    try:
        yield
    finally:
        if not connection.closed:
            connection.execute("select pg_advisory_unlock(%s)", (LOCK_KEY,))


def _run_all(connection: AdminConnection, statements: Sequence[str]) -> None:
    for statement in statements:
        connection.execute(statement.encode())


@contextmanager
def _explained(what: str) -> Iterator[None]:
    """Tell the operator, who reads this and no caller does, what PostgreSQL or Alembic said."""
    try:
        yield
    except (psycopg.Error, sqlalchemy.exc.SQLAlchemyError, CommandError) as exc:
        cause = exc.orig if isinstance(exc, sqlalchemy.exc.DBAPIError) else exc
        raise FailedPrecondition(Reason.CONFIGURATION_INVALID, f"Migration failed in {what}: {cause}") from exc
