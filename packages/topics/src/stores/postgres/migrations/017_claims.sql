-- Claims as an operator sees and frees them: the live leases, and what of each is not settled.

-- The messages of a live lease that nobody has settled, in the order of their slots.
create function tidemark.unsettled(s tidemark.subscription, l tidemark.lease)
returns table (id bigint, xid xid8, attempt int, version int)
language plpgsql volatile as $$
begin
  if l.kind = 'page' then
    return query execute format(
      'select p.id, p.xid, 1, 1 from (select id, xid, row_number() over () - 1 as slot from (%s) as q) as p '
      'where p.slot = any($1) order by p.slot', tidemark.lease_query('xid, id', s, l)) using tidemark.open_slots(l);
  else
    return query select r.id, r.xid, r.attempts, r.version from tidemark.retry as r where r.token = l.token order by r.slot;
  end if;
end
$$;

-- One claim; of its messages the lowest and the highest id, and the first p_named by name.
create function tidemark.describe_claim(s tidemark.subscription, l tidemark.lease, p_named int) returns jsonb
language plpgsql volatile as $$
declare
  held record;
begin
  select coalesce(array_agg(u.id), '{}') as ids, coalesce(array_agg(u.xid), '{}') as xids,
    coalesce(array_agg(u.attempt), '{}') as attempts, coalesce(array_agg(u.version), '{}') as versions,
    min(u.id) as first_id, max(u.id) as last_id
  into held
  from tidemark.unsettled(s, l) as u;
  return jsonb_build_object(
    'token', l.token, 'group', s.group_name, 'consumer', l.consumer, 'size', l.size,
    'claimedAt', floor(extract(epoch from l.claimed_at) * 1000), 'deadline', floor(extract(epoch from l.deadline) * 1000),
    'place', floor(extract(epoch from l.claimed_at) * 1000000)::bigint::text,
    'unsettled', cardinality(held.ids), 'firstId', held.first_id, 'lastId', held.last_id,
    'attempts', to_jsonb(held.attempts[:p_named]),
    'messages', tidemark.named_messages(s, held.ids[:p_named], held.xids[:p_named], held.versions[:p_named]));
end
$$;

-- Live claims of a topic, or of one group or consumer, the oldest first, after (place, token).
create function tidemark.claims(
  p_topic int, p_subscription int, p_consumer text, p_place bigint, p_token uuid, p_limit int, p_named int
) returns setof jsonb
language sql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
  select tidemark.describe_claim(c.s, c.l, p_named)
  from (
    select s, l
    from tidemark.subscription as s
    join tidemark.lease as l on l.subscription_id = s.id and l.done_at is null and l.expired_at is null
    where s.topic_id = p_topic and (p_subscription is null or s.id = p_subscription)
      and (p_consumer is null or l.consumer = p_consumer)
      and (p_place is null or (floor(extract(epoch from l.claimed_at) * 1000000)::bigint, l.token) > (p_place, p_token))
    order by l.claimed_at, l.token
    limit p_limit
  ) as c
$$;

-- Takes a live claim from its holder, as if its lease had run out now; null where there is none. Locks as a claim does: the
-- subscription, then the lease.
create function tidemark.release_claim(p_topic int, p_token uuid, error_name text, error_text text, most_named int) returns jsonb
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  s tidemark.subscription;
  l tidemark.lease;
  ended record;
  max_attempts int;
begin
  select x.* into s
  from tidemark.subscription as x
  where x.topic_id = p_topic and x.id = (select y.subscription_id from tidemark.lease as y where y.token = p_token)
  for no key update;
  if not found then
    return null;
  end if;
  select * into l from tidemark.lease as x
  where x.token = p_token and x.done_at is null and x.expired_at is null
  for update;
  if not found then
    return null;
  end if;
  select (t.config ->> 'maxAttempts')::int into max_attempts from tidemark.topic as t where t.id = p_topic;
  select * into ended from tidemark.end_lease(s, l, clock_timestamp(),
    jsonb_build_object('name', error_name, 'message', replace(error_text, '{consumer}', l.consumer)), max_attempts, most_named);
  if s.bit is not null and cardinality(ended.dead_ids) > 0 then
    perform tidemark.complete(p_topic, ended.dead_ids, array_fill(1::bigint << s.bit, array[cardinality(ended.dead_ids)]));
  end if;
  return ended.taken || jsonb_build_object('group', s.group_name, 'deadLettered', ended.dead);
end
$$;
