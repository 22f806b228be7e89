-- Admin operations: retries, claims, cursor resets and consistency checks.

-- The group's pending retries with the metadata of their messages, read by primary key, starting after `after`.
create function tidemark_fn.waiting_retries(p_topic int, p_subscription int, p_after bigint, p_limit int)
returns table (
  id bigint, attempts int, due_at timestamptz, suspect boolean, history jsonb, salt bigint, key text, type text, message_id text,
  created_at timestamptz
)
language plpgsql volatile
set enable_seqscan = off
set jit = off
as $$
declare
  ids bigint[];
  xids xid8[];
begin
  select array_agg(r.id), array_agg(r.xid) into ids, xids
  from (
    select x.id, x.xid from tidemark.retry as x
    where x.subscription_id = p_subscription and x.id > p_after and x.token is null
    order by x.id
    limit p_limit
  ) as r;
  if ids is null then
    return;
  end if;
  return query
  select r.id, r.attempts, r.due_at, r.suspect, r.history, m.salt, m.key, m.type, m.message_id, m.created_at
  from tidemark.retry as r
  left join tidemark_fn.records_of(
    format('select id, salt, key, type, message_id, created_at from (%s) as m', tidemark_fn.rows_query(p_topic, xids, ids))
  ) as m (id bigint, salt bigint, key text, type text, message_id text, created_at timestamptz) on m.id = r.id
  where r.subscription_id = p_subscription and r.id = any(ids)
  order by r.id;
end
$$;

-- Moves the cursor to a start position, as subscribe does for a new group. The group's leases end without creating
-- retries, and late settlements of them are reported as stale. The leases are locked first: a settlement that got there
-- earlier has written its retries by then.
create function tidemark_fn.reset_cursor(
  p_subscription int, p_from text, p_since timestamptz, p_id bigint, p_limit bigint, p_settings jsonb
) returns text
language plpgsql volatile as $$
declare
  s tidemark.subscription;
  floor bigint;
  place record;
begin
  select * into s from tidemark.subscription as x where x.id = p_subscription;
  floor := tidemark_fn.last_id(s.topic_id);
  select * into s from tidemark.subscription as x where x.id = p_subscription for no key update;
  if s.id is null or s.status = 'CANCELLED' then
    return coalesce(s.status, 'GONE');
  end if;
  perform from tidemark.lease as l
  where l.subscription_id = s.id and l.done_at is null and l.expired_at is null
  order by l.token
  for update;
  update tidemark.lease as l
  set expired_at = clock_timestamp()
  where l.subscription_id = s.id and l.done_at is null and l.expired_at is null;
  delete from tidemark.retry as r where r.subscription_id = s.id;

  select * into place from tidemark_fn.start_place(s.topic_id, p_from, p_since, p_id, floor);
  update tidemark.subscription as x
  set window_from = place.window_from, window_to = place.window_to, late_ids = place.late_ids, open_ids = place.open_ids,
    from_id = place.from_id, next_id = floor, seen_id = place.seen_id, to_id = place.to_id, at_id = place.at_id,
    since = p_since, start_from = place.window_from, start_to = place.window_to, start_id = place.at_id,
    epoch = x.epoch + 1, moved_at = clock_timestamp(), live_xid = pg_current_xact_id()
  where x.id = s.id;
  delete from tidemark.done_range as d where d.subscription_id = s.id;
  -- A group without a bit (tracked by offset, or dead) has no use for an earlier backfill.
  delete from tidemark.backfill as b where b.subscription_id = s.id and s.bit is null;
  -- With reference tracking the live stream continues from the present, and a backfill delivers what lies before.
  if s.bit is not null then
    perform tidemark_fn.unrequire(s, tidemark_fn.last_id(s.topic_id));
    perform tidemark_fn.begin_backfill(s.id, place.window_from, place.window_to, place.at_id, p_since,
      case when p_from = 'now' then tidemark_fn.last_id(s.topic_id) else place.from_id end, 'retained', p_limit, p_settings, true);
  elsif p_limit is not null then
    select * into s from tidemark.subscription as x where x.id = p_subscription;
    perform tidemark_fn.keep_newest(s, p_limit);
  end if;
  return s.status;
end
$$;

-- Broken invariants of a topic, one sentence each.
create function tidemark_fn.inconsistencies(p_topic int) returns setof text
language plpgsql volatile as $$
declare
  last bigint := tidemark_fn.last_id(p_topic);
