-- Reference tracking: beside the log a narrow table of two bitmaps a message, `required` and `completed`, one bit a group.
-- All bits are set and cleared by | and & in single statements, so that doing it twice, or half and then again, is the
-- same as doing it once. Rows are always locked in the order of their ids: two groups that settle the same ones can't
-- wait for each other.

create function tidemark.has_ended(x xid8) returns boolean
language plpgsql volatile as $$
declare
  now pg_snapshot;
begin
  select pg_current_snapshot() into now;
  return pg_snapshot_xmin(now) > x;
end
$$;

-- ── the table ───────────────────────────────────────────────────────────────────────────────────────────────────────

create function tidemark.create_track(topic_id int, partition_rows bigint) returns void
language plpgsql volatile as $$
declare
  number bigint;
begin
  perform pg_advisory_xact_lock(hashtextextended('tidemark.log', topic_id));
  execute format($ddl$
    create table tidemark.track_%1$s (
      id bigint primary key,
      xid xid8 not null,
      required bigint not null default 0,
      completed bigint not null default 0
    ) partition by range (id)
  $ddl$, topic_id);
  for number in select * from tidemark.partition_numbers(topic_id) loop
    perform tidemark.add_track_partition(topic_id, partition_rows, number);
  end loop;
  execute format($ddl$
    create view tidemark.completion_%1$s as
    select t.id, s.group_name, (t.required >> s.bit) & 1 = 1 as required, (t.completed >> s.bit) & 1 = 1 as completed
    from tidemark.track_%1$s as t
    join tidemark.subscription as s on s.topic_id = %1$s and ((t.required | t.completed) >> s.bit) & 1 = 1
  $ddl$, topic_id);
  execute format($ddl$
    create view tidemark.completion_counts_%1$s as
    select t.id, bit_count(t.required::bit(64)) as required, bit_count((t.required & t.completed)::bit(64)) as completed,
      t.required & ~t.completed = 0 as done
    from tidemark.track_%1$s as t
  $ddl$, topic_id);
end
$$;

create function tidemark.drop_track(topic_id int) returns void
language plpgsql volatile as $$
begin
  execute format('drop view if exists tidemark.completion_%1$s, tidemark.completion_counts_%1$s', topic_id);
  execute format('drop table if exists tidemark.track_%s', topic_id);
end
$$;

-- The log's partitions, lowest first.
create function tidemark.partition_numbers(topic_id int) returns setof bigint
language sql stable as $$
  select substring(c.relname from '_p([0-9]+)$')::bigint as number
  from pg_inherits as i
  join pg_class as c on c.oid = i.inhrelid
  where i.inhparent = format('tidemark.log_%s', topic_id)::regclass
  order by number
$$;

-- Half-empty pages keep the updates of bits HOT.
create function tidemark.add_track_partition(topic_id int, partition_rows bigint, number bigint) returns void
language plpgsql volatile as $$
begin
  execute format(
    'create table tidemark.track_%1$s_p%2$s (like tidemark.track_%1$s including all) with (fillfactor = 50)', topic_id, number);
  execute format('alter table tidemark.track_%1$s attach partition tidemark.track_%1$s_p%2$s for values from (%3$s) to (%4$s)',
    topic_id, number, number * partition_rows, (number + 1) * partition_rows);
end
$$;

create function tidemark.is_tracked(topic_id int) returns boolean
language sql stable as $$ select to_regclass(format('tidemark.track_%s', topic_id)) is not null $$;

-- ── bits ────────────────────────────────────────────────────────────────────────────────────────────────────────────

-- The lowest bit that no group has and that no removed group's traces keep; null where there is none. To be called with
-- the topic's row locked.
create function tidemark.free_bit(p_topic int) returns int
language sql volatile as $$
  select b
  from generate_series(0, 63) as b
  where not exists (select from tidemark.subscription as s where s.topic_id = p_topic and s.bit = b)
    and not exists (select from tidemark.bit_wipe as w where w.topic_id = p_topic and w.bit = b)
  order by b
  limit 1
