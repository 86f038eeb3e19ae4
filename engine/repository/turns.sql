-- name: known_turn
-- Finds the turn of a thread that a request id belongs to.
select id::text as id, state, request_digest, attempt, user_seq, create_time
from engine.turns
where tenant_id = %(tenant_id)s and thread_id = %(thread_id)s and user_id = %(user_id)s
  and request_id = %(request_id)s

-- name: insert_turn
-- Stores a new turn, running.
insert into engine.turns (
    tenant_id, id, thread_id, session_id, user_id, avatar_id, request_id, request_digest, state, attempt, epoch,
    user_seq, model_provider, model_name, expected_input_tokens, create_time
)
values (
    %(tenant_id)s, %(turn_id)s, %(thread_id)s, %(session_id)s, %(user_id)s, %(avatar_id)s, %(request_id)s,
    %(request_digest)s, 'running', 1, %(epoch)s, %(user_seq)s, %(model_provider)s, %(model_name)s,
    %(expected_input_tokens)s, %(create_time)s
)

-- name: restart_turn
-- Makes a failed turn run again.
update engine.turns
set state = 'running', attempt = %(attempt)s, epoch = %(epoch)s, model_provider = %(model_provider)s,
    model_name = %(model_name)s, expected_input_tokens = %(expected_input_tokens)s, prompt_prefix_hash = null,
    provenance = '{}', failure_reason = null, end_time = null
where tenant_id = %(tenant_id)s and thread_id = %(thread_id)s and user_id = %(user_id)s and id = %(turn_id)s
  and state = 'failed'

-- name: commit_turn
-- Makes a running attempt committed and returns when; no row when it does not run any more.
update engine.turns
set state = 'committed', assistant_seq = %(assistant_seq)s, history_offset = %(history_offset)s,
    input_tokens = %(input_tokens)s, output_tokens = %(output_tokens)s, usage_measured = %(usage_measured)s,
    prompt_prefix_hash = %(prompt_prefix_hash)s, provenance = %(provenance)s::jsonb,
    finish_reason = %(finish_reason)s, end_time = clock_timestamp()
where tenant_id = %(tenant_id)s and thread_id = %(thread_id)s and user_id = %(user_id)s and id = %(turn_id)s
  and state = 'running' and attempt = %(attempt)s
returning end_time

-- name: fail_turn
-- Makes a running attempt failed; changes no row when it does not run any more.
update engine.turns
set state = 'failed', failure_reason = %(failure_reason)s, prompt_prefix_hash = %(prompt_prefix_hash)s,
    provenance = %(provenance)s::jsonb, end_time = clock_timestamp()
where tenant_id = %(tenant_id)s and thread_id = %(thread_id)s and user_id = %(user_id)s and id = %(turn_id)s
  and state = 'running' and attempt = %(attempt)s

-- name: committed_attempt
-- Reads what an attempt committed, when it did; for a commit whose own answer was lost.
select assistant_seq, end_time
from engine.turns
where tenant_id = %(tenant_id)s and thread_id = %(thread_id)s and user_id = %(user_id)s and id = %(turn_id)s
  and attempt = %(attempt)s and state = 'committed'

-- name: running_attempt
-- Reads who an attempt that still counts as running was to ask, and how much it was going to send.
select request_id::text as request_id, avatar_id::text as avatar_id, model_provider, model_name, expected_input_tokens
from engine.turns
where tenant_id = %(tenant_id)s and thread_id = %(thread_id)s and user_id = %(user_id)s and id = %(turn_id)s
  and attempt = %(attempt)s and state = 'running'

-- name: history
-- Reads the committed turns of a thread from a character offset on, oldest first.
select u.content as user_text, a.content as assistant_text
from engine.turns t
join engine.session_events u
  on u.tenant_id = t.tenant_id and u.thread_id = t.thread_id and u.seq = t.user_seq
join engine.session_events a
  on a.tenant_id = t.tenant_id and a.thread_id = t.thread_id and a.seq = t.assistant_seq
where t.tenant_id = %(tenant_id)s and t.thread_id = %(thread_id)s and t.user_id = %(user_id)s
  and t.state = 'committed' and t.history_offset >= %(cut_chars)s
order by t.history_offset

-- name: list_turns
-- Reads turns of a thread with their texts, newest first, from before a position on, up to a number and a size.
select id, session_id, request_id, state, attempt, epoch, user_seq, assistant_seq, user_text, assistant_text,
       model_provider, model_name, input_tokens, output_tokens, usage_measured, finish_reason, failure_reason,
       provenance, create_time, end_time, found
from (
    select page.*,
           count(*) over () as found,
           coalesce(sum(octet_length(user_text) + octet_length(assistant_text)) over (
               order by user_seq desc rows between unbounded preceding and 1 preceding
           ), 0) as bytes_before
    from (
        select *
        from engine.readable_turns
        where tenant_id = %(tenant_id)s and thread_id = %(thread_id)s and user_id = %(user_id)s
          and user_seq < %(before_seq)s
        order by user_seq desc
        limit %(most)s
    ) page
) measured
where bytes_before < %(most_bytes)s
order by user_seq desc

-- name: get_turn
-- Reads one turn of a thread with its texts.
select id, session_id, request_id, state, attempt, epoch, user_seq, assistant_seq, user_text, assistant_text,
       model_provider, model_name, input_tokens, output_tokens, usage_measured, finish_reason, failure_reason,
       provenance, create_time, end_time
from engine.readable_turns
where tenant_id = %(tenant_id)s and thread_id = %(thread_id)s and user_id = %(user_id)s and turn_uuid = %(turn_id)s
