-- name: begin
-- Opens a transaction.
begin

-- name: scope
-- Sets, for this transaction alone, whose rows it sees and how long a statement may run.
select set_config('app.tenant_id', %(tenant_id)s, true),
       set_config('app.rls_bypass', %(rls_bypass)s, true),
       set_config('statement_timeout', %(statement_timeout_ms)s, true),
       set_config('timezone', 'UTC', true)

-- name: commit
-- Ends the transaction and keeps what it did.
commit

-- name: rollback
-- Ends the transaction and drops what it did.
rollback

-- name: ping
-- Proves that the database answers.
select 1
