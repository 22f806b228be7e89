-- Below the first id whose message was created at or after a time; `otherwise` where there is none. The fence keeps the
-- planner from walking the ids from the oldest on, where the BRIN finds the time.
create function tidemark.id_before(p_topic int, at timestamptz, otherwise bigint) returns bigint
language plpgsql volatile as $$
declare
  first bigint;
begin
  execute format('select min(id) from (select id from tidemark.log_%s where created_at >= %L offset 0) as m', p_topic, at)
    into first;
  return coalesce(first - 1, otherwise);
end
$$;

-- The group's subscription, made at a start position if it is new. Two processes that subscribe at once both get it.
--   now        from = to = the present: what is in progress commits after it, and is delivered
--   beginning  from = a snapshot that sees nothing
--   since      from the beginning, less the messages created before; the first id of interest spares the old partitions
--   message    from the beginning, placed just before that message
-- In a topic with reference tracking the live stream begins now, and a backfill of what lies between is begun; `full_up` says
-- that the bitmaps have no place for the group. No subscription: the topic is a queue and the group has a name, or the other
-- way round. Of what lies between, the newest p_limit; `skipped` counts the others.
create function tidemark.subscribe(
  p_topic int, p_group text, p_from text, p_since timestamptz, p_id bigint,
  p_interval_ms bigint, p_timeout_ms bigint, p_misses int, p_backfill_limit bigint, p_scope text, p_limit bigint, p_settings jsonb,
  out subscription tidemark.subscription, out created boolean, out full_up boolean, out skipped bigint
)
language plpgsql volatile as $$
declare
  floor bigint;
  until pg_snapshot;
  ceiling bigint;
  first_id bigint := 0;
  start pg_snapshot;
  bounds bigint[];
  by_reference boolean;
  is_queue boolean;
  group_bit int;
begin
  created := false;
  full_up := false;
  skipped := 0;
  select s.* into subscription from tidemark.subscription as s where s.topic_id = p_topic and s.group_name = p_group;
  if found then
    return;
  end if;
  -- A partition whose drop is being decided is not to be begun on: claims find out by the topic's gone_id.
  perform pg_advisory_xact_lock_shared(hashtextextended('tidemark.log', p_topic));
  floor := tidemark.last_id(p_topic);
  -- Two that subscribe at once, or one and a switch of the tracking, come one after the other.
  select t.config ->> 'tracking' = 'reference', t.semantics = 'queue' into by_reference, is_queue
  from tidemark.topic as t where t.id = p_topic for no key update;
  if is_queue <> (p_group = '') then
    return;
  end if;
  if by_reference then
    group_bit := tidemark.free_bit(p_topic);
    full_up := group_bit is null;
    if full_up then
      return;
    end if;
  end if;
  until := tidemark.take_snapshot(pg_current_xact_id());
  ceiling := tidemark.last_id(p_topic);
  start := case when p_from = 'now' then until else '1:1:'::pg_snapshot end;
  if p_since is not null then
    first_id := tidemark.id_before(p_topic, p_since, ceiling);
  end if;
  bounds := tidemark.id_bounds(p_topic, until);
  insert into tidemark.subscription as s (topic_id, group_name, bit, window_from, window_to, late_ids, open_ids, from_id, next_id,
    seen_id, to_id, at_id, since, start_from, start_to, start_id, heartbeat_interval_ms, heartbeat_timeout_ms, dead_after_misses,
    backfill_limit)
  values (p_topic, p_group, group_bit, start, until, case when p_from = 'now' then bounds else '{}' end, bounds,
    case when p_from = 'now' then floor else first_id end, floor, case when p_from = 'now' then ceiling else 0 end, ceiling,
    coalesce(p_id - 1, 0), p_since, start, until, coalesce(p_id - 1, 0), p_interval_ms, p_timeout_ms, p_misses, p_backfill_limit)
  on conflict (topic_id, group_name) do nothing
  returning s.* into subscription;
  created := found;
  if not created then
    select s.* into subscription from tidemark.subscription as s where s.topic_id = p_topic and s.group_name = p_group;
  elsif by_reference and p_from <> 'now' then
    skipped := tidemark.begin_backfill((subscription).id, start, case when p_id is null then start else until end,
      coalesce(p_id - 1, 0), p_since, first_id, p_scope, p_limit, p_settings, false);
  elsif p_limit is not null then
    skipped := tidemark.keep_newest(subscription, p_limit);
    -- What it was placed after was never for this group.
    update tidemark.subscription as s
    set start_from = s.window_from, start_to = s.window_to, start_id = s.at_id
    where s.id = (subscription).id;
  end if;
end
$$;
