-- Watermarks: what a group or a topic no longer needs.

-- The id up to which the group needs nothing any more. Everything it has not claimed, holds or will retry lies above
-- it. A backfill is covered by its own row. It never decreases.
create function tidemark_fn.watermark(s tidemark.subscription) returns bigint
language sql stable as $$
  select least(
    tidemark_fn.cursor_id(s),
    (select min(l.first_id) - 1 from tidemark.lease as l
      where l.subscription_id = s.id and l.kind = 'page' and l.done_at is null and l.expired_at is null),
    (select min(r.id) - 1 from tidemark.retry as r where r.subscription_id = (select s.id))
  )
$$;

-- The number of messages after this id according to sealed partitions; elsewhere every id counts as one.
create function tidemark_fn.ids_after(p_topic int, after bigint, last bigint) returns bigint
language sql stable as $$
  select greatest(last - after - coalesce(sum(least(size.ids, size.ids * (p.number + 1) - 1 - after) - p.rows)
    filter (where least(size.ids, size.ids * (p.number + 1) - 1 - after) > p.rows), 0), 0)::bigint
  from tidemark.partition as p
  cross join (select (t.config ->> 'partitionRows')::bigint as ids from tidemark.topic as t where t.id = p_topic) as size
  where p.topic_id = p_topic and p.sealed_at is not null and size.ids * (p.number + 1) - 1 > after
$$;

-- The number of removable messages: those of whole partitions, since nothing smaller can be dropped, or all if none is
-- needed any more. Counts are known for sealed partitions; for others the newest message is looked up and ids are
-- counted. Looks at the 100 lowest partitions at most, so the count is a lower bound if the clean-up has not run for
-- long. `live_groups` is their number, `watermark` the lowest among those with waiting messages.
create function tidemark_fn.removable(p_topic int, live_groups bigint, watermark bigint, p_config jsonb default null) returns bigint
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  t tidemark.topic;
  p tidemark.partition;
  last bigint := tidemark_fn.last_id(p_topic);
  size bigint := tidemark_fn.partition_rows(p_topic);
  keep_ms float8;
  lowest_backfill bigint;
  partition_number bigint;
  counted bigint := 0;
begin
  select * into t from tidemark.topic as x where x.id = p_topic;
  t.config := coalesce(p_config, t.config);
  keep_ms := (t.config ->> case when live_groups = 0 then 'zeroSubscriptionRetentionMs' else 'retentionMs' end)::float8;
  if keep_ms is null or live_groups = 0 and t.semantics = 'queue' then
    return 0;
  end if;
  select min(b.cursor_id) into lowest_backfill
  from tidemark.backfill as b
  join tidemark.subscription as s on s.id = b.subscription_id and s.status in ('ACTIVE', 'PAUSED')
  where b.topic_id = p_topic and (b.status = 'RUNNING' or b.cursor_id < b.checkpoint_id);
  for partition_number in select n.number from tidemark_fn.log_partitions(p_topic) as n order by n.number limit 100 loop
    exit when partition_number * size > last or (partition_number + 1) * size - 1 > lowest_backfill
      or watermark < least(last, (partition_number + 1) * size - 1);
    select * into p from tidemark.partition as x where x.topic_id = p_topic and x.number = partition_number and x.sealed_at is not null;
    if not found then
      p.newest := tidemark_fn.time_of(
        format('select created_at from tidemark.log_%s_p%s order by id desc limit 1', p_topic, partition_number));
      p.rows := case when p.newest is null then 0
        else least(last, (partition_number + 1) * size - 1) - greatest(partition_number * size, 1) + 1 end;
    end if;
    continue when p.rows = 0;
    exit when not tidemark_fn.is_older(p.newest, keep_ms);
    counted := counted + p.rows;
  end loop;
  return counted;
end
$$;
