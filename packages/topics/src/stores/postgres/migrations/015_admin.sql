-- Looking into topics without consuming from them, and the operators' verbs.

-- How many wait, for who needs no more than that.
create function tidemark.backlog(s tidemark.subscription, p_limit int) returns bigint
language sql volatile as $$
  select b.waiting from tidemark.backlog(s, p_limit, tidemark.first_kept_id(s.topic_id)) as b
$$;

-- About the first id whose message was created at or after a time. Ids and times are drawn together, so they rise together
-- but for what runs side by side: whoever uses this leaves some ids of room and compares the times themselves.
create function tidemark.id_near(p_topic int, at timestamptz) returns bigint
language plpgsql volatile
set enable_seqscan = off
set enable_indexscan = off
set enable_indexonlyscan = off
set jit = off
as $$
declare
  low bigint := tidemark.first_kept_id(p_topic);
  high bigint := tidemark.last_id(p_topic) + 1;
  middle bigint;
  step constant bigint := 1000;
  found_at timestamptz;
begin
  while low < high loop
    middle := low + (high - low) / 2;
    execute format('select created_at from tidemark.log_%s where id between %s and %s order by id limit 1',
      p_topic, middle, least(middle + step, high) - 1) into found_at;
    if found_at >= at then
      high := middle;
    else
      low := case when found_at is null then least(middle + step, high) else middle + 1 end;
    end if;
  end loop;
  return low;
end
$$;

-- The messages of a range of ids that match. The caller keeps the range short: no index knows keys, types or, beyond
-- blocks of pages (BRIN), ids.
create function tidemark.browse(
  p_topic int, p_low bigint, p_high bigint, p_since timestamptz, p_until timestamptz, p_key text, p_typed boolean, p_type text,
  p_newest boolean, p_limit int
) returns tidemark.claim_result
language plpgsql volatile
set enable_seqscan = off
set enable_indexscan = off
set enable_indexonlyscan = off
set jit = off
as $$
declare
  r tidemark.claim_result;
  matching text := '';
begin
  if p_since is not null then
    matching := matching || format(' and created_at >= %L::timestamptz', p_since);
  end if;
  if p_until is not null then
    matching := matching || format(' and created_at < %L::timestamptz', p_until);
  end if;
  if p_key is not null then
    matching := matching || format(' and key = %L', p_key);
  end if;
  if p_typed then
    matching := matching || case when p_type is null then ' and type is null' else format(' and type = %L', p_type) end;
  end if;
  execute format(
    'select size, ids, created, extras, payloads from '
    '(select %s from (select %s from tidemark.log_%s where id between %s and %s%s order by id %s limit %s) as p) as q',
    tidemark.pack(false, true), tidemark.log_columns(false), p_topic, p_low, p_high, matching,
    case when p_newest then 'desc' else 'asc' end, p_limit
  ) into r.size, r.ids, r.created, r.extras, r.payloads;
  return r;
end
$$;

-- What committed after a place: the snapshot cursor of a group, with the subscription kept by whoever looks. Writes
-- nothing; a transaction id is drawn only when there is something to move on to (see 002_cursor.sql).
create function tidemark.tail(p_topic int, p_place text, p_limit int, out place text, out page tidemark.claim_result)
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  s tidemark.subscription;
  columns text := tidemark.log_columns(false);
  floor bigint := tidemark.last_id(p_topic);
  is_there boolean;
begin
  page.size := 0;
  if p_place is null then
    s.topic_id := p_topic;
    s.window_from := tidemark.take_snapshot(pg_current_xact_id());
    s.window_to := s.window_from;
    s.straggler_id := 0;
    s.from_id := floor;
    s.next_id := floor;
    s.to_id := tidemark.last_id(p_topic);
    s.at_xid := '0'::xid8;
    s.at_id := 0;
    place := s::text;
    return;
  end if;
  s := p_place::tidemark.subscription;
  place := p_place;
  execute format('select exists (%s)', tidemark.window_query('xid, id', s, 1)) into is_there;
  if not is_there then
    execute format('select exists (%s)', tidemark.window_query('xid, id', tidemark.window_ahead(s), 1)) into is_there;
    if not is_there then
      return;
    end if;
    s := tidemark.next_window(s, tidemark.take_snapshot(pg_current_xact_id()), floor, tidemark.last_id(p_topic));
  end if;
  execute format('select size, last_xid, last_id, ids, created, extras, payloads from (select %s from (%s) as p) as q',
    tidemark.pack(false, true), tidemark.window_query(columns, s, p_limit))
    into page.size, page.last_xid, page.last_id, page.ids, page.created, page.extras, page.payloads;
  if page.size > 0 then
    s.at_xid := page.last_xid;
    s.at_id := page.last_id;
  end if;
  place := s::text;
