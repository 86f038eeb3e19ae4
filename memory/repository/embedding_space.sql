-- name: lock_spaces
-- Makes servers that start at the same moment choose the space one after another.
lock table memory.embedding_config in share row exclusive mode

-- name: active_space
-- The space of every stored vector.
select e.space_id, e.provider, e.model, e.dimensions
from memory.embedding_config e
where e.active

-- name: has_vectors
-- Tells whether any vector is stored, in any tenant.
select exists (select 1 from memory.chunks c where c.embedding is not null)
    or exists (select 1 from memory.facts f where f.embedding is not null)

-- name: retire_spaces
-- Makes no space the active one.
update memory.embedding_config set active = false where active

-- name: activate_space
-- Makes a space the active one and returns its id.
insert into memory.embedding_config (provider, model, dimensions, active)
values (%(provider)s, %(model)s, %(dimensions)s, true)
on conflict (provider, model, dimensions) do update set active = true
returning space_id
