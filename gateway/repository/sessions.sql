-- name: insert_session
-- Stores a new session of a user.
insert into gateway.sessions (tenant_id, id, user_id, avatar_id, name, description)
values (%(tenant_id)s, %(id)s, %(user_id)s, %(avatar_id)s, %(name)s, %(description)s)
returning id::text, user_id::text, avatar_id::text, name, description, status, created_at, updated_at, deleted_at, version

-- name: get_session
-- Reads an active session of a user.
select id::text, user_id::text, avatar_id::text, name, description, status, created_at, updated_at, deleted_at, version
from gateway.sessions
where tenant_id = %(tenant_id)s and id = %(id)s and user_id = %(user_id)s and status = 'active'

-- name: lock_session
-- Reads a session of a user, whatever its status, and keeps others from changing it.
select id::text, user_id::text, avatar_id::text, name, description, status, created_at, updated_at, deleted_at, version
from gateway.sessions
where tenant_id = %(tenant_id)s and id = %(id)s and user_id = %(user_id)s
for update

-- name: list_sessions
-- Reads one page of a user's active sessions, newest first, after a position.
select id::text, user_id::text, avatar_id::text, name, description, status, created_at, updated_at, deleted_at, version
from gateway.sessions
where
    tenant_id = %(tenant_id)s
    and user_id = %(user_id)s
    and status = 'active'
    and (created_at, id) < (%(after_time)s, %(after_id)s::uuid)
    and (%(avatar_id)s::uuid is null or avatar_id = %(avatar_id)s::uuid)
order by sessions.created_at desc, sessions.id desc
limit %(most)s

-- name: update_session
-- Changes the given fields of an active session of a user; null leaves a field as it is.
update gateway.sessions
set
    name = coalesce(%(name)s, name),
    description = coalesce(%(description)s, description),
    updated_at = now(),
    version = version + 1
where tenant_id = %(tenant_id)s and id = %(id)s and user_id = %(user_id)s and status = 'active'
returning id::text, user_id::text, avatar_id::text, name, description, status, created_at, updated_at, deleted_at, version

-- name: delete_session
-- Marks an active session of a user as deleted.
update gateway.sessions
set status = 'deleted', deleted_at = now(), updated_at = now(), version = version + 1
where tenant_id = %(tenant_id)s and id = %(id)s and user_id = %(user_id)s and status = 'active'
returning id::text, user_id::text, avatar_id::text, name, description, status, created_at, updated_at, deleted_at, version

-- name: get_chat_partner
-- Reads an active session of a user together with what a turn needs of its avatar, in one round trip.
select
    s.id::text as session_id,
    s.avatar_id::text as avatar_id,
    a.uid is not null as found,
    coalesce(a.avatar_id, '') as slug,
    coalesce(a.name, '') as name,
    coalesce(a.system_prompt, '') as system_prompt,
    coalesce(a.lora_adapter_path, '') as lora_adapter_path,
    coalesce(a.lora_quality_passed, false) as lora_quality_passed,
    coalesce(a.collection_name, '') as collection_name,
    coalesce(a.voice_clone_path, '') as voice_clone_path,
    coalesce(a.voice_clone_text, '') as voice_clone_text
from gateway.sessions as s
left join ml.avatars as a on a.uid = s.avatar_id
where s.tenant_id = %(tenant_id)s and s.id = %(id)s and s.user_id = %(user_id)s and s.status = 'active'
