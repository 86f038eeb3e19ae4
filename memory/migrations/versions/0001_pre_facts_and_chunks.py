"""Facts, chunks, the dialogs that hold them, the turns that were learned, the embedding space, idempotency."""

from __future__ import annotations

from mesh.db.ddl import run
from mesh.db.idempotency import idempotency_ddl
from mesh.db.tenancy import tenant_table
from mesh.jobs.leases import leases_ddl

revision = "0001"
down_revision: str | None = None

# Vectors are compared only within the one active space (G8). Not a tenant's data, so not under row-level security. Rows
# name their space without a foreign key, whose check would make every writer lock the one active row.
EMBEDDING_CONFIG = """
create table memory.embedding_config (
    space_id smallint not null generated always as identity,
    provider text not null,
    model text not null,
    dimensions integer not null,
    active boolean not null,
    created_at timestamptz not null default now(),
    constraint embedding_config_pkey primary key (space_id),
    constraint embedding_config_dimensions check (dimensions = 768)
);
create unique index embedding_config_space on memory.embedding_config (provider, model, dimensions);
create unique index embedding_config_one_active on memory.embedding_config (active) where active;
"""

FACTS = """
create table memory.facts (
    tenant_id text not null,
    id uuid not null,
    user_id uuid not null,
    avatar_id uuid,
    subject text not null,
    kind text not null,
    category text not null default '',
    fact_key text not null,
    fact_value text not null,
    confidence double precision not null default 1.0,
    trust text not null,
    multiple boolean not null,
    status text not null default 'active',
    source_session_id uuid,
    source_seq bigint,
    source_turn_id uuid,
    source_excerpt text not null default '',
    observed_at timestamptz not null,
    valid_from timestamptz,
    valid_to timestamptz,
    dedup_hash bytea not null,
    superseded_by uuid,
    superseded_at timestamptz,
    superseded_turn_id uuid,
    superseded_excerpt text not null default '',
    lex tsvector not null,
    lex_length integer not null,
    embedding public.halfvec(768),
    space_id smallint,
    embed_attempts smallint not null default 0,
    revision integer not null default 1,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    last_seen_at timestamptz not null default now(),
    deleted_at timestamptz,
    constraint facts_pkey primary key (tenant_id, id),
    constraint facts_superseded_by_fkey foreign key (tenant_id, superseded_by) references memory.facts
        deferrable initially deferred,
    constraint facts_kind check (kind in ('fact', 'event', 'instruction', 'task', 'procedure')),
    constraint facts_trust check (trust in ('user_said', 'assistant_inferred', 'document', 'tool', 'import')),
    constraint facts_status check (status in ('active', 'superseded', 'deleted')),
    constraint facts_superseded check ((status = 'superseded') <= (superseded_at is not null)),
    constraint facts_deleted check ((status = 'deleted') = (deleted_at is not null)),
    constraint facts_confidence check (confidence between 0 and 1),
    constraint facts_dedup_hash check (octet_length(dedup_hash) = 32),
    constraint facts_space check ((embedding is null) = (space_id is null))
) with (toast_tuple_target = 4080);
-- Two racing writers end with one active row, whatever the code before them did.
create unique index facts_one_active_copy on memory.facts
    (tenant_id, user_id, subject, dedup_hash, (case when kind = 'event' then valid_from end))
    nulls not distinct where status = 'active';
create unique index facts_one_active_value on memory.facts (tenant_id, user_id, avatar_id, subject, fact_key)
    nulls not distinct where status = 'active' and not multiple;
create index facts_active_by_key on memory.facts (tenant_id, user_id, subject, fact_key) where status = 'active';
create index facts_by_last_seen on memory.facts (tenant_id, user_id, last_seen_at desc, id desc);
create index facts_by_turn on memory.facts (tenant_id, user_id, source_turn_id) where source_turn_id is not null;
create index facts_without_vector on memory.facts (created_at) where embedding is null;
"""

DIALOGS = """
create table memory.dialogs (
    tenant_id text not null,
    user_id uuid not null,
    dialog_key text not null,
    avatar_id uuid,
    chunk_count bigint not null default 0,
    next_ordinal bigint not null default 1,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint dialogs_pkey primary key (tenant_id, user_id, dialog_key)
);
"""

