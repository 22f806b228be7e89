-- Backfills: what was published before a group came, made its own batch by batch, and delivered beside the live stream.

-- The id just before the newest p_limit messages between two ids. Not every id is a message.
create function tidemark_fn.newest_ids(p_topic int, p_lower bigint, p_upper bigint, p_limit bigint, p_since timestamptz) returns bigint
language plpgsql volatile as $$
declare
  lower_id bigint;
begin
  execute format('select id from tidemark.log_%s where id > %s and id <= %s%s order by id desc offset %s limit 1',
    p_topic, p_lower, p_upper,
    case when p_since is null then '' else format(' and created_at >= %L::timestamptz', p_since) end, p_limit) into lower_id;
  return coalesce(lower_id, p_lower);
end
$$;

-- Moves the group's live cursor to the present, and begins a backfill of what the lower cursor has not passed and the
-- present sees. A lower cursor that has passed nothing is '1:1:' twice; one that stands before a message is '1:1:', the
-- present, and its place. An earlier backfill that was not delivered is taken along, unless the group is to get `again`
-- what it has done. Returns how many messages the limit left out. Needs the subscription's lock, and in a topic that is
-- tracked; the new window's lower bound is the old one's, since the present transaction may have its id already.
create function tidemark_fn.begin_backfill(
  p_subscription int, p_from pg_snapshot, p_to pg_snapshot, p_place bigint, p_since timestamptz, p_lower_id bigint,
  p_scope text, p_limit bigint, p_settings jsonb, p_again boolean
) returns bigint
language plpgsql volatile as $$
declare
  s tidemark.subscription;
  earlier tidemark.backfill;
  until pg_snapshot;
  ceiling bigint;
  bounds bigint[];
  lower_id bigint;
  first_id bigint;
  skipped bigint := 0;
  rows bigint;
begin
  select * into s from tidemark.subscription as x where x.id = p_subscription for no key update;
  if s.bit is null then
    perform from tidemark.topic as x where x.id = s.topic_id for no key update;
    s.bit := tidemark_fn.free_bit(s.topic_id);
    if s.bit is null then
      raise exception 'no bit is free' using errcode = 'TMBIT';
    end if;
  end if;
  until := tidemark_fn.take_snapshot(pg_current_xact_id());
  ceiling := tidemark_fn.last_id(s.topic_id);
  bounds := tidemark_fn.id_bounds(s.topic_id, until);
  select (x.config ->> 'partitionRows')::bigint into rows from tidemark.topic as x where x.id = s.topic_id;
  lower_id := greatest(p_lower_id, coalesce((select min(n) from tidemark_fn.partition_numbers(s.topic_id) as n), 0) * rows - 1, 0);

  select * into earlier from tidemark.backfill as b where b.subscription_id = s.id for update;
  if earlier.subscription_id is not null and not p_again and (earlier.cursor_id < earlier.checkpoint_id or earlier.status = 'RUNNING') then
    p_from := earlier.lower_from;
    p_to := earlier.lower_to;
    p_place := earlier.lower_place;
    p_since := earlier.since;
    lower_id := least(lower_id, earlier.cursor_id);
  end if;
  if p_again then
    delete from tidemark.done_range as d where d.subscription_id = s.id;
  end if;
  first_id := lower_id;
  if p_limit is not null and ceiling - p_limit > lower_id then
    lower_id := tidemark_fn.newest_ids(s.topic_id, lower_id, ceiling, p_limit, p_since);
  end if;

  earlier := tidemark_fn.store_backfill(s, row(p_from, p_to, p_place, p_since, until, lower_id, greatest(ceiling, lower_id)), p_scope,
    p_settings || jsonb_build_object('again', p_again));
  if lower_id > first_id then
    earlier.cursor_id := first_id;
    skipped := tidemark_fn.count_of(tidemark_fn.undone_query(s, earlier, lower_id));
  end if;
  update tidemark.subscription as x
  set bit = s.bit, window_from = until, window_to = until, late_ids = bounds, open_ids = bounds, from_id = s.next_id,
    next_id = s.next_id, seen_id = ceiling, to_id = ceiling, at_id = 0, since = case when p_since > clock_timestamp() then p_since end, moved_at = clock_timestamp(),
    backfilling = lower_id < ceiling, cleared_id = 0
  where x.id = s.id;
  perform tidemark_fn.require_held(s, ceiling);
  return skipped;
