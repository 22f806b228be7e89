-- Backfills: messages published before a group joined are marked as required of it batch by batch, and delivered beside
-- the live stream.

-- Starts a backfill of an existing group on an administrator's request. Returns null, or the reason for refusing.
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
  -- The backfill takes over what the live cursor has not reached yet, so neither the start position nor the limit may
  -- cut it off.
  if tidemark_fn.backlog(s, 1) > 0 then
    needed := tidemark_fn.watermark(s);
    -- Without a limit there is none to raise: greatest() would make one of null.
    if p_limit is not null then
      p_limit := greatest(p_limit, tidemark_fn.last_id(p_topic) - needed);
    end if;
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

-- Moves the group's live cursor to the present and starts a backfill of everything visible now that the lower cursor
-- has not passed. A lower cursor that has passed nothing is '1:1:' twice; one that stands before a message is '1:1:',
-- the present, and the message's place. An undelivered earlier backfill is merged, unless `again` asks for what the
-- group has completed too. Returns how many messages the limit left out. Needs the subscription's lock and, in a
-- tracked topic, the topic's. The new window keeps the old lower id bound, because the current transaction may already
-- have its id.
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
  s.bit := coalesce(s.bit, tidemark_fn.take_bit(s.topic_id));
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

-- Assigns a bit to a resurrected group that has none.
create function tidemark_fn.take_bit(p_topic int) returns int
language plpgsql volatile as $$
declare
  taken int;
begin
  perform from tidemark.topic as t where t.id = p_topic for no key update;
  taken := tidemark_fn.free_bit(p_topic);
  if taken is null then
    raise exception 'no bit is free' using errcode = 'TMBIT';
  end if;
  return taken;
end
$$;

-- The id just before the newest p_limit messages between two ids. Ids have gaps, so the messages are counted.
create function tidemark_fn.newest_ids(p_topic int, p_lower bigint, p_upper bigint, p_limit bigint, p_since timestamptz) returns bigint
language plpgsql volatile as $$
begin
  return coalesce(tidemark_fn.number_of(format(
    'select id from tidemark.log_%s where id > %s and id <= %s%s order by id desc offset %s limit 1', p_topic, p_lower, p_upper,
    case when p_since is null then '' else format(' and created_at >= %L::timestamptz', p_since) end, p_limit)), p_lower);
end
$$;

-- Replaces the group's earlier backfill. An empty range is complete at once.
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
    ended_at = excluded.ended_at, error = null, slowed = false
  returning b.*
$$;

-- Marks what the group still holds from before as required, because the dead-group clean-up may have cleared its bits.
create function tidemark_fn.require_held(s tidemark.subscription, p_last bigint) returns void
language plpgsql volatile as $$
declare
  held bigint[] := tidemark_fn.held_ids(s, 1, p_last);
begin
  if cardinality(held) > 0 then
    perform tidemark_fn.run(format($q$
      insert into tidemark.track_%1$s as t (id, xid, required)
      select l.id, l.xid, 1::bigint << %2$s
      from (select distinct i from unnest($1) as i) as wanted (id)
      cross join lateral (select m.id, m.xid from tidemark.log_%1$s as m where m.id = wanted.id limit 1) as l
      order by l.id
      on conflict (id) do update set required = t.required | excluded.required
    $q$, s.topic_id, s.bit), held);
  end if;
end
$$;
