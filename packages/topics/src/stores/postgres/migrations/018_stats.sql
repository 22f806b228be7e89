-- Retries and dead letters are counted up to `p_most`; null: all of them.
create function tidemark.describe_groups(p_topic int, p_limit int, p_most bigint)
returns table (
  s tidemark.subscription, watermark bigint, backlog bigint, oldest_waiting_at timestamptz, in_flight bigint, retries bigint,
  dead_letters bigint
)
language sql volatile
-- Compiling a statement like this takes longer than it runs.
set jit = off
-- A group's own rows by index: of a table that is mostly one group's, each group's counts read all of it.
set enable_seqscan = off
as $$
  -- once, not for every group
  with kept as materialized (select tidemark.first_kept_id(p_topic) as id),
    waiting as materialized (select b.* from kept cross join lateral tidemark.backlogs(p_topic, p_limit, kept.id) as b)
  select s,
    tidemark.watermark(s),
    coalesce(b.waiting, 0) + coalesce(f.waiting, 0), least(b.oldest_at, f.oldest_at),
    (select coalesce(sum(l.size - coalesce(bit_count(l.settled), 0)), 0)::bigint from tidemark.lease as l
      where l.subscription_id = s.id and l.done_at is null and l.expired_at is null),
    (select count(*) from (
      select from tidemark.retry as r where r.subscription_id = s.id and r.token is null limit p_most
    ) as r),
    (select count(*) from (
      -- A range of one name: by the statistics of a table that is mostly one group's, an equality is true of every row, and
      -- all of the topic's would be read for the groups that have none.
      select from tidemark.dead_letter as d
      where d.topic_id = p_topic and d.group_name between s.group_name and s.group_name limit p_most
    ) as d)
  from kept
  cross join tidemark.subscription as s
  left join waiting as b on b.subscription_id = s.id
  left join lateral (
    select a.* from (select where s.backfilling offset 0) as wanted cross join tidemark.backfill_ahead(s, kept.id) as a
  ) as f on true
  where s.topic_id = p_topic
  order by s.group_name
$$;

-- A topic's groups as JSON, one object a group, and what `removable` asks of them. Times are in milliseconds.
create function tidemark.describe_json(
  p_topic int, p_limit int, p_most bigint, out groups json, out live_groups bigint, out watermark bigint
)
language sql volatile
-- Compiling a statement like this takes longer than it runs.
set jit = off
as $$
  select coalesce(json_agg(to_json(d) order by d.group_name collate "C"), '[]'),
    count(*) filter (where d.status in ('ACTIVE', 'PAUSED')),
    min(d.watermark::bigint) filter (where d.status in ('ACTIVE', 'PAUSED') and d.backlog + d.in_flight + d.retries > 0)
  from (
    select (g.s).uid, (g.s).group_name, (g.s).status, (g.s).epoch, g.watermark, g.backlog, tidemark.to_ms(g.oldest_waiting_at) as oldest_waiting_at,
      g.in_flight, g.retries, g.dead_letters, (g.s).heartbeat_interval_ms, (g.s).heartbeat_timeout_ms, (g.s).dead_after_misses,
      tidemark.to_ms((g.s).last_heartbeat_at) as last_heartbeat_at, (g.s).misses, tidemark.to_ms((g.s).created_at) as created_at,
      tidemark.to_ms((g.s).moved_at) as moved_at, (g.s).processed, (g.s).failed, (g.s).filtered,
      (g.s).minute, (g.s).minute_count, (g.s).previous_count, (g.s).lost, tidemark.to_ms((g.s).lost_at) as lost_at,
      (g.s).lost_acknowledged,
      reports.consumers, reports.reported, to_json(b) as backfill
    from tidemark.describe_groups(p_topic, p_limit, p_most) as g
    cross join lateral (
      select count(*) filter (where c.consumer <> '') as consumers,
        coalesce(json_agg(to_json(c)) filter (where c.consumer = ''), '[]') as reported
      from tidemark.consumer as c
      where c.subscription_id = (g.s).id
        and c.reported_at >= clock_timestamp() - (g.s).heartbeat_timeout_ms * interval '1 millisecond'
    ) as reports
    left join tidemark.backfill as b on b.subscription_id = (g.s).id
  ) as d
$$;

-- Every topic with its groups, and the jobs: all that is monitored, in one look. So that its cost has a bound, all groups
-- together count no more than 10 000 messages; beyond its share of them a group's backlog is told by the ids.
create function tidemark.stats(p_limit int, p_most bigint, out now bigint, out topics json, out jobs json)
language sql volatile
set jit = off
as $$
  select tidemark.now_ms(),
    (
      select coalesce(json_agg(json_build_object('topic', t.name, 'semantics', t.semantics,
        'published', tidemark.last_id(t.id) - t.skipped_ids, 'removable', tidemark.removable(t.id, d.live_groups, d.watermark), 'groups', d.groups
      ) order by t.name), '[]')
      from (select least(p_limit, 10000 / greatest(count(*), 1) + 1)::int as share from tidemark.subscription) as counted
      cross join tidemark.topic as t
      cross join lateral tidemark.describe_json(t.id, counted.share, p_most) as d
    ),
    (
      select coalesce(json_agg(json_build_object('name', j.name, 'runs', j.runs, 'result', j.result, 'took_ms', j.took_ms,
        'running', j.token is not null and j.locked_until >= clock_timestamp(), 'started_at', tidemark.to_ms(j.started_at),
        'finished_at', tidemark.to_ms(j.finished_at), 'succeeded_at', tidemark.to_ms(j.succeeded_at)
      ) order by j.name), '[]')
      from tidemark.job as j
    )
$$;
