-- Creates and removes subscriptions, and places their cursors.

-- The group's subscription, created at a start position if it is new. Two processes that subscribe at once both get it.
--   now        from = to = the present: what is in progress commits later and is delivered
--   beginning  from = a snapshot that sees nothing
--   since      from the beginning, without older messages; the first relevant id skips the old partitions
--   message    from the beginning, placed just before that message
-- In a topic with reference tracking the live stream begins now, and a backfill delivers the messages in between, limited
-- to the newest p_limit; `skipped` counts the others. `refusal` says why there is no subscription:
--   GONE  there is no such topic, or it was recreated
--   KIND  the topic is a queue and the group has a name, or the other way round
--   FULL  the bitmaps have no free bit for the group
create function tidemark_fn.subscribe(
  p_topic int, p_topic_uid bigint, p_group text, p_from text, p_since timestamptz, p_id bigint,
  p_interval_ms bigint, p_timeout_ms bigint, p_misses int, p_backfill_limit bigint, p_scope text, p_limit bigint, p_settings jsonb
) returns tidemark_fn.subscribed
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
declare
  r tidemark_fn.subscribed;
  floor bigint;
  by_reference boolean;
  group_bit int;
begin
  loop
    select s.id, s.uid, s.topic_id, s.group_name, s.status, s.epoch, s.heartbeat_interval_ms, s.heartbeat_timeout_ms,
      s.dead_after_misses, s.at_id, false, null, 0 into r
    from tidemark.subscription as s join tidemark.topic as t on t.id = s.topic_id and t.uid = p_topic_uid
    where s.topic_id = p_topic and s.group_name = p_group;
    if found then
      return r;
    end if;
    -- Keeps a partition from being dropped while the group starts on it: claims detect drops by the topic's gone_id.
    select tidemark_fn.last_id(t.id) into floor
    from pg_advisory_xact_lock_shared(hashtextextended('tidemark.log', p_topic)) cross join tidemark.topic as t
    where t.id = p_topic and t.uid = p_topic_uid;
    -- Serialises concurrent subscribes, and subscribes with tracking switches. A shared lock would not do even between
    -- subscribes: each would see the others in progress, and could not share the pages that it reads (see is_complete).
    select t.config ->> 'tracking' = 'reference', case when (t.semantics = 'queue') <> (p_group = '') then 'KIND' end
    into by_reference, r.refusal
    from tidemark.topic as t where t.id = p_topic and t.uid = p_topic_uid for no key update;
    if not found then
      r.refusal := 'GONE';
    elsif r.refusal is null and by_reference then
      group_bit := tidemark_fn.free_bit(p_topic);
      r.refusal := case when group_bit is null then 'FULL' end;
    end if;
    if r.refusal is not null then
      return r;
    end if;
    insert into tidemark.subscription as s (topic_id, group_name, bit, window_from, window_to, late_ids, open_ids, from_id, next_id,
      seen_id, to_id, at_id, since, start_from, start_to, start_id, heartbeat_interval_ms, heartbeat_timeout_ms, dead_after_misses,
      backfill_limit)
    select p_topic, p_group, group_bit, p.window_from, p.window_to, p.late_ids, p.open_ids, p.from_id, floor, p.seen_id, p.to_id,
      p.at_id, p_since, p.window_from, p.window_to, p.at_id, p_interval_ms, p_timeout_ms, p_misses, p_backfill_limit
    from tidemark_fn.start_place(p_topic, p_from, p_since, p_id, floor) as p
    on conflict (topic_id, group_name) do nothing
    returning s.id, s.uid, s.topic_id, s.group_name, s.status, s.epoch, s.heartbeat_interval_ms, s.heartbeat_timeout_ms,
      s.dead_after_misses, s.at_id, true, null, 0 into r;
    -- Otherwise another process has just created it, and the next iteration finds it.
    exit when found;
  end loop;
  if by_reference and p_from <> 'now' or p_limit is not null then
    r.skipped := tidemark_fn.start_limited(r.id, by_reference and p_from <> 'now', p_id is null, p_scope, p_limit, p_settings);
  end if;
  return r;
end
$$;

-- Gives a new group the stored messages that it asked for: through a backfill in a topic with reference tracking, otherwise
-- the newest p_limit. Older ones were never meant for it. Returns how many it does not get.
create function tidemark_fn.start_limited(
  p_id int, by_backfill boolean, from_start boolean, p_scope text, p_limit bigint, p_settings jsonb
) returns bigint
language plpgsql volatile as $$
declare
  s tidemark.subscription;
  skipped bigint;
