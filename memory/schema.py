"""What the memory server owns in the database."""

from __future__ import annotations

from pathlib import Path

from mesh.db.roles import ServiceSchema

NAME = "memory"

GENERIC_PLANS = """
do $$ begin
    if not exists (
        select from pg_roles where rolname = 'mnemesh_memory' and 'plan_cache_mode=force_generic_plan' = any(rolconfig)
    ) then
        alter role mnemesh_memory set plan_cache_mode to 'force_generic_plan';
    end if;
end $$
"""
"""Recall is one long statement whose plan does not depend on its parameters; planning it anew costs a fifth of it."""

SCHEMA = ServiceSchema(
    name=NAME, schema=NAME, migrations_dir=Path(__file__).parent / "migrations", extra_sql=(GENERIC_PLANS,)
)
