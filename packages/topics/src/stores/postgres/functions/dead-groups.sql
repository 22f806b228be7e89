-- Dead groups and their resurrection. Subscriptions are locked in id order, and leases only under their subscription's
-- lock, in token order. Settlements lock leases in the same order and never wait for a subscription.

-- The only place that counts lost messages.
create function tidemark_fn.add_loss(p_id int, p_count bigint) returns void
language sql volatile as $$
  update tidemark.subscription as x
  set lost = x.lost + p_count, lost_at = clock_timestamp()
  where x.id = p_id and p_count > 0
$$;

-- DEAD → ACTIVE; no effect if the group is not DEAD. The group continues where it stopped, within its limit (the given
-- one, or its own); with `skip` it continues at the present. Messages skipped this way, or cleaned up in the meantime,
-- are counted as lost to the group. `full_up`: the bitmaps have no free bit for it, and nothing is changed.
create function tidemark_fn.resurrect(
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
  -- A group whose bit was taken away while it was dead gets another.
  if by_reference and s.bit is null then
    perform from tidemark.topic as x where x.id = s.topic_id for no key update;
    s.bit := tidemark_fn.free_bit(s.topic_id);
    full_up := s.bit is null;
    if full_up then
      return;
    end if;
    update tidemark.subscription as x set bit = s.bit where x.id = p_id;
  end if;
  skipped := 0;
  lost := s.lost_dead;
  backfill := false;
  -- Runs before the group is live, because losses are counted differently while its bits are cleared.
  if p_mode = 'skip' then
    skipped := tidemark_fn.force_advance(p_id);
  end if;
  update tidemark.subscription as x
  set status = 'ACTIVE', status_at = now, epoch = x.epoch + 1, misses = 0, missed_at = null, last_heartbeat_at = now,
    ended_xid = null, live_xid = null, lost_dead = 0
  where x.id = p_id
  returning x.* into s;
  epoch := s.epoch;
  perform tidemark_fn.add_loss(p_id, lost);
  if p_mode = 'skip' then
    return;
  end if;
  bound := coalesce(p_limit, s.backfill_limit);
  if by_reference then
    -- With reference tracking a backfill delivers what the group missed; what the limit leaves out is no longer
    -- required of it.
    skipped := tidemark_fn.begin_backfill(s.id, s.window_from, s.window_to, s.at_id, s.since,
      tidemark_fn.watermark(s), 'retained', bound, p_settings, false);
    select b.status = 'RUNNING' into backfill from tidemark.backfill as b where b.subscription_id = s.id;
    if skipped > 0 then
      perform tidemark_fn.unrequire(s, (select b.lower_id from tidemark.backfill as b where b.subscription_id = s.id));
    end if;
  elsif bound is not null then
    skipped := tidemark_fn.keep_newest(s, bound);
  end if;
  perform tidemark_fn.add_loss(p_id, skipped);
end
$$;

-- Counts a miss for each full timeout of silence. A locked group is at work, or is being counted by another process.
create function tidemark_fn.detect_dead()
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
      perform tidemark_fn.bury_group(s.id);
    end if;
    return next;
  end loop;
end
$$;

-- Its leases expire with it, including those without a deadline; the next consumer takes them over like any expired
-- lease.
create function tidemark_fn.bury_group(p_id int) returns void
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

-- Pub-sub topics that keep messages and have no live group. The counts are of ids, not rows.
create function tidemark_fn.unsubscribed_topics()
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
    select * into oldest
    from tidemark_fn.records_of(format('select id, created_at from tidemark.log_%s order by id limit 1', t.id))
      as m (id bigint, created_at timestamptz);
    continue when oldest.id is null;
    topic := t.name;
    messages := greatest(1, tidemark_fn.last_id(t.id) - oldest.id + 1);
    oldest_at := oldest.created_at;
    return next;
  end loop;
end
$$;
