-- The transaction's id is drawn before the first message's id: cursors rely on it (functions/cursor.sql). A select
-- computes its columns from left to right, row by row in unnest's order, so ids rise in the order given. unnest stands in
-- a select list because the server then reads the arrays as it inserts; in a from clause it would copy them first.
with stored as (
  insert into tidemark.log_{topic} (xid, id, created_at, salt, key, type, headers, payload)
  select pg_current_xact_id(), nextval('tidemark.log_{topic}_id'), statement_timestamp(), $5::bigint, m.key, m.type, m.headers, m.payload
  from (
    select unnest($1::bytea[]) as payload, unnest($2::text[]) as key, unnest($3::text[]) as type, unnest($4::text[]) as headers
    where {condition}
  ) as m
  returning {returned}
){tracked}
-- $6: the number of messages, less one. Usually nobody else drew an id in between, and the first one tells the others.
-- Aggregates over every row would cost a tenth of the publish.
select f.id as first, case when l.id - f.id <> $6::int then (select string_agg(s.id::text, ',') from stored as s) end as ids
from (select id from stored limit 1) as f
cross join (select id from stored offset $6::int limit 1) as l
