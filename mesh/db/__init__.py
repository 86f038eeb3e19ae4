"""PostgreSQL as the servers use it: pool, transactions under row-level security, named queries, migrations."""