$$;

-- The messages in these slots of a lease, in the order of the slots.
create function tidemark.slot_ids(s tidemark.subscription, l tidemark.lease, slots int[]) returns bigint[]
language plpgsql volatile as $$
declare
  ids bigint[];
begin
  if cardinality(slots) = 0 then
    return '{}';
  end if;
  if l.kind = 'page' then
    execute format('select array_agg(id) from (%s) as p', tidemark.lease_query('xid, id', s, l)) into ids;
    return array(select ids[slot + 1] from unnest(slots) with ordinality as u (slot, place) order by place);
  end if;
  return array(
    select r.id
    from unnest(slots) with ordinality as u (slot, place)
    join tidemark.retry as r on r.token = l.token and r.slot = u.slot
    order by u.place
  );
end
$$;

-- These groups have done these messages; several groups' bits of one message are one update of its row.
create function tidemark.complete(p_topic int, ids bigint[], bits bigint[]) returns void
language plpgsql volatile as $$
declare
  low bigint := (select min(i) from unnest(ids) as i);
  high bigint := (select max(i) from unnest(ids) as i);
begin
  if low is null then
    return;
  end if;
  execute format($q$
    with done as materialized (
      select d.id, bit_or(d.bits) as bits from unnest($1, $2) as d (id, bits) group by d.id
    ), locked as materialized (
      select t.id
      from tidemark.track_%1$s as t
      where t.id between %2$s and %3$s and t.id = any($1)
      order by t.id
      for no key update
    )
    update tidemark.track_%1$s as t
    set required = t.required | done.bits, completed = t.completed | done.bits
    from done
    join locked on locked.id = done.id
    where t.id = done.id and t.id between %2$s and %3$s and t.required & t.completed & done.bits <> done.bits
  $q$, p_topic, low, high) using ids, bits;
exception
  when undefined_table then
    -- The topic left reference tracking after the settlement had read the group's bit: nobody wants it any more.
    null;
end
$$;

-- One statement a topic, however many leases of however many groups were settled.
create function tidemark.complete_all(topics int[], ids bigint[], bits bigint[]) returns void
language plpgsql volatile as $$
declare
  each_topic int;
begin
  for each_topic in select distinct x from unnest(topics) as x order by x loop
    perform tidemark.complete(each_topic, array_agg(d.id), array_agg(d.bits))
    from unnest(topics, ids, bits) as d (topic, id, bits)
    where d.topic = each_topic;
  end loop;
end
$$;

-- What the page leases that were just acknowledged as a whole complete.
create function tidemark.page_bits(tokens uuid[], out topics int[], out ids bigint[], out bits bigint[])
language plpgsql volatile as $$
declare
  l tidemark.lease;
  s tidemark.subscription;
  page bigint[];
begin
  topics := '{}';
  ids := '{}';
  bits := '{}';
  for l in select * from tidemark.lease as x where x.token = any(tokens) loop
    select * into s from tidemark.subscription as x where x.id = l.subscription_id;
    page := tidemark.slot_ids(s, l, tidemark.open_slots(l));
    topics := topics || array_fill(s.topic_id, array[cardinality(page)]);
    ids := ids || page;
    bits := bits || array_fill(1::bigint << s.bit, array[cardinality(page)]);
  end loop;
end
$$;

-- What the group's live leases and its retry rows hold, of these ids.
create function tidemark.held_ids(s tidemark.subscription, low bigint, high bigint) returns bigint[]
language plpgsql volatile as $$
declare
  l tidemark.lease;
  held bigint[];
begin
  held := array(select r.id from tidemark.retry as r where r.subscription_id = s.id and r.id between low and high);
  for l in
    select * from tidemark.lease as x
    where x.subscription_id = s.id and x.kind = 'page' and x.done_at is null and x.expired_at is null
      and x.low_id <= high and x.high_id >= low
  loop
    held := held || array(select i from unnest(tidemark.slot_ids(s, l, tidemark.open_slots(l))) as i where i between low and high);
  end loop;
  return held;
