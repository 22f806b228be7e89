-- Messages are deleted a partition at a time, lowest first:
--
--   full ──every older transaction has ended──▶ sealed ──nobody needs it──▶ dropping ──detached, dropped──▶ gone
--
-- note_full, seal_next and begin_drop do one stage each; partition-drops.ts does the last, which no function can do. A run
-- that is killed leaves its stage in tidemark.partition, where the next run continues.

-- Records partitions that ids have moved past. Call it in a transaction that has no id yet: every transaction that drew
-- a message id before last_id was read then has a lower transaction id than the one taken here (see cursor.sql).
create function tidemark_fn.note_full(p_topic int) returns void
language plpgsql volatile as $$
declare
  last bigint := tidemark_fn.last_id(p_topic);
  size bigint := tidemark_fn.partition_rows(p_topic);
begin
  insert into tidemark.partition (topic_id, number, seal_xid)
  select p_topic, p.number, pg_current_xact_id()
  from tidemark_fn.log_partitions(p_topic) as p
  where (p.number + 1) * size - 1 <= last
    and not exists (select from tidemark.partition as x where x.topic_id = p_topic and x.number = p.number)
  on conflict do nothing;
end
$$;

-- Seals the lowest full partition once nothing more can be written to it, and records its contents. This is the only
-- time it is read as a whole. False if there is none to seal, or an older transaction is still open.
create function tidemark_fn.seal_next(p_topic int) returns boolean
language plpgsql volatile as $$
declare
  p tidemark.partition;
  name text;
begin
  select * into p from tidemark.partition as x
  where x.topic_id = p_topic and x.sealed_at is null
  order by x.number limit 1;
  if not found or not pg_snapshot_xmin(pg_current_snapshot()) > p.seal_xid then
    return false;
  end if;
  name := format('tidemark.log_%s_p%s', p_topic, p.number);
  select r.rows, r.newest into p.rows, p.newest
  from tidemark_fn.records_of(format('select count(*), max(created_at) from %s', name)) as r (rows bigint, newest timestamptz);
  update tidemark.partition as x
  set sealed_at = clock_timestamp(), rows = p.rows, newest = p.newest
  where x.topic_id = p_topic and x.number = p.number and x.sealed_at is null;
  return found;
end
$$;

-- Without rotation a topic with few messages would keep them until a million ids are used up. Once the oldest message
-- of the current partition has reached a quarter of its retention, the remaining ids are drawn and discarded, a chunk
-- at a time (a million take 0.2 s). They are drawn with nextval, not skipped with setval, because setval could move the
-- sequence back under a concurrent publish.
create function tidemark_fn.rotate(p_topic int) returns boolean
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  size bigint := tidemark_fn.partition_rows(p_topic);
  last bigint := tidemark_fn.last_id(p_topic);
  first bigint := last / size * size;
  keep_ms float8;
  oldest timestamptz;
  skipped bigint;
begin
  -- Messages kept for ever are never deleted, except perhaps while nobody is subscribed.
  select coalesce(t.config ->> 'retentionMs', case when not exists (
    select from tidemark.subscription as s where s.topic_id = t.id and s.status in ('ACTIVE', 'PAUSED')
  ) then t.config ->> 'zeroSubscriptionRetentionMs' end)::float8 into keep_ms
  from tidemark.topic as t where t.id = p_topic;
  if keep_ms is null or last = 0 or last = first + size - 1 then
    return false;
  end if;
  oldest := tidemark_fn.time_of(format('select created_at from tidemark.log_%s where id >= %s and id < %s order by id limit 1',
    p_topic, first, first + size));
  -- There is no hurry, however short the retention.
  if oldest is null or oldest > clock_timestamp() - greatest(keep_ms / 4, 60000) * interval '1 millisecond' then
    return false;
  end if;
  -- Takes the log's lock, so a concurrent rotation finds it done.
  perform tidemark_fn.add_partitions(p_topic, size, first + size);
  skipped := least(first + size - 1 - tidemark_fn.last_id(p_topic), 1000000);
  if skipped <= 0 then
    return true;
  end if;
  perform tidemark_fn.run(format('select count(nextval(''tidemark.log_%s_id'')) from generate_series(1, %s)', p_topic, skipped));
  update tidemark.topic as t set skipped_ids = t.skipped_ids + skipped where t.id = p_topic;
  return true;
end
$$;

-- A group that has read everything stays at its last message until the next one arrives, which would keep that message.
-- Moving its used-up window on, as an empty claim may do, releases it. The group itself has not moved, so moved_at
-- stays.
create function tidemark_fn.move_idle_windows(p_topic int) returns void
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  -- Read before this transaction has an id: see cursor.sql.
  floor bigint := tidemark_fn.last_id(p_topic);
  s tidemark.subscription;
  high bigint;
  is_there boolean;