end
$$;

-- Places the cursor anew, as subscribe does for a new group. What the group held is let go: its leases end without retries,
-- so that a late settlement is told so. The leases first: a settlement that was quicker has made its retries by then.
create function tidemark.reset_cursor(
  p_subscription int, p_from text, p_since timestamptz, p_xid xid8, p_id bigint, p_limit bigint, p_settings jsonb
) returns text
language plpgsql volatile as $$
declare
  s tidemark.subscription;
  floor bigint;
  until pg_snapshot;
  start pg_snapshot;
  first_id bigint := 0;
begin
  select * into s from tidemark.subscription as x where x.id = p_subscription;
  floor := tidemark.last_id(s.topic_id);
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

  until := tidemark.take_snapshot(pg_current_xact_id());
  start := case when p_from = 'now' then until else '1:1:'::pg_snapshot end;
  if p_since is not null then
    execute format('select coalesce(min(id) - 1, %s) from tidemark.log_%s where created_at >= %L',
      tidemark.last_id(s.topic_id), s.topic_id, p_since) into first_id;
  end if;
  update tidemark.subscription as x
  set window_from = start, window_to = until, straggler_id = 0,
    from_id = case when p_from = 'now' then floor else first_id end, to_id = tidemark.last_id(s.topic_id), next_id = floor,
    at_xid = coalesce(p_xid, '0'::xid8), at_id = coalesce(p_id - 1, 0), since = p_since,
    start_window = start, start_xid = coalesce(p_xid, '0'::xid8), start_id = coalesce(p_id - 1, 0),
    epoch = x.epoch + 1, moved_at = clock_timestamp()
  where x.id = s.id;
  -- By reference the live stream goes on at the present, and a backfill brings what lies between.
  if s.bit is not null then
    perform tidemark.unrequire(s, tidemark.last_id(s.topic_id));
    perform tidemark.begin_backfill(s.id, start, until, coalesce(p_xid, '0'::xid8), coalesce(p_id - 1, 0), p_since,
      case when p_from = 'now' then tidemark.last_id(s.topic_id) else first_id end, 'retained', p_limit, p_settings, true);
  end if;
  return s.status;
end
$$;

-- These dead letters go back into delivery, where their group is live and their message kept. Returns how many did.
create function tidemark.redrive(p_topic int, p_ids bigint[]) returns int
language plpgsql volatile as $$
declare
  kept_ids bigint[];
  kept_xids xid8[];
  taken bigint[];
begin
  select coalesce(array_agg(distinct d.message_id), '{}') into kept_ids from tidemark.dead_letter as d where d.id = any(p_ids);
  execute format('select coalesce(array_agg(id), ''{}''), coalesce(array_agg(xid), ''{}'') from tidemark.log_%s where id = any(%L::bigint[])',
    p_topic, kept_ids) into kept_ids, kept_xids;
  select coalesce(array_agg(x.id), '{}') into taken from (
    select d.id from tidemark.dead_letter as d
    join tidemark.subscription as s on s.topic_id = d.topic_id and s.group_name = d.group_name
    where d.topic_id = p_topic and d.id = any(p_ids) and d.message_id = any(kept_ids) and s.status in ('ACTIVE', 'PAUSED')
    order by d.id
    for update of d skip locked
  ) as x;
  -- One that is in delivery already, after a reset, is so once.
  insert into tidemark.retry (subscription_id, id, xid, attempts, version, due_at, suspect, history)
  select s.id, k.id, k.xid, 0, d.version, clock_timestamp(), false, d.history
  from tidemark.dead_letter as d
  join tidemark.subscription as s on s.topic_id = d.topic_id and s.group_name = d.group_name
  join unnest(kept_ids, kept_xids) as k (id, xid) on k.id = d.message_id
  where d.id = any(taken)
  on conflict do nothing;
  if to_regclass(format('tidemark.track_%s', p_topic)) is not null then
    execute format(
      'update tidemark.track_%s as t set completed = t.completed & ~w.bits from ('
      'select d.message_id as id, bit_or(1::bigint << s.bit) as bits from tidemark.dead_letter as d '
      'join tidemark.subscription as s on s.topic_id = d.topic_id and s.group_name = d.group_name '
      'where d.id = any(%L::bigint[]) and s.bit is not null group by d.message_id) as w where t.id = w.id',
      p_topic, taken);
  end if;
  delete from tidemark.dead_letter as d where d.id = any(taken);
  return cardinality(taken);
