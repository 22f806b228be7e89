-- Heartbeats, dead groups and their resurrection. Subscriptions are locked in the order of their ids, and leases only
-- under their subscription's lock, in the order of their tokens: settlements lock leases in that order too, and never wait
-- for a subscription.

-- A heartbeat forgives the misses only when the last is older than one timeout: a group that beats once, falls silent and
-- beats once more has not recovered. The counts of the present minute and of the one before make the rate.
create function tidemark.record_beat(p_id int, p_processed bigint, p_failed bigint, p_filtered bigint) returns void
language plpgsql volatile as $$
declare
  now timestamptz := clock_timestamp();
  this_minute bigint := floor(extract(epoch from now) / 60);
begin
  update tidemark.subscription as s
  set last_heartbeat_at = now,
    misses = case
      when s.missed_at is null or s.missed_at < now - s.heartbeat_timeout_ms * interval '1 millisecond' then 0
      else s.misses
    end,
    processed = s.processed + p_processed,
    failed = s.failed + p_failed,
    filtered = s.filtered + p_filtered,
    previous_count = case s.minute when this_minute then s.previous_count when this_minute - 1 then s.minute_count else 0 end,
    minute_count = case s.minute when this_minute then s.minute_count + p_processed else p_processed end,
    minute = this_minute,
    live_xid = coalesce(s.live_xid, pg_current_xact_id())
  where s.id = p_id;
end
$$;

-- The group's cursor at the present, or as far on as leaves the newest `keep` messages. Returns it, and what it passes over.
create function tidemark.pass_over(inout s tidemark.subscription, p_keep bigint, out passed bigint)
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  everything constant int := 2147483647;
  until pg_snapshot;
  ahead tidemark.subscription;
  here bigint;
  there bigint;
  rest bigint;
begin
  until := tidemark.take_snapshot(pg_current_xact_id());
  -- This transaction has its id since it locked the subscription, so only an older bound of the ids to come is sure.
  ahead := tidemark.next_window(s, until, s.next_id, tidemark.last_id(s.topic_id));
  execute format('select count(*) from (%s) as w', tidemark.window_query('xid, id', s, everything)) into here;
  execute format('select count(*) from (%s) as w', tidemark.window_query('xid, id', ahead, everything)) into there;
  passed := greatest(0, here + there - p_keep);
  if passed = 0 then
    return;
  end if;
  rest := passed;
  if rest >= here then
    s := ahead;
    rest := rest - here;
  end if;
  if rest > 0 then
    execute format('select id from (%s) as w offset %s limit 1', tidemark.window_query('xid, id', s, everything), rest - 1)
      into s.at_id;
  end if;
end
$$;

-- Places the group's cursor so that no more than the newest p_keep messages wait for it. Returns how many it passes over.
create function tidemark.keep_newest(s tidemark.subscription, p_keep bigint) returns bigint
language plpgsql volatile as $$
declare
  place record;
begin
  select * into place from tidemark.pass_over(s, p_keep);
  if place.passed > 0 then
    update tidemark.subscription as x
    set window_from = (place.s).window_from, window_to = (place.s).window_to, late_ids = (place.s).late_ids,
      open_ids = (place.s).open_ids, from_id = (place.s).from_id, next_id = (place.s).next_id, seen_id = (place.s).seen_id,
      to_id = (place.s).to_id, at_id = (place.s).at_id, moved_at = clock_timestamp()
    where x.id = s.id;
  end if;
  return place.passed;
end
$$;

-- The one place where a loss is counted.
create function tidemark.add_loss(p_id int, p_count bigint) returns void
language sql volatile as $$
  update tidemark.subscription as x
  set lost = x.lost + p_count, lost_at = clock_timestamp()
  where x.id = p_id and p_count > 0
$$;

-- DEAD → ACTIVE; nothing where it is not DEAD. The group goes on where it stopped, but for what is beyond its limit (the
-- given, else its own), or, to `skip`, at the present: what that passes over is lost to the group, and counted so, as is what
-- was cleaned up meanwhile. `full_up`: the bitmaps have no place for it, and nothing is changed.
create function tidemark.resurrect(
  p_id int, p_mode text, p_limit bigint, p_settings jsonb,
  out epoch int, out skipped bigint, out lost bigint, out backfill boolean, out full_up boolean
)
language plpgsql volatile as $$
declare
  s tidemark.subscription;
  by_reference boolean;
  bound bigint;
  now timestamptz := clock_timestamp();