begin
  select * into s from tidemark.subscription as x where x.id = p_id;
  if by_backfill then
    return tidemark_fn.begin_backfill(s.id, s.window_from, case when from_start then s.window_from else s.window_to end, s.at_id,
      s.since, s.from_id, p_scope, p_limit, p_settings, false);
  end if;
  skipped := tidemark_fn.keep_newest(s, p_limit);
  update tidemark.subscription as x
  set start_from = x.window_from, start_to = x.window_to, start_id = x.at_id
  where x.id = s.id;
  return skipped;
end
$$;

-- The start of a cursor as columns of a subscription: see subscribe. `floor` is v of cursor.sql, and the start's next_id. Declared
-- stable although it is not, because otherwise PostgreSQL does not inline it. The snapshot is that of the calling statement;
-- the transaction must have its id by then.
create function tidemark_fn.start_place(p_topic int, p_from text, p_since timestamptz, p_id bigint, floor bigint)
returns table (
  window_from pg_snapshot, window_to pg_snapshot, late_ids bigint[], open_ids bigint[], from_id bigint, seen_id bigint,
  to_id bigint, at_id bigint
)
language sql stable as $$
  select case when p_from = 'now' then n.until else '1:1:' end, n.until, case when p_from = 'now' then n.bounds else '{}' end, n.bounds,
    case when p_from = 'now' then floor when p_since is null then 0 else tidemark_fn.id_before(p_topic, p_since, n.last_id) end,
    case when p_from = 'now' then n.last_id else 0 end, n.last_id, coalesce(p_id - 1, 0)
  from (
    select t.until, tidemark_fn.last_id(p_topic) as last_id,
      case when tidemark_fn.lists_any(t.until) then tidemark_fn.id_bounds(p_topic, t.until) else '{}' end as bounds
    from (select tidemark_fn.take_snapshot(pg_current_xact_id()) as until offset 0) as t
    offset 0
  ) as n
$$;

-- Moves the group's cursor to the present, or so far that the newest `keep` messages remain. Returns it, and what it
-- passes over.
create function tidemark_fn.pass_over(inout s tidemark.subscription, p_keep bigint, out passed bigint)
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
  until := tidemark_fn.take_snapshot(pg_current_xact_id());
  -- This transaction has had an id since it locked the subscription, so only an older bound of the ids to come is safe.
  ahead := tidemark_fn.next_window(s, until, s.next_id, tidemark_fn.last_id(s.topic_id));
  here := tidemark_fn.count_of(tidemark_fn.window_query('xid, id', s, everything));
  there := tidemark_fn.count_of(tidemark_fn.window_query('xid, id', ahead, everything));
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
    s.at_id := tidemark_fn.number_of(
      format('select id from (%s) as w offset %s limit 1', tidemark_fn.window_query('xid, id', s, everything), rest - 1));
  end if;
end
$$;

-- Moves the group's cursor so that at most the newest p_keep messages are waiting. Returns how many it passes over.
create function tidemark_fn.keep_newest(s tidemark.subscription, p_keep bigint) returns bigint
language plpgsql volatile as $$
declare
  place record;
begin
  select * into place from tidemark_fn.pass_over(s, p_keep);
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

-- For a topic that was never published to.
create function tidemark_fn.remove_groups(p_topic int) returns void
language plpgsql volatile as $$
begin
  perform from tidemark.subscription as s where s.topic_id = p_topic order by s.id for update;
  delete from tidemark.lease as l using tidemark.subscription as s where s.id = l.subscription_id and s.topic_id = p_topic;
  delete from tidemark.retry as r using tidemark.subscription as s where s.id = r.subscription_id and s.topic_id = p_topic;
  delete from tidemark.subscription as s where s.topic_id = p_topic;
end
$$;

-- Returns the status that forbids removal, or null if the subscription is gone now.
create function tidemark_fn.remove_subscription(p_id int) returns text
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
  -- Its bit is not reassigned before it is cleared from every retained row.
  if s.bit is not null then
    insert into tidemark.bit_wipe (topic_id, bit, next_id, last_id, ended_xid)
    values (s.topic_id, s.bit, 0, tidemark_fn.last_id(s.topic_id), coalesce(s.ended_xid, pg_current_xact_id()))
    on conflict do nothing;
  end if;
  -- Waits for a settlement in progress. Live and ended leases have separate indexes; they are locked together, in the
  -- order in which settlements lock them.
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
