-- Figures about waiting, in-flight and retained messages, for describe, health and stats.

-- The number of messages after the cursor, exact up to `p_limit` and estimated from ids above it, and when the first
-- was created.
create function tidemark_fn.backlog(s tidemark.subscription, p_limit int, first_kept bigint, out waiting bigint, out oldest_at timestamptz)
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  later tidemark.subscription;
  ahead bigint;
begin
  waiting := tidemark_fn.count_of(tidemark_fn.window_query('xid, id', s, p_limit));
  if waiting < p_limit then
    later := tidemark_fn.window_ahead(s);
    ahead := tidemark_fn.count_of(tidemark_fn.window_query('xid, id', later, p_limit - waiting::int));
    if waiting = 0 and ahead > 0 then
      s := later;
    end if;
    waiting := waiting + ahead;
  end if;
  if waiting = 0 then
    return;
  end if;
  oldest_at := tidemark_fn.time_of(
    format('select created_at from (%s) as w', tidemark_fn.window_query('xid, id, created_at', s, 1)));
  if waiting >= p_limit then
    waiting := greatest(p_limit,
      tidemark_fn.ids_after(s.topic_id, greatest(s.from_id, s.at_id, first_kept - 1), tidemark_fn.last_id(s.topic_id)));
  end if;
end
$$;

-- Only the number of waiting messages.
create function tidemark_fn.backlog(s tidemark.subscription, p_limit int) returns bigint
language sql volatile as $$
  select b.waiting from tidemark_fn.backlog(s, p_limit, tidemark_fn.first_kept_id(s.topic_id)) as b
$$;

-- When the oldest message was published that a live group of the topic holds: of each group the first message of its oldest
-- lease, and its oldest retry. Null if they hold none.
create function tidemark_fn.held_since(p_topic int) returns timestamptz
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  ids bigint[];
begin
  select array_agg(held.id) into ids
  from tidemark.subscription as s
  cross join lateral (
    (select l.first_id as id from tidemark.lease as l
      where l.subscription_id = s.id and l.kind = 'page' and l.done_at is null and l.expired_at is null
      order by l.claimed_at limit 1)
    union all
    (select r.id from tidemark.retry as r where r.subscription_id = s.id order by r.id limit 1)
  ) as held
  where s.topic_id = p_topic and s.status in ('ACTIVE', 'PAUSED');
  if ids is null then
    return null;
  end if;
  return tidemark_fn.time_of(format(
    'select min(created_at) from (select created_at from tidemark.log_%s where id = any($1) offset 0) as m', p_topic), ids);
end
$$;

-- The groups of these topics. Retries and dead letters are counted up to `p_most`; null counts all of them.
create function tidemark_fn.describe_groups(p_topics int[], p_limit int, p_most bigint)
returns table (
  s tidemark.subscription, watermark bigint, backlog bigint, oldest_waiting_at timestamptz, in_flight bigint, retries bigint,
  dead_letters bigint
)
language sql volatile
-- JIT compilation of this statement takes longer than running it.
set jit = off
-- Forces index lookups: if most of a table belongs to one group, the planner otherwise reads all of it for every
-- group's counts.
set enable_seqscan = off
as $$
  -- Materialized, so that it runs once and not for every group.
  with waiting as materialized (
    select b.* from tidemark_fn.backlogs(p_topics, p_limit) as b
  )
  select s,
    -- As tidemark_fn.watermark(s). Passing the whole row to a function took 8 us a group.
    least(case when cardinality(s.late_ids) + cardinality(s.open_ids) = 0 then least(greatest(s.from_id, s.at_id), s.next_id)
        else tidemark_fn.cursor_id(s) end,
      (select min(l.first_id) - 1 from tidemark.lease as l
        where l.subscription_id = s.id and l.kind = 'page' and l.done_at is null and l.expired_at is null),
      (select min(r.id) - 1 from tidemark.retry as r where r.subscription_id = s.id),
      -- What a backfill has yet to deliver is not settled either.
      case when s.backfilling then (
      select b.cursor_id from tidemark.backfill as b
      where b.subscription_id = s.id and (b.status = 'RUNNING' or b.cursor_id < b.checkpoint_id)
    ) end),
    coalesce(b.waiting, 0) + coalesce(f.waiting, 0), least(b.oldest_at, f.oldest_at),
    (select coalesce(sum(l.size - coalesce(bit_count(l.settled), 0)), 0)::bigint from tidemark.lease as l
      where l.subscription_id = s.id and l.done_at is null and l.expired_at is null),
    (select count(*) from (
      select from tidemark.retry as r where r.subscription_id = s.id and r.token is null limit p_most
    ) as r),
    (select count(*) from (
      -- A range of one name instead of an equality: if most of the table belongs to one group, the statistics say that
      -- an equality matches every row, and the planner would read all of the topic's rows for groups that have none.
      select from tidemark.dead_letter as d
      where d.topic_id = s.topic_id and d.group_name between s.group_name and s.group_name limit p_most
    ) as d)
  from tidemark.subscription as s
  left join waiting as b on b.subscription_id = s.id
  left join lateral (
    select a.* from (select where s.backfilling offset 0) as wanted
    cross join tidemark_fn.backfill_ahead(s, tidemark_fn.first_kept_id(s.topic_id)) as a
  ) as f on true
  where s.topic_id = any(p_topics)