begin
  full_up := false;
  select * into s from tidemark.subscription as x where x.id = p_id and x.status = 'DEAD' for no key update;
  if not found then
    return;
  end if;
  select t.config ->> 'tracking' = 'reference' into by_reference from tidemark.topic as t where t.id = s.topic_id;
  -- One whose bit was taken away while it was dead gets another.
  if by_reference and s.bit is null then
    perform from tidemark.topic as x where x.id = s.topic_id for no key update;
    s.bit := tidemark.free_bit(s.topic_id);
    full_up := s.bit is null;
    if full_up then
      return;
    end if;
    update tidemark.subscription as x set bit = s.bit where x.id = p_id;
  end if;
  skipped := 0;
  lost := s.lost_dead;
  backfill := false;
  -- Before it is live: what its cleared bits no longer say is counted otherwise.
  if p_mode = 'skip' then
    skipped := tidemark.force_advance(p_id);
  end if;
  update tidemark.subscription as x
  set status = 'ACTIVE', status_at = now, epoch = x.epoch + 1, misses = 0, missed_at = null, last_heartbeat_at = now,
    ended_xid = null, live_xid = null, lost_dead = 0
  where x.id = p_id
  returning x.* into s;
  epoch := s.epoch;
  perform tidemark.add_loss(p_id, lost);
  if p_mode = 'skip' then
    return;
  end if;
  bound := coalesce(p_limit, s.backfill_limit);
  if by_reference then
    -- By reference, what it missed is brought by a backfill; what the limit leaves out is no longer required of it.
    skipped := tidemark.begin_backfill(s.id, s.window_from, s.window_to, s.at_id, s.since,
      tidemark.watermark(s), 'retained', bound, p_settings, false);
    select b.status = 'RUNNING' into backfill from tidemark.backfill as b where b.subscription_id = s.id;
    if skipped > 0 then
      perform tidemark.unrequire(s, (select b.lower_id from tidemark.backfill as b where b.subscription_id = s.id));
    end if;
  elsif bound is not null then
    skipped := tidemark.keep_newest(s, bound);
  end if;
  perform tidemark.add_loss(p_id, skipped);
end
$$;

-- What this instance's consumers have done. Of its own rows, those that are not reported any more go; of others', those that
-- were not heard of for a timeout. The caller holds the subscriptions.
create function tidemark.report_consumers(p_ids int[], p_instance text, p_reports jsonb) returns void
language plpgsql volatile as $$
declare
  now timestamptz := clock_timestamp();
begin
  delete from tidemark.consumer as c
  using tidemark.subscription as s
  where c.subscription_id = any(p_ids) and s.id = c.subscription_id and (
    c.instance = p_instance and not exists (
      select from jsonb_to_recordset(p_reports) as r (id int, consumer text)
      where r.id = c.subscription_id and r.consumer = c.consumer
    )
    or c.reported_at < now - s.heartbeat_timeout_ms * interval '1 millisecond'
  );
  insert into tidemark.consumer (subscription_id, instance, consumer, started_at, reported_at, active_at, processed, failed,
    claims, claim_conflicts, handler)
  select r.id, p_instance, r.consumer, now - r.age_ms * interval '1 millisecond', now, now - r.idle_ms * interval '1 millisecond',
    r.processed, r.failed, r.claims, r.conflicts, r.handler
  from jsonb_to_recordset(p_reports) as r (
    id int, consumer text, age_ms float8, idle_ms float8, processed bigint, failed bigint, claims bigint, conflicts bigint, handler jsonb
  )
  join tidemark.subscription as s on s.id = r.id
  where r.id = any(p_ids)
  on conflict (subscription_id, instance, consumer) do update
  set reported_at = excluded.reported_at, active_at = excluded.active_at, processed = excluded.processed, failed = excluded.failed,
    claims = excluded.claims, claim_conflicts = excluded.claim_conflicts, handler = excluded.handler;
end
$$;

-- One statement for all groups of a process.
create function tidemark.heartbeat(
  p_ids int[], p_uids bigint[], p_processed bigint[], p_failed bigint[], p_filtered bigint[], p_settings jsonb, p_instance text,
  p_reports jsonb
)
returns table (id int, status text, epoch int, skipped bigint, lost bigint, backfill boolean)
language plpgsql volatile as $$
declare
  beat record;
  there int[] := '{}';
begin
  -- A heartbeat that is lost in a crash is followed by the next; waiting for the disk would hold up the groups' claims.
  perform set_config('synchronous_commit', 'off', true);
  for beat in
    select b.id, b.uid, b.processed, b.failed, b.filtered
    from unnest(p_ids, p_uids, p_processed, p_failed, p_filtered) as b (id, uid, processed, failed, filtered)
    order by b.id
  loop
    id := beat.id;
    epoch := null;
    skipped := null;
    lost := null;
    backfill := null;
    select s.status into status from tidemark.subscription as s
    where s.id = beat.id and s.uid = beat.uid for no key update;
    if status is null then
      status := 'GONE';
    else
      there := there || beat.id;
    end if;
    if status = 'DEAD' then
      select r.epoch, r.skipped, r.lost, r.backfill into epoch, skipped, lost, backfill
      from tidemark.resurrect(beat.id, 'continue', null, p_settings) as r;
      -- without an epoch it could not be, and is alive all the same
      status := case when epoch is null then 'DEAD' else 'ACTIVE' end;
    end if;
    if status in ('ACTIVE', 'PAUSED', 'DEAD') then
      perform tidemark.record_beat(beat.id, beat.processed, beat.failed, beat.filtered);
    end if;
    return next;
  end loop;
  perform tidemark.report_consumers(there, p_instance, p_reports);