end
$$;

-- In place of an earlier one of the group. One that covers nothing is complete.
create function tidemark_fn.store_backfill(
  s tidemark.subscription, g tidemark_fn.backfill_range, p_scope text, p_settings jsonb
) returns tidemark.backfill
language sql volatile as $$
  insert into tidemark.backfill as b (subscription_id, topic_id, epoch, status, scope, settings, lower_from, lower_to,
    lower_place, since, upper, lower_id, upper_id, checkpoint_id, cursor_id, ended_at)
  values (s.id, s.topic_id, s.epoch, case when g.lower_id < g.upper_id then 'RUNNING' else 'COMPLETED' end, p_scope, p_settings,
    g.lower_from, g.lower_to, g.lower_place, g.since, g.upper, g.lower_id, g.upper_id, g.lower_id, g.lower_id,
    case when g.lower_id < g.upper_id then null else clock_timestamp() end)
  on conflict (subscription_id) do update
  set epoch = excluded.epoch, status = excluded.status, scope = excluded.scope, settings = excluded.settings,
    lower_from = excluded.lower_from, lower_to = excluded.lower_to,
    lower_place = excluded.lower_place, since = excluded.since, upper = excluded.upper, lower_id = excluded.lower_id,
    upper_id = excluded.upper_id, checkpoint_id = excluded.checkpoint_id, cursor_id = excluded.cursor_id, processed = 0,
    token = null, lease_until = null, started_at = clock_timestamp(), updated_at = clock_timestamp(),
    ended_at = excluded.ended_at, error = null
  returning b.*
$$;

-- What the group still holds from before is its own, though the dead clean-up may have taken its bit.
create function tidemark_fn.require_held(s tidemark.subscription, p_last bigint) returns void
language plpgsql volatile as $$
declare
  held bigint[] := tidemark_fn.held_ids(s, 1, p_last);
begin
  if cardinality(held) > 0 then
    execute format($q$
      insert into tidemark.track_%1$s as t (id, xid, required)
      select l.id, l.xid, 1::bigint << %2$s
      from tidemark.log_%1$s as l
      where l.id = any($1)
      order by l.id
      on conflict (id) do update set required = t.required | excluded.required
    $q$, s.topic_id, s.bit) using held;
  end if;
end
$$;

-- The messages of a backfill, as a condition on rows that have xid and id.
create function tidemark_fn.backfill_filter(b tidemark.backfill) returns text
language plpgsql volatile as $$
begin
  perform tidemark_fn.await_partitions(b.topic_id);
  return format('pg_visible_in_snapshot(xid, %L::pg_snapshot)', b.upper)
    || case when b.lower_place = 0 and b.lower_from::text = '1:1:' then ''
      else format(' and not tidemark_fn.has_passed(%L::pg_snapshot, %L::pg_snapshot, %s, xid, id)',
        b.lower_from, b.lower_to, b.lower_place)
    end;
end
$$;

-- The text that reads the messages of a backfill after its cursor, up to an id, that the group has neither done nor holds.
create function tidemark_fn.undone_query(s tidemark.subscription, b tidemark.backfill, p_last bigint) returns text
language sql volatile as $$
  select format(
    'select m.id, m.xid from (select l.id, l.xid from tidemark.log_%1$s as l '
    'left join tidemark.track_%1$s as t on t.id = l.id and t.id > %2$s and t.id <= %3$s '
    'where l.id > %2$s and l.id <= %3$s%4$s%5$s and not l.id = any(%6$L::bigint[]) and not exists ('
    'select from tidemark.done_range as r where r.subscription_id = %7$s and r.last_id >= l.id and r.first_id <= l.id)) as m where %8$s',
    s.topic_id, b.cursor_id, p_last,
    case when s.bit is null then '' else format(' and (t.id is null or t.completed & (1::bigint << %s) = 0)', s.bit) end,
    case when b.since is null then '' else format(' and l.created_at >= %L::timestamptz', b.since) end,
    tidemark_fn.held_ids(s, b.cursor_id + 1, p_last), s.id, tidemark_fn.backfill_filter(b))
$$;

-- What a group that came back had done before goes into its new bits.
create function tidemark_fn.mark_done(b tidemark.backfill, p_bit int, p_upto bigint) returns void
language plpgsql volatile as $$
declare
  s tidemark.subscription;
