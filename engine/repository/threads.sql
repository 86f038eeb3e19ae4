-- name: create_thread
-- Creates the thread of a session; does nothing when there is one, whoever owns it.
insert into engine.thread_state (tenant_id, thread_id, session_id, user_id, avatar_id)
values (%(tenant_id)s, %(thread_id)s, %(session_id)s, %(user_id)s, %(avatar_id)s)
on conflict (tenant_id, thread_id) do nothing

-- name: lock_thread
-- Locks a thread of a user and reads it, with the lease judged by the database's clock.
select next_seq, leaf_event_id::text as leaf_event_id, epoch, history_chars,
       running_turn_id::text as running_turn_id, coalesce(running_attempt, 0) as running_attempt,
       coalesce(lease_holder, '') as lease_holder, coalesce(lease_until <= clock_timestamp(), true) as lease_ended
from engine.thread_state
where tenant_id = %(tenant_id)s and thread_id = %(thread_id)s and user_id = %(user_id)s
for update

-- name: take_lease
-- Gives the thread's lease to an attempt of a turn and moves the thread behind the turn's event.
update engine.thread_state
set running_turn_id = %(turn_id)s,
    running_attempt = %(attempt)s,
    lease_holder = %(holder)s,
    lease_until = clock_timestamp() + make_interval(secs => %(lease_s)s),
    next_seq = %(next_seq)s,
    leaf_event_id = %(leaf_event_id)s,
    epoch = %(epoch)s,
    avatar_id = %(avatar_id)s,
    update_time = clock_timestamp()
where tenant_id = %(tenant_id)s and thread_id = %(thread_id)s and user_id = %(user_id)s

-- name: extend_lease
-- Prolongs the lease of an attempt; changes no row when another attempt has it or nobody has.
update engine.thread_state
set lease_until = clock_timestamp() + make_interval(secs => %(lease_s)s)
where tenant_id = %(tenant_id)s and thread_id = %(thread_id)s and user_id = %(user_id)s
  and running_turn_id = %(turn_id)s and running_attempt = %(attempt)s and lease_holder = %(holder)s

-- name: end_lease
-- Ends the lease of a locked thread and moves the thread behind what its turn added, if it added anything.
update engine.thread_state
set running_turn_id = null,
    running_attempt = null,
    lease_holder = null,
    lease_until = null,
    next_seq = %(next_seq)s,
    leaf_event_id = %(leaf_event_id)s,
    history_chars = %(history_chars)s,
    update_time = clock_timestamp()
where tenant_id = %(tenant_id)s and thread_id = %(thread_id)s and user_id = %(user_id)s

-- name: lock_ended_leases
-- Locks threads of every tenant whose lease is over, at most a number of them, and says whose they are.
select tenant_id, session_id::text as session_id, user_id::text as user_id
from engine.thread_state
where running_turn_id is not null and lease_until <= clock_timestamp()
order by lease_until
limit %(most)s
for update skip locked

-- name: thread_exists
-- Tells whether a user has a thread of a session.
select true
from engine.thread_state
where tenant_id = %(tenant_id)s and thread_id = %(thread_id)s and user_id = %(user_id)s
