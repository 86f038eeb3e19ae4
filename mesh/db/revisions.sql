-- name: current
-- Reads the revision that the schema is at.
select version_num from {schema}.alembic_version
