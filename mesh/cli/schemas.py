"""The schemas of the servers, found by name: each server's package says in `schema.SCHEMA` what it owns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pkgutil import resolve_name

from mesh.cli.database import DatabaseInfo, explained
from mesh.cli.services import Service
from mesh.db.migrate import ServiceSchema, Stage, migrate

EXAMPLES = "gateway.example_avatars:seed"


def bring_up_to_date(
    info: DatabaseInfo,
    services: Sequence[Service],
    passwords: Mapping[str, str],
    stage: Stage = "all",
) -> None:
    """Migrate the schemas of servers and set the passwords of their roles.

    Raises:
        Problem: the database does not allow it; the sentence says what helps.
    """
    with explained():
        migrate(info.admin_url, [schema_of(service) for service in services], passwords=passwords, stage=stage)


def seed_examples(info: DatabaseInfo) -> None:
    """Insert the example avatars that are missing."""
    with explained():
        resolve_name(EXAMPLES)(info.admin_url)


def schema_of(service: Service) -> ServiceSchema:
    """Return what a server declares about its schema."""
    schema = import_module(f"{service.name}.schema").SCHEMA
    if not isinstance(schema, ServiceSchema):
        raise TypeError(f"{service.name}.schema.SCHEMA is no ServiceSchema")
    return schema