end
$$;

-- One page of the dead clean-up: of the first group that is DEAD or CANCELLED and not finished, else of the first removed
-- one. Publishes that began before the group ended may set its bit and commit behind the place where the clean-up is, so it
-- begins when they have ended; nothing waits for it, since only the bits of live groups hold a message.
create function tidemark.clear_bits(p_limit int, out cleared bigint, out more boolean)
language plpgsql volatile as $$
declare
  s tidemark.subscription;
  w tidemark.bit_wipe;
  upto bigint;
begin
  cleared := 0;
  more := false;
  select * into s
  from tidemark.subscription as x
  where x.bit is not null and x.status in ('DEAD', 'CANCELLED') and x.cleared_epoch < x.epoch
    and (x.cleared_id > 0 or x.ended_xid is null or tidemark.has_ended(x.ended_xid))
  order by x.id
  limit 1
  for no key update skip locked;
  if found then
    select p.cleared, p.upto into cleared, upto from tidemark.clear_page(
      s.topic_id, s.cleared_id, p_limit, format('required = required & ~(1::bigint << %s)', s.bit),
      format('required & ~completed & (1::bigint << %s) <> 0', s.bit)) as p;
    update tidemark.subscription as x
    set cleared_id = coalesce(upto, 0), cleared_epoch = case when upto is null then x.epoch else x.cleared_epoch end
    where x.id = s.id;
    more := true;
    return;
  end if;

  select * into w from tidemark.bit_wipe as x where tidemark.has_ended(x.ended_xid)
  order by x.topic_id, x.bit
  limit 1
  for update skip locked;
  if found then
    select p.cleared, p.upto into cleared, upto from tidemark.clear_page(
      w.topic_id, w.next_id - 1, p_limit,
      format('required = required & ~(1::bigint << %1$s), completed = completed & ~(1::bigint << %1$s)', w.bit),
      format('(required | completed) & (1::bigint << %s) <> 0', w.bit)) as p;
    if upto is null then
      delete from tidemark.bit_wipe as x where x.topic_id = w.topic_id and x.bit = w.bit;
    else
      update tidemark.bit_wipe as x set next_id = upto + 1 where x.topic_id = w.topic_id and x.bit = w.bit;
    end if;
    more := true;
  end if;
end
$$;

-- `upto` is null where there was nothing after.
create function tidemark.clear_page(
  p_topic int, after bigint, p_limit int, change text, condition text, out cleared bigint, out upto bigint
)
language plpgsql volatile as $$
begin
  cleared := 0;
  if not tidemark.is_tracked(p_topic) then
    return;
  end if;
  execute format(
    'select max(id) from (select id from tidemark.track_%s where id > %s order by id limit %s) as p', p_topic, after, p_limit)
    into upto;
  if upto is null then
    return;
  end if;
  execute format($q$
    with locked as materialized (
      select id from tidemark.track_%1$s where id > %2$s and id <= %3$s and %5$s order by id for no key update
    )
    update tidemark.track_%1$s set %4$s
    where id > %2$s and id <= %3$s and id in (select id from locked) and %5$s
  $q$, p_topic, after, upto, change, condition);
  get diagnostics cleared = row_count;
end
$$;

-- One page of ids: messages created before that wait for nobody who is live are done with.
create function tidemark.complete_orphans(
  p_topic int, p_after bigint, p_limit int, p_before timestamptz, out completed bigint, out upto bigint
)
language plpgsql volatile as $$
declare
  live bigint;