end
$$;

-- Counts a miss for each whole timeout of silence. One that is locked is at work, or being counted by another process.
create function tidemark.detect_dead()
returns table (id int, misses int, dead boolean, silent_ms float8)
language plpgsql volatile as $$
declare
  s tidemark.subscription;
  now timestamptz := clock_timestamp();
begin
  for s in
    select x.* from tidemark.subscription as x
    join tidemark.topic as t on t.id = x.topic_id
    where x.status = 'ACTIVE' and t.semantics = 'pub-sub'
      and x.last_heartbeat_at < now - x.heartbeat_timeout_ms * interval '1 millisecond'
      and (x.missed_at is null or x.missed_at < now - x.heartbeat_timeout_ms * interval '1 millisecond')
    order by x.id
    for no key update of x skip locked
  loop
    id := s.id;
    misses := s.misses + 1;
    dead := s.misses + 1 >= s.dead_after_misses;
    silent_ms := extract(epoch from now - s.last_heartbeat_at) * 1000;
    update tidemark.subscription as x set misses = s.misses + 1, missed_at = now where x.id = s.id;
    if dead then
      perform tidemark.bury_group(s.id);
    end if;
    return next;
  end loop;
end
$$;

-- Its leases run out with it, those without a term too: whoever comes after takes them over as any expired one.
create function tidemark.bury_group(p_id int) returns void
language plpgsql volatile as $$
declare
  now timestamptz := clock_timestamp();
begin
  update tidemark.subscription as s
  set status = 'DEAD', status_at = now, ended_xid = pg_current_xact_id()
  where s.id = p_id;
  perform from tidemark.lease as l
  where l.subscription_id = p_id and l.done_at is null and l.expired_at is null
  order by l.token
  for update;
  update tidemark.lease as l
  set deadline = now
  where l.subscription_id = p_id and l.done_at is null and l.expired_at is null and (l.deadline is null or l.deadline > now);
end
$$;

-- Pub-sub topics that keep messages and have no live group. Ids, not rows, are counted.
create function tidemark.unsubscribed_topics()
returns table (topic text, messages bigint, oldest_at timestamptz)
language plpgsql volatile as $$
declare
  t tidemark.topic;
  oldest record;
begin
  for t in
    select x.* from tidemark.topic as x
    where x.semantics = 'pub-sub' and not exists (
      select from tidemark.subscription as s where s.topic_id = x.id and s.status in ('ACTIVE', 'PAUSED')
    )
    order by x.name
  loop
    execute format('select id, created_at from tidemark.log_%s order by id limit 1', t.id) into oldest;
    continue when oldest.id is null;
    topic := t.name;
    messages := greatest(1, tidemark.last_id(t.id) - oldest.id + 1);
    oldest_at := oldest.created_at;
    return next;
  end loop;
end
$$;

-- Of a topic that was never published to.
create function tidemark.remove_groups(p_topic int) returns void
language plpgsql volatile as $$
begin
  perform from tidemark.subscription as s where s.topic_id = p_topic order by s.id for update;
  delete from tidemark.lease as l using tidemark.subscription as s where s.id = l.subscription_id and s.topic_id = p_topic;
  delete from tidemark.retry as r using tidemark.subscription as s where s.id = r.subscription_id and s.topic_id = p_topic;
  delete from tidemark.subscription as s where s.topic_id = p_topic;
end
$$;

-- Gives the status that forbids it; null where it is gone now.
create function tidemark.remove_subscription(p_id int) returns text
language plpgsql volatile as $$
declare
  s tidemark.subscription;
  tokens uuid[];
begin
  select * into s from tidemark.subscription as x where x.id = p_id for update;
  if not found then
    return null;
  end if;
  if s.status not in ('DEAD', 'CANCELLED') then
    return s.status;
  end if;
  -- Its bit is not given out again before it is wiped from every row that is kept.
  if s.bit is not null then
    insert into tidemark.bit_wipe (topic_id, bit, next_id, last_id, ended_xid)
    values (s.topic_id, s.bit, 0, tidemark.last_id(s.topic_id), coalesce(s.ended_xid, pg_current_xact_id()))
    on conflict do nothing;
  end if;
  -- In the order of settlements; one under way is waited for.
  -- Live and ended ones have an index each; locked together, in the order that settlements lock them in.
  tokens := array(
    select l.token from tidemark.lease as l where l.subscription_id = p_id and l.done_at is null and l.expired_at is null
    union all
    select l.token from tidemark.lease as l
    where l.subscription_id = p_id and (l.done_at is not null or l.expired_at is not null)
  );
  perform from tidemark.lease as l where l.token = any(tokens) order by l.token for update;
  delete from tidemark.lease as l where l.token = any(tokens);
  delete from tidemark.retry as r where r.subscription_id = p_id;
  delete from tidemark.subscription as x where x.id = p_id;
  return null;
end
$$;
