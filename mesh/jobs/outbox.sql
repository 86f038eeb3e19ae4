-- name: append
-- Adds an item in the transaction of the data that it is about.
insert into {schema}.outbox (tenant_id, topic, key, payload, traceparent, available_at)
values (%(tenant_id)s, %(topic)s, %(key)s, %(payload)s, %(traceparent)s, coalesce(%(available_at)s, now()))

-- name: heads
-- Walks over the oldest living item of each tenant and key, after a position, one index look-up for each.
with recursive heads as (
    (
        select o.tenant_id, o.key, o.outbox_id, o.topic, o.available_at, o.claimed_until, 1 as step
        from {schema}.outbox o
        where o.dead_at is null and (o.tenant_id, o.key) > (%(after_tenant)s, %(after_key)s)
        order by o.tenant_id, o.key, o.outbox_id
        limit 1
    )
    union all
    select following.*, heads.step + 1
    from heads
    cross join lateral (
        select o.tenant_id, o.key, o.outbox_id, o.topic, o.available_at, o.claimed_until
        from {schema}.outbox o
        where o.dead_at is null and (o.tenant_id, o.key) > (heads.tenant_id, heads.key)
        order by o.tenant_id, o.key, o.outbox_id
        limit 1
    ) following
    where heads.step < %(window)s
)
select tenant_id, key, outbox_id,
       available_at <= %(now)s and (claimed_until is null or claimed_until <= %(now)s)
           and topic = any (%(topics)s) as due
from heads
order by step

-- name: claim
-- Leases those of the named items that are still due and first of their key, and counts the attempt.
with due as (
    select o.tenant_id, o.outbox_id
    from unnest(%(tenant_ids)s::text[], %(outbox_ids)s::bigint[]) as named (tenant_id, outbox_id)
    join {schema}.outbox o on o.tenant_id = named.tenant_id and o.outbox_id = named.outbox_id
    where o.dead_at is null
      and o.available_at <= %(now)s
      and (o.claimed_until is null or o.claimed_until <= %(now)s)
      and not exists (
          select 1
          from {schema}.outbox earlier
          where earlier.tenant_id = o.tenant_id
            and earlier.key = o.key
            and earlier.outbox_id < o.outbox_id
            and earlier.dead_at is null
      )
    for update of o skip locked
)
update {schema}.outbox claimed
set claimed_by = %(holder)s, claimed_until = %(until)s, attempts = claimed.attempts + 1
from due
where claimed.tenant_id = due.tenant_id and claimed.outbox_id = due.outbox_id
returning claimed.tenant_id, claimed.outbox_id, claimed.topic, claimed.key, claimed.payload, claimed.attempts,
          claimed.created_at, claimed.traceparent

-- name: extend
-- Prolongs the lease of one item; changes no row when another holder has it.
update {schema}.outbox
set claimed_until = %(until)s
where tenant_id = %(tenant_id)s and outbox_id = %(outbox_id)s and claimed_by = %(holder)s and dead_at is null

-- name: finish
-- Removes a delivered item; changes no row when another holder has it.
delete from {schema}.outbox
where tenant_id = %(tenant_id)s and outbox_id = %(outbox_id)s and claimed_by = %(holder)s

-- name: retry_later
-- Gives an item back for a later attempt.
update {schema}.outbox
set claimed_by = null, claimed_until = null, available_at = %(available_at)s, last_error = %(last_error)s
where tenant_id = %(tenant_id)s and outbox_id = %(outbox_id)s and claimed_by = %(holder)s

-- name: give_back
-- Gives an item back that was not worked on to its end, as if it had not been claimed.
update {schema}.outbox
set claimed_by = null, claimed_until = null, attempts = greatest(attempts - 1, 0)
where tenant_id = %(tenant_id)s and outbox_id = %(outbox_id)s and claimed_by = %(holder)s

-- name: bury
-- Makes an item a dead letter: it stays, is not delivered any more, and holds back nothing behind it.
update {schema}.outbox
set claimed_by = null, claimed_until = null, dead_at = %(now)s, last_error = %(last_error)s
where tenant_id = %(tenant_id)s and outbox_id = %(outbox_id)s and claimed_by = %(holder)s

-- name: stats
-- Counts what waits and what is dead, over all tenants.
select count(*) filter (where dead_at is null) as pending,
       count(*) filter (where dead_at is not null) as dead,
       coalesce(extract(epoch from %(now)s - min(created_at) filter (where dead_at is null)), 0)::float8
           as oldest_pending_seconds
from {schema}.outbox

-- name: dead_letters
-- Lists dead letters of a tenant after a position, oldest first.
select tenant_id, outbox_id, topic, key, attempts, coalesce(last_error, '') as last_error, created_at, dead_at
from {schema}.outbox
where tenant_id = %(tenant_id)s and dead_at is not null and outbox_id > %(after)s
order by outbox_id
limit %(most)s

-- name: dead_letters_of_all
-- Lists dead letters of every tenant after a position, oldest first.
select tenant_id, outbox_id, topic, key, attempts, coalesce(last_error, '') as last_error, created_at, dead_at
from {schema}.outbox
where dead_at is not null and outbox_id > %(after)s
order by outbox_id
limit %(most)s

-- name: requeue
-- Makes one dead letter deliverable again, with its attempts counted from zero.
update {schema}.outbox
set dead_at = null, last_error = null, attempts = 0, available_at = %(now)s
where tenant_id = %(tenant_id)s and outbox_id = %(outbox_id)s and dead_at is not null

-- name: discard
-- Removes one dead letter for good.
delete from {schema}.outbox
where tenant_id = %(tenant_id)s and outbox_id = %(outbox_id)s and dead_at is not null
