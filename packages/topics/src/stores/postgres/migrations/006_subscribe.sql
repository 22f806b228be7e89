-- The group's subscription, made at a start position if it is new. Two processes that subscribe at once both get it.
--   now        from = to = the present: what is in progress commits after it, and is delivered
--   beginning  from = a snapshot that sees nothing
--   since      from the beginning, less the messages created before; the first id of interest spares the old partitions
--   message    from the beginning, placed just before that message
-- In a topic with reference tracking the live stream begins now, and a backfill of what lies between is begun; `full_up` says
-- that the bitmaps have no place for the group.
create function tidemark.subscribe(
  p_topic int, p_group text, p_from text, p_since timestamptz, p_xid xid8, p_id bigint,
  p_interval_ms bigint, p_timeout_ms bigint, p_misses int, p_backfill_limit bigint, p_scope text, p_limit bigint, p_settings jsonb,
  out subscription tidemark.subscription, out created boolean, out full_up boolean
)
language plpgsql volatile as $$
declare
  floor bigint;
  until pg_snapshot;
  ceiling bigint;
  first_id bigint := 0;
  start pg_snapshot;
  by_reference boolean;
  group_bit int;
begin
  created := false;
  full_up := false;
  select s.* into subscription from tidemark.subscription as s where s.topic_id = p_topic and s.group_name = p_group;
  if found then
    return;
  end if;
  -- A partition whose drop is being decided is not to be begun on: claims find out by the topic's gone_id.
  perform pg_advisory_xact_lock_shared(hashtextextended('tidemark.log', p_topic));
  floor := tidemark.last_id(p_topic);
  -- Two that subscribe at once, or one and a switch of the tracking, come one after the other.
  select t.config ->> 'tracking' = 'reference' into by_reference from tidemark.topic as t where t.id = p_topic for no key update;
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
    execute format('select coalesce(min(id) - 1, %s) from tidemark.log_%s where created_at >= %L', ceiling, p_topic, p_since)
      into first_id;
  end if;
  insert into tidemark.subscription as s (topic_id, group_name, bit, window_from, window_to, straggler_id, from_id, to_id, next_id,
    at_xid, at_id, since, start_window, start_xid, start_id, heartbeat_interval_ms, heartbeat_timeout_ms, dead_after_misses,
    backfill_limit)
  values (p_topic, p_group, group_bit, start, until, 0, case when p_from = 'now' then floor else first_id end, ceiling, floor,
    coalesce(p_xid, '0'::xid8), coalesce(p_id - 1, 0), p_since, start, coalesce(p_xid, '0'::xid8), coalesce(p_id - 1, 0),
    p_interval_ms, p_timeout_ms, p_misses, p_backfill_limit)
  on conflict (topic_id, group_name) do nothing
  returning s.* into subscription;
  created := found;
  if not created then
    select s.* into subscription from tidemark.subscription as s where s.topic_id = p_topic and s.group_name = p_group;
  elsif by_reference and p_from <> 'now' then
    perform tidemark.begin_backfill((subscription).id, start, case when p_xid is null then start else until end,
      coalesce(p_xid, '0'::xid8), coalesce(p_id - 1, 0), p_since, first_id, p_scope, p_limit, p_settings, false);
  end if;
end
$$;
