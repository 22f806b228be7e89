-- Switches a topic's tracking while its groups run.

-- Switches to reference tracking. False if there are too many groups; nothing is changed then. Transactions in progress
-- may still publish without bits: filling waits for them to end, and then runs from the lowest retained id to the
-- present.
create function tidemark_fn.track_by_reference(p_topic int) returns boolean
language plpgsql volatile as $$
declare
  t tidemark.topic;
  s tidemark.subscription;
  next_bit int := 0;
begin
  select * into t from tidemark.topic as x where x.id = p_topic for no key update;
  if (select count(*) from tidemark.subscription as x where x.topic_id = p_topic and x.status in ('ACTIVE', 'PAUSED')) > 64 then
    return false;
  end if;
  delete from tidemark.bit_wipe as w where w.topic_id = p_topic;
  delete from tidemark.backfill as b where b.topic_id = p_topic;
  for s in
    select * from tidemark.subscription as x where x.topic_id = p_topic order by x.id for no key update
  loop
    -- A dead group gets a bit when it is resurrected.
    update tidemark.subscription as x
    set bit = case when s.status in ('ACTIVE', 'PAUSED') then next_bit end, cleared_id = 0, backfilling = false,
      live_xid = pg_current_xact_id(),
      -- An ended group has no bits in the new table to clear.
      cleared_epoch = case when s.status in ('ACTIVE', 'PAUSED') then x.epoch - 1 else x.epoch end
    where x.id = s.id;
    if s.status in ('ACTIVE', 'PAUSED') then
      next_bit := next_bit + 1;
    end if;
  end loop;
  perform tidemark_fn.create_track(p_topic, (t.config ->> 'partitionRows')::bigint);
  update tidemark.topic as x
  set config = jsonb_set(x.config, '{tracking}', '"reference"'), config_version = x.config_version + 1,
    fill_next_id = greatest(tidemark_fn.first_kept_id(p_topic), 1), fill_last_id = tidemark_fn.last_id(p_topic), fill_xid = pg_current_xact_id()
  where x.id = p_topic;
  return true;
end
$$;

-- Fills one page of ids. What a group has passed and doesn't hold is completed. Meanwhile claims wait for the
-- subscriptions and settlements for the leases, so nothing can change between what is read here and what is written.
create function tidemark_fn.fill_tracking(p_topic int, p_limit int) returns boolean
language plpgsql volatile as $$
declare
  t tidemark.topic;
  upto bigint;
  held record;
begin
  select * into t from tidemark.topic as x where x.id = p_topic;
  if t.fill_next_id is null then
    return false;
  end if;
  for attempt in 1..100 loop
    exit when t.fill_xid is null or tidemark_fn.has_ended(t.fill_xid);
    perform pg_sleep(0.01);
  end loop;
  select * into t from tidemark.topic as x where x.id = p_topic for no key update;
  if t.fill_next_id is null then
    return false;
  end if;
  if t.fill_xid is not null then
    if not tidemark_fn.has_ended(t.fill_xid) then
      return false;
    end if;
    t.fill_last_id := tidemark_fn.last_id(p_topic);
  end if;

  upto := least(t.fill_next_id + p_limit - 1, t.fill_last_id);
  select * into held from tidemark_fn.hold_all(p_topic, t.fill_next_id, upto);
  perform tidemark_fn.run(format($q$
    insert into tidemark.track_%1$s as t (id, xid, required, completed)
    select l.id, l.xid, coalesce(bit_or(1::bigint << s.bit), 0), coalesce(bit_or(1::bigint << s.bit) filter (
      where h.id is null and tidemark_fn.has_passed(s.window_from, s.window_to, s.at_id, l.xid, l.id)), 0)
    from tidemark.log_%1$s as l
    -- A message that no group requires gets a row too, as if it were published now.
    left join (tidemark.subscription as s left join tidemark.backfill as b on b.subscription_id = s.id)
      on s.topic_id = %1$s and s.bit is not null and s.status in ('ACTIVE', 'PAUSED')
      and not tidemark_fn.has_passed(s.start_from, s.start_to, s.start_id, l.xid, l.id)
      and (s.since is null or l.created_at >= s.since)
      -- The backfill handles what it covers.
      and (b.upper is null or l.id <= b.lower_id or not pg_visible_in_snapshot(l.xid, b.upper))
    left join unnest($1, $2) as h (subscription_id, id) on h.subscription_id = s.id and h.id = l.id
    where l.id between %2$s and %3$s
    group by l.id, l.xid
    order by l.id
    on conflict (id) do update
    set required = t.required | excluded.required, completed = t.completed | excluded.completed
  $q$, p_topic, t.fill_next_id, upto), held.groups, held.ids);
  update tidemark.topic as x
  set fill_next_id = case when upto < t.fill_last_id then upto + 1 end,
    fill_last_id = case when upto < t.fill_last_id then t.fill_last_id end, fill_xid = null
  where x.id = p_topic;
  return upto < t.fill_last_id;