begin
  select (p.number + 1) * tidemark_fn.partition_rows(p_topic) - 1 into high from tidemark.partition as p
  where p.topic_id = p_topic and p.sealed_at is not null and p.dropping_since is null
  order by p.number limit 1;
  for s in
    select * from tidemark.subscription as x
    where x.topic_id = p_topic and x.status in ('ACTIVE', 'PAUSED') and tidemark_fn.cursor_id(x) < high
    order by x.id
    -- A group that is being claimed for is not idle.
    for no key update skip locked
  loop
    -- The first step moves the window to the present, the second past transactions that were in progress at its old
    -- end.
    for step in 1..2 loop
      is_there := tidemark_fn.has_rows(tidemark_fn.window_query('xid, id', s, 1));
      exit when is_there;
      s := tidemark_fn.next_window(s, tidemark_fn.take_snapshot(pg_current_xact_id()), floor, tidemark_fn.last_id(p_topic));
    end loop;
    update tidemark.subscription as x
    set window_from = s.window_from, window_to = s.window_to, late_ids = s.late_ids, open_ids = s.open_ids,
      from_id = s.from_id, next_id = s.next_id, seen_id = s.seen_id, to_id = s.to_id, at_id = s.at_id
    where x.id = s.id;
  end loop;
end
$$;

-- Whether the partition is past the forced retention cap. Nothing caps messages that are kept for ever.
create function tidemark_fn.is_capped(t tidemark.topic, p tidemark.partition) returns boolean
language sql volatile as $$
  select t.config ->> 'retentionMs' is not null and tidemark_fn.is_older(p.newest, (t.config ->> 'maxRetentionMs')::float8)
$$;

-- In a topic with bitmaps: whether a live group still has work in the partition, or messages that no group required are
-- still within the time they are kept for.
create function tidemark_fn.has_open_bits(p_topic int, p_number bigint, live_bits bigint, is_young boolean) returns boolean
language plpgsql stable as $$
declare
  track regclass := to_regclass(format('tidemark.track_%s_p%s', p_topic, p_number));
begin
  if track is null then
    return false;
  end if;
  return tidemark_fn.has_rows(format('select from %s where required & ~completed & %L::bigint <> 0%s', track, live_bits,
    case when is_young then ' or required = 0' else '' end));
end
$$;

-- Whether the partition is past its retention and below every live group's watermark.
create function tidemark_fn.is_done(t tidemark.topic, p tidemark.partition) returns boolean
language plpgsql volatile as $$
declare
  high_id bigint := (p.number + 1) * (t.config ->> 'partitionRows')::bigint - 1;
  retention_ms float8 := (t.config ->> 'retentionMs')::float8;
  unsubscribed_ms float8 := (t.config ->> 'zeroSubscriptionRetentionMs')::float8;
  keep_ms float8;
  live_groups int;
  live_bits bigint;
begin
  if p.rows = 0 then
    return true;
  end if;
  select count(*), coalesce(bit_or(1::bigint << s.bit), 0) into live_groups, live_bits
  from tidemark.subscription as s
  where s.topic_id = t.id and s.status in ('ACTIVE', 'PAUSED');
  keep_ms := case when live_groups = 0 then unsubscribed_ms else retention_ms end;
  -- A queue's messages wait for whichever group comes.
  if keep_ms is null or live_groups = 0 and t.semantics = 'queue' then
    return false;
  end if;
  return tidemark_fn.is_older(p.newest, keep_ms)
    and not exists (
      select from tidemark.subscription as s
      where s.topic_id = t.id and s.status in ('ACTIVE', 'PAUSED') and tidemark_fn.watermark(s) < high_id
    )
    and not exists (
      select from tidemark.backfill as b
      join tidemark.subscription as s on s.id = b.subscription_id
      where b.topic_id = t.id and s.status in ('ACTIVE', 'PAUSED') and b.cursor_id < least(b.upper_id, high_id)
        and (b.status = 'RUNNING' or b.cursor_id < b.checkpoint_id)
    )
    and not (t.config ->> 'tracking' = 'reference'
      and tidemark_fn.has_open_bits(t.id, p.number, live_bits, not tidemark_fn.is_older(p.newest, unsubscribed_ms)));
end
$$;

-- How many messages of this partition the cursor has not passed. The partition is read only if the cursor is inside it.
create function tidemark_fn.count_unclaimed(s tidemark.subscription, p tidemark.partition) returns bigint
language plpgsql volatile as $$
declare
  size bigint := tidemark_fn.partition_rows(s.topic_id);