$$;

-- The groups of these topics as JSON, one object per group, and the inputs of `removable`; topics without groups have
-- no row. Times are in milliseconds. One statement for all topics: a statement for each took half as long again as the
-- topic's backlog.
create function tidemark_fn.describe_json(p_topics int[], p_limit int, p_most bigint)
returns table (topic_id int, groups json, live_groups bigint, watermark bigint)
language sql volatile
-- JIT compilation of this statement takes longer than running it.
set jit = off
as $$
  select d.topic_id, json_agg(to_json(d) order by d.group_name collate "C"),
    count(*) filter (where d.status in ('ACTIVE', 'PAUSED')),
    min(d.watermark::bigint) filter (where d.status in ('ACTIVE', 'PAUSED') and d.backlog + d.in_flight + d.retries > 0)
  from (
    select (g.s).topic_id, (g.s).uid, (g.s).group_name, (g.s).status, (g.s).epoch,
      -- Where nothing waits it has come to the end, though its window may not say so before the next claim.
      case when g.backlog = 0 then log.last else least(greatest((g.s).from_id, (g.s).at_id), log.last) end as cursor, g.watermark, g.backlog, tidemark_fn.to_ms(g.oldest_waiting_at) as oldest_waiting_at,
      g.in_flight, g.retries, g.dead_letters, (g.s).heartbeat_interval_ms, (g.s).heartbeat_timeout_ms, (g.s).dead_after_misses,
      tidemark_fn.to_ms((g.s).last_heartbeat_at) as last_heartbeat_at, (g.s).misses, tidemark_fn.to_ms((g.s).created_at) as created_at,
      tidemark_fn.to_ms((g.s).moved_at) as moved_at, (g.s).processed, (g.s).failed, (g.s).filtered,
      (g.s).minute, (g.s).minute_count, (g.s).previous_count, (g.s).lost, tidemark_fn.to_ms((g.s).lost_at) as lost_at,
      (g.s).lost_acknowledged,
      reports.consumers, reports.reported, to_json(b) as backfill
    from tidemark_fn.describe_groups(p_topics, p_limit, p_most) as g
    join (select t.id, tidemark_fn.last_id(t.id) as last from unnest(p_topics) as t (id) offset 0) as log on log.id = (g.s).topic_id
    cross join lateral (
      select count(*) filter (where c.consumer <> '') as consumers,
        coalesce(json_agg(to_json(c)) filter (where c.consumer = ''), '[]') as reported
      from tidemark.consumer as c
      where c.subscription_id = (g.s).id
        and c.reported_at >= clock_timestamp() - (g.s).heartbeat_timeout_ms * interval '1 millisecond'
    ) as reports
    left join tidemark.backfill as b on b.subscription_id = (g.s).id
  ) as d
  group by d.topic_id
$$;