begin
  select * into s from tidemark.subscription as x where x.id = b.subscription_id;
  execute format($q$
    insert into tidemark.track_%1$s as t (id, xid, required, completed)
    select l.id, l.xid, 1::bigint << %4$s, 1::bigint << %4$s
    from tidemark.log_%1$s as l
    where l.id > %2$s and l.id <= %3$s and not l.id = any($1) and exists (
      select from tidemark.done_range as d where d.subscription_id = %5$s and d.last_id >= l.id and d.first_id <= l.id)
    order by l.id
    on conflict (id) do update
    set required = t.required | excluded.required, completed = t.completed | excluded.completed
  $q$, b.topic_id, b.checkpoint_id, p_upto, p_bit, b.subscription_id)
    using tidemark_fn.held_ids(s, b.checkpoint_id + 1, p_upto);
end
$$;

-- Which of them are to be marked, as conditions on a row `l` of the log and `t` of the bitmaps.
create function tidemark_fn.backfill_wanted(b tidemark.backfill, group_bit int) returns text
language plpgsql stable as $$
declare
  unfilled bigint := (
    select coalesce(t.fill_next_id, 9223372036854775807) from tidemark.topic as t where t.id = b.topic_id
  );
  wanted text := '';
begin
  if b.since is not null then
    wanted := format(' and l.created_at >= %L::timestamptz', b.since);
  end if;
  if b.scope = 'pending' then
    -- A row that is not there was done before tracking began, unless the filling has yet to come to it.
    wanted := wanted || format(' and case when t.id is null then l.id >= %s else t.required & ~t.completed <> 0 or t.required = 0 end', unfilled);
  end if;
  if exists (select from tidemark.done_range as d where d.subscription_id = b.subscription_id) then
    wanted := wanted || format(' and not exists (select from tidemark.done_range as d where d.subscription_id = %s '
      'and d.last_id >= l.id and d.first_id <= l.id)', b.subscription_id);
  end if;
  if not (b.settings ->> 'again')::boolean then
    wanted := wanted || format(' and (t.id is null or t.completed & (1::bigint << %s) = 0)', group_bit);
  end if;
  return wanted;
end
$$;

-- The next batch of ids and its checkpoint. Nothing where the token is not the holder's; who lost it meanwhile is undone.
-- The backfill's own row is locked last and for a moment, because the group's claims need it too.
create function tidemark_fn.backfill_batch(p_subscription int, p_token uuid, p_limit int, p_ttl_ms float8)
returns setof tidemark.backfill
language plpgsql volatile as $$
declare
  b tidemark.backfill;
  group_bit int;
  upto bigint;
  marked bigint;
  wanted text;
begin
  select * into b from tidemark.backfill as x
  where x.subscription_id = p_subscription and x.token = p_token and x.status = 'RUNNING';
  if not found then
    return;
  end if;
  -- Of a group that has died meanwhile nothing is marked: its bits are being cleared. The lock keeps its bit its own, and
  -- is none that a claim minds.
  select s.bit into group_bit from tidemark.subscription as s
  where s.id = p_subscription and s.status in ('ACTIVE', 'PAUSED')
  for key share;
  if not found then
    return;
  end if;
  upto := least(b.checkpoint_id + p_limit, b.upper_id);
  if exists (select from tidemark.done_range as d where d.subscription_id = p_subscription) then
    perform tidemark_fn.mark_done(b, group_bit, upto);
  end if;
  wanted := tidemark_fn.backfill_wanted(b, group_bit);
  execute format($q$
    insert into tidemark.track_%1$s as t (id, xid, required, completed)
    select m.id, m.xid, 1::bigint << %4$s, 0
    from (
      select l.id, l.xid
      from tidemark.log_%1$s as l
      left join tidemark.track_%1$s as t on t.id = l.id and t.id > %2$s and t.id <= %3$s
      where l.id > %2$s and l.id <= %3$s%5$s
    ) as m
    where %6$s
    order by m.id
    on conflict (id) do update
    set required = t.required | (1::bigint << %4$s), completed = t.completed & ~(1::bigint << %4$s)
  $q$, b.topic_id, b.checkpoint_id, upto, group_bit, wanted, tidemark_fn.backfill_filter(b));
  get diagnostics marked = row_count;
  if upto >= b.upper_id then
    delete from tidemark.done_range as d where d.subscription_id = p_subscription;
  end if;
  return query
  update tidemark.backfill as x
  set checkpoint_id = upto, processed = x.processed + marked, updated_at = clock_timestamp(),
    status = case when upto >= x.upper_id then 'COMPLETED' else x.status end,
    ended_at = case when upto >= x.upper_id then clock_timestamp() end,
    token = case when upto >= x.upper_id then null else x.token end,
    lease_until = case when upto >= x.upper_id then null else clock_timestamp() + p_ttl_ms * interval '1 millisecond' end
  where x.subscription_id = p_subscription and x.token = p_token and x.status = 'RUNNING'
  returning x.*;
  if not found then
    raise exception 'the backfill was taken over' using errcode = 'TMLST';
  end if;
