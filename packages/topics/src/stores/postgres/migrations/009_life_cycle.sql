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
    minute = this_minute
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
    execute format('select xid, id from (%s) as w offset %s limit 1', tidemark.window_query('xid, id', s, everything), rest - 1)
      into s.at_xid, s.at_id;
  end if;
end
$$;

-- DEAD → ACTIVE; nothing where it is not DEAD. The group goes on where it stopped, but for what is beyond its limit (the
-- given, else its own), or, to `skip`, at the present: what that passes over is lost to the group, and counted so.
create function tidemark.resurrect(
  p_id int, p_mode text, p_limit bigint, p_settings jsonb, out epoch int, out skipped bigint, out backfill boolean
)
language plpgsql volatile as $$
declare
  s tidemark.subscription;
  place record;
  bound bigint;
  now timestamptz := clock_timestamp();
begin
  update tidemark.subscription as x
  set status = 'ACTIVE', status_at = now, epoch = x.epoch + 1, misses = 0, missed_at = null, last_heartbeat_at = now, ended_xid = null
  where x.id = p_id and x.status = 'DEAD'
  returning x.* into s;
  if not found then
    return;
  end if;
  epoch := s.epoch;
  skipped := 0;
  backfill := false;
  if p_mode = 'skip' then
    skipped := tidemark.force_advance(p_id);
    return;
  end if;
  bound := coalesce(p_limit, s.backfill_limit);
  if s.bit is not null then
    -- By reference, what it missed is brought by a backfill; what the limit leaves out is no longer required of it.
    skipped := tidemark.begin_backfill(s.id, s.window_from, s.window_to, s.at_xid, s.at_id, s.since,
      tidemark.lowest_needed(s) - 1, 'retained', coalesce(bound, 1000000), p_settings, false);
    select b.status = 'RUNNING' into backfill from tidemark.backfill as b where b.subscription_id = s.id;
    if skipped > 0 then
      perform tidemark.unrequire(s, (select b.lower_id from tidemark.backfill as b where b.subscription_id = s.id));
    end if;
  elsif bound is not null then
    select * into place from tidemark.pass_over(s, bound);
    skipped := place.passed;
    update tidemark.subscription as x
    set window_from = (place.s).window_from, window_to = (place.s).window_to, straggler_id = (place.s).straggler_id,
      from_id = (place.s).from_id, to_id = (place.s).to_id, next_id = (place.s).next_id, at_xid = (place.s).at_xid,
      at_id = (place.s).at_id, moved_at = case when skipped > 0 then now else x.moved_at end
    where x.id = p_id;
  end if;
  if skipped > 0 then
    update tidemark.subscription as x set lost = x.lost + skipped, lost_at = now where x.id = p_id;
  end if;
end
$$;

-- One statement for all groups of a process.
create function tidemark.heartbeat(p_ids int[], p_processed bigint[], p_failed bigint[], p_filtered bigint[], p_settings jsonb)
returns table (id int, status text, epoch int, skipped bigint, backfill boolean)
language plpgsql volatile as $$
declare
  beat record;
begin
  -- A heartbeat that is lost in a crash is followed by the next; waiting for the disk would hold up the groups' claims.
  perform set_config('synchronous_commit', 'off', true);
  for beat in
    select b.id, b.processed, b.failed, b.filtered
    from unnest(p_ids, p_processed, p_failed, p_filtered) as b (id, processed, failed, filtered)
    order by b.id
  loop
    id := beat.id;
    epoch := null;
    skipped := null;
    backfill := null;
    select s.status into status from tidemark.subscription as s where s.id = beat.id for no key update;
    status := coalesce(status, 'GONE');
    if status = 'DEAD' then
      select r.epoch, r.skipped, r.backfill into epoch, skipped, backfill from tidemark.resurrect(beat.id, 'continue', null, p_settings) as r;
      status := 'ACTIVE';
    end if;
    if status in ('ACTIVE', 'PAUSED') then
      perform tidemark.record_beat(beat.id, beat.processed, beat.failed, beat.filtered);
    end if;
    return next;
  end loop;
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
    execute format('select id, created_at from tidemark.log_%s order by xid, id limit 1', t.id) into oldest;
    continue when oldest.id is null;
    topic := t.name;
    messages := greatest(1, tidemark.last_id(t.id) - oldest.id + 1);
    oldest_at := oldest.created_at;
    return next;
  end loop;
end
$$;

-- Gives the status that forbids it; null where it is gone now.
create function tidemark.remove_subscription(p_id int) returns text
language plpgsql volatile as $$
declare
  s tidemark.subscription;
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
  perform from tidemark.lease as l where l.subscription_id = p_id order by l.token for update;
  delete from tidemark.lease as l where l.subscription_id = p_id;
  delete from tidemark.retry as r where r.subscription_id = p_id;
  delete from tidemark.subscription as x where x.id = p_id;
  return null;
end
$$;
