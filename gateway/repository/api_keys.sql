-- name: insert_api_key
-- Stores a new key.
insert into gateway.api_keys (tenant_id, id, user_id, prefix, secret_hash, display_name, scopes, expires_at)
values (
    %(tenant_id)s, %(id)s, %(user_id)s, %(prefix)s, %(secret_hash)s, %(display_name)s, %(scopes)s, %(expires_at)s
)
returning
    id::text, tenant_id, user_id::text, prefix, display_name, scopes, created_at, expires_at, revoked_at, last_used_at

-- name: list_api_keys
-- Reads one page of a tenant's keys, newest first, after a position.
select
    id::text, tenant_id, user_id::text, prefix, display_name, scopes, created_at, expires_at, revoked_at, last_used_at
from gateway.api_keys
where tenant_id = %(tenant_id)s and (created_at, id) < (%(after_time)s, %(after_id)s::uuid)
order by api_keys.created_at desc, api_keys.id desc
limit %(most)s

-- name: revoke_api_key
-- Marks a key of a tenant as revoked; the time of the first revocation stays.
update gateway.api_keys
set revoked_at = coalesce(revoked_at, now())
where tenant_id = %(tenant_id)s and id = %(id)s
returning
    id::text, tenant_id, user_id::text, prefix, display_name, scopes, created_at, expires_at, revoked_at, last_used_at

-- name: find_api_key_by_hash
-- Reads the key with a secret, of whatever tenant: the tenant is what the caller has yet to prove.
select
    id::text, tenant_id, user_id::text, prefix, display_name, scopes, created_at, expires_at, revoked_at, last_used_at
from gateway.api_keys
where secret_hash = %(secret_hash)s

-- name: touch_api_keys
-- Writes when keys of any tenant were last used; an older time never replaces a newer one.
update gateway.api_keys as k
set last_used_at = used.at
from unnest(%(tenant_ids)s::text[], %(ids)s::uuid[], %(times)s::timestamptz[]) as used (tenant_id, id, at)
where
    k.tenant_id = used.tenant_id
    and k.id = used.id
    and (k.last_used_at is null or k.last_used_at < used.at)
