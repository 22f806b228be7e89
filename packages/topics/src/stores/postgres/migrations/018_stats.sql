-- A topic's groups as JSON, one object a group, and what `removable` asks of them. Times are in milliseconds.
create function tidemark.describe_json(
  p_topic int, p_limit int, p_most bigint, out groups jsonb, out live_groups bigint, out watermark bigint
)
language sql volatile
-- Compiling a statement like this takes longer than it runs.
set jit = off
as $$
  select coalesce(jsonb_agg(to_jsonb(d) order by d.group_name collate "C"), '[]'),
    count(*) filter (where d.status in ('ACTIVE', 'PAUSED')),
    min(d.watermark::bigint) filter (where d.status in ('ACTIVE', 'PAUSED') and d.backlog + d.in_flight + d.retries > 0)
  from (
    select (g.s).uid, (g.s).group_name, (g.s).status, (g.s).epoch, g.watermark, g.backlog, tidemark.to_ms(g.oldest_waiting_at) as oldest_waiting_at,
      g.in_flight, g.retries, g.dead_letters, (g.s).heartbeat_interval_ms, (g.s).heartbeat_timeout_ms, (g.s).dead_after_misses,
      tidemark.to_ms((g.s).last_heartbeat_at) as last_heartbeat_at, (g.s).misses, tidemark.to_ms((g.s).created_at) as created_at,
      tidemark.to_ms((g.s).moved_at) as moved_at, (g.s).processed, (g.s).failed, (g.s).filtered,
      (g.s).minute, (g.s).minute_count, (g.s).previous_count, (g.s).lost, tidemark.to_ms((g.s).lost_at) as lost_at,
      (g.s).lost_acknowledged,
      reports.consumers, reports.reported, to_jsonb(b) as backfill
    from tidemark.describe_groups(p_topic, p_limit, p_most) as g
    cross join lateral (
      select count(*) filter (where c.consumer <> '') as consumers,
        coalesce(jsonb_agg(to_jsonb(c)) filter (where c.consumer = ''), '[]') as reported
      from tidemark.consumer as c
      where c.subscription_id = (g.s).id
        and c.reported_at >= clock_timestamp() - (g.s).heartbeat_timeout_ms * interval '1 millisecond'
    ) as reports
    left join tidemark.backfill as b on b.subscription_id = (g.s).id
  ) as d
$$;

-- Every topic with its groups, and the jobs: all that is monitored, in one look.
create function tidemark.stats(p_limit int, p_most bigint, out now bigint, out topics jsonb, out jobs jsonb)
language sql volatile
set jit = off
as $$
  select tidemark.now_ms(),
    (
      select coalesce(jsonb_agg(jsonb_build_object('topic', t.name, 'semantics', t.semantics,
        'published', tidemark.last_id(t.id) - t.skipped_ids, 'removable', tidemark.removable(t.id, d.live_groups, d.watermark), 'groups', d.groups
      ) order by t.name), '[]')
      from tidemark.topic as t
      cross join lateral tidemark.describe_json(t.id, p_limit, p_most) as d
    ),
    (
      select coalesce(jsonb_agg(jsonb_build_object('name', j.name, 'runs', j.runs, 'result', j.result, 'took_ms', j.took_ms,
        'running', j.token is not null and j.locked_until >= clock_timestamp(), 'started_at', tidemark.to_ms(j.started_at),
        'finished_at', tidemark.to_ms(j.finished_at), 'succeeded_at', tidemark.to_ms(j.succeeded_at)
      ) order by j.name), '[]')
      from tidemark.job as j
    )
$$;
