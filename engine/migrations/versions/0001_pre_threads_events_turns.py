"""Threads, their events and turns, token usage, outbox and idempotency rows.

Everything of a thread stands under (tenant_id, thread_id), so the tables can be distributed by tenant. What a thread
holds is only ever appended: the runtime role may neither change nor delete an event.
"""

from __future__ import annotations

from mesh.db.ddl import run
from mesh.db.idempotency import idempotency_ddl
from mesh.db.tenancy import tenant_table
from mesh.jobs.leases import leases_ddl
from mesh.jobs.outbox import outbox_ddl

revision = "0001"
down_revision: str | None = None

THREAD_STATE = """
create table engine.thread_state (
    tenant_id text not null,
    thread_id text not null,
    session_id uuid not null,
    user_id uuid not null,
    avatar_id uuid not null,
    next_seq bigint not null default 0 check (next_seq >= 0),
    leaf_event_id uuid,
    epoch bigint not null default 1 check (epoch >= 1),
    history_chars bigint not null default 0 check (history_chars >= 0),
    running_turn_id uuid,
    running_attempt integer,
    lease_holder text,
    lease_until timestamptz,
    create_time timestamptz not null default clock_timestamp(),
    update_time timestamptz not null default clock_timestamp(),
    primary key (tenant_id, thread_id),
    constraint thread_state_id check (thread_id = tenant_id || ':' || session_id::text),
    constraint thread_state_lease check (
        num_nulls(running_turn_id, running_attempt, lease_holder, lease_until) in (0, 4)
    )
);
create index thread_state_lease_until on engine.thread_state (lease_until) where running_turn_id is not null;
"""

SESSION_EVENTS = """
create table engine.session_events (
    tenant_id text not null,
    thread_id text not null,
    seq bigint not null check (seq >= 0),
    event_id uuid not null,
    parent_id uuid,
    turn_id uuid,
    epoch bigint not null,
    session_id uuid not null,
    user_id uuid not null,
    kind text not null,
    role text,
    content text,
    metadata jsonb not null default '{}',
    create_time timestamptz not null default clock_timestamp(),
    primary key (tenant_id, thread_id, seq),
    constraint session_events_event_id unique (tenant_id, thread_id, event_id),
    constraint session_events_thread foreign key (tenant_id, thread_id)
        references engine.thread_state (tenant_id, thread_id),
    constraint session_events_kind check (kind in (
        'message', 'tool_call', 'tool_result', 'thinking', 'audit', 'compaction', 'model_change',
        'thinking_level_change', 'branch_summary', 'custom', 'label', 'session_info'
    )),
    constraint session_events_role check (role in ('user', 'assistant', 'system', 'tool'))
);
revoke update, delete, truncate on engine.session_events from mnemesh_engine;
"""

TURNS = """
create table engine.turns (
    tenant_id text not null,
    id uuid not null,
    thread_id text not null,
    session_id uuid not null,
    user_id uuid not null,
    avatar_id uuid not null,
    request_id uuid,
    request_digest bytea not null,
    state text not null check (state in ('running', 'committed', 'failed')),
    attempt integer not null check (attempt >= 1),
    epoch bigint not null,
    user_seq bigint not null,
    assistant_seq bigint,
    history_offset bigint,
    model_provider text not null,
    model_name text not null,
    expected_input_tokens bigint not null,
    input_tokens bigint,
    output_tokens bigint,
    usage_measured boolean,
    prompt_prefix_hash bytea,
    provenance jsonb not null default '{}',
    finish_reason text,
    failure_reason text,
    create_time timestamptz not null default clock_timestamp(),
    end_time timestamptz,
    primary key (tenant_id, id),
    constraint turns_user_seq unique (tenant_id, thread_id, user_seq),
    constraint turns_thread foreign key (tenant_id, thread_id)
        references engine.thread_state (tenant_id, thread_id),
    constraint turns_running check ((state = 'running') = (end_time is null)),
    constraint turns_failed check ((state = 'failed') = (failure_reason is not null)),
    constraint turns_committed check (
        num_nulls(assistant_seq, history_offset, input_tokens, output_tokens, usage_measured, finish_reason)
            = case when state = 'committed' then 0 else 6 end
    )
);
create unique index turns_request_id on engine.turns (tenant_id, thread_id, request_id) where request_id is not null;
create unique index turns_history on engine.turns (tenant_id, thread_id, history_offset) where state = 'committed';
"""

