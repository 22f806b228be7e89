-- What a publish adds in a topic with reference tracking: one sub-select a statement says which groups each of its messages is
-- for. A group that subscribes meanwhile is not among them; its live stream brings the messages all the same.
, live as materialized (
  select coalesce(bit_or(1::bigint << s.bit), 0) as required
  from tidemark.subscription as s
  where s.topic_id = {topic} and s.status in ('ACTIVE', 'PAUSED') and not coalesce(s.since > clock_timestamp(), false)
), tracked as (
  insert into tidemark.track_{topic} (id, xid, required)
  select stored.id, stored.xid, live.required
  from stored
  cross join live
)
