"""What the gateway owns in the database, and the one foreign table that it reads."""

from __future__ import annotations

from pathlib import Path

from mesh.db.queries import load
from mesh.db.roles import ServiceSchema

NAME = "gateway"

_ML_AVATARS = load("gateway.migrations", "ml_avatars.sql")

SCHEMA = ServiceSchema(
    name=NAME,
    schema=NAME,
    migrations_dir=Path(__file__).parent / "migrations",
    bootstrap_sql=tuple(query.text for query in _ML_AVATARS.by_name.values()),
)
"""`ml.avatars` belongs to whoever makes avatars: where it is missing, the administrator creates it."""
