-- name: vector_types
-- Finds the types of pgvector wherever the extension was installed; no rows when it is not.
select t.typname::text as name, t.oid::bigint as oid, t.typarray::bigint as array_oid
from pg_catalog.pg_extension e
join pg_catalog.pg_type t on t.typnamespace = e.extnamespace
where e.extname = 'vector' and t.typname in ('vector', 'halfvec')
