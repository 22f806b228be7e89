-- Added to a publish in a topic with reference tracking: one sub-select per statement determines which groups require
-- its messages. A group that subscribes in the meantime is not included; its live stream delivers the messages anyway.
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