-- Storage of a topic: size of its files, time of its oldest message, number of removable messages. It looks at every partition
-- and into the log, so it is not part of every call of stats().
create function tidemark_fn.topic_storage(p_topic int, live_groups bigint, watermark bigint) returns json
language sql volatile as $$
  select json_build_object(
    'removable', tidemark_fn.removable(p_topic, live_groups, watermark),
    'bytes', (
      -- null where it was dropped meanwhile
      select coalesce(sum(pg_total_relation_size(i.inhrelid)), 0)
      from pg_inherits as i
      where i.inhparent = to_regclass(format('tidemark.log_%s', p_topic))
    ),
    'oldestAt', tidemark_fn.to_ms(
      tidemark_fn.time_of(format('select created_at from tidemark.log_%s order by id limit 1', p_topic))))
$$;

-- Every topic with its groups, and the jobs: everything that is monitored, in one call. To bound the cost, all groups
-- together count at most 10 000 messages; beyond its share a group's backlog is estimated from ids. So is the number of
-- retained messages, from the first partition on.
create function tidemark_fn.stats(p_limit int, p_most bigint, p_storage boolean, out now bigint, out topics json, out jobs json)
language sql volatile
set jit = off
as $$
  -- Materialized, so that it runs once and not for every topic.
  with described as materialized (
    select d.*
    from (select least(p_limit, 10000 / greatest(count(*), 1) + 1)::int as share from tidemark.subscription) as counted
    cross join lateral tidemark_fn.describe_json(array(select t.id from tidemark.topic as t), counted.share, p_most) as d
  ),
  bounds as materialized (
    select t.*, greatest(tidemark_fn.first_kept_id(t.id), 1) as first, tidemark_fn.last_id(t.id) as last from tidemark.topic as t
  )
  select tidemark_fn.now_ms(),
    (
      select coalesce(json_agg(json_build_object('topic', t.name, 'config', t.config,
        'published', t.last - t.skipped_ids, 'first', t.first, 'last', t.last,
        'retained', tidemark_fn.ids_after(t.id, t.first - 1, t.last),
        'storage', case when p_storage then tidemark_fn.topic_storage(t.id, coalesce(d.live_groups, 0), d.watermark) end,
        'groups', coalesce(d.groups, '[]')
      ) order by t.name), '[]')
      from bounds as t
      left join described as d on d.topic_id = t.id
    ),
    (
      select coalesce(json_agg(json_build_object('name', j.name, 'runs', j.runs, 'result', j.result, 'took_ms', j.took_ms,
        'running', j.token is not null and j.locked_until >= clock_timestamp(), 'started_at', tidemark_fn.to_ms(j.started_at),
        'finished_at', tidemark_fn.to_ms(j.finished_at), 'succeeded_at', tidemark_fn.to_ms(j.succeeded_at)
      ) order by j.name), '[]')
      from tidemark.job as j
    )
$$;

-- Everything that a health check looks at, of all topics, in one call: the statistics with storage, and of each topic what they
-- leave out. A call for each topic took seconds with two hundred of them.
create function tidemark_fn.examine(
  p_limit int, p_most bigint,
  out now bigint, out topics json, out jobs json, out facts json, out strays json, out zombies json, out unsubscribed json
)
language sql volatile
set jit = off
as $$
  select s.now, s.topics, s.jobs,
    (
      select coalesce(json_object_agg(t.name, json_build_object('createdAt', tidemark_fn.to_ms(t.created_at),
        'heldAt', tidemark_fn.to_ms(tidemark_fn.held_since(t.id)),
        'inconsistencies', array_to_json(array(select i from tidemark_fn.inconsistencies(t.id) as i)),
        'room', r.room, 'rows', r.partition_rows
      )), '{}')
      from tidemark.topic as t
      join tidemark_fn.partition_room() as r on r.topic_id = t.id
    ),
    array_to_json(array(select i from tidemark_fn.stray_records() as i)),
    (
      select coalesce(json_agg(json_build_object('topic', t.name, 'group', g.group_name, 'movedAt', floor(z.moved_ms),
        'waiting', z.waiting) order by g.id), '[]')
      from tidemark_fn.zombies(p_limit) as z
      join tidemark.subscription as g on g.id = z.subscription_id
      join tidemark.topic as t on t.id = g.topic_id
    ),
    (
      select coalesce(json_agg(json_build_object('topic', u.topic, 'messages', u.messages,
        'oldestAt', tidemark_fn.to_ms(u.oldest_at)) order by u.topic), '[]')
      from tidemark_fn.unsubscribed_topics() as u
    )
  from tidemark_fn.stats(p_limit, p_most, true) as s
$$;
