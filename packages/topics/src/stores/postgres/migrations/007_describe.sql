-- The id up to which the group needs nothing any more: what it has not claimed, what it holds and what it will try again is
-- above. Of a backfill its own row tells. It never goes back.
create function tidemark.watermark(s tidemark.subscription) returns bigint
language sql stable as $$
  select least(
    tidemark.cursor_id(s),
    (select min(l.first_id) - 1 from tidemark.lease as l
      where l.subscription_id = s.id and l.kind = 'page' and l.done_at is null and l.expired_at is null),
    (select min(r.id) - 1 from tidemark.retry as r where r.subscription_id = (select s.id))
  )
$$;

-- Ids after this one that are a message's, as far as sealed partitions tell: the rest may be.
create function tidemark.ids_after(p_topic int, after bigint, last bigint) returns bigint
language sql stable as $$
  select greatest(last - after - coalesce(sum(least(size.ids, size.ids * (p.number + 1) - 1 - after) - p.rows)
    filter (where least(size.ids, size.ids * (p.number + 1) - 1 - after) > p.rows), 0), 0)::bigint
  from tidemark.partition as p
  cross join (select (t.config ->> 'partitionRows')::bigint as ids from tidemark.topic as t where t.id = p_topic) as size
  where p.topic_id = p_topic and p.sealed_at is not null and size.ids * (p.number + 1) - 1 > after
$$;

-- The window after this one, as a look finds it: nothing is written, so no transaction id is needed.
create function tidemark.window_ahead(s tidemark.subscription) returns tidemark.subscription
language sql volatile as $$
  select tidemark.next_window(s, pg_current_snapshot(), 0, tidemark.last_id(s.topic_id))
$$;

-- The lowest id that a partition of the log is there for: what is below was cleaned up.
create function tidemark.first_kept_id(p_topic int) returns bigint
language sql volatile as $$
  select coalesce(min(substring(c.relname from '_p([0-9]+)$')::bigint), 0)
    * (select (t.config ->> 'partitionRows')::bigint from tidemark.topic as t where t.id = p_topic)
  from pg_inherits as i
  join pg_class as c on c.oid = i.inhrelid
  where i.inhparent = to_regclass(format('tidemark.log_%s', p_topic))
    and not i.inhdetachpending
$$;

-- Messages after the cursor, exact up to `p_limit` and an estimate by ids above it; and when the first was created.
create function tidemark.backlog(s tidemark.subscription, p_limit int, first_kept bigint, out waiting bigint, out oldest_at timestamptz)
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
  execute format('select count(*) from (%s) as w', tidemark.window_query('xid, id', s, p_limit)) into waiting;
  if waiting < p_limit then
    later := tidemark.window_ahead(s);
    execute format('select count(*) from (%s) as w', tidemark.window_query('xid, id', later, p_limit - waiting::int)) into ahead;
    if waiting = 0 and ahead > 0 then
      s := later;
    end if;
    waiting := waiting + ahead;
  end if;
  if waiting = 0 then
    return;
  end if;
  execute format('select created_at from (%s) as w', tidemark.window_query('xid, id, created_at', s, 1)) into oldest_at;
  if waiting >= p_limit then
    waiting := greatest(p_limit,
      tidemark.ids_after(s.topic_id, greatest(s.from_id, s.at_id, first_kept - 1), tidemark.last_id(s.topic_id)));
  end if;
end
$$;

-- What waits for these groups in `log`, one partition or all of them: after `starts`, each no more than `share`.
create function tidemark.backlogs_in(
  log text, p_topic int, ids int[], starts bigint[], lowest bigint, last bigint, share int, is_bounded boolean
)
returns table (subscription_id int, waiting bigint, oldest_at timestamptz)
language plpgsql volatile as $$
declare
  recent text := '';
begin
  if is_bounded then
    recent := format('and (s.since is null or s.since <= (select x.created_at from tidemark.%I as x where x.id = l.id limit 1))', log);
  end if;
  return query execute format($q$
    select s.id, case when w.size < %4$s then w.size else greatest(w.size, tidemark.ids_after(%5$s, w.first_id - 1, %3$s)) end,
      (select l.created_at from tidemark.%1$I as l where l.id = w.first_id and l.id > %2$s limit 1)
    from unnest($1, $2) as b (id, start)
    join tidemark.subscription as s on s.id = b.id
    cross join lateral (
      select count(*) as size, min(m.id) as first_id
      from (
        select l.id from tidemark.%1$I as l
        where l.id > b.start and l.id > %2$s and l.id <= %3$s
          and not tidemark.has_passed(s.window_from, s.window_to, s.at_id, l.xid, l.id) %6$s
        order by l.id limit %4$s
      ) as m
    ) as w
    where w.size > 0
  $q$, log, lowest, last, share, p_topic, recent) using ids, starts;
end
$$;

-- What waits for each group of a topic that is behind, as `backlog` tells it, in one statement however many they are: planning
-- one for each took a millisecond a group. So that its cost has a bound, they count 10 000 messages between them; beyond its
-- share a group's backlog is told by the ids. Groups at the head of their log have no row.
create function tidemark.backlogs(p_topic int, p_limit int, first_kept bigint)
returns table (subscription_id int, waiting bigint, oldest_at timestamptz)
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  last bigint := tidemark.last_id(p_topic);
  size bigint := tidemark.partition_rows(p_topic);
  log text := format('log_%s', p_topic);
  ids int[];
  starts bigint[];
  lowest bigint;
  share int;
  is_bounded boolean;
