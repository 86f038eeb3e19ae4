-- name: claim
-- Takes a request id; waits for a concurrent request with the same id; changes no row when it was taken.
insert into {schema}.idempotency (tenant_id, user_id, method, request_id, request_digest, expires_at)
values (%(tenant_id)s, %(user_id)s, %(method)s, %(request_id)s, %(request_digest)s, now() + %(lifetime)s)
on conflict (tenant_id, user_id, method, request_id) do nothing

-- name: stored
-- Reads what a request id was used for and what was answered.
select request_digest, answer
from {schema}.idempotency
where tenant_id = %(tenant_id)s and user_id = %(user_id)s and method = %(method)s and request_id = %(request_id)s

-- name: answer
-- Stores the answer of a claimed request id.
update {schema}.idempotency
set answer = %(answer)s
where tenant_id = %(tenant_id)s and user_id = %(user_id)s and method = %(method)s and request_id = %(request_id)s

-- name: sweep
-- Removes a bounded number of rows whose life is over, of every tenant.
delete from {schema}.idempotency
where (tenant_id, user_id, method, request_id) in (
    select tenant_id, user_id, method, request_id
    from {schema}.idempotency
    where expires_at <= %(now)s
    order by expires_at
    limit %(most)s
    for update skip locked
)