begin
  select coalesce(bit_or(1::bigint << s.bit), 0) into live
  from tidemark.subscription as s
  where s.topic_id = p_topic and s.status in ('ACTIVE', 'PAUSED');
  select p.cleared, p.upto into completed, upto from tidemark.clear_page(
    p_topic, p_after, p_limit, 'required = required & completed',
    format(
      'required & ~completed <> 0 and required & ~completed & (%1$s) = 0 and exists (select from tidemark.log_%2$s as l '
      'where l.xid = track_%2$s.xid and l.id = track_%2$s.id and l.created_at < %3$L)', live, p_topic, p_before)) as p;
end
$$;

-- ── switching ───────────────────────────────────────────────────────────────────────────────────────────────────────

-- By reference from now on. False where there are too many groups; nothing is changed then. Transactions under way may
-- still publish without bits: filling waits for them, and then goes from the lowest id a group may need to the present.
create function tidemark.track_by_reference(p_topic int) returns boolean
language plpgsql volatile as $$
declare
  t tidemark.topic;
  s tidemark.subscription;
  next_bit int := 0;
  lowest bigint;
begin
  select * into t from tidemark.topic as x where x.id = p_topic for no key update;
  if (select count(*) from tidemark.subscription as x where x.topic_id = p_topic and x.status <> 'CANCELLED') > 64 then
    return false;
  end if;
  delete from tidemark.bit_wipe as w where w.topic_id = p_topic;
  delete from tidemark.backfill as b where b.topic_id = p_topic;
  lowest := tidemark.last_id(p_topic) + 1;
  for s in
    select * from tidemark.subscription as x where x.topic_id = p_topic order by x.id for no key update
  loop
    update tidemark.subscription as x
    set bit = case when s.status = 'CANCELLED' then null else next_bit end, cleared_id = 0, backfilling = false,
      -- who has ended has no bits in the new table to be cleared
      cleared_epoch = case when s.status in ('ACTIVE', 'PAUSED') then x.epoch - 1 else x.epoch end
    where x.id = s.id;
    next_bit := next_bit + case when s.status = 'CANCELLED' then 0 else 1 end;
    if s.status in ('ACTIVE', 'PAUSED') then
      lowest := least(lowest, tidemark.lowest_needed(s));
    end if;
  end loop;
  perform tidemark.create_track(p_topic, (t.config ->> 'partitionRows')::bigint);
  update tidemark.topic as x
  set config = jsonb_set(x.config, '{tracking}', '"reference"'), config_version = x.config_version + 1,
    fill_next_id = greatest(lowest, 1), fill_last_id = tidemark.last_id(p_topic), fill_xid = pg_current_xact_id()
  where x.id = p_topic;
  return true;
end
$$;

-- A lower bound of the ids that the group has not settled.
create function tidemark.lowest_needed(s tidemark.subscription) returns bigint
language sql volatile as $$
  select least(
    case when exists (select from pg_snapshot_xip(s.window_from)) then s.straggler_id else s.from_id end + 1,
    (select min(l.low_id) from tidemark.lease as l
      where l.subscription_id = s.id and l.kind = 'page' and l.done_at is null and l.expired_at is null),
    (select min(r.id) from tidemark.retry as r where r.subscription_id = s.id)
  )
$$;

-- One page of ids. What a group has passed and doesn't hold is done. Claims wait at the subscriptions and settlements at
-- the leases meanwhile, so none of them can fall between what is read here and what is written.
create function tidemark.fill_tracking(p_topic int, p_limit int) returns boolean
language plpgsql volatile as $$
declare
  t tidemark.topic;
  s tidemark.subscription;
  upto bigint;
  held bigint[];
  held_by int[] := '{}';
  held_ids bigint[] := '{}';
