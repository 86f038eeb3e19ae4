"""What the memory server owns in the database."""

from __future__ import annotations

from pathlib import Path

from mesh.db.roles import ServiceSchema

NAME = "memory"

SCHEMA = ServiceSchema(name=NAME, schema=NAME, migrations_dir=Path(__file__).parent / "migrations")
