-- name: lock_dialog
-- Creates a dialog or takes it; its row lock makes writers of one dialog wait for each other.
insert into memory.dialogs as d (tenant_id, user_id, dialog_key, avatar_id)
values (%(tenant_id)s, %(user_id)s, %(dialog_key)s, %(avatar_id)s)
on conflict (tenant_id, user_id, dialog_key) do update set updated_at = now()
returning d.next_ordinal

-- name: stored_pieces
-- Which chunks of some messages of a dialog are stored.
select c.id::text, c.source_id, c.content_hash, c.ordinal, c.embedding is not null as has_vector
from memory.chunks c
where c.tenant_id = %(tenant_id)s
  and c.user_id = %(user_id)s
  and c.dialog_key = %(dialog_key)s
  and c.source_id = any(%(source_ids)s)

-- name: insert_chunks
-- Stores chunks, in the order given, so that a dialog's rows lie together.
insert into memory.chunks (
    tenant_id, id, user_id, dialog_key, content_hash, avatar_id, source, source_id, part, session, ordinal, speaker, text,
    direction, sent_at, tags, turn_id, lex, lex_length, embedding, space_id
)
select %(tenant_id)s, n.id, %(user_id)s::uuid, %(dialog_key)s, n.content_hash, %(avatar_id)s::uuid, n.source, n.source_id,
       n.part, n.session, n.ordinal, n.speaker, n.text, n.direction, n.sent_at, string_to_array(n.tags, ' '), n.turn_id,
       n.lex::tsvector, n.lex_length, n.embedding, case when n.embedding is not null then %(space_id)s::smallint end
from unnest(
    %(ids)s::uuid[], %(content_hashes)s::bytea[], %(sources)s::text[], %(source_ids)s::text[], %(parts)s::integer[],
    %(sessions)s::text[], %(ordinals)s::bigint[], %(speakers)s::text[], %(texts)s::text[], %(directions)s::text[],
    %(sent_ats)s::timestamptz[], %(tags)s::text[], %(turn_ids)s::uuid[], %(lexes)s::text[], %(lex_lengths)s::integer[],
    %(embeddings)b::halfvec[]
) as n (
    id, content_hash, source, source_id, part, session, ordinal, speaker, text, direction, sent_at, tags, turn_id, lex,
    lex_length, embedding
)

-- name: delete_chunks
-- Removes chunks whose message has another text now.
delete from memory.chunks c
where c.tenant_id = %(tenant_id)s and c.user_id = %(user_id)s and c.id = any(%(ids)s::uuid[])

-- name: refresh_blocks
-- Gathers the words of blocks from their chunks; a block that lost its last chunk is left without words.
insert into memory.blocks as b (tenant_id, user_id, dialog_key, block, lex, first_sent_at, last_sent_at)
select %(tenant_id)s, %(user_id)s::uuid, %(dialog_key)s, n.block,
       coalesce(array_to_tsvector(array_agg(distinct w.lexeme) filter (where w.lexeme is not null)), ''::tsvector),
       min(c.sent_at), max(c.sent_at)
from unnest(%(blocks)s::bigint[]) as n (block)
left join memory.chunks c
  on c.tenant_id = %(tenant_id)s
 and c.user_id = %(user_id)s
 and c.dialog_key = %(dialog_key)s
 and c.ordinal between n.block * %(size)s and n.block * %(size)s + %(size)s - 1
left join lateral unnest(tsvector_to_array(c.lex)) as w (lexeme) on true
group by n.block
on conflict (tenant_id, user_id, dialog_key, block) do update
set lex = excluded.lex, first_sent_at = excluded.first_sent_at, last_sent_at = excluded.last_sent_at

-- name: dialogs_of_turn
-- The dialogs that hold chunks of a turn.
select distinct c.dialog_key
from memory.chunks c
where c.tenant_id = %(tenant_id)s and c.user_id = %(user_id)s and c.turn_id = %(turn_id)s::uuid

-- name: delete_turn
-- Removes the chunks of a turn from a dialog and returns their positions.
delete from memory.chunks c
where c.tenant_id = %(tenant_id)s
  and c.user_id = %(user_id)s
  and c.dialog_key = %(dialog_key)s
  and c.turn_id = %(turn_id)s::uuid
returning c.ordinal

-- name: count_dialog
-- Notes how many chunks a dialog won or lost, and the next position in it.
update memory.dialogs d
set chunk_count = d.chunk_count + %(change)s, next_ordinal = %(next_ordinal)s, updated_at = now()
where d.tenant_id = %(tenant_id)s and d.user_id = %(user_id)s and d.dialog_key = %(dialog_key)s

-- name: scope_size
-- How many chunks a dialog holds, or all dialogs of a user; null when there is no such dialog.
select sum(d.chunk_count)::bigint
from memory.dialogs d
where d.tenant_id = %(tenant_id)s
  and d.user_id = %(user_id)s
  and (%(dialog_key)s::text is null or d.dialog_key = %(dialog_key)s)
