"""Migrating the schemas of the servers. Loads Alembic, which takes most of a second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mesh.cli.database import DatabaseInfo, explained
from mesh.cli.schema_state import schema_of
from mesh.cli.services import Service
from mesh.db.migrate import Stage, migrate


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
