-- The transaction's id is drawn before the first message's id: cursors rely on it (functions/cursor.sql). A select
-- computes its columns from left to right, row by row in unnest's order, so ids rise in the order given.
with stored as (
  insert into tidemark.log_{topic} (xid, id, created_at, salt, key, type, headers, payload)
  select pg_current_xact_id(), nextval('tidemark.log_{topic}_id'), statement_timestamp(), $5::bigint, m.key, m.type, m.headers, m.payload
  from unnest($1::bytea[], $2::text[], $3::text[], $4::text[]) as m (payload, key, type, headers)
  where {condition}
  returning {returned}
){tracked}
-- Usually nobody else drew an id in between, and two numbers describe them all.
select count(*) as count, min(id) as first,
  case when max(id) - min(id) + 1 > count(*) then array_to_string(array_agg(id), ',') end as ids
from stored
