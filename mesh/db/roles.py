"""What must stand in a database before a service's revisions run: roles, schema, rights, pgvector.

A service has an owner role, which nobody logs in as and only migrations use, and a runtime role with rights on the rows
of its own schema and none to change it. Everything here can be run again, by an administrator who is a superuser or
only has CREATEROLE and owns the database. Roles belong to the whole cluster, so somebody else may create the same ones
at the same moment, while another database is migrated: that is no error.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import psycopg
from psycopg import errors as pg_errors
from psycopg import sql

from mesh.kernel.errors import FailedPrecondition
from mesh.kernel.reasons import Reason

AdminConnection: TypeAlias = psycopg.Connection[Any]

MIN_SERVER = 150000
"""PostgreSQL 15, as `server_version_num`."""

MIN_VECTOR = (0, 8)
"""pgvector 0.8: the first with iterative index scans."""

_SET_OPTION_SERVER = 160000
"""PostgreSQL 16, the first whose role memberships have SET and INHERIT options."""

_RACE_TRIES = 20
_RACE_PAUSE_S = 0.05


@dataclass(frozen=True, slots=True)
class ServiceSchema:
    """What one service owns in the database.

    Args:
        name: of the service; its roles are `mnemesh_<name>` and `mnemesh_<name>_owner`.
        schema: its schema.
        migrations_dir: the folder that holds `versions/`.
        bootstrap_sql: statements that the administrator runs before the revisions, such as the table of another owner
            that the service reads. They must be harmless when run again.
        extra_sql: the same, after the revisions.
    """

    name: str
    schema: str
    migrations_dir: Path
    bootstrap_sql: Sequence[str] = ()
    extra_sql: Sequence[str] = ()

    @property
    def owner_role(self) -> str:
        return f"mnemesh_{self.name}_owner"

    @property
    def runtime_role(self) -> str:
        return f"mnemesh_{self.name}"


def require_server(connection: AdminConnection) -> None:
    """Refuse a server that is too old.

    Raises:
        FailedPrecondition: it is older than PostgreSQL 15.
    """
    if connection.info.server_version < MIN_SERVER:
        version = connection.info.parameter_status("server_version")
        raise _refusal(f"The server is PostgreSQL {version}; Mnemesh needs 15 or newer.")


def ensure_vector(connection: AdminConnection) -> None:
    """Install pgvector in the schema `public` when it is not there.

    Raises:
        FailedPrecondition: it is not available, may not be installed by this role, or is too old.
    """
    try:
        _ignoring_races(connection, sql.SQL("create extension if not exists vector with schema public"))
    except pg_errors.InsufficientPrivilege as exc:
        raise _refusal(
            "The role may not install pgvector; run as a superuser, once: create extension vector schema public"
        ) from exc
    except (pg_errors.FeatureNotSupported, pg_errors.UndefinedFile) as exc:
        raise _refusal("The server has no pgvector; install it (version 0.8 or newer).") from exc
    row = connection.execute("select extversion from pg_extension where extname = 'vector'").fetchone()
    version = str(row[0]) if row else "0"
    if tuple(int(part) for part in version.split(".")[:2]) < MIN_VECTOR:
        raise _refusal(f"pgvector is {version}; Mnemesh needs 0.8 or newer: alter extension vector update")


def ensure_roles(connection: AdminConnection, service: ServiceSchema, password: str | None) -> None:
    """Create the two roles of a service and, when a password is given, set it for the runtime role.

    Raises:
        FailedPrecondition: the runtime role exists and is above row-level security.
    """
    owner, runtime = sql.Identifier(service.owner_role), sql.Identifier(service.runtime_role)
    _create_role(connection, service.owner_role, sql.SQL("create role {} nologin").format(owner))
    _create_role(connection, service.runtime_role, sql.SQL("create role {} login").format(runtime))
    row = connection.execute(
        "select rolsuper or rolbypassrls from pg_roles where rolname = %s", (service.runtime_role,)
    ).fetchone()
    if row and row[0]:
        raise _refusal(f"The role {service.runtime_role} is a superuser or bypasses row-level security; it must not.")
    if password is not None:
        _set_password(connection, service.runtime_role, password)
    _join(connection, service.owner_role)


def ensure_schema(connection: AdminConnection, service: ServiceSchema) -> None:
    """Create the schema of a service and give the runtime role its rights on whatever the owner creates there."""
    schema, owner, runtime = (
        sql.Identifier(name) for name in (service.schema, service.owner_role, service.runtime_role)
    )
    exists = connection.execute("select 1 from pg_namespace where nspname = %s", (service.schema,)).fetchone()
    if not exists:
        connection.execute(sql.SQL("create schema {} authorization {}").format(schema, owner))
    with acting_as(connection, service.owner_role):
        for statement in (
            "grant usage on schema {schema} to {runtime}",
            "alter default privileges in schema {schema} grant select, insert, update, delete on tables to {runtime}",
            "alter default privileges in schema {schema} grant usage, select on sequences to {runtime}",
        ):
            connection.execute(sql.SQL(statement).format(schema=schema, runtime=runtime))


def protect_history(connection: AdminConnection, service: ServiceSchema) -> None:
    """Let the runtime role read, and only read, which revision the schema is at."""
    schema, runtime = sql.Identifier(service.schema), sql.Identifier(service.runtime_role)
    with acting_as(connection, service.owner_role):
        connection.execute(
            sql.SQL("revoke insert, update, delete on {}.alembic_version from {}").format(schema, runtime)
        )


@contextmanager
def acting_as(connection: AdminConnection, role: str) -> Iterator[None]:
    """Run the block with the rights of a role."""
    connection.execute(sql.SQL("set role {}").format(sql.Identifier(role)))
    try:
        yield
    finally:
        if not connection.closed:
            connection.execute("reset role")


def _create_role(connection: AdminConnection, name: str, statement: sql.Composed) -> None:
    if connection.execute("select 1 from pg_roles where rolname = %s", (name,)).fetchone():
        return
    _ignoring_races(connection, statement)


def _ignoring_races(connection: AdminConnection, statement: sql.SQL | sql.Composed) -> None:
    """Run a statement that creates something; that somebody else created it meanwhile is as good."""
    with suppress(pg_errors.DuplicateObject, pg_errors.UniqueViolation):
        connection.execute(statement)


def _set_password(connection: AdminConnection, role: str, password: str) -> None:
    # The server gets the SCRAM verifier and never the password, which it might log.
    verifier = connection.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256").decode()
    _repeated(connection, sql.SQL("alter role {} password {}").format(sql.Identifier(role), sql.Literal(verifier)))


def _join(connection: AdminConnection, owner: str) -> None:
    """Let an administrator who is no superuser act as the owner role."""
    modern = connection.info.server_version >= _SET_OPTION_SERVER
    row = connection.execute(
        "select current_user, pg_has_role(current_user, %s, %s)", (owner, "SET" if modern else "MEMBER")
    ).fetchone()
    if row is None or row[1]:
        return
    grant = "grant {} to {} with set true, inherit true" if modern else "grant {} to {}"
    _repeated(connection, sql.SQL(grant).format(sql.Identifier(owner), sql.Identifier(row[0])))


def _repeated(connection: AdminConnection, statement: sql.Composed) -> None:
    """Run a statement on a shared catalogue; PostgreSQL refuses the slower of two at once instead of waiting."""
    for attempt in range(1, _RACE_TRIES + 1):
        try:
            connection.execute(statement)
            return
        except (pg_errors.InternalError_, pg_errors.UniqueViolation):
            # "tuple concurrently updated" has no SQLSTATE of its own.
            if attempt == _RACE_TRIES:
                raise
            time.sleep(_RACE_PAUSE_S)


def _refusal(message: str) -> FailedPrecondition:
    return FailedPrecondition(Reason.CONFIGURATION_INVALID, message)
