-- name: vector_version
-- Reads the version of pgvector that is installed in this database, or else the one that can be.
select coalesce(installed_version, default_version) from pg_available_extensions where name = 'vector'
