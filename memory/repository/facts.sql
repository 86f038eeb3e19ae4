-- name: lock_user
-- Makes writers of one user's facts wait for each other until the transaction ends.
select pg_advisory_xact_lock(hashtextextended('memory.facts/' || %(tenant_id)s || '/' || %(user_id)s, 0))

-- name: rivals
-- The active facts with one of several subjects and keys, and the cosine distance to a vector given for each.
select f.id::text, f.avatar_id::text, f.subject, f.kind, f.category, f.fact_key, f.fact_value, f.confidence, f.trust,
       f.multiple, f.status, f.source_session_id::text, f.source_seq, f.source_turn_id::text, f.source_excerpt,
       f.observed_at, f.valid_from, f.valid_to, f.dedup_hash, f.superseded_by::text, f.revision, f.created_at,
       f.updated_at, f.last_seen_at, f.deleted_at,
       f.embedding <=> %(embedding)b::halfvec as distance
from memory.facts f
where f.tenant_id = %(tenant_id)s
  and f.user_id = %(user_id)s
  and f.status = 'active'
  and f.avatar_id is not distinct from %(avatar_id)s
  and f.subject = %(subject)s
  and f.fact_key = %(fact_key)s
order by f.observed_at desc, f.id

-- name: insert_fact
-- Stores a fact and returns it; one that is late comes with its successor and is history from the start.
insert into memory.facts as f (
    tenant_id, id, user_id, avatar_id, subject, kind, category, fact_key, fact_value, confidence, trust, multiple, status,
    source_session_id, source_seq, source_turn_id, source_excerpt, observed_at, valid_from, valid_to, dedup_hash,
    superseded_by, superseded_at, lex, lex_length, embedding, space_id
)
values (
    %(tenant_id)s, %(id)s, %(user_id)s, %(avatar_id)s, %(subject)s, %(kind)s, %(category)s, %(fact_key)s, %(fact_value)s,
    %(confidence)s, %(trust)s, %(multiple)s, case when %(superseded_by)s::uuid is null then 'active' else 'superseded' end,
    %(source_session_id)s, %(source_seq)s, %(source_turn_id)s, %(source_excerpt)s, %(observed_at)s, %(valid_from)s,
    %(valid_to)s, %(dedup_hash)s, %(superseded_by)s::uuid, case when %(superseded_by)s::uuid is not null then now() end,
    %(lex)s::tsvector, %(lex_length)s, %(embedding)b, %(space_id)s
)
returning f.id::text, f.avatar_id::text, f.subject, f.kind, f.category, f.fact_key, f.fact_value, f.confidence, f.trust,
       f.multiple, f.status, f.source_session_id::text, f.source_seq, f.source_turn_id::text, f.source_excerpt,
       f.observed_at, f.valid_from, f.valid_to, f.dedup_hash, f.superseded_by::text, f.revision, f.created_at,
       f.updated_at, f.last_seen_at, f.deleted_at

-- name: history_of
-- The superseded fact that says the same and was said at the same time, if a late fact was stored before.
select f.id::text
from memory.facts f
where f.tenant_id = %(tenant_id)s
  and f.user_id = %(user_id)s
  and f.status = 'superseded'
  and f.subject = %(subject)s
  and f.dedup_hash = %(dedup_hash)s
  and f.observed_at = %(observed_at)s
limit 1

-- name: retire
-- Supersedes active facts: the rows stay, name their successor, and keep the turn and the words that caused it.
update memory.facts f
set status = 'superseded', superseded_by = %(successor)s::uuid, superseded_at = now(),
    superseded_turn_id = %(turn_id)s::uuid, superseded_excerpt = %(excerpt)s,
    valid_to = coalesce(f.valid_to, %(valid_to)s::timestamptz), revision = f.revision + 1, updated_at = now()
where f.tenant_id = %(tenant_id)s and f.user_id = %(user_id)s and f.id = any(%(ids)s::uuid[]) and f.status = 'active'
returning f.id::text, f.avatar_id::text, f.subject, f.kind, f.category, f.fact_key, f.fact_value, f.confidence, f.trust,
       f.multiple, f.status, f.source_session_id::text, f.source_seq, f.source_turn_id::text, f.source_excerpt,
       f.observed_at, f.valid_from, f.valid_to, f.dedup_hash, f.superseded_by::text, f.revision, f.created_at,
       f.updated_at, f.last_seen_at, f.deleted_at

