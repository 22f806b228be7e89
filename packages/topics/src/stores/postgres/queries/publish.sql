-- The transaction's id is taken before the first message's id: cursors rely on it (migrations/002_cursor.sql).
-- Ids grow as rows are stored, in the order given, so that sorted ids are in that order too.
with tx as materialized (
  select pg_current_xact_id() as xid, clock_timestamp() as now
), stored as (
  insert into tidemark.log_{topic} (xid, id, created_at, key, type, headers, message_id, payload)
  select tx.xid, nextval('tidemark.log_{topic}_id'), tx.now, m.key, m.type, m.headers, null, m.payload
  from tx
  cross join unnest($1::bytea[], $2::text[], $3::text[], $4::text[]) with ordinality as m (payload, key, type, headers, place)
  order by m.place
  returning id
)
select array_to_string(array_agg(id order by id), ',') as ids
from stored
