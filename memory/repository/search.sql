-- name: recall
-- Ranks the facts of a user and the chunks of a scope in one list. The method and its figures: memory.domain.fusion.
with scope as materialized (
    select false as is_fact, c.id, hashtextextended(c.session, hashtextextended(c.dialog_key, 0)) as place,
           c.sent_at, c.ordinal, c.part,
           c.lex_length::float8 as length,
           /*[lexical]*/ /*[each ,]*/ (c.lex @@ %(term_n)s::tsquery)::int::float8 as m_n /*[/each]*/, /*[/lexical]*/
           /*[vector]*/
           case when c.space_id = %(space_id)s::smallint then 1 - (c.embedding <=> %(embedding)b::halfvec) end as cosine,
           /*[/vector]*/
           /*[!vector]*/ null::float8 as cosine, /*[/!vector]*/
           (c.lex @@ %(speakers)s::tsquery)::int::float8 as spoke,
           /*[time]*/ coalesce(c.sent_at <@ any(%(ranges)s::tstzrange[]), false)::int::float8 as timely, /*[/time]*/
           /*[!time]*/ 0::float8 as timely, /*[/!time]*/
           0::float8 as topic
    from
    /*[candidates]*/ unnest(%(dialogs)s::text[], %(ordinals)s::bigint[]) as p (dialog_key, ordinal) join /*[/candidates]*/
    memory.chunks c
    /*[candidates]*/
      on c.tenant_id = %(tenant_id)s and c.user_id = %(user_id)s and c.dialog_key = p.dialog_key and c.ordinal = p.ordinal
    /*[/candidates]*/
    where c.tenant_id = %(tenant_id)s
      and c.user_id = %(user_id)s
      /*[!chunks]*/ and false /*[/!chunks]*/
      /*[dialog]*/ and c.dialog_key = %(dialog_key)s /*[/dialog]*/
      /*[avatar]*/ and (c.avatar_id is null or c.avatar_id = %(avatar_id)s::uuid) /*[/avatar]*/
      /*[sources]*/ and c.source = any(%(sources)s) /*[/sources]*/
      /*[tags]*/ and c.tags @> %(tags)s /*[/tags]*/
      /*[after]*/ and c.sent_at >= %(sent_after)s /*[/after]*/
      /*[before]*/ and c.sent_at < %(sent_before)s /*[/before]*/
      /*[except]*/ and c.session <> %(exclude_session)s /*[/except]*/
    /*[facts]*/
    union all
    select true, f.id, 0, null, 0, 0,
           f.lex_length::float8,
           /*[lexical]*/ /*[each ,]*/ (f.lex @@ %(term_n)s::tsquery)::int::float8 /*[/each]*/, /*[/lexical]*/
           /*[vector]*/
           case when f.space_id = %(space_id)s::smallint then 1 - (f.embedding <=> %(embedding)b::halfvec) end,
           /*[/vector]*/
           /*[!vector]*/ null::float8, /*[/!vector]*/
           0,
           /*[time]*/
           (coalesce(f.valid_from, f.observed_at) <@ any(%(ranges)s::tstzrange[]))::int::float8,
           /*[/time]*/
           /*[!time]*/ 0, /*[/!time]*/
           (f.fact_key ~ %(topic_keys)s)::int::float8
    from memory.facts f
    where f.tenant_id = %(tenant_id)s
      and f.user_id = %(user_id)s
      and f.status = 'active'
      /*[avatar]*/ and (f.avatar_id is null or f.avatar_id = %(avatar_id)s::uuid) /*[/avatar]*/
    /*[/facts]*/
),
stat as (
    select /*[!weighed]*/
           avg(length) as mean_length, avg(cosine) as cosine_mean, nullif(stddev_pop(cosine), 0) as cosine_sd,
           /*[/!weighed]*/
           /*[weighed]*/
           %(mean_length)s::float8 as mean_length, %(cosine_mean)s::float8 as cosine_mean,
           %(cosine_sd)s::float8 as cosine_sd,
           /*[/weighed]*/
           /*[lexical]*/
           /*[each ,]*/ ln(1 + (count(*) - sum(m_n) + 0.5::float8) / (sum(m_n) + 0.5::float8)) as w_n /*[/each]*/,
           /*[/lexical]*/
           /*[weighed]*/ /*[each ,]*/ %(weight_n)s::float8 as g_n /*[/each]*/, /*[/weighed]*/
           case when avg(spoke) filter (where not is_fact) < 1 then %(speaker_weight)s::float8 else 0 end as spoke_weight
    from scope
),
matched as (
    select s.is_fact, s.id, s.place, s.sent_at, s.ordinal, s.part, s.cosine, s.spoke, s.timely, s.topic,
           /*[lexical]*/
           (
               /*[!weighed]*/ /*[each +]*/ s.m_n * t.w_n /*[/each]*/ /*[/!weighed]*/
               /*[weighed]*/ /*[each +]*/ s.m_n * t.g_n /*[/each]*/ /*[/weighed]*/
           ) * (%(k1)s::float8 + 1)
           / (1 + %(k1)s::float8 * (1 - %(b)s::float8 + %(b)s::float8 * s.length / t.mean_length)) as bm25
           /*[/lexical]*/
           /*[!lexical]*/ 0::float8 as bm25 /*[/!lexical]*/
    from scope s, stat t
),
lexical_stat as (
    /*[!weighed]*/ select avg(bm25) as bm25_mean, nullif(stddev_pop(bm25), 0) as bm25_sd from matched /*[/!weighed]*/
    /*[weighed]*/ select %(bm25_mean)s::float8 as bm25_mean, %(bm25_sd)s::float8 as bm25_sd /*[/weighed]*/
),
own as (
    select m.*,
           coalesce(
               (%(lexical_weight)s::float8 + case when m.cosine is null then %(vector_weight)s::float8 else 0 end)
               * (m.bm25 - l.bm25_mean) / l.bm25_sd, 0
           ) as from_words,
           coalesce(%(vector_weight)s::float8 * (m.cosine - t.cosine_mean) / t.cosine_sd, 0) as from_vector,
           m.spoke * t.spoke_weight as from_speaker, m.topic * %(topic_weight)s::float8 as from_topic,
           m.timely * %(time_weight)s::float8 as from_time
    from matched m, lexical_stat l, stat t
),
flowed as (
    select o.*,
           case when o.is_fact then %(fact_weight)s::float8 * (o.from_words + o.from_vector)
           else %(before_1)s::float8 * coalesce(lag(o.from_words + o.from_vector, 1) over beside, 0)
              + %(after_1)s::float8 * coalesce(lead(o.from_words + o.from_vector, 1) over beside, 0)
              + %(before_2)s::float8 * coalesce(lag(o.from_words + o.from_vector, 2) over beside, 0)
              + %(after_2)s::float8 * coalesce(lead(o.from_words + o.from_vector, 2) over beside, 0)
           end as from_neighbours
    from own o
    window beside as (partition by o.place, o.is_fact order by o.sent_at, o.ordinal, o.part)
),
summed as (
    select f.*, f.from_words + f.from_vector + f.from_speaker + f.from_topic + f.from_time
               + f.from_neighbours as raw
    from flowed f
),
sessions as (
    select s.*, case when s.is_fact then s.raw else max(s.raw) over (partition by s.place, s.is_fact) end as best
    from summed s
),
spread as (
    select coalesce(nullif(stddev_pop(raw) filter (where not is_fact), 0), nullif(stddev_pop(raw), 0), 1) as raw_sd,
           coalesce(nullif(stddev_pop(best) filter (where not is_fact), 0), nullif(stddev_pop(raw), 0), 1) as best_sd
    from sessions
),
ranked as (
    select s.is_fact, s.id, s.raw / p.raw_sd + %(session_weight)s::float8 * s.best / p.best_sd as score,
           s.bm25, coalesce(s.cosine, 0) as cosine, s.topic, s.spoke, s.timely,
           s.from_words / p.raw_sd as lexical_part, s.from_vector / p.raw_sd as vector_part,
           s.from_topic / p.raw_sd as topic_part, s.from_speaker / p.raw_sd as source_part,
           s.from_time / p.raw_sd as time_part,
           s.from_neighbours / p.raw_sd + %(session_weight)s::float8 * s.best / p.best_sd as neighbours_part
    from sessions s, spread p
),
-- The best of each kind, so that neither can crowd the other out before the two are put together.
best as (
    (select * from ranked where not is_fact order by score desc, id limit %(most)s)
    union all
    (select * from ranked where is_fact order by score desc, id limit %(most)s)
)
select b.is_fact, b.id::text, b.score, b.bm25, b.cosine, b.topic, b.spoke, b.timely,
       b.lexical_part, b.vector_part, b.topic_part, b.source_part, b.time_part, b.neighbours_part,
       coalesce(c.avatar_id, f.avatar_id)::text as avatar_id,
       c.dialog_key, c.source, c.source_id, c.part, c.session, c.speaker, c.text, c.direction, c.sent_at, c.tags,
       coalesce(c.created_at, f.created_at) as created_at,
       f.subject, f.kind, f.category, f.fact_key, f.fact_value, f.confidence, f.trust, f.multiple, f.status,
       f.source_session_id::text, f.source_seq, f.source_turn_id::text, f.source_excerpt, f.observed_at, f.valid_from,
       f.valid_to, f.dedup_hash, f.superseded_by::text, f.revision, f.updated_at, f.last_seen_at, f.deleted_at