-- name: confirm
-- Notes that an active fact was stated again: it was seen now, and the surer, more trusted and later statement counts.
update memory.facts f
set last_seen_at = now(),
    confidence = greatest(f.confidence, %(confidence)s),
    trust = %(trust)s,
    observed_at = greatest(f.observed_at, %(observed_at)s),
    valid_from = coalesce(f.valid_from, %(valid_from)s),
    valid_to = coalesce(f.valid_to, %(valid_to)s),
    revision = f.revision + 1,
    updated_at = now()
where f.tenant_id = %(tenant_id)s and f.user_id = %(user_id)s and f.id = %(id)s and f.status = 'active'
returning f.id::text, f.avatar_id::text, f.subject, f.kind, f.category, f.fact_key, f.fact_value, f.confidence, f.trust,
       f.multiple, f.status, f.source_session_id::text, f.source_seq, f.source_turn_id::text, f.source_excerpt,
       f.observed_at, f.valid_from, f.valid_to, f.dedup_hash, f.superseded_by::text, f.revision, f.created_at,
       f.updated_at, f.last_seen_at, f.deleted_at

-- name: get_fact
-- One fact of a user, whatever its status.
select f.id::text, f.avatar_id::text, f.subject, f.kind, f.category, f.fact_key, f.fact_value, f.confidence, f.trust,
       f.multiple, f.status, f.source_session_id::text, f.source_seq, f.source_turn_id::text, f.source_excerpt,
       f.observed_at, f.valid_from, f.valid_to, f.dedup_hash, f.superseded_by::text, f.revision, f.created_at,
       f.updated_at, f.last_seen_at, f.deleted_at
from memory.facts f
where f.tenant_id = %(tenant_id)s and f.user_id = %(user_id)s and f.id = %(id)s

-- name: list_facts
-- A page of a user's facts after a position, newest last_seen_at first (L11).
select f.id::text, f.avatar_id::text, f.subject, f.kind, f.category, f.fact_key, f.fact_value, f.confidence, f.trust,
       f.multiple, f.status, f.source_session_id::text, f.source_seq, f.source_turn_id::text, f.source_excerpt,
       f.observed_at, f.valid_from, f.valid_to, f.dedup_hash, f.superseded_by::text, f.revision, f.created_at,
       f.updated_at, f.last_seen_at, f.deleted_at
from memory.facts f
where f.tenant_id = %(tenant_id)s
  and f.user_id = %(user_id)s
  and f.status = any(%(statuses)s)
  and (f.last_seen_at, f.id) < (%(after_time)s, %(after_id)s::uuid)
  and (%(avatar_id)s::uuid is null or f.avatar_id = %(avatar_id)s::uuid)
  and (%(fact_key)s::text is null or f.fact_key = %(fact_key)s)
  and (%(turn_id)s::uuid is null or f.source_turn_id = %(turn_id)s::uuid)
order by f.last_seen_at desc, f.id desc
limit %(most)s

-- name: delete_fact
-- Deletes a fact softly.
update memory.facts f
set status = 'deleted', deleted_at = now(), revision = f.revision + 1, updated_at = now()
where f.tenant_id = %(tenant_id)s and f.user_id = %(user_id)s and f.id = %(id)s and f.status <> 'deleted'
returning f.id::text, f.avatar_id::text, f.subject, f.kind, f.category, f.fact_key, f.fact_value, f.confidence, f.trust,
       f.multiple, f.status, f.source_session_id::text, f.source_seq, f.source_turn_id::text, f.source_excerpt,
       f.observed_at, f.valid_from, f.valid_to, f.dedup_hash, f.superseded_by::text, f.revision, f.created_at,
       f.updated_at, f.last_seen_at, f.deleted_at

-- name: touch_seen
-- Notes that facts were put before a model; no change of the facts, so no new revision.
update memory.facts f
set last_seen_at = greatest(f.last_seen_at, seen.at)
from unnest(%(user_ids)s::uuid[], %(ids)s::uuid[], %(times)s::timestamptz[]) as seen (user_id, id, at)
where f.tenant_id = %(tenant_id)s and f.user_id = seen.user_id and f.id = seen.id and f.status = 'active'
