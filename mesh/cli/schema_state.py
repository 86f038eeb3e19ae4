"""Whether the schemas are known to be up to date, so that a usual start need not load what migrates them.

After each migration a digest of everything that it applied is kept in the home. A start whose code has the same digest,
and whose database lets every server in and shows the same revisions, has nothing to migrate. In any doubt it migrates.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

import psycopg

from mesh.cli.database import DatabaseInfo, runtime_url
from mesh.cli.home import Home
from mesh.cli.services import Service
from mesh.db.queries import load
from mesh.db.revisions import head
from mesh.db.roles import ServiceSchema

_QUERIES = load("mesh.db.revisions", "revisions.sql")
_CONNECT_TIMEOUT_S = 5


def schema_of(service: Service) -> ServiceSchema:
    """Return what a server declares about its schema."""
    schema = import_module(f"{service.name}.schema").SCHEMA
    if not isinstance(schema, ServiceSchema):
        raise TypeError(f"{service.name}.schema.SCHEMA is no ServiceSchema")
    return schema


def is_up_to_date(home: Home, info: DatabaseInfo, services: Sequence[Service], passwords: Mapping[str, str]) -> bool:
    """Tell whether everything that this code would migrate was migrated by it before."""
    try:
        if _note(home).read_text(encoding="ascii") != _digest(services):
            return False
        return all(_revision(runtime_url(info, one, passwords[one.name]), one) == _head(one) for one in services)
    except (OSError, ValueError, psycopg.Error):
        return False


def note_up_to_date(home: Home, services: Sequence[Service]) -> None:
    """Keep what was migrated."""
    _note(home).write_text(_digest(services), encoding="ascii")


def _digest(services: Sequence[Service]) -> str:
    digest = hashlib.sha256()
    for service in services:
        schema = schema_of(service)
        for text in (service.name, _head(service), *schema.bootstrap_sql, *schema.extra_sql):
            digest.update(f"{len(text)}:{text}".encode())
    return digest.hexdigest()


def _head(service: Service) -> str:
    return head(schema_of(service).migrations_dir)


def _revision(url: str, service: Service) -> str | None:
    query = _QUERIES.in_schema(schema_of(service).schema).get("current")
    with psycopg.connect(url, connect_timeout=_CONNECT_TIMEOUT_S) as connection:
        row = connection.execute(query.encoded).fetchone()
    return str(row[0]) if row else None


def _note(home: Home) -> Path:
    return home.run / "migrated"
