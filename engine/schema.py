"""What the engine owns in the database."""

from __future__ import annotations

from pathlib import Path

from mesh.db.roles import ServiceSchema

NAME = "engine"

SCHEMA = ServiceSchema(name=NAME, schema=NAME, migrations_dir=Path(__file__).parent / "migrations")