end
$$;

-- The next page of a backfill, as retry rows: held by the claim's lease or, without a token, due at once. What the group
-- holds already will be delivered by its holder. A claim looks at so many ids at most; `more` says that there are others.
create function tidemark_fn.take_backfilled(
  s tidemark.subscription, p_token uuid, p_limit int, out ids bigint[], out xids xid8[], out more boolean
)
language plpgsql volatile as $$
declare
  b tidemark.backfill;
  last bigint;
  upto bigint;
  held bigint[];
begin
  more := false;
  select * into b from tidemark.backfill as x where x.subscription_id = s.id for no key update;
  last := case when s.status = 'DEAD' and b.status = 'RUNNING' then b.upper_id else b.checkpoint_id end;
  upto := least(last, b.cursor_id + greatest(p_limit, 50000));
  if b.cursor_id < upto then
    -- read before the bitmaps: what was settled in between has its bit
    held := tidemark_fn.held_ids(s, b.cursor_id + 1, upto);
    if s.status = 'DEAD' then
      -- Its topic leaves reference tracking, and the bits say nothing any more.
      execute format('select array_agg(id), array_agg(xid) from (%s order by id limit %s) as p',
        tidemark_fn.undone_query(s, b, upto), p_limit) into ids, xids;
    else
      execute format($q$
      select array_agg(id), array_agg(xid)
      from (
        select id, xid from tidemark.track_%1$s
        where id > %2$s and id <= %3$s and required & ~completed & (1::bigint << %4$s) <> 0
          and %5$s and not id = any($1)
        order by id
        limit %6$s
      ) as p
      $q$, s.topic_id, b.cursor_id, upto, s.bit, tidemark_fn.backfill_filter(b), p_limit) using held into ids, xids;
    end if;
    if cardinality(ids) = p_limit then
      upto := ids[p_limit];
    end if;
    insert into tidemark.retry (subscription_id, id, xid, attempts, version, due_at, token, slot, suspect, history)
    select s.id, u.id, u.xid, case when p_token is null then 0 else 1 end, case when p_token is null then 0 else 1 end,
      clock_timestamp(), p_token, case when p_token is null then null else u.place - 1 end, false, '[]'
    from unnest(ids, xids) with ordinality as u (id, xid, place);
    update tidemark.backfill as x
    set cursor_id = upto, checkpoint_id = greatest(x.checkpoint_id, upto)
    where x.subscription_id = s.id;
    more := upto < last;
  end if;
  if not more and b.status is distinct from 'RUNNING' then
    update tidemark.subscription as x set backfilling = false where x.id = s.id;
  end if;
end
$$;

-- What the group's backfill has yet to bring, and when the first of it was created. A thousand ids are looked at one by one.
-- Beyond, the ids tell: what was gone through brings no more than was marked, what was not may bring all.
create function tidemark_fn.backfill_ahead(s tidemark.subscription, first_kept bigint, out waiting bigint, out oldest_at timestamptz)
language plpgsql volatile
set enable_seqscan = off
set jit = off
as $$
declare
  looked_at constant bigint := 1000;
  b tidemark.backfill;
  low bigint;
  last bigint;
  upto bigint;
  marked bigint;
