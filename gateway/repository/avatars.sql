-- name: get_avatar
-- Reads one avatar by its uid.
select
    uid::text,
    coalesce(avatar_id, '') as avatar_id,
    coalesce(creator_id, '') as creator_id,
    coalesce(name, '') as name,
    coalesce(system_prompt, '') as system_prompt,
    coalesce(lora_adapter_path, '') as lora_adapter_path,
    coalesce(lora_quality_passed, false) as lora_quality_passed,
    coalesce(collection_name, '') as collection_name,
    coalesce(voice_clone_path, '') as voice_clone_path,
    coalesce(voice_clone_text, '') as voice_clone_text,
    coalesce(description, '') as description,
    coalesce(tags, '{}'::text[]) as tags,
    coalesce(preview_url, '') as preview_url,
    coalesce(elevenlabs_voice_id, '') as elevenlabs_voice_id,
    case jsonb_typeof(customization) when 'object' then customization else '{}'::jsonb end as customization,
    date as created_at,
    updated_at
from ml.avatars
where uid = %(uid)s

-- name: list_avatars
-- Reads one page of avatars, newest first, those without a date last, after a position.
select
    uid::text,
    coalesce(avatar_id, '') as avatar_id,
    coalesce(creator_id, '') as creator_id,
    coalesce(name, '') as name,
    coalesce(system_prompt, '') as system_prompt,
    coalesce(lora_adapter_path, '') as lora_adapter_path,
    coalesce(lora_quality_passed, false) as lora_quality_passed,
    coalesce(collection_name, '') as collection_name,
    coalesce(voice_clone_path, '') as voice_clone_path,
    coalesce(voice_clone_text, '') as voice_clone_text,
    coalesce(description, '') as description,
    coalesce(tags, '{}'::text[]) as tags,
    coalesce(preview_url, '') as preview_url,
    coalesce(elevenlabs_voice_id, '') as elevenlabs_voice_id,
    case jsonb_typeof(customization) when 'object' then customization else '{}'::jsonb end as customization,
    date as created_at,
    updated_at
from ml.avatars
where (coalesce(date, 'epoch'::timestamptz), uid) < (%(after_time)s, %(after_id)s::uuid)
order by coalesce(avatars.date, 'epoch'::timestamptz) desc, avatars.uid desc
limit %(most)s

-- name: avatar_exists
-- Tells whether an avatar has a uid.
select exists (select from ml.avatars where uid = %(uid)s)
