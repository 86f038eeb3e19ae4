"""What `mnemesh doctor` looks at in the database: whether it is there, its versions, and the state of every schema."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from mesh.cli.database import (
    Database,
    DatabaseInfo,
    EmbeddedDatabase,
    choose_database,
    embedded_settings,
    explained,
    runtime_url,
)
from mesh.cli.finding import Finding, Patient, fine, missing, note
from mesh.cli.schema_state import schema_of
from mesh.cli.services import Service, installed_services
from mesh.db.pg_programs import find_programs
from mesh.db.pool import Database as Pool
from mesh.db.revisions import check_current
from mesh.db.roles import MIN_SERVER, MIN_VECTOR
from mesh.db.settings import DatabaseSettings
from mesh.kernel.errors import FailedPrecondition, MeshError

OLDEST_POSTGRESQL = MIN_SERVER // 10000


def check_database(patient: Patient) -> Iterator[Finding]:
    """Look at the database; an embedded one that does not run is not started for that.

    Raises:
        Problem: it cannot be reached, or PostgreSQL is not installed.
    """
    database = choose_database(patient.settings.database_url, patient.home)
    if isinstance(database, EmbeddedDatabase) and not database.is_running:
        with explained():
            programs = find_programs(embedded_settings().bin_dir)
        yield fine("PostgreSQL", f"{programs.major}, embedded; `mnemesh up` starts it")
        return
    info = database.start()
    yield from _versions(info)
    services = installed_services()
    passwords = database.passwords(services)
    for service in services:
        yield _schema(service, runtime_url(info, service, passwords[service.name]), database)


def _versions(info: DatabaseInfo) -> Iterator[Finding]:
    if int(info.version.split(".")[0] or 0) >= OLDEST_POSTGRESQL:
        yield fine("PostgreSQL", f"{info.version} ({info.place})")
    else:
        yield missing("PostgreSQL", f"{info.version} is too old", f"use PostgreSQL {OLDEST_POSTGRESQL} or newer")
    oldest = ".".join(map(str, MIN_VECTOR))
    if tuple(int(part) for part in info.vector_version.split(".")[:2] if part) >= MIN_VECTOR:
        yield fine("pgvector", info.vector_version)
    else:
        yield missing("pgvector", info.vector_version or "not installed", f"install pgvector {oldest} or newer")


def _schema(service: Service, url: str, database: Database) -> Finding:
    subject = f"schema {service.name}"
    schema = schema_of(service)
    try:
        asyncio.run(_require_current(url, service))
    except FailedPrecondition as error:
        return missing(subject, error.message.rstrip("."), "run `mnemesh migrate`")
    except MeshError as error:
        if isinstance(database, EmbeddedDatabase):
            return missing(subject, error.message.rstrip("."), "run `mnemesh migrate`")
        role = schema.runtime_role
        return note(
            subject, f"cannot be read as {role}", "`mnemesh up` sets its password; in a deployment see its logs"
        )
    return fine(subject, "up to date")


async def _require_current(url: str, service: Service) -> None:
    schema = schema_of(service)
    pool = Pool(DatabaseSettings(url, pool_max=1), application_name="mnemesh-doctor")
    await pool.open()
    try:
        await check_current(pool, schema.schema, schema.migrations_dir)
    finally:
        await pool.close()
