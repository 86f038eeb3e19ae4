-- name: create_schema
-- The schema of those who make avatars; created only where nobody has done so yet.
create schema if not exists ml

-- name: create_avatars
-- Their table, with the columns of the system that Mnemesh reads it from (L1); created only when absent.
create table if not exists ml.avatars (
    uid uuid primary key,
    avatar_id text,
    creator_id text,
    name text,
    system_prompt text default '',
    lora_adapter_path text,
    lora_quality_passed boolean default false,
    collection_name text,
    voice_clone_path text,
    voice_clone_text text,
    description text,
    tags text[],
    preview_url text,
    elevenlabs_voice_id text,
    customization jsonb default '{}'::jsonb,
    date timestamptz default now(),
    updated_at timestamptz default now()
)

-- name: allow_schema
-- The gateway's role may look into the schema.
grant usage on schema ml to mnemesh_gateway

-- name: allow_avatars
-- The gateway's role may read the table and nothing else.
grant select on ml.avatars to mnemesh_gateway
