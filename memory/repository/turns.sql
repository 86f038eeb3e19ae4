-- name: claim_turn
-- Notes that the chunks of a turn are stored; changes no row when the turn is known.
insert into memory.learned_turns (tenant_id, user_id, session_id, user_seq, turn_id)
values (%(tenant_id)s, %(user_id)s, %(session_id)s, %(user_seq)s, %(turn_id)s)
on conflict (tenant_id, user_id, session_id, user_seq) do nothing

-- name: is_known
-- Tells whether a turn was noted.
select exists (
    select 1
    from memory.learned_turns t
    where t.tenant_id = %(tenant_id)s
      and t.user_id = %(user_id)s
      and t.session_id = %(session_id)s
      and t.user_seq = %(user_seq)s
)

-- name: facts_learned
-- Tells whether the facts of a known turn are stored, and keeps others from storing them until the transaction ends.
select t.facts_at is not null
from memory.learned_turns t
where t.tenant_id = %(tenant_id)s
  and t.user_id = %(user_id)s
  and t.session_id = %(session_id)s
  and t.user_seq = %(user_seq)s
for update

-- name: mark_facts_learned
-- Notes that the facts of a turn are stored.
update memory.learned_turns t
set facts_at = now()
where t.tenant_id = %(tenant_id)s
  and t.user_id = %(user_id)s
  and t.session_id = %(session_id)s
  and t.user_seq = %(user_seq)s

-- name: last_answer
-- What our side said last in a session before a turn, in pieces.
with last_said as (
    select c.ordinal
    from memory.chunks c
    where c.tenant_id = %(tenant_id)s
      and c.user_id = %(user_id)s
      and c.dialog_key = %(dialog_key)s
      and c.session = %(session)s
      and c.direction = 'outgoing'
      and c.sent_at <= %(before)s
      and c.turn_id <> %(turn_id)s::uuid
    order by c.sent_at desc, c.ordinal desc
    limit 1
)
select string_agg(c.text, ' ' order by c.part)
from memory.chunks c
join last_said on c.ordinal = last_said.ordinal
where c.tenant_id = %(tenant_id)s
  and c.user_id = %(user_id)s
  and c.dialog_key = %(dialog_key)s
  and c.session = %(session)s