SPENT_TOKENS = """
create table engine.token_usage (
    tenant_id text not null,
    turn_id uuid not null,
    turn_attempt integer not null,
    provider_attempt integer not null,
    thread_id text not null,
    session_id uuid not null,
    user_id uuid not null,
    avatar_id uuid not null,
    request_id uuid,
    phase text not null check (phase in (
        'photo', 'context', 'draft-batch', 'evaluate', 'repair', 'embed', 'generate'
    )),
    provider text not null,
    model text not null,
    input_tokens bigint not null check (input_tokens >= 0),
    output_tokens bigint not null check (output_tokens >= 0),
    cached_input_tokens bigint not null default 0 check (cached_input_tokens >= 0),
    measured boolean not null,
    outcome text not null check (outcome in ('finished', 'failed', 'interrupted', 'lost')),
    create_time timestamptz not null default clock_timestamp(),
    primary key (tenant_id, turn_id, phase, turn_attempt, provider_attempt),
    constraint token_usage_thread foreign key (tenant_id, thread_id)
        references engine.thread_state (tenant_id, thread_id)
);
create index token_usage_user on engine.token_usage (tenant_id, user_id, create_time);
create index token_usage_thread on engine.token_usage (tenant_id, thread_id, create_time);
"""

CONVERSATION_HISTORY = """
create view engine.conversation_history with (security_invoker = true) as
select tenant_id, session_id, seq as id, user_id, role, content, create_time as created_at
from engine.session_events
where kind = 'message' and role in ('user', 'assistant');
comment on view engine.conversation_history is
    'One row a message, in the shape of the LIS table of that name; the log in session_events is what is stored.';
"""

READABLE_TURNS = """
create view engine.readable_turns with (security_invoker = true) as
select t.tenant_id, t.thread_id, t.user_id, t.id as turn_uuid, t.id::text as id, t.session_id::text as session_id,
       coalesce(t.request_id::text, '') as request_id,
       case when d.is_dead then 'failed' else t.state end as state,
       t.attempt, t.epoch, t.user_seq, t.assistant_seq, u.content as user_text,
       coalesce(a.content, '') as assistant_text, t.model_provider, t.model_name, t.input_tokens, t.output_tokens,
       t.usage_measured, coalesce(t.finish_reason, '') as finish_reason,
       case when d.is_dead then 'SERVICE_UNAVAILABLE' else coalesce(t.failure_reason, '') end as failure_reason,
       t.provenance, t.create_time,
       case when d.is_dead then coalesce(s.lease_until, s.update_time) else t.end_time end as end_time
from engine.turns t
join engine.thread_state s on s.tenant_id = t.tenant_id and s.thread_id = t.thread_id
cross join lateral (
    select t.state = 'running' and (s.running_turn_id is distinct from t.id or s.lease_until <= clock_timestamp())
        as is_dead
) d
join engine.session_events u
  on u.tenant_id = t.tenant_id and u.thread_id = t.thread_id and u.seq = t.user_seq
left join engine.session_events a
  on a.tenant_id = t.tenant_id and a.thread_id = t.thread_id and a.seq = t.assistant_seq;
comment on view engine.readable_turns is
    'Turns with their texts; one whose engine died reads as failed as soon as its lease is over.';
"""


def upgrade() -> None:
    for statement in (THREAD_STATE, SESSION_EVENTS, TURNS, SPENT_TOKENS, CONVERSATION_HISTORY, READABLE_TURNS):
        run(statement)
    for table in ("thread_state", "session_events", "turns", "token_usage"):
        run(tenant_table(f"engine.{table}"))
    run(outbox_ddl("engine"))
    run(idempotency_ddl("engine"))
    run(leases_ddl("engine"))