from best b
left join memory.chunks c on not b.is_fact and c.tenant_id = %(tenant_id)s and c.user_id = %(user_id)s and c.id = b.id
left join memory.facts f on b.is_fact and f.tenant_id = %(tenant_id)s and f.user_id = %(user_id)s and f.id = b.id
order by b.score desc, b.is_fact desc, b.id

-- name: read_widely
-- Makes vector scans of this transaction go on, in order, until enough rows pass the filters (pgvector 0.8).
select set_config('hnsw.iterative_scan', 'strict_order', true),
       set_config('hnsw.ef_search', %(ef_search)s, true),
       set_config('hnsw.max_scan_tuples', %(max_scan_tuples)s, true)

-- name: candidates
-- The positions in a huge scope that are worth scoring: blocks with the best words, the nearest by vector, what is beside
-- them; and what holds for the scope as a whole: the share of blocks with each term, length and cosine of a sample.
with scope as materialized (
    select b.dialog_key, b.block
           /*[lexical]*/, /*[each ,]*/ (b.lex @@ %(term_n)s::tsquery)::int::float8 as m_n /*[/each]*/ /*[/lexical]*/
    from memory.blocks b
    /*[avatar]*/
    join memory.dialogs d
      on d.tenant_id = b.tenant_id and d.user_id = b.user_id and d.dialog_key = b.dialog_key
     and (d.avatar_id is null or d.avatar_id = %(avatar_id)s::uuid)
    /*[/avatar]*/
    where b.tenant_id = %(tenant_id)s
      and b.user_id = %(user_id)s
      /*[dialog]*/ and b.dialog_key = %(dialog_key)s /*[/dialog]*/
      /*[after]*/ and b.last_sent_at >= %(sent_after)s /*[/after]*/
      /*[before]*/ and b.first_sent_at < %(sent_before)s /*[/before]*/
),
/*[lexical]*/
stat as (
    select /*[each ,]*/ avg(m_n) as share_n, ln(1 + (count(*) - sum(m_n) + 0.5::float8) / (sum(m_n) + 0.5::float8)) as w_n
           /*[/each]*/
    from scope
),
by_words as (
    select s.dialog_key, s.block
    from scope s, stat t
    where /*[each +]*/ s.m_n /*[/each]*/ > 0
    order by /*[each +]*/ s.m_n * t.w_n /*[/each]*/ desc, s.block desc
    limit %(most_blocks)s
),
/*[/lexical]*/
/*[vector]*/
by_vector as (
    select n.dialog_key, n.ordinal
    from (
        select c.dialog_key, c.ordinal
        from memory.chunks c
        where c.tenant_id = %(tenant_id)s
          and c.user_id = %(user_id)s
          and c.space_id = %(space_id)s::smallint
          /*[dialog]*/ and c.dialog_key = %(dialog_key)s /*[/dialog]*/
          /*[avatar]*/ and (c.avatar_id is null or c.avatar_id = %(avatar_id)s::uuid) /*[/avatar]*/
          /*[sources]*/ and c.source = any(%(sources)s) /*[/sources]*/
          /*[tags]*/ and c.tags @> %(tags)s /*[/tags]*/
          /*[after]*/ and c.sent_at >= %(sent_after)s /*[/after]*/
          /*[before]*/ and c.sent_at < %(sent_before)s /*[/before]*/
          /*[except]*/ and c.session <> %(exclude_session)s /*[/except]*/
        order by c.embedding <=> %(embedding)b::halfvec
        limit %(most_by_vector)s
    ) n
),
/*[/vector]*/
places as (
    /*[lexical]*/
    select w.dialog_key, w.block * %(block_size)s - 2 as first, w.block * %(block_size)s + %(block_size)s + 1 as last
    from by_words w
    /*[/lexical]*/
    /*[both]*/ union all /*[/both]*/
    /*[vector]*/
    select v.dialog_key, v.ordinal - 2, v.ordinal + 2
    from by_vector v
    /*[/vector]*/
),
sampled as (
    select c.lex_length::float8 as length,
           /*[vector]*/ 1 - (c.embedding <=> %(embedding)b::halfvec) as cosine /*[/vector]*/
           /*[!vector]*/ null::float8 as cosine /*[/!vector]*/
    from (select s.dialog_key, s.block from scope s order by hashint8(s.block), s.dialog_key limit %(most_sampled)s) b
    cross join lateral (
        select n.lex_length, n.embedding
        from memory.chunks n
        where n.tenant_id = %(tenant_id)s
          and n.user_id = %(user_id)s
          and n.dialog_key = b.dialog_key
          and n.ordinal between b.block * %(block_size)s + 7 and b.block * %(block_size)s + 14
        order by n.ordinal, n.part
        limit 1
    ) c
),
beside as (
    select distinct p.dialog_key, ordinal
    from places p, generate_series(p.first, p.last) as ordinal
)
select (select array_agg(p.dialog_key order by p.dialog_key, p.ordinal) from beside p) as dialogs,
       (select array_agg(p.ordinal order by p.dialog_key, p.ordinal) from beside p) as ordinals,
       (select avg(s.length) from sampled s) as mean_length,
       (select avg(s.cosine) from sampled s) as cosine_mean,
       (select stddev_pop(s.cosine) from sampled s) as cosine_sd,
       /*[lexical]*/ (select array[/*[each ,]*/ t.share_n /*[/each]*/] from stat t) as shares /*[/lexical]*/
       /*[!lexical]*/ '{}'::float8[] as shares /*[/!lexical]*/

-- name: match_chunks
-- Ranks the chunks of a scope by cosine plus the boost of the source, exactly (S6).
select m.match_score, m.boost, m.weighted_score,
       c.id::text, c.dialog_key, c.avatar_id::text, c.source, c.source_id, c.part, c.session, c.speaker, c.text,
       c.direction, c.sent_at, c.tags, c.created_at
from memory.match_chunks(
    %(tenant_id)s, %(user_id)s::uuid, %(embedding)b::halfvec, %(space_id)s::smallint, %(most)s, %(dialog_key)s,
    %(avatar_id)s::uuid, null, %(sources)s, %(sent_after)s, %(sent_before)s
) m
join memory.chunks c on c.tenant_id = %(tenant_id)s and c.user_id = %(user_id)s::uuid and c.id = m.id
order by m.weighted_score desc, c.id