begin
  select * into t from tidemark.topic as x where x.id = p_topic;
  if t.fill_next_id is null then
    return false;
  end if;
  for attempt in 1..100 loop
    exit when t.fill_xid is null or tidemark.has_ended(t.fill_xid);
    perform pg_sleep(0.01);
  end loop;
  select * into t from tidemark.topic as x where x.id = p_topic for no key update;
  if t.fill_next_id is null then
    return false;
  end if;
  if t.fill_xid is not null then
    if not tidemark.has_ended(t.fill_xid) then
      return false;
    end if;
    t.fill_last_id := tidemark.last_id(p_topic);
  end if;

  upto := least(t.fill_next_id + p_limit - 1, t.fill_last_id);
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
    held := tidemark.held_ids(s, t.fill_next_id, upto);
    held_ids := held_ids || held;
    held_by := held_by || array_fill(s.id, array[cardinality(held)]);
  end loop;
  execute format($q$
    insert into tidemark.track_%1$s as t (id, xid, required, completed)
    select l.id, l.xid, bit_or(1::bigint << s.bit),
      bit_or(case when h.id is null and tidemark.has_passed(s.window_from, s.window_to, s.at_xid, s.at_id, l.xid, l.id)
        then 1::bigint << s.bit else 0 end)
    from tidemark.log_%1$s as l
    join tidemark.subscription as s on s.topic_id = %1$s and s.bit is not null and s.status in ('ACTIVE', 'PAUSED')
    left join tidemark.backfill as b on b.subscription_id = s.id
    left join unnest($1, $2) as h (subscription_id, id) on h.subscription_id = s.id and h.id = l.id
    where l.id between %2$s and %3$s
      and not pg_visible_in_snapshot(l.xid, s.start_window) and (l.xid, l.id) > (s.start_xid, s.start_id)
      and (s.since is null or l.created_at >= s.since)
      -- what a backfill covers is its own
      and (b.upper is null or l.id <= b.lower_id or not pg_visible_in_snapshot(l.xid, b.upper))
    group by l.id, l.xid
    order by l.id
    on conflict (id) do update
    set required = t.required | excluded.required, completed = t.completed | excluded.completed
  $q$, p_topic, t.fill_next_id, upto) using held_by, held_ids;
  update tidemark.topic as x
  set fill_next_id = case when upto < t.fill_last_id then upto + 1 end,
    fill_last_id = case when upto < t.fill_last_id then t.fill_last_id end, fill_xid = null
  where x.id = p_topic;
  return upto < t.fill_last_id;
end
$$;

-- Whether a cursor has passed the message.
create function tidemark.has_passed(seen pg_snapshot, seeing pg_snapshot, at_xid xid8, at_id bigint, xid xid8, id bigint)
returns boolean
language sql immutable as $$
  select pg_visible_in_snapshot(xid, seen) or (xid, id) <= (at_xid, at_id) and pg_visible_in_snapshot(xid, seeing)
$$;

-- By offset from now on; to be called when no backfill has anything left to deliver. False where one has.
create function tidemark.track_by_offset(p_topic int) returns boolean
language plpgsql volatile as $$
begin
  perform from tidemark.topic as x where x.id = p_topic for no key update;
  perform from tidemark.subscription as x where x.topic_id = p_topic order by x.id for no key update;
  if exists (
    select from tidemark.backfill as b
    join tidemark.subscription as s on s.id = b.subscription_id and s.status <> 'CANCELLED'
    where b.topic_id = p_topic and (b.status = 'RUNNING' or b.cursor_id < b.checkpoint_id)
  ) then
    return false;
  end if;
  delete from tidemark.backfill as b where b.topic_id = p_topic;
  delete from tidemark.bit_wipe as w where w.topic_id = p_topic;
  update tidemark.subscription as x set bit = null, backfilling = false where x.topic_id = p_topic;
  perform tidemark.drop_track(p_topic);
  update tidemark.topic as x
  set config = jsonb_set(x.config, '{tracking}', '"offset"'), config_version = x.config_version + 1,
    fill_next_id = null, fill_last_id = null, fill_xid = null
  where x.id = p_topic;
  return true;
end
$$;

-- ── backfill ────────────────────────────────────────────────────────────────────────────────────────────────────────

