-- What is waiting for groups, in one statement for many topics. Every topic has its own log, so a statement that reads
-- several logs is built as text, with a part for each topic.

-- The groups of these topics that are behind, one row per group: its place, and the bounds of its topic's log.
create function tidemark_fn.groups_behind(p_topics int[])
returns table (topic_id int, place tidemark_fn.group_place, start bigint, last bigint, size bigint)
language sql volatile as $$
  select t.id, row(s.id, b.start, s.window_from, s.window_to, s.at_id, s.since)::tidemark_fn.group_place, b.start, t.last, t.size
  from (
    select t.id, tidemark_fn.last_id(t.id) as last, (t.config ->> 'partitionRows')::bigint as size, tidemark_fn.first_kept_id(t.id) as kept
    from tidemark.topic as t where t.id = any(p_topics) offset 0
  ) as t
  join tidemark.subscription as s on s.topic_id = t.id
  -- As late_after(s) and cursor_id(s), from the columns: forming the row of each group for them took 8 us.
  cross join lateral (
    select case when cardinality(s.late_ids) > 0 then (
      select min(l.id) from rows from (pg_snapshot_xip(s.window_from), unnest(s.late_ids)) as l (x, id)
      where pg_visible_in_snapshot(l.x, s.window_to)
    ) end as after
    offset 0
  ) as late
  -- `start` is where the unread part begins. It is lower than the cursor only if transactions that the cursor saw in
  -- progress have ended.
  cross join lateral (
    select greatest(t.kept - 1, least(greatest(s.from_id, s.at_id), s.next_id, late.after, case when cardinality(s.open_ids) > 0 then (
      select min(o.id) from rows from (pg_snapshot_xip(s.window_to), unnest(s.open_ids)) as o (x, id)
      where pg_visible_in_snapshot(o.x, pg_current_snapshot())
    ) end)) as start
    offset 0
  ) as b
  where least(greatest(s.at_id, least(s.from_id, late.after)), s.next_id,
    case when cardinality(s.open_ids) > 0 then (select min(i) from unnest(s.open_ids) as i) end) < t.last
$$;

-- The part of one topic: what is waiting for the groups at `low` to `high` of `$1` in `log`, which is one partition or all
-- of them, after `lowest`, at most `share` for each. Beyond that, ids count as messages, except those that sealed
-- partitions know to be missing. It names the log once and, where nothing is missing, no other table, because it is
-- planned for every topic.
create function tidemark_fn.backlogs_part(
  log text, p_topic int, low bigint, high bigint, lowest bigint, last bigint, share bigint
) returns text
language sql stable as $$
  select format($q$
    select g.id, case when w.size < %6$s then w.size else greatest(w.size, %7$s) end, w.oldest_at
    from unnest(($1)[%2$s:%3$s]) as g
    cross join lateral (
      select count(*) as size, min(m.id) as first_id, (array_agg(m.created_at))[1] as oldest_at
      from (
        select l.id, l.created_at from tidemark.%1$I as l
        where l.id > g.start and l.id > %4$s and l.id <= %5$s
          and not tidemark_fn.has_passed(g.window_from, g.window_to, g.at_id, l.xid, l.id)
          and (g.since is null or l.created_at >= g.since)
        order by l.id limit %6$s
      ) as m
    ) as w
    where w.size > 0
  $q$, log, low, high, lowest, last, share,
    case when exists (select from tidemark.partition as p where p.topic_id = p_topic and p.sealed_at is not null)
      then format('tidemark_fn.ids_after(%s, w.first_id - 1, %s)', p_topic, last) else format('%s - w.first_id + 1', last) end)
$$;

-- The statement for all groups of these topics that are behind, and the array that it takes. To bound the cost, the
-- groups of a topic together count at most 10 000 messages.
create function tidemark_fn.backlogs_statement(
  p_topics int[], p_limit int, p_whole boolean, out groups tidemark_fn.group_place[], out statement text
)
language sql volatile as $$
  with behind as materialized (
    select b.*, row_number() over (order by b.topic_id) as number from tidemark_fn.groups_behind(p_topics) as b
  )
  select (select array_agg(b.place order by b.number) from behind as b), string_agg(
    tidemark_fn.backlogs_part(
      -- Usually all of it lies in the newest partition, and a part that names only that partition is planned in half the
      -- time. The partition may be gone if only dead groups are behind.
      case when p_whole or (t.lowest + 1) / t.size < t.last / t.size or to_regclass(format('tidemark.%I', p.name)) is null
        then format('log_%s', t.topic_id) else p.name end,
      t.topic_id, t.low, t.high, t.lowest, t.last, least(p_limit, 10000 / (t.high - t.low + 1) + 1)
    ), ' union all ')
  from (
    select b.topic_id, b.last, b.size, min(b.start) as lowest, min(b.number) as low, max(b.number) as high
    from behind as b
    group by b.topic_id, b.last, b.size
  ) as t
  cross join lateral (select format('log_%s_p%s', t.topic_id, t.last / t.size) as name) as p
$$;

-- What is waiting for each group of these topics that is behind, with the columns of `backlog`. Groups at the head of the
-- log have no row. There is one statement per 100 topics: planning the part of a topic takes 0.1 MB until the statement
-- ends.
create function tidemark_fn.backlogs(p_topics int[], p_limit int)
returns table (subscription_id int, waiting bigint, oldest_at timestamptz)
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  read record;
  is_whole boolean;
begin
  for place in 1 .. cardinality(p_topics) by 100 loop
    foreach is_whole in array array[false, true] loop
      select * into read from tidemark_fn.backlogs_statement(p_topics[place:place + 99], p_limit, is_whole);
      exit when read.groups is null;
      begin
        return query select w.* from tidemark_fn.records_of(read.statement, read.groups)
          as w (subscription_id int, waiting bigint, oldest_at timestamptz);
        exit;
      exception when undefined_table then
        -- A partition was dropped in the meantime: the whole logs are read instead, unless a log is gone.
        if is_whole then
          raise;
        end if;
      end;
    end loop;
  end loop;
end
$$;