end
$$;

-- The messages that live groups of a topic hold among these ids, a pair for each. Nobody claims or settles before the
-- transaction ends.
create function tidemark_fn.hold_all(p_topic int, low bigint, high bigint, out groups int[], out ids bigint[])
language plpgsql volatile as $$
declare
  s tidemark.subscription;
  held bigint[];
begin
  groups := '{}';
  ids := '{}';
  for s in
    select * from tidemark.subscription as x
    where x.topic_id = p_topic and x.bit is not null and x.status in ('ACTIVE', 'PAUSED')
    order by x.id
    for no key update
  loop
    perform from tidemark.lease as l
    where l.subscription_id = s.id and l.done_at is null and l.expired_at is null
    order by l.token
    for update;
    held := tidemark_fn.held_ids(s, low, high);
    ids := ids || held;
    groups := groups || array_fill(s.id, array[cardinality(held)]);
  end loop;
end
$$;

-- Switches to tracking by offset. Call it when no backfill has anything left to deliver; false if one has.
create function tidemark_fn.track_by_offset(p_topic int) returns boolean
language plpgsql volatile as $$
begin
  perform from tidemark.topic as x where x.id = p_topic for no key update;
  perform from tidemark.subscription as x where x.topic_id = p_topic order by x.id for no key update;
  if exists (
    select from tidemark.backfill as b
    join tidemark.subscription as s on s.id = b.subscription_id and s.status <> 'CANCELLED'
    where b.topic_id = p_topic and (b.status = 'RUNNING' and b.cursor_id < b.upper_id or b.cursor_id < b.checkpoint_id)
  ) then
    return false;
  end if;
  delete from tidemark.done_range as d using tidemark.subscription as s where s.id = d.subscription_id and s.topic_id = p_topic;
  delete from tidemark.backfill as b where b.topic_id = p_topic;
  delete from tidemark.bit_wipe as w where w.topic_id = p_topic;
  update tidemark.subscription as x set bit = null, backfilling = false where x.topic_id = p_topic;
  perform tidemark_fn.drop_track(p_topic);
  update tidemark.topic as x
  set config = jsonb_set(x.config, '{tracking}', '"offset"'), config_version = x.config_version + 1,
    fill_next_id = null, fill_last_id = null, fill_xid = null
  where x.id = p_topic;
  return true;
end
$$;

-- For a publish in the caller's transaction, which cannot be retried after an error: locks the bitmap table until that
-- transaction ends. False if there is none, because the topic is tracked by offset now.
create function tidemark_fn.hold_tracking(p_topic int) returns boolean
language plpgsql volatile as $$
begin
  perform tidemark_fn.run(format('lock table only tidemark.track_%s in row exclusive mode', p_topic));
  return true;
exception when undefined_table then
  return false;
end
$$;