-- Moves the group's live cursor to the present, and begins a backfill of what the lower cursor has not passed and the
-- present sees. A lower cursor that has passed nothing is '1:1:' twice; one that stands before a message is '1:1:', the
-- present, and its place. An earlier backfill that was not delivered is taken along, unless the group is to get `again`
-- what it has done. Returns how many ids the limit left out. Needs the subscription's lock, and in a topic that is
-- tracked; the new window's lower bound is the old one's, since the present transaction may have its id already.
create function tidemark.begin_backfill(
  p_subscription int, p_from pg_snapshot, p_to pg_snapshot, p_xid xid8, p_place bigint, p_since timestamptz, p_lower_id bigint,
  p_scope text, p_limit bigint, p_settings jsonb, p_again boolean
) returns bigint
language plpgsql volatile as $$
declare
  s tidemark.subscription;
  earlier tidemark.backfill;
  until pg_snapshot;
  ceiling bigint;
  lower_id bigint;
  skipped bigint := 0;
  rows bigint;
  held bigint[];
begin
  select * into s from tidemark.subscription as x where x.id = p_subscription for no key update;
  if s.bit is null then
    perform from tidemark.topic as x where x.id = s.topic_id for no key update;
    s.bit := tidemark.free_bit(s.topic_id);
    if s.bit is null then
      raise exception 'no bit is free' using errcode = 'TMBIT';
    end if;
  end if;
  until := tidemark.take_snapshot(pg_current_xact_id());
  ceiling := tidemark.last_id(s.topic_id);
  select (x.config ->> 'partitionRows')::bigint into rows from tidemark.topic as x where x.id = s.topic_id;
  lower_id := greatest(p_lower_id, coalesce((select min(n) from tidemark.partition_numbers(s.topic_id) as n), 0) * rows - 1, 0);

  select * into earlier from tidemark.backfill as b where b.subscription_id = s.id for update;
  if earlier.subscription_id is not null and not p_again and (earlier.cursor_id < earlier.checkpoint_id or earlier.status = 'RUNNING') then
    p_from := earlier.lower_from;
    p_to := earlier.lower_to;
    p_xid := earlier.lower_xid;
    p_place := earlier.lower_place;
    p_since := earlier.since;
    lower_id := least(lower_id, earlier.cursor_id);
  end if;
  if p_limit is not null and ceiling - p_limit > lower_id then
    skipped := ceiling - p_limit - lower_id;
    lower_id := ceiling - p_limit;
  end if;

  insert into tidemark.backfill as b (subscription_id, topic_id, epoch, status, scope, settings, lower_from, lower_to, lower_xid,
    lower_place, since, upper, lower_id, upper_id, checkpoint_id, cursor_id, ended_at)
  values (s.id, s.topic_id, s.epoch, case when lower_id < ceiling then 'RUNNING' else 'COMPLETED' end, p_scope,
    p_settings || jsonb_build_object('again', p_again), p_from, p_to, p_xid, p_place, p_since, until, lower_id,
    greatest(ceiling, lower_id), lower_id, lower_id, case when lower_id < ceiling then null else clock_timestamp() end)
  on conflict (subscription_id) do update
  set epoch = excluded.epoch, status = excluded.status, scope = excluded.scope, settings = excluded.settings,
    lower_from = excluded.lower_from, lower_to = excluded.lower_to, lower_xid = excluded.lower_xid,
    lower_place = excluded.lower_place, since = excluded.since, upper = excluded.upper, lower_id = excluded.lower_id,
    upper_id = excluded.upper_id, checkpoint_id = excluded.checkpoint_id, cursor_id = excluded.cursor_id, processed = 0,
    token = null, lease_until = null, started_at = clock_timestamp(), updated_at = clock_timestamp(),
    ended_at = excluded.ended_at, error = null;
  update tidemark.subscription as x
  set bit = s.bit, window_from = until, window_to = until, straggler_id = 0, from_id = s.next_id, to_id = ceiling,
    next_id = s.next_id, at_xid = '0', at_id = 0, since = case when p_since > clock_timestamp() then p_since end, moved_at = clock_timestamp(),
    backfilling = lower_id < ceiling, cleared_id = 0
  where x.id = s.id;
  -- What the group still holds from before is its own, though the dead clean-up may have taken its bit.
  held := tidemark.held_ids(s, 1, ceiling);
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
  return skipped;
