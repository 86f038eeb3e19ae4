-- name: chunks_without_vector
-- Chunks of every tenant whose vector is still to be made, oldest first.
select c.tenant_id, c.user_id::text, c.id::text,
       case when c.speaker = '' then c.text else c.speaker || ': ' || c.text end as text
from memory.chunks c
where c.embedding is null and c.embed_attempts < %(max_attempts)s
order by c.created_at, c.id
limit %(most)s

-- name: facts_without_vector
-- Active facts of every tenant whose vector is still to be made, oldest first.
select f.tenant_id, f.user_id::text, f.id::text,
       translate(f.subject || ' ' || f.fact_key, '_.', '  ') || ': ' || f.fact_value as text
from memory.facts f
where f.embedding is null and f.status = 'active' and f.embed_attempts < %(max_attempts)s
order by f.created_at, f.id
limit %(most)s

-- name: set_chunk_vectors
-- Stores vectors of chunks that still have none.
update memory.chunks c
set embedding = made.embedding, space_id = %(space_id)s
from unnest(%(tenant_ids)s::text[], %(user_ids)s::uuid[], %(ids)s::uuid[], %(embeddings)b::halfvec[])
    as made (tenant_id, user_id, id, embedding)
where c.tenant_id = made.tenant_id and c.user_id = made.user_id and c.id = made.id and c.embedding is null

-- name: set_fact_vectors
-- Stores vectors of facts that still have none.
update memory.facts f
set embedding = made.embedding, space_id = %(space_id)s
from unnest(%(tenant_ids)s::text[], %(user_ids)s::uuid[], %(ids)s::uuid[], %(embeddings)b::halfvec[])
    as made (tenant_id, user_id, id, embedding)
where f.tenant_id = made.tenant_id and f.user_id = made.user_id and f.id = made.id and f.embedding is null

-- name: count_chunk_attempt
-- Notes that the embedder refused a chunk.
update memory.chunks c
set embed_attempts = c.embed_attempts + 1
where c.tenant_id = %(tenant_id)s and c.user_id = %(user_id)s and c.id = %(id)s

-- name: count_fact_attempt
-- Notes that the embedder refused a fact.
update memory.facts f
set embed_attempts = f.embed_attempts + 1
where f.tenant_id = %(tenant_id)s and f.user_id = %(user_id)s and f.id = %(id)s
