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
set enable_bitmapscan = off
set enable_sort = off
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

-- What a row counts. The length of a large value is read from its pointer, not from where it is kept.
create function tidemark.row_bytes() returns text
language sql immutable as $$
  select 'octet_length(payload) + coalesce(octet_length(headers), 0) + coalesce(octet_length(key), 0)'
$$;

-- A message's columns; of those above p_largest without payload and headers.
create function tidemark.bounded_columns(p_largest bigint) returns text
language sql immutable as $$
  select case when p_largest is null then tidemark.log_columns(false) else format(
    'xid, id, created_at, salt, key, type, case when %1$s <= %2$s then headers end as headers, message_id, '
    'case when %1$s <= %2$s then payload else '''' end as payload', tidemark.row_bytes(), p_largest) end
$$;

-- The columns by which row_room() counts: what is left out takes no room.
create function tidemark.counted_columns(p_largest bigint) returns text
language sql immutable as $$
  select format('xid, id, case when %1$s <= %2$s then %1$s else 0 end as bytes', tidemark.row_bytes(),
    coalesce(p_largest, 9223372036854775807))
$$;

-- How many rows of a query (of counted columns) there is room for; null: for all. For the first always, where p_first.
create function tidemark.row_room(p_rows text, p_newest boolean, p_bytes bigint, p_first boolean) returns int
language plpgsql volatile as $$
declare
  room int;
begin
  execute format(
    'select case when count(*) filter (where fits) < count(*) then count(*) filter (where fits) end::int from ('
    'select sum(bytes) over w <= %s or (%L and row_number() over w = 1) as fits from (%s) as p '
    'window w as (order by id %s rows unbounded preceding)) as q',
    p_bytes, p_first, p_rows, case when p_newest then 'desc' else 'asc' end) into room;
  return room;
end
$$;

-- The messages of a range of ids that match. The caller keeps the range short: no index knows keys or types. is_cut: there
-- was no room for all of them.
create function tidemark.browse(
  p_topic int, p_low bigint, p_high bigint, p_since timestamptz, p_until timestamptz, p_key text, p_typed boolean, p_type text,
  p_newest boolean, p_limit int, p_bytes bigint, p_largest bigint, p_first boolean,
  out is_cut boolean, out page tidemark.claim_result
)
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  matching text := '';
  place text;
  room int;
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
  place := format('from tidemark.log_%s where id between %s and %s%s order by id %s limit ',
    p_topic, p_low, p_high, matching, case when p_newest then 'desc' else 'asc' end);
  if p_bytes is not null then
    room := tidemark.row_room(format('select %s %s%s', tidemark.counted_columns(p_largest), place, p_limit),
      p_newest, p_bytes, p_first);
  end if;
  is_cut := room is not null;
  execute format(
    'select size, ids, salt, salts, created_ms, created, extras, payloads from (select %s from (select %s %s%s) as p) as q',
    tidemark.pack(false, true), tidemark.bounded_columns(p_largest), place, coalesce(room, p_limit)
  ) into page.size, page.ids, page.salt, page.salts, page.created_ms, page.created, page.extras, page.payloads;
end
$$;

-- What committed after a place: the snapshot cursor of a group, with the subscription kept by whoever looks, and the life of
-- the server in which it was written down: in another one it may mean other transactions, and `place` is null then. Writes
-- nothing; a transaction id is drawn only when there is something to move on to (see 002_cursor.sql).
create function tidemark.tail(
  p_topic int, p_place text, p_limit int, p_bytes bigint, p_largest bigint, out place text, out page tidemark.claim_result
)
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  s tidemark.subscription;
  columns text := tidemark.bounded_columns(p_largest);
  room int := p_limit;
  floor bigint := tidemark.last_id(p_topic);
  server text := tidemark.incarnation();
  is_there boolean;
begin
  page.size := 0;
  if p_place is null then
    s.topic_id := p_topic;
    s.window_from := tidemark.take_snapshot(pg_current_xact_id());
    s.window_to := s.window_from;
    s.late_ids := tidemark.id_bounds(p_topic, s.window_from);
    s.open_ids := s.late_ids;
    s.from_id := floor;
    s.next_id := floor;
    s.to_id := tidemark.last_id(p_topic);
    s.seen_id := s.to_id;
    s.at_id := 0;
    place := server || ' ' || s::text;
    return;
  end if;
  if split_part(p_place, ' ', 1) <> server then
    return;
  end if;
  s := substr(p_place, length(server) + 2)::tidemark.subscription;
  place := p_place;
  execute format('select exists (%s)', tidemark.window_query('xid, id', s, 1)) into is_there;
  if not is_there then
    execute format('select exists (%s)', tidemark.window_query('xid, id', tidemark.window_ahead(s), 1)) into is_there;
    if not is_there then
      return;
    end if;
    s := tidemark.next_window(s, tidemark.take_snapshot(pg_current_xact_id()), floor, tidemark.last_id(p_topic));
  end if;
  if p_bytes is not null then
    room := coalesce(
      tidemark.row_room(tidemark.window_query(tidemark.counted_columns(p_largest), s, p_limit), false, p_bytes, true), p_limit);
  end if;
  execute format('select size, last_id, ids, salt, salts, created_ms, created, extras, payloads from (select %s from (%s) as p) as q',
    tidemark.pack(false, true), tidemark.window_query(columns, s, room))
    into page.size, page.at_id, page.ids, page.salt, page.salts, page.created_ms, page.created, page.extras, page.payloads;
  s.at_id := case when page.size < room then s.to_id else page.at_id end;
  place := server || ' ' || s::text;
end
$$;

-- What waits to be delivered to the group again, with what is told of its message. By the primary key, from `after` on.
create function tidemark.waiting_retries(p_topic int, p_subscription int, p_after bigint, p_limit int)
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
  return query execute format(
    'select r.id, r.attempts, r.due_at, r.suspect, r.history, m.salt, m.key, m.type, m.message_id, m.created_at '
    'from tidemark.retry as r left join (%s) as m on m.id = r.id '
    'where r.subscription_id = %s and r.id = any($1) order by r.id',
    tidemark.rows_query(p_topic, xids, ids), p_subscription) using ids;
end
$$;

-- Places the cursor anew, as subscribe does for a new group. What the group held is let go: its leases end without retries,
-- so that a late settlement is told so. The leases first: a settlement that was quicker has made its retries by then.
create function tidemark.reset_cursor(
  p_subscription int, p_from text, p_since timestamptz, p_id bigint, p_limit bigint, p_settings jsonb
) returns text
language plpgsql volatile as $$
declare
  s tidemark.subscription;
  floor bigint;
  until pg_snapshot;
  start pg_snapshot;
  first_id bigint := 0;
  ceiling bigint;
  bounds bigint[];
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
  ceiling := tidemark.last_id(s.topic_id);
  bounds := tidemark.id_bounds(s.topic_id, until);
  if p_since is not null then
    first_id := tidemark.id_before(s.topic_id, p_since, ceiling);
  end if;
  update tidemark.subscription as x
  set window_from = start, window_to = until, late_ids = case when p_from = 'now' then bounds else '{}' end, open_ids = bounds,
    from_id = case when p_from = 'now' then floor else first_id end, next_id = floor,
    seen_id = case when p_from = 'now' then ceiling else 0 end, to_id = ceiling, at_id = coalesce(p_id - 1, 0), since = p_since,
    start_from = start, start_to = until, start_id = coalesce(p_id - 1, 0),
    epoch = x.epoch + 1, moved_at = clock_timestamp(), live_xid = pg_current_xact_id()
  where x.id = s.id;
  delete from tidemark.done_range as d where d.subscription_id = s.id;
  -- Of one without a bit, by offset or dead, an earlier backfill has nothing to say any more.
  delete from tidemark.backfill as b where b.subscription_id = s.id and s.bit is null;
  -- By reference the live stream goes on at the present, and a backfill brings what lies between.
  if s.bit is not null then
    perform tidemark.unrequire(s, tidemark.last_id(s.topic_id));
    perform tidemark.begin_backfill(s.id, start, until, coalesce(p_id - 1, 0), p_since,
      case when p_from = 'now' then tidemark.last_id(s.topic_id) else first_id end, 'retained', p_limit, p_settings, true);
  elsif p_limit is not null then
    select * into s from tidemark.subscription as x where x.id = p_subscription;
    perform tidemark.keep_newest(s, p_limit);
  end if;
  return s.status;
end
$$;

-- These dead letters go back into delivery, where their group is live and their message kept: that of the id and the salt,
-- since ids are drawn again after a restore. Returns how many did, and of how many of live groups the message is gone.
create function tidemark.redrive(p_topic int, p_ids bigint[], out redriven int, out gone int)
language plpgsql volatile as $$
declare
  kept_ids bigint[];
  kept_xids xid8[];
  kept_salts bigint[];
  taken bigint[];
begin
  select coalesce(array_agg(distinct d.message_id), '{}') into kept_ids from tidemark.dead_letter as d where d.id = any(p_ids);
  execute format('select coalesce(array_agg(id), ''{}''), coalesce(array_agg(xid), ''{}''), coalesce(array_agg(salt), ''{}'') '
    'from tidemark.log_%s where id = any(%L::bigint[])', p_topic, kept_ids) into kept_ids, kept_xids, kept_salts;
  select coalesce(array_agg(x.id), '{}') into taken from (
    select d.id from tidemark.dead_letter as d
    join tidemark.subscription as s on s.topic_id = d.topic_id and s.group_name = d.group_name
    where d.topic_id = p_topic and d.id = any(p_ids) and s.status in ('ACTIVE', 'PAUSED')
      and exists (select from unnest(kept_ids, kept_salts) as k (id, salt) where k.id = d.message_id and k.salt = d.salt)
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
  redriven := cardinality(taken);
  select count(*) into gone from tidemark.dead_letter as d
  where d.topic_id = p_topic and d.id = any(p_ids)
    and exists (
      select from tidemark.subscription as s
      where s.topic_id = d.topic_id and s.group_name = d.group_name and s.status in ('ACTIVE', 'PAUSED')
    )
    and not exists (select from unnest(kept_ids, kept_salts) as k (id, salt) where k.id = d.message_id and k.salt = d.salt);
end
$$;

-- What must never be, each a sentence.
create function tidemark.inconsistencies(p_topic int) returns setof text
language plpgsql volatile as $$
declare
  last bigint := tidemark.last_id(p_topic);
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

  return query select * from tidemark.bit_inconsistencies(p_topic);
end
$$;

-- What the bitmaps must never say, among the oldest messages, the newest, and those that come next for the group that is
-- furthest behind.
create function tidemark.bit_inconsistencies(p_topic int) returns setof text
language plpgsql volatile as $$
declare
  known bigint;
  lowest bigint;
begin
  if not tidemark.is_tracked(p_topic) then
    return;
  end if;
  select coalesce(bit_or(1::bigint << b.bit), 0) into known from (
    select s.bit from tidemark.subscription as s where s.topic_id = p_topic and s.bit is not null
    union all
    select w.bit from tidemark.bit_wipe as w where w.topic_id = p_topic
  ) as b;
  -- By what the groups have claimed, not by their watermarks: any open transaction of the server would hold those back.
  select coalesce(min(least(
    greatest(s.from_id, s.at_id) + 1,
    (select min(l.first_id) from tidemark.lease as l
      where l.subscription_id = s.id and l.kind = 'page' and l.done_at is null and l.expired_at is null),
    (select min(r.id) from tidemark.retry as r where r.subscription_id = s.id)
  )), 0) into lowest
  from tidemark.subscription as s
  where s.topic_id = p_topic and s.status in ('ACTIVE', 'PAUSED');
  return query execute format($q$
    with looked_at as materialized (
      select * from (select * from tidemark.track_%1$s order by id limit 1000) as oldest
      union
      select * from (select * from tidemark.track_%1$s order by id desc limit 1000) as newest
      union
      select * from (select * from tidemark.track_%1$s where id >= %3$s order by id limit 1000) as next
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
    -- What began before the group was seen to be live may not have known of it; its live stream brings that all the same.
    (select format('message %%s is not required of group ''%%s'', which was live when it was published', t.id, s.group_name)
    from looked_at as t
    join tidemark.subscription as s on s.topic_id = %1$s and s.status in ('ACTIVE', 'PAUSED') and s.since is null
      and t.xid > s.live_xid and t.required & (1::bigint << s.bit) = 0
    order by t.id
    limit 10)
  $q$, p_topic, known, lowest);
end
$$;
