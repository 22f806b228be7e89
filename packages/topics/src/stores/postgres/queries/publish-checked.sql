-- For messages with a messageId given by the caller, and inside a caller's transaction. A messageId found in the dedupe
-- table returns the id stored before and stores nothing. Sorted by messageId, so that two such publishes can't
-- deadlock.
with {given}tx as materialized (
  select pg_current_xact_id() as xid, clock_timestamp() as now, {salt} as salt{patience}{inside}
), input as materialized (
  {input}
), numbered as (
  select i.place, i.message_id,
    case when i.message_id is null then i.place else min(i.place) over (partition by i.message_id) end as first
  from input as i
), drawn as materialized (
  select n.place, n.message_id, nextval('tidemark.log_{topic}_id') as id
  from tx
  cross join (select place, message_id from numbered where place = first order by place) as n
), remembered as (
  insert into tidemark.dedupe as d (topic_id, message_id, id, created_at)
  select {topic}, drawn.message_id, drawn.id, tx.now
  from drawn
  cross join tx
  where drawn.message_id is not null
  order by drawn.message_id
  on conflict (topic_id, message_id) do update
  set id = case when d.created_at < excluded.created_at - {window} then excluded.id else d.id end,
    created_at = case when d.created_at < excluded.created_at - {window} then excluded.created_at else d.created_at end
  returning d.message_id, d.id
), stored as (
  insert into tidemark.log_{topic} (xid, id, created_at, salt, key, type, headers, message_id, payload)
  select tx.xid, drawn.id, tx.now, tx.salt, i.key, i.type, i.headers, i.message_id, i.payload
  from tx
  cross join drawn
  join input as i on i.place = drawn.place
  left join remembered as r on r.message_id = drawn.message_id
  where r.id is null or r.id = drawn.id
  order by drawn.id
  returning xid, id
){tracked}
select string_agg(coalesce(r.id, drawn.id)::text, ',' order by n.place) as ids,
  string_agg(case when n.place = n.first and (r.id is null or r.id = drawn.id) then '0' else '1' end, ',' order by n.place) as duplicates{guard}
from numbered as n
join drawn on drawn.place = n.first
left join remembered as r on r.message_id = n.message_id