end
$$;

-- For health. Reads a few rows by index, the groups, and what is known of the partitions.
create function tidemark.topic_facts(
  p_topic int, out oldest_at timestamptz, out newest_at timestamptz, out retained bigint, out unprocessed_at timestamptz,
  out removable bigint
)
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  config jsonb;
  keep interval;
  first_kept bigint := tidemark.first_kept_id(p_topic);
  xids xid8[];
  ids bigint[];
  watermark xid8;
  waiting_at timestamptz;
begin
  select t.config into config from tidemark.topic as t where t.id = p_topic;
  execute format('select created_at from tidemark.log_%s order by xid, id limit 1', p_topic) into oldest_at;
  execute format('select created_at from tidemark.log_%s order by xid desc, id desc limit 1', p_topic) into newest_at;
  retained := case when oldest_at is null then 0 else tidemark.last_id(p_topic) - greatest(first_kept - 1, 0) end;

  select min(g.watermark::bigint)::text::xid8, min(g.oldest_waiting_at) into watermark, waiting_at
  from tidemark.describe_groups(p_topic, 1) as g
  where (g.s).status in ('ACTIVE', 'PAUSED');
  -- The first message of each group's oldest lease, and its oldest retry.
  select array_agg(held.xid), array_agg(held.id) into xids, ids
  from tidemark.subscription as s
  cross join lateral (
    (select l.first_xid as xid, l.first_id as id from tidemark.lease as l
      where l.subscription_id = s.id and l.kind = 'page' and l.done_at is null and l.expired_at is null
      order by l.claimed_at limit 1)
    union all
    (select r.xid, r.id from tidemark.retry as r where r.subscription_id = s.id order by r.id limit 1)
  ) as held
  where s.topic_id = p_topic and s.status in ('ACTIVE', 'PAUSED');
  if ids is not null then
    execute format('select min(created_at) from (%s) as m', tidemark.rows_query(p_topic, xids, ids)) into unprocessed_at;
  end if;
  unprocessed_at := least(unprocessed_at, waiting_at);

  -- Whole partitions only: nothing less can go.
  keep := make_interval(secs => case
    when watermark is null then (config ->> 'zeroSubscriptionRetentionMs')::float8
    else (config ->> 'retentionMs')::float8 end / 1000);
  select coalesce(sum(p.rows), 0) into removable
  from tidemark.partition as p
  where p.topic_id = p_topic and p.sealed_at is not null and p.newest < clock_timestamp() - keep
    and (watermark is not null and p.high_xid < watermark or watermark is null and config ->> 'semantics' = 'pub-sub');
end
$$;

-- What must never be, each a sentence.
create function tidemark.inconsistencies(p_topic int) returns setof text
language plpgsql volatile as $$
declare
  last bigint := tidemark.last_id(p_topic);
  known bigint;
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

  if to_regclass(format('tidemark.track_%s', p_topic)) is not null then
    select coalesce(bit_or(1::bigint << b.bit), 0) into known from (
      select s.bit from tidemark.subscription as s where s.topic_id = p_topic and s.bit is not null
      union all
      select w.bit from tidemark.bit_wipe as w where w.topic_id = p_topic
    ) as b;
    return query execute format(
      'select format(''message %%s waits for a group that does not exist'', x.id) from '
      '(select t.id, t.required from tidemark.track_%s as t order by t.id desc limit 1000) as x where x.required & ~%s::bigint <> 0 limit 10',
      p_topic, known);
  end if;
end
$$;