end
$$;

-- The messages of a backfill, as a condition on rows that have xid and id.
create function tidemark.backfill_filter(b tidemark.backfill) returns text
language sql stable as $$
  select format('pg_visible_in_snapshot(xid, %L::pg_snapshot)', b.upper)
    || case when b.lower_xid = '0'::xid8 and b.lower_from::text = '1:1:' then ''
      else format(' and not tidemark.has_passed(%L::pg_snapshot, %L::pg_snapshot, %L::xid8, %s, xid, id)',
        b.lower_from, b.lower_to, b.lower_xid, b.lower_place)
    end
$$;

-- The next batch of ids and its checkpoint. Nothing where the token is not the holder's; who lost it meanwhile is undone.
-- The backfill's own row is locked last and for a moment, because the group's claims need it too.
create function tidemark.backfill_batch(p_subscription int, p_token uuid, p_limit int, p_ttl_ms float8)
returns setof tidemark.backfill
language plpgsql volatile as $$
declare
  b tidemark.backfill;
  group_bit int;
  unfilled bigint;
  upto bigint;
  marked bigint;
  wanted text := '';
begin
  select * into b from tidemark.backfill as x
  where x.subscription_id = p_subscription and x.token = p_token and x.status = 'RUNNING';
  if not found then
    return;
  end if;
  select s.bit into group_bit from tidemark.subscription as s where s.id = p_subscription;
  select coalesce(t.fill_next_id, 9223372036854775807) into unfilled from tidemark.topic as t where t.id = b.topic_id;
  upto := least(b.checkpoint_id + p_limit, b.upper_id);
  if b.since is not null then
    wanted := format(' and l.created_at >= %L::timestamptz', b.since);
  end if;
  if b.scope = 'pending' then
    -- A row that is not there was done before tracking began, unless the filling has yet to come to it.
    wanted := wanted || format(' and case when t.id is null then l.id >= %s else t.required & ~t.completed <> 0 or t.required = 0 end', unfilled);
  end if;
  if not (b.settings ->> 'again')::boolean then
    wanted := wanted || format(' and (t.id is null or t.completed & (1::bigint << %s) = 0)', group_bit);
  end if;
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
  $q$, b.topic_id, b.checkpoint_id, upto, group_bit, wanted, tidemark.backfill_filter(b));
  get diagnostics marked = row_count;
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
create function tidemark.take_backfilled(
  s tidemark.subscription, p_token uuid, p_limit int, out ids bigint[], out xids xid8[], out more boolean
)
language plpgsql volatile as $$
declare
  b tidemark.backfill;
  upto bigint;
  held bigint[];
begin
  more := false;
  select * into b from tidemark.backfill as x where x.subscription_id = s.id for no key update;
  upto := least(b.checkpoint_id, b.cursor_id + greatest(p_limit, 50000));
  if b.cursor_id < upto then
    -- read before the bitmaps: what was settled in between has its bit
    held := tidemark.held_ids(s, b.cursor_id + 1, upto);
    execute format($q$
      select array_agg(id), array_agg(xid)
      from (
        select id, xid from tidemark.track_%1$s
        where id > %2$s and id <= %3$s and required & ~completed & (1::bigint << %4$s) <> 0
          and %5$s and not id = any($1)
        order by id
        limit %6$s
      ) as p
    $q$, s.topic_id, b.cursor_id, upto, s.bit, tidemark.backfill_filter(b), p_limit) using held into ids, xids;
    if cardinality(ids) = p_limit then
      upto := ids[p_limit];
    end if;
    insert into tidemark.retry (subscription_id, id, xid, attempts, version, due_at, token, slot, suspect, history)
    select s.id, u.id, u.xid, case when p_token is null then 0 else 1 end, case when p_token is null then 0 else 1 end,
      clock_timestamp(), p_token, case when p_token is null then null else u.place - 1 end, false, '[]'
    from unnest(ids, xids) with ordinality as u (id, xid, place);
    update tidemark.backfill as x set cursor_id = upto where x.subscription_id = s.id;
    more := upto < b.checkpoint_id;
  end if;
  if not more and b.status is distinct from 'RUNNING' then
    update tidemark.subscription as x set backfilling = false where x.id = s.id;
  end if;