begin
  if p.rows = 0 or tidemark_fn.cursor_id(s) >= (p.number + 1) * size - 1 then
    return 0;
  end if;
  if s.since is null and greatest(s.seen_id, s.at_id) < p.number * size then
    return p.rows;
  end if;
  return tidemark_fn.count_of(format(
    'select from tidemark.log_%s_p%s where not tidemark_fn.has_passed(%L, %L, %s, xid, id) and created_at >= %L',
    s.topic_id, p.number, s.window_from, s.window_to, s.at_id, coalesce(s.since, '-infinity')));
end
$$;

-- Counts what dead groups have not claimed of the next partition to drop. This happens outside the locks of begin_drop,
-- because it may read the whole partition for each group. A dead group's cursor does not move, and a count from another
-- epoch is not used.
create function tidemark_fn.note_unclaimed(p_topic int) returns void
language plpgsql volatile as $$
declare
  t tidemark.topic;
  p tidemark.partition;
  s tidemark.subscription;
begin
  select * into t from tidemark.topic as x where x.id = p_topic;
  select * into p from tidemark.partition as x where x.topic_id = p_topic order by x.number limit 1;
  if t.id is null or p.sealed_at is null or p.dropping_since is not null
    or not (tidemark_fn.is_capped(t, p) or tidemark_fn.is_done(t, p))
  then
    return;
  end if;
  for s in
    select * from tidemark.subscription as x
    where x.topic_id = p_topic and x.status = 'DEAD' and p.unclaimed -> x.id::text -> 0 is distinct from to_jsonb(x.epoch)
  loop
    p.unclaimed := p.unclaimed || jsonb_build_object(s.id::text, jsonb_build_array(s.epoch, tidemark_fn.count_unclaimed(s, p)));
  end loop;
  update tidemark.partition as x set unclaimed = p.unclaimed where x.topic_id = p_topic and x.number = p.number;
end
$$;

create function tidemark_fn.unclaimed(s tidemark.subscription, p tidemark.partition) returns bigint
language sql volatile as $$
  select case when p.unclaimed -> s.id::text -> 0 = to_jsonb(s.epoch) and s.status = 'DEAD'
    then (p.unclaimed -> s.id::text ->> 1)::bigint
    else tidemark_fn.count_unclaimed(s, p)
  end
$$;

-- Messages up to `high` are about to be dropped. Marks what the group's live leases hold of them as settled, so a later
-- settlement finds it done. A page lease finds its slots by reading its rows again, and these would shift; so what is
-- left of a page becomes retries under the same lease, which keep their slots. Returns how many had not been settled.
create function tidemark_fn.settle_gone(s tidemark.subscription, high bigint) returns bigint
language plpgsql volatile as $$
declare
  l tidemark.lease;
  ids bigint[];
  xids xid8[];
  bits varbit;
  gone_slot int;
  held bigint := 0;
  dropped bigint;
begin
  for l in
    select * from tidemark.lease as x
    where x.subscription_id = s.id and x.done_at is null and x.expired_at is null and (x.kind = 'page' and x.first_id <= high
      or x.kind = 'retry' and exists (select from tidemark.retry as r where r.token = x.token and r.id <= high))
    -- The order in which settlements lock them.
    order by x.token
    for update
  loop
    bits := coalesce(l.settled, repeat('0', l.size)::varbit);
    if l.kind = 'page' then
      select k.xids, k.ids into xids, ids from tidemark_fn.keys_of(tidemark_fn.lease_query('xid, id', s, l)) as k;
      for slot in 0..l.size - 1 loop
        continue when get_bit(bits, slot) = 1;
        if coalesce(ids[slot + 1], 0) <= high then
          bits := set_bit(bits, slot, 1);
          held := held + 1;
        else
          insert into tidemark.retry (subscription_id, id, xid, attempts, version, due_at, token, slot, suspect, history)
          values (s.id, ids[slot + 1], xids[slot + 1], 1, 1, clock_timestamp(), l.token, slot, false, '[]');
        end if;
      end loop;
    else
      for gone_slot in select r.slot from tidemark.retry as r where r.token = l.token and r.id <= high loop
        bits := set_bit(bits, gone_slot, 1);
      end loop;
    end if;
    update tidemark.lease as x
    set kind = 'retry', settled = bits, done_at = case when bit_count(bits) = x.size then clock_timestamp() end
    where x.token = l.token;
  end loop;

  delete from tidemark.retry as r where r.subscription_id = s.id and r.id <= high;
  get diagnostics dropped = row_count;
  return held + dropped;
end
$$;

