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

-- All that a group has not claimed for the first time: of the live stream, and of what a backfill has yet to bring.
create function tidemark.waiting(s tidemark.subscription, p_limit int, first_kept bigint, out waiting bigint, out oldest_at timestamptz)
language plpgsql volatile as $$
declare
  ahead record;
begin
  waiting := 0;
  -- Most groups of a healthy database stand at the head of their log: those need no look, which takes a millisecond to plan.
  if tidemark.cursor_id(s) < tidemark.last_id(s.topic_id) then
    select b.waiting, b.oldest_at into waiting, oldest_at from tidemark.backlog(s, p_limit, first_kept) as b;
  end if;
  if s.backfilling then
    select * into ahead from tidemark.backfill_ahead(s, first_kept) as a;
    waiting := waiting + ahead.waiting;
    oldest_at := least(oldest_at, ahead.oldest_at);
  end if;
end
$$;

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
  with kept as materialized (select tidemark.first_kept_id(p_topic) as id)
  select s,
    tidemark.watermark(s),
    b.waiting, b.oldest_at,
    (select coalesce(sum(l.size - coalesce(bit_count(l.settled), 0)), 0)::bigint from tidemark.lease as l
      where l.subscription_id = s.id and l.done_at is null and l.expired_at is null),
    (select count(*) from (
      select from tidemark.retry as r where r.subscription_id = s.id and r.token is null limit p_most
    ) as r),
    (select count(*) from (
      select from tidemark.dead_letter as d where d.topic_id = p_topic and d.group_name = s.group_name limit p_most
    ) as d)
  from kept
  cross join tidemark.subscription as s
  cross join lateral tidemark.waiting(s, p_limit, kept.id) as b
  where s.topic_id = p_topic
  order by s.group_name
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