begin
  return query
  select format('group ''%s'' has a cursor beyond the last message', s.group_name)
  from tidemark.subscription as s
  where s.topic_id = p_topic and greatest(s.at_id, s.to_id, s.next_id) > last;

  return query
  select format('group ''%s'' has a retry of message %s, which was never published', s.group_name, r.id)
  from tidemark.subscription as s
  cross join lateral (select max(x.id) as id from tidemark.retry as x where x.subscription_id = s.id) as r
  where s.topic_id = p_topic and r.id > last;

  return query
  select format('message %s of group ''%s'' is held by a lease that has ended', r.id, s.group_name)
  from tidemark.subscription as s
  join tidemark.retry as r on r.subscription_id = s.id and r.token is not null
  left join tidemark.lease as l on l.token = r.token
  where s.topic_id = p_topic and (l.token is null or l.done_at is not null or l.expired_at is not null)
  limit 10;

  return query select * from tidemark_fn.bit_inconsistencies(p_topic);
end
$$;

-- Leases and retries of groups that do not exist, one sentence each. They belong to no topic.
create function tidemark_fn.stray_records() returns setof text
language plpgsql volatile as $$
begin
  return query
  select format('a lease of consumer ''%s'' belongs to no group', l.consumer)
  from tidemark.lease as l
  where l.done_at is null and l.expired_at is null
    and not exists (select from tidemark.subscription as s where s.id = l.subscription_id)
  limit 10;

  return query
  with recursive owner (id) as (
    (select r.subscription_id from tidemark.retry as r order by 1 limit 1)
    union all
    select (select r.subscription_id from tidemark.retry as r where r.subscription_id > o.id order by 1 limit 1)
    from owner as o
    where o.id is not null
  )
  select format('retries of subscription %s, which does not exist', o.id)
  from owner as o
  where o.id is not null and not exists (select from tidemark.subscription as s where s.id = o.id);
end
$$;

-- Bitmap states that must never occur. Checks the oldest messages, the newest, and the next ones of the group that is
-- furthest behind.
create function tidemark_fn.bit_inconsistencies(p_topic int) returns setof text
language plpgsql volatile as $$
declare
  known bigint;
begin
  if not tidemark_fn.is_tracked(p_topic) then
    return;
  end if;
  select coalesce(bit_or(1::bigint << b.bit), 0) into known from (
    select s.bit from tidemark.subscription as s where s.topic_id = p_topic and s.bit is not null
    union all
    select w.bit from tidemark.bit_wipe as w where w.topic_id = p_topic
  ) as b;
  return query select f.finding from tidemark_fn.records_of(format($q$
    with looked_at as materialized (
      select * from (select * from tidemark.track_%1$s order by id limit 1000) as oldest
      union
      select * from (select * from tidemark.track_%1$s order by id desc limit 1000) as newest
      union
      select * from (select * from tidemark.track_%1$s where id >= %3$s order by id limit 1000) as next
    ), published as materialized (
      select * from (select id from tidemark.log_%1$s order by id limit 1000) as oldest
      union
      select * from (select id from tidemark.log_%1$s order by id desc limit 1000) as newest
      union
      select * from (select id from tidemark.log_%1$s where id >= %3$s order by id limit 1000) as next
    )
    (select format('message %%s waits for a group that does not exist', t.id)
    from looked_at as t
    where (t.required | t.completed) & ~%2$L::bigint <> 0
    order by t.id
    limit 10)
    union all
    (select format('message %%s was processed by a group of which it was not required', t.id)
    from looked_at as t
    where t.completed & ~t.required <> 0
    order by t.id
    limit 10)
    union all
    -- A publish that began before the group became visible may not know the group. Its live stream delivers the message
    -- anyway.
    (select format('message %%s is not required of group ''%%s'', which was live when it was published', t.id, s.group_name)
    from looked_at as t
    join tidemark.subscription as s on s.topic_id = %1$s and s.status in ('ACTIVE', 'PAUSED') and s.since is null
      and t.xid > s.live_xid and t.required & (1::bigint << s.bit) = 0
    order by t.id
    limit 10)
    union all
    -- While tracking is being switched on, what is not filled yet has none. Partitions that are dropped lose both, one
    -- after the other.
    (select format('message %%s has no record of which groups must process it', p.id)
    from published as p
    join tidemark.topic as o on o.id = %1$s and o.fill_next_id is null and p.id > o.gone_id
    where not exists (select from looked_at as t where t.id = p.id)
      and not exists (select from tidemark.track_%1$s as t where t.id = p.id)
    order by p.id
    limit 10)
  $q$, p_topic, known, tidemark_fn.lowest_held(p_topic))) as f (finding text);