begin
  -- Where what the cursor has not passed begins; lower only where transactions have ended that it saw in progress.
  select array_agg(b.id), array_agg(b.start), min(b.start), bool_or(b.since is not null) into ids, starts, lowest, is_bounded
  from (
    select s.id, s.since, greatest(first_kept - 1, least(greatest(s.from_id, s.at_id), s.next_id, tidemark.late_after(s), (
        select min(o.id) from rows from (pg_snapshot_xip(s.window_to), unnest(s.open_ids)) as o (x, id)
        where pg_visible_in_snapshot(o.x, pg_current_snapshot())
      ))) as start
    from tidemark.subscription as s
    where s.topic_id = p_topic and tidemark.cursor_id(s) < last
  ) as b;
  if ids is null then
    return;
  end if;
  share := least(p_limit, 10000 / cardinality(ids) + 1);
  -- Mostly all of it lies in the newest partition, and a statement that names it is planned in half the time.
  if (lowest + 1) / size = last / size and to_regclass(format('tidemark.%I', log || '_p' || last / size)) is not null then
    begin
      return query select * from tidemark.backlogs_in(log || '_p' || last / size, p_topic, ids, starts, lowest, last, share, is_bounded);
      return;
    exception when undefined_table then
      -- It was dropped meanwhile, as it may be where only dead groups are behind.
    end;
  end if;
  return query select * from tidemark.backlogs_in(log, p_topic, ids, starts, lowest, last, share, is_bounded);
end
$$;

-- Messages that could be gone: those of whole partitions, since nothing less can go, and all where none is needed any more.
-- What is sealed is known; of another partition the newest message is looked up, and ids are counted. Looks at 100 of them at
-- most, the lowest, so that a clean-up that has not run for long is not told to the last message.
-- `live_groups` counts them, `watermark` is the lowest of those for which something waits.
create function tidemark.removable(p_topic int, live_groups bigint, watermark bigint) returns bigint
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  t tidemark.topic;
  p tidemark.partition;
  last bigint := tidemark.last_id(p_topic);
  size bigint := tidemark.partition_rows(p_topic);
  keep_ms float8;
  lowest_backfill bigint;
  partition_number bigint;
  counted bigint := 0;
begin
  select * into t from tidemark.topic as x where x.id = p_topic;
  keep_ms := (t.config ->> case when live_groups = 0 then 'zeroSubscriptionRetentionMs' else 'retentionMs' end)::float8;
  if keep_ms is null or live_groups = 0 and t.semantics = 'queue' then
    return 0;
  end if;
  select min(b.cursor_id) into lowest_backfill
  from tidemark.backfill as b
  join tidemark.subscription as s on s.id = b.subscription_id and s.status in ('ACTIVE', 'PAUSED')
  where b.topic_id = p_topic and (b.status = 'RUNNING' or b.cursor_id < b.checkpoint_id);
  for partition_number in select n.number from tidemark.log_partitions(p_topic) as n order by n.number limit 100 loop
    exit when partition_number * size > last or (partition_number + 1) * size - 1 > lowest_backfill;
    select * into p from tidemark.partition as x where x.topic_id = p_topic and x.number = partition_number and x.sealed_at is not null;
    if not found then
      execute format('select created_at from tidemark.log_%s_p%s order by id desc limit 1', p_topic, partition_number) into p.newest;
      p.rows := case when p.newest is null then 0
        else least(last, (partition_number + 1) * size - 1) - greatest(partition_number * size, 1) + 1 end;
    end if;
    continue when p.rows = 0;
    exit when not tidemark.is_older(p.newest, keep_ms) or watermark < least(last, (partition_number + 1) * size - 1);
    counted := counted + p.rows;
  end loop;
  return counted;
end
$$;

-- For health. Reads a few rows by index, the groups, and what is known of the partitions.
create function tidemark.topic_facts(
  p_topic int, out made_at timestamptz, out oldest_at timestamptz, out newest_at timestamptz, out retained bigint,
  out unprocessed_at timestamptz, out removable bigint
)
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  first_kept bigint := tidemark.first_kept_id(p_topic);
  ids bigint[];
  waiting_at timestamptz;
  live_groups bigint;
  watermark bigint;
begin
  select t.created_at into made_at from tidemark.topic as t where t.id = p_topic;
  execute format('select created_at from tidemark.log_%s order by id limit 1', p_topic) into oldest_at;
  execute format('select created_at from tidemark.log_%s order by id desc limit 1', p_topic) into newest_at;
  retained := case when oldest_at is null then 0 else tidemark.last_id(p_topic) - greatest(first_kept - 1, 0) end;

  -- A group for which nothing waits stands at its last message only until the clean-up moves it on.
  select min(g.oldest_waiting_at), count(*), min(g.watermark) filter (where g.backlog + g.in_flight + g.retries > 0)
  into waiting_at, live_groups, watermark
  from tidemark.describe_groups(p_topic, 1, 1) as g
  where (g.s).status in ('ACTIVE', 'PAUSED');
  -- The first message of each group's oldest lease, and its oldest retry.
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
  if ids is not null then
    execute format('select min(created_at) from (select created_at from tidemark.log_%s where id = any($1) offset 0) as m', p_topic)
      using ids into unprocessed_at;
  end if;
  unprocessed_at := least(unprocessed_at, waiting_at);

  removable := tidemark.removable(p_topic, live_groups, watermark);
end
$$;