end
$$;

create function tidemark.has_backfilled(s tidemark.subscription) returns boolean
language plpgsql volatile as $$
begin
  return s.backfilling and exists (
    select from tidemark.backfill as b
    where b.subscription_id = s.id and (b.cursor_id < b.checkpoint_id or b.status <> 'RUNNING')
  );
end
$$;

-- A page of what is left to deliver becomes retry rows, for a group whose topic leaves reference tracking.
create function tidemark.release_backfilled(p_topic int, p_limit int) returns boolean
language plpgsql volatile as $$
declare
  s tidemark.subscription;
  b tidemark.backfill;
begin
  select x.* into b from tidemark.backfill as x
  join tidemark.subscription as y on y.id = x.subscription_id and y.status <> 'CANCELLED'
  where x.topic_id = p_topic and x.status <> 'RUNNING' and x.cursor_id < x.checkpoint_id
  limit 1;
  if not found then
    return false;
  end if;
  select * into s from tidemark.subscription as x where x.id = b.subscription_id for no key update;
  perform from tidemark.take_backfilled(s, null, p_limit);
  return true;
end
$$;

-- A backfill of a group that exists, by an administrator's word: null, or why not.
create function tidemark.start_backfill(
  p_topic int, p_subscription int, p_since timestamptz, p_xid xid8, p_id bigint, p_scope text, p_limit bigint, p_settings jsonb
) returns text
language plpgsql volatile as $$
declare
  s tidemark.subscription;
  b tidemark.backfill;
  first_id bigint := coalesce(p_id - 1, 0);
  needed bigint;
begin
  select * into s from tidemark.subscription as x where x.id = p_subscription for no key update;
  if s.id is null or s.status = 'CANCELLED' then
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
    execute format('select coalesce(min(id) - 1, %s) from tidemark.log_%s where created_at >= %L', tidemark.last_id(p_topic), p_topic, p_since)
      into first_id;
  end if;
  -- What the live cursor has still to come to comes with the backfill: neither the position nor the limit may cut it off.
  if tidemark.backlog(s, 1) > 0 then
    needed := tidemark.lowest_needed(s) - 1;
    p_limit := greatest(p_limit, tidemark.last_id(p_topic) - needed);
    if needed < first_id then
      p_since := null;
      p_xid := null;
      p_id := null;
      first_id := needed;
    end if;
  end if;
  perform tidemark.begin_backfill(s.id, '1:1:', case when p_xid is null then '1:1:' else pg_current_snapshot() end,
    coalesce(p_xid, '0'::xid8), coalesce(p_id - 1, 0), p_since, case when p_xid is null then first_id else 0 end, p_scope, p_limit,
    p_settings, p_scope = 'retained');
  return null;
end
$$;

-- What the group was moved past, up to p_last, is no longer required of it: otherwise it would be kept until the forced cap.
create function tidemark.unrequire(s tidemark.subscription, p_last bigint) returns void
language plpgsql volatile as $$
declare
  group_bit bigint := 1::bigint << s.bit;
begin
  if s.bit is not null then
    execute format('update tidemark.track_%s set required = required & ~%L::bigint where id <= %s and required & ~completed & %L::bigint <> 0',
      s.topic_id, group_bit, p_last, group_bit);
  end if;
end
$$;