end
$$;

-- The lowest id that a live group holds or has not claimed. Based on claimed positions, not watermarks: any open
-- transaction on the server would hold the watermarks back.
create function tidemark_fn.lowest_held(p_topic int) returns bigint
language plpgsql volatile as $$
begin
  return coalesce(min(least(
    greatest(s.from_id, s.at_id) + 1,
    (select min(l.first_id) from tidemark.lease as l
      where l.subscription_id = s.id and l.kind = 'page' and l.done_at is null and l.expired_at is null),
    (select min(r.id) from tidemark.retry as r where r.subscription_id = s.id)
  )), 0)
  from tidemark.subscription as s
  where s.topic_id = p_topic and s.status in ('ACTIVE', 'PAUSED');
end
$$;

-- The unsettled messages of a live lease, in slot order.
create function tidemark_fn.unsettled(s tidemark.subscription, l tidemark.lease)
returns table (id bigint, xid xid8, attempt int, version int)
language plpgsql volatile as $$
begin
  if l.kind = 'page' then
    -- Test each slot's own bit: comparing every slot with the list of open ones took 250 ms for a page of 10 000.
    return query
    select p.id, p.xid, 1, 1
    from tidemark_fn.keys_of(tidemark_fn.lease_query('xid, id', s, l)) as k
    cross join lateral unnest(k.ids, k.xids) with ordinality as p (id, xid, place)
    where l.settled is null or get_bit(l.settled, p.place::int - 1) = 0
    order by p.place;
  else
    return query select r.id, r.xid, r.attempts, r.version from tidemark.retry as r where r.token = l.token order by r.slot;
  end if;
end
$$;

-- One claim with the lowest and highest id of its messages, and the first p_named of them by name.
create function tidemark_fn.describe_claim(s tidemark.subscription, l tidemark.lease, p_named int) returns jsonb
language plpgsql volatile as $$
declare
  held record;
begin
  select coalesce(array_agg(u.id), '{}') as ids, coalesce(array_agg(u.xid), '{}') as xids,
    coalesce(array_agg(u.attempt), '{}') as attempts, coalesce(array_agg(u.version), '{}') as versions,
    min(u.id) as first_id, max(u.id) as last_id
  into held
  from tidemark_fn.unsettled(s, l) as u;
  return jsonb_build_object(
    'token', l.token, 'group', s.group_name, 'consumer', l.consumer, 'size', l.size,
    'claimedAt', floor(extract(epoch from l.claimed_at) * 1000), 'deadline', floor(extract(epoch from l.deadline) * 1000),
    'place', floor(extract(epoch from l.claimed_at) * 1000000)::bigint::text,
    'unsettled', cardinality(held.ids), 'firstId', held.first_id, 'lastId', held.last_id,
    'attempts', to_jsonb(held.attempts[:p_named]),
    'messages', tidemark_fn.named_messages(s, held.ids[:p_named], held.xids[:p_named], held.versions[:p_named]));
end
$$;

-- Live claims of a topic, group or consumer, oldest first, paged by (place, token).
create function tidemark_fn.claims(
  p_topic int, p_subscription int, p_consumer text, p_place bigint, p_token uuid, p_limit int, p_named int
) returns setof jsonb
language sql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
  select tidemark_fn.describe_claim(c.s, c.l, p_named)
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

-- Takes a live claim away from its holder, as if its lease had expired now. Returns null if there is no such claim.
-- Locks in the same order as a claim: the subscription, then the lease.
create function tidemark_fn.release_claim(p_topic int, p_token uuid, error_name text, error_text text, most_named int) returns jsonb
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
  select * into ended from tidemark_fn.end_lease(s, l, clock_timestamp(),
    jsonb_build_object('name', error_name, 'message', replace(error_text, '{consumer}', l.consumer)), max_attempts, most_named);
  if s.bit is not null and cardinality(ended.dead_ids) > 0 then
    perform tidemark_fn.complete(p_topic, ended.dead_ids, array_fill(1::bigint << s.bit, array[cardinality(ended.dead_ids)]));
  end if;
  return ended.taken || jsonb_build_object('group', s.group_name, 'deadLettered', ended.dead);
end
$$;