-- Skips what a backfill has not delivered up to `high`. For a live group that is what was marked for it (what the
-- backfill has not reached was never promised); for a dead one, whose bits may be cleared, everything it has neither
-- completed nor holds. Runs before the leases are settled, because held messages do not belong to the backfill.
create function tidemark_fn.skip_backfill(s tidemark.subscription, high bigint) returns bigint
language plpgsql volatile as $$
declare
  b tidemark.backfill;
  upto bigint;
  skipped bigint := 0;
begin
  select * into b from tidemark.backfill as x
  where x.subscription_id = s.id and x.cursor_id < least(high, x.upper_id) and (x.status = 'RUNNING' or x.cursor_id < x.checkpoint_id)
  for update;
  if not found then
    return 0;
  end if;
  if s.status = 'DEAD' then
    upto := least(high, case when b.status = 'RUNNING' then b.upper_id else b.checkpoint_id end);
    skipped := tidemark_fn.count_of(tidemark_fn.undone_query(s, b, upto));
  elsif s.bit is not null and tidemark_fn.is_tracked(s.topic_id) then
    upto := least(high, b.checkpoint_id);
    skipped := tidemark_fn.count_of(format(
      'select from tidemark.track_%s where id > %s and id <= %s and required & ~completed & (1::bigint << %s) <> 0 '
      'and not id = any(%L::bigint[])',
      s.topic_id, b.cursor_id, upto, s.bit, tidemark_fn.held_ids(s, b.cursor_id + 1, upto)));
  end if;
  update tidemark.backfill as x
  set cursor_id = least(high, x.upper_id), checkpoint_id = greatest(x.checkpoint_id, least(high, x.upper_id))
  where x.subscription_id = s.id;
  return skipped;
end
$$;

-- Decides about the lowest partition under the log's lock and every group's lock. Once a drop commits, nothing in this
-- topic refers to the partition's messages, and no claim or subscription reaches them again. `lost`: [{ group, count
-- }].
create function tidemark_fn.begin_drop(p_topic int, out number bigint, out lost jsonb)
language plpgsql volatile as $$
declare
  t tidemark.topic;
  p tidemark.partition;
  s tidemark.subscription;
  high bigint;
  is_forced boolean;
  taken bigint;
begin
  lost := '[]';
  -- A decision lost in a crash is made again; the statements that follow flush it.
  perform set_config('synchronous_commit', 'off', true);
  perform pg_advisory_xact_lock(hashtextextended('tidemark.log', p_topic));
  select * into t from tidemark.topic as x where x.id = p_topic;
  select * into p from tidemark.partition as x where x.topic_id = p_topic order by x.number limit 1;
  if t.id is null or p.sealed_at is null or p.dropping_since is not null then
    return;
  end if;
  is_forced := tidemark_fn.is_capped(t, p);
  if not is_forced and not tidemark_fn.is_done(t, p) then
    return;
  end if;
  perform from tidemark.subscription as x where x.topic_id = p_topic order by x.id for no key update;
  if not is_forced and not tidemark_fn.is_done(t, p) then
    return;
  end if;

  number := p.number;
  high := (p.number + 1) * tidemark_fn.partition_rows(p_topic) - 1;
  for s in select * from tidemark.subscription as x where x.topic_id = p_topic order by x.group_name loop
    taken := tidemark_fn.skip_backfill(s, high);
    taken := taken + tidemark_fn.settle_gone(s, high);
    if s.status = 'DEAD' or is_forced and s.status <> 'CANCELLED' then
      taken := taken + tidemark_fn.unclaimed(s, p);
    end if;
    -- A dead group is told when it is resurrected.
    if s.status = 'DEAD' then
      update tidemark.subscription as x set lost_dead = x.lost_dead + taken where x.id = s.id;
    elsif taken > 0 and s.status <> 'CANCELLED' then
      perform tidemark_fn.add_loss(s.id, taken);
      lost := lost || jsonb_build_object('group', s.group_name, 'count', taken);
    end if;
  end loop;
  -- Raises the lower bounds of the ids to come, so that a cursor that has not reached the partition skips it.
  update tidemark.subscription as x
  set late_ids = (past.s).late_ids, open_ids = (past.s).open_ids, from_id = (past.s).from_id, next_id = (past.s).next_id
  from (select y.id, tidemark_fn.past_gone(y, high) as s from tidemark.subscription as y where y.topic_id = p_topic) as past
  where x.id = past.id;
  update tidemark.topic as x set gone_id = high where x.id = p_topic;
  update tidemark.partition as x set dropping_since = clock_timestamp() where x.topic_id = p_topic and x.number = p.number;
end
$$;