# Rows up to 4 kB stay in the table itself: a scan of a scope reads lexemes and vectors without a detour to TOAST.
CHUNKS = """
create table memory.chunks (
    tenant_id text not null,
    id uuid not null,
    user_id uuid not null,
    dialog_key text not null,
    content_hash bytea not null,
    avatar_id uuid,
    source text not null,
    source_id text not null,
    part integer not null default 0,
    session text not null default '',
    ordinal bigint not null,
    speaker text not null default '',
    text text not null,
    direction text,
    compose_mode text not null default 'both',
    language text,
    note_date date,
    sent_at timestamptz,
    tags text[] not null default '{}',
    metadata jsonb not null default '{}',
    turn_id uuid,
    lex tsvector not null,
    lex_length integer not null,
    embedding public.halfvec(768),
    space_id smallint,
    embed_attempts smallint not null default 0,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint chunks_pkey primary key (tenant_id, id),
    constraint chunks_dialog_fkey foreign key (tenant_id, user_id, dialog_key) references memory.dialogs,
    constraint chunks_source check (source in ('profile', 'photo', 'note', 'conversation', 'summary')),
    constraint chunks_direction check (direction in ('incoming', 'outgoing')),
    constraint chunks_compose_mode check (compose_mode in ('reply', 'both')),
    constraint chunks_content_hash check (octet_length(content_hash) = 32),
    constraint chunks_space check ((embedding is null) = (space_id is null))
) with (toast_tuple_target = 4080);
alter table memory.chunks alter column embedding set storage plain;
alter table memory.facts alter column embedding set storage plain;
-- The hash covers the source id, so this is uniqueness of (dialog_key, content_hash), and it finds a message's chunks.
create unique index chunks_one_copy on memory.chunks (tenant_id, user_id, dialog_key, source_id, content_hash);
create index chunks_in_order on memory.chunks (tenant_id, user_id, dialog_key, ordinal, part);
create index chunks_by_turn on memory.chunks (tenant_id, user_id, turn_id) where turn_id is not null;
create index chunks_without_vector on memory.chunks (created_at) where embedding is null;
create index chunks_by_vector on memory.chunks using hnsw (embedding public.halfvec_cosine_ops)
    with (m = 16, ef_construction = 64);
"""

# The words of each 32 chunks in a row, by which a huge scope is narrowed. A GIN index on chunks would not be used:
# under row-level security the planner may not evaluate `@@`, which is not leakproof, before the policy.
BLOCKS = """
create table memory.blocks (
    tenant_id text not null,
    user_id uuid not null,
    dialog_key text not null,
    block bigint not null,
    lex tsvector not null,
    first_sent_at timestamptz,
    last_sent_at timestamptz,
    constraint blocks_pkey primary key (tenant_id, user_id, dialog_key, block),
    constraint blocks_dialog_fkey foreign key (tenant_id, user_id, dialog_key) references memory.dialogs
) with (toast_tuple_target = 8160);
alter table memory.blocks alter column lex set storage external;
"""

LEARNED_TURNS = """
create table memory.learned_turns (
    tenant_id text not null,
    user_id uuid not null,
    session_id uuid not null,
    user_seq bigint not null,
    turn_id uuid not null,
    chunks_at timestamptz not null default now(),
    facts_at timestamptz,
    constraint learned_turns_pkey primary key (tenant_id, user_id, session_id, user_seq)
);
"""

# The ranking of the source design, exactly: cosine plus the boost of the source, 1 to 50 rows, 12 by default.
MATCH_CHUNKS = """
create function memory.match_chunks(
    match_tenant_id text,
    match_user_id uuid,
    query_embedding public.halfvec(768),
    match_space_id smallint,
    match_count integer default 12,
    match_dialog_key text default null,
    match_avatar_id uuid default null,
    match_compose_mode text default null,
    match_sources text[] default null,
    match_after timestamptz default null,
    match_before timestamptz default null,
    source_weights jsonb default '{"note": 0.18, "profile": 0.08, "photo": 0.05}'
) returns table (
    id uuid, source text, text text, match_score double precision, boost double precision,
    weighted_score double precision, note_date date, sent_at timestamptz, direction text
)
language sql stable parallel safe
as $$
    select scored.id, scored.source, scored.text, scored.match_score, scored.boost,
           scored.match_score + scored.boost, scored.note_date, scored.sent_at, scored.direction
    from (
        select c.id, c.source, c.text, 1 - (c.embedding operator(public.<=>) query_embedding) as match_score,
               coalesce((source_weights ->> c.source)::double precision, 0) as boost,
               c.note_date, c.sent_at, c.direction
        from memory.chunks c
        where c.tenant_id = match_tenant_id
          and c.user_id = match_user_id
          and c.space_id = match_space_id
          and (match_dialog_key is null or c.dialog_key = match_dialog_key)
          and (match_avatar_id is null or c.avatar_id is null or c.avatar_id = match_avatar_id)
          and (match_compose_mode is null or c.compose_mode = 'both' or c.compose_mode = match_compose_mode)
          and (match_sources is null or c.source = any (match_sources))
          and (match_after is null or c.sent_at >= match_after)
          and (match_before is null or c.sent_at < match_before)
    ) scored
    order by 6 desc, scored.id
    limit greatest(1, least(coalesce(match_count, 12), 50))
$$;
"""


def upgrade() -> None:
    run(EMBEDDING_CONFIG)
    run(FACTS + tenant_table("memory.facts"))
    run(DIALOGS + tenant_table("memory.dialogs"))
    run(CHUNKS + tenant_table("memory.chunks"))
    run(BLOCKS + tenant_table("memory.blocks"))
    run(LEARNED_TURNS + tenant_table("memory.learned_turns"))
    run(MATCH_CHUNKS)
    run(idempotency_ddl("memory"))
    run(leases_ddl("memory"))
