-- Heartbeats: one statement for all groups of a process. Lock order: see dead-groups.sql.

-- A heartbeat clears the misses only if the last miss is older than one timeout: a group that beats once, falls silent
-- and beats again has not recovered. The rate is computed from the counts of the current minute and the previous one.
create function tidemark_fn.record_beat(p_id int, p_processed bigint, p_failed bigint, p_filtered bigint) returns void
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

-- Restarts an existing group: it takes the given settings and counts as alive. null: the group is gone.
create function tidemark_fn.go_on(
  p_id int, p_uid bigint, p_interval_ms bigint, p_timeout_ms bigint, p_misses int, p_is_limited boolean, p_backfill_limit bigint,
  out subscription tidemark.subscription
)
language plpgsql volatile as $$
begin
  perform from tidemark.subscription as s where s.id = p_id and s.uid = p_uid for no key update;
  if not found then
    return;
  end if;
  if p_is_limited or num_nonnulls(p_interval_ms, p_timeout_ms, p_misses) > 0 then
    update tidemark.subscription as s
    set heartbeat_interval_ms = coalesce(p_interval_ms, s.heartbeat_interval_ms),
      heartbeat_timeout_ms = coalesce(p_timeout_ms, s.heartbeat_timeout_ms),
      dead_after_misses = coalesce(p_misses, s.dead_after_misses),
      backfill_limit = case when p_is_limited then p_backfill_limit else s.backfill_limit end
    where s.id = p_id;
  end if;
  perform tidemark_fn.record_beat(p_id, 0, 0, 0);
  select s.* into subscription from tidemark.subscription as s where s.id = p_id;
end
$$;

-- Records the work of this instance's consumers. Deletes its own rows that are no longer reported, and other instances'
-- rows that were silent for a timeout. The caller holds the subscriptions' locks.
create function tidemark_fn.report_consumers(p_ids int[], p_instance text, p_reports jsonb) returns void
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

-- One statement for all groups of a process. `p_reports`: see report_consumers; null where this instance has never reported any.
create function tidemark_fn.heartbeat(
  p_ids int[], p_uids bigint[], p_processed bigint[], p_failed bigint[], p_filtered bigint[], p_settings jsonb, p_instance text,
  p_reports jsonb
)
returns table (id int, status text, epoch int, skipped bigint, lost bigint, backfill boolean)
language plpgsql volatile as $$
declare
  beat record;
  there int[] := '{}';
begin
  -- A heartbeat lost in a crash is followed by the next one; waiting for the disk would hold up the groups' claims.
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
      from tidemark_fn.resurrect(beat.id, 'continue', null, p_settings) as r;
      -- No epoch: the group could not be resurrected, but its heartbeat still counts.
      status := case when epoch is null then 'DEAD' else 'ACTIVE' end;
    end if;
    if status in ('ACTIVE', 'PAUSED', 'DEAD') then
      perform tidemark_fn.record_beat(beat.id, beat.processed, beat.failed, beat.filtered);
    end if;
    return next;
  end loop;
  if p_reports is not null then
    perform tidemark_fn.report_consumers(there, p_instance, p_reports);
  end if;
end
$$;