begin
  waiting := 0;
  select * into b from tidemark.backfill as x where x.subscription_id = s.id;
  low := greatest(b.cursor_id, first_kept - 1);
  last := case when b.status = 'RUNNING' then b.upper_id else b.checkpoint_id end;
  if s.bit is null or b.subscription_id is null or low >= last then
    return;
  end if;
  upto := least(last, low + looked_at);
  execute format($q$
    select count(*), count(*) filter (where id <= %4$s), min(created_at)
    from (
      select l.id, l.xid, l.created_at
      from tidemark.log_%1$s as l
      left join tidemark.track_%1$s as t on t.id = l.id and t.id > %2$s and t.id <= %3$s
      where l.id > %2$s and l.id <= %3$s and case
        when l.id <= %4$s then coalesce(t.required & ~t.completed & (1::bigint << %5$s) <> 0, false)
        else true%6$s end
    ) as m
    where not id = any($1) and %7$s
  $q$, s.topic_id, low, upto, b.checkpoint_id, s.bit, tidemark_fn.backfill_wanted(b, s.bit), tidemark_fn.backfill_filter(b))
    using tidemark_fn.held_ids(s, low + 1, upto) into waiting, marked, oldest_at;
  if upto = last then
    return;
  end if;
  waiting := waiting + least(greatest(b.checkpoint_id - upto, 0), greatest(b.processed - marked, 0))
    + last - greatest(upto, least(b.checkpoint_id, last));
  if oldest_at is null and waiting > 0 then
    execute format('select min(created_at) from tidemark.log_%s where id > %s and id <= %s', s.topic_id, upto, upto + looked_at)
      into oldest_at;
  end if;
end
$$;

create function tidemark_fn.has_backfilled(s tidemark.subscription) returns boolean
language plpgsql volatile as $$
begin
  return s.backfilling and exists (
    select from tidemark.backfill as b
    where b.subscription_id = s.id and (b.cursor_id < b.checkpoint_id or b.status <> 'RUNNING')
  );
end
$$;

-- A page of what is left to deliver becomes retry rows, for a group whose topic leaves reference tracking.
create function tidemark_fn.release_backfilled(p_topic int, p_limit int) returns boolean
language plpgsql volatile as $$
declare
  s tidemark.subscription;
  b tidemark.backfill;
begin
  select x.* into b from tidemark.backfill as x
  join tidemark.subscription as y on y.id = x.subscription_id and y.status <> 'CANCELLED'
  where x.topic_id = p_topic and (x.status <> 'RUNNING' and x.cursor_id < x.checkpoint_id
    or x.status = 'RUNNING' and x.cursor_id < x.upper_id and y.status = 'DEAD')
  limit 1;
  if not found then
    return false;
  end if;
  select * into s from tidemark.subscription as x where x.id = b.subscription_id for no key update;
  perform from tidemark_fn.take_backfilled(s, null, p_limit);
  return true;
end
$$;

-- A backfill of a group that exists, by an administrator's word: null, or why not.
create function tidemark_fn.start_backfill(
  p_topic int, p_subscription int, p_since timestamptz, p_id bigint, p_scope text, p_limit bigint, p_settings jsonb
) returns text
language plpgsql volatile as $$
declare
  s tidemark.subscription;
  b tidemark.backfill;
  first_id bigint := coalesce(p_id - 1, 0);
  needed bigint;
begin
  select * into s from tidemark.subscription as x where x.id = p_subscription for no key update;
  if s.id is null or s.status in ('CANCELLED', 'DEAD') then
    return coalesce(s.status, 'GONE');
  end if;
  if s.bit is null then
    return 'OFFSET';
  end if;
  select * into b from tidemark.backfill as x where x.subscription_id = s.id;
  if b.status = 'RUNNING' or b.cursor_id < b.checkpoint_id then
    return 'UNFINISHED';
  end if;
  if p_since is not null then
    first_id := tidemark_fn.id_before(p_topic, p_since, tidemark_fn.last_id(p_topic));
  end if;
  -- What the live cursor has still to come to comes with the backfill: neither the position nor the limit may cut it off.
  if tidemark_fn.backlog(s, 1) > 0 then
    needed := tidemark_fn.watermark(s);
    p_limit := greatest(p_limit, tidemark_fn.last_id(p_topic) - needed);
    if needed < first_id then
      p_since := null;
      p_id := null;
      first_id := needed;
    end if;
  end if;
  perform tidemark_fn.begin_backfill(s.id, '1:1:', case when p_id is null then '1:1:' else pg_current_snapshot() end,
    coalesce(p_id - 1, 0), p_since, case when p_id is null then first_id else 0 end, p_scope, p_limit,
    p_settings, p_scope = 'retained');
  return null;
end
$$;
