"""Sessions, API keys and the answers to repeated requests."""

from __future__ import annotations

from mesh.db.ddl import run
from mesh.db.idempotency import idempotency_ddl
from mesh.db.tenancy import tenant_table

revision = "0001"
down_revision: str | None = None

SESSIONS = """
create table gateway.sessions (
    tenant_id text not null,
    id uuid not null,
    user_id uuid not null,
    avatar_id uuid not null,
    name text not null default '',
    description text not null default '',
    status text not null default 'active',
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    deleted_at timestamptz,
    version bigint not null default 1,
    constraint sessions_pkey primary key (tenant_id, id),
    constraint sessions_status check (status in ('active', 'deleted')),
    constraint sessions_deleted_at check ((status = 'deleted') = (deleted_at is not null))
);
create index sessions_active_by_user on gateway.sessions (tenant_id, user_id, created_at desc, id desc)
    where status = 'active';
"""

API_KEYS = """
create table gateway.api_keys (
    tenant_id text not null,
    id uuid not null,
    user_id uuid not null,
    prefix text not null,
    secret_hash bytea not null,
    display_name text not null,
    scopes text[] not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    constraint api_keys_pkey primary key (tenant_id, id),
    constraint api_keys_secret_hash check (octet_length(secret_hash) = 32)
);
create unique index api_keys_by_secret_hash on gateway.api_keys (secret_hash);
create index api_keys_by_time on gateway.api_keys (tenant_id, created_at desc, id desc);
"""


def upgrade() -> None:
    run(SESSIONS + tenant_table("gateway.sessions"))
    run(API_KEYS + tenant_table("gateway.api_keys"))
    run(idempotency_ddl("gateway"))
