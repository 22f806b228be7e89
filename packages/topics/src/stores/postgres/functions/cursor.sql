-- The snapshot cursor. A window holds the rows that its later snapshot sees and its earlier one doesn't, and is read in id
-- order. If a message was committed before another was published, it has the lower id and is visible to every snapshot
-- that sees the other, so it is delivered first. Ordering by transaction id would break that: a transaction may write
-- something else first, then wait for the lock of one that publishes and commits, and still have the lower transaction id.
--
-- A message's transaction id is drawn before its id, so a bound on one is a bound on the other:
--
--   v := last id handed out;  own := this transaction's id;  s := snapshot
--
-- A transaction with an id above `own` began to write after v was read, so its messages' ids are above v.

-- The current snapshot, with every running transaction below `own` listed. pg_current_snapshot() ends at the last
-- COMPLETED transaction: running ones above that are neither listed nor distinguishable from future ones, and they may
-- have drawn message ids long ago. Listing them, up to `own`, does not change what the snapshot sees, and makes "at or
-- above xmax" mean "after v was read". An SQL function, so that PostgreSQL inlines it: in plpgsql the first call on a
-- connection took 0.8 ms.
create function tidemark_fn.take_snapshot(own xid8) returns pg_snapshot
language sql volatile as $$
  select case
    when pg_snapshot_xmax(pg_current_snapshot()) > own then pg_current_snapshot()
    when pg_snapshot_xmax(pg_current_snapshot()) = own then format('%s:%s:%s', pg_snapshot_xmin(pg_current_snapshot()),
      own::text::bigint + 1, split_part(pg_current_snapshot()::text, ':', 3))::pg_snapshot
    else tidemark_fn.extend_snapshot(pg_current_snapshot(), own)
  end
$$;

-- The snapshot with every transaction from its end up to `own` listed as running.
create function tidemark_fn.extend_snapshot(taken pg_snapshot, own xid8) returns pg_snapshot
language plpgsql immutable as $$
declare
  top bigint := own::text::bigint;
begin
  return format('%s:%s:%s', pg_snapshot_xmin(taken), top + 1, concat_ws(',', nullif(split_part(taken::text, ':', 3), ''), (
    select string_agg(x::text, ',' order by x) from generate_series(pg_snapshot_xmax(taken)::text::bigint, top - 1) as x
  )))::pg_snapshot;
end
$$;

-- Whether the snapshot lists transactions in progress. Its text has them after the second colon. A query of
-- pg_snapshot_xip() would be planned on every connection.
create function tidemark_fn.lists_any(taken pg_snapshot) returns boolean
language sql immutable as $$ select right(taken::text, 1) <> ':' $$;

-- Waits until partitions that are being attached are known to every session. PostgreSQL makes a commit visible a moment
-- before it invalidates other sessions' view of the log's partitions. In that moment another session may write to the
-- new partition, and a claim that doesn't know the partition yet would skip those rows for ever. add_partitions holds
-- this lock until after the invalidation. Costs about 2 us.
create function tidemark_fn.await_partitions(topic_id int) returns void
language sql volatile as $$ select pg_advisory_xact_lock_shared(hashtextextended('tidemark.attach', topic_id)) $$;

-- The query for the rows visible in `seeing` and not in `seen`, up to an id, in id order: after `after` and, for
-- transactions that were in progress at `seen` and have ended since, after `late_after` (null: there are none). The
-- bounds are literals, because only constants let the planner prune partitions. Two branches, because the index on (id,
-- xid) then finds the few late rows by both columns without fetching the others.
create function tidemark_fn.page_query(
  columns text, topic_id int, seen pg_snapshot, seeing pg_snapshot, late_after bigint, after bigint, upto bigint,
  since timestamptz, page_limit int
) returns text
language plpgsql stable as $$
declare
  log text := format('tidemark.log_%s', topic_id);
  recent text := case when since is null then '' else format(' and created_at >= %L::timestamptz', since) end;
  late xid8[];
  stragglers text;
  main text;
begin
  perform tidemark_fn.await_partitions(topic_id);
  main := format(
    'select %s from %s where id > %s and id <= %s and xid >= %L::xid8 and xid < %L::xid8%s%s order by id limit %s',
    columns, log, after, upto, pg_snapshot_xmax(seen), pg_snapshot_xmax(seeing),
    case when tidemark_fn.lists_any(seeing) then format(' and pg_visible_in_snapshot(xid, %L::pg_snapshot)', seeing) else '' end,
    recent, page_limit);
  if late_after is null then
    return main;
  end if;

  late := array(select x from pg_snapshot_xip(seen) as x where pg_visible_in_snapshot(x, seeing));
  if cardinality(late) = 0 then
    return main;
  end if;
  stragglers := format(
    'select %s from %s where id > %s and id <= %s and xid = any(%L::xid8[])%s order by id limit %s',
    columns, log, late_after, upto, late, recent, page_limit);
  return format('select * from ((%s) union all (%s)) as w order by id limit %s', stragglers, main, page_limit);
end
$$;

-- The query for the rows of these keys, in their order. The lateral limit makes the planner look each one up in its own
-- partition, whatever its statistics say about the sizes.
create function tidemark_fn.rows_query(topic_id int, xids xid8[], ids bigint[]) returns text
language sql stable as $$
  select format(
    'select m.* from unnest(%L::xid8[], %L::bigint[]) with ordinality as wanted (xid, id, slot) cross join lateral '
    '(select * from tidemark.log_%s as l where l.xid = wanted.xid and l.id = wanted.id and l.id between %s and %s limit 1) as m '
    'order by wanted.slot',
    xids, ids, topic_id, (select min(i) from unnest(ids) as i), (select max(i) from unnest(ids) as i))
$$;

-- A lower bound of the ids of transactions that were in progress at window_from and have ended by window_to; null if
-- there are none. Transactions that are still open do not count: one held open for hours would make every claim scan
-- everything published since. This is plpgsql, because an SQL function that can't be inlined is planned anew in each
-- transaction.
create function tidemark_fn.late_after(s tidemark.subscription) returns bigint
language plpgsql immutable as $$
begin
  if cardinality(s.late_ids) = 0 then
    return null;
  end if;
  return (
    select min(l.id)
    from rows from (pg_snapshot_xip(s.window_from), unnest(s.late_ids)) as l (x, id)
    where pg_visible_in_snapshot(l.x, s.window_to)
  );
end
$$;

-- The query that a claim runs on its current window. Functions that take a whole subscription are plpgsql: for each column
-- that an SQL function reads from a composite argument, PostgreSQL copies the description of the table with all its defaults.
create function tidemark_fn.window_query(columns text, s tidemark.subscription, page_limit int) returns text
language plpgsql stable as $$
begin
  return tidemark_fn.page_query(columns, s.topic_id, s.window_from, s.window_to,
    case when cardinality(s.late_ids) > 0 then greatest(tidemark_fn.late_after(s), s.at_id) end, greatest(s.from_id, s.at_id), s.to_id,
    s.since, page_limit);
end
$$;

-- Whether window_query can't find anything: no id lies between its bounds, neither for the rows of the window nor for late
-- ones. At the head of the log that is so for every look that nothing was published before, and it spares planning a
-- query of the partitioned log, which costs more than the rest of the look.
create function tidemark_fn.is_used_up(s tidemark.subscription) returns boolean
language plpgsql immutable as $$
begin
  return greatest(s.from_id, s.at_id) >= s.to_id
    and (cardinality(s.late_ids) = 0 or s.at_id >= s.to_id or coalesce(tidemark_fn.late_after(s), s.to_id) >= s.to_id);
end
$$;

-- Reads exactly the rows of a page lease: the rows of a window never change.
create function tidemark_fn.lease_query(columns text, s tidemark.subscription, l tidemark.lease) returns text
language sql stable as $$
  select tidemark_fn.page_query(columns, s.topic_id, l.window_from, l.window_to,
    l.first_id - 1, l.first_id - 1, l.last_id, s.since, l.size)
$$;

-- Whether the cursor has passed the message.
create function tidemark_fn.has_passed(seen pg_snapshot, seeing pg_snapshot, at_id bigint, xid xid8, id bigint)
returns boolean
language sql immutable as $$
  select pg_visible_in_snapshot(xid, seen) or id <= at_id and pg_visible_in_snapshot(xid, seeing)
$$;

-- The subscription with its window moved on, from its old end to `until`. `floor` is v of the header, for `until`.
create function tidemark_fn.next_window(s tidemark.subscription, until pg_snapshot, floor bigint, ceiling bigint)
returns tidemark.subscription
language plpgsql stable as $$
declare
  moved tidemark.subscription := s;
begin
  moved.window_from := s.window_to;
  moved.window_to := until;
  moved.late_ids := s.open_ids;
  moved.from_id := s.next_id;
  moved.next_id := floor;
  moved.seen_id := s.to_id;
  moved.to_id := ceiling;
  moved.at_id := 0;
  -- A transaction in progress either was so at the window's start and keeps its bound, or began later.
  if not tidemark_fn.lists_any(until) then
    moved.open_ids := '{}';
  elsif cardinality(s.open_ids) = 0 then
    moved.open_ids := array(select moved.from_id from pg_snapshot_xip(until));
  else
    moved.open_ids := array(
      select coalesce(known.id, moved.from_id)
      from pg_snapshot_xip(until) as now (x)
      left join rows from (pg_snapshot_xip(s.window_to), unnest(s.open_ids)) as known (x, id) on known.x = now.x
      order by now.x
    );
  end if;
  return moved;
end
$$;

-- The next window as has_work sees it. Nothing is written, so no transaction id is needed.
create function tidemark_fn.window_ahead(s tidemark.subscription) returns tidemark.subscription
language sql volatile as $$
  select tidemark_fn.next_window(s, pg_current_snapshot(), 0, tidemark_fn.last_id(s.topic_id))
$$;

-- The id up to which the cursor has passed everything. Above it lie the rest of the window and the rows of transactions
-- that were in progress at its end or began later. It never decreases, because a window starts with the bounds of the
-- previous one.
create function tidemark_fn.cursor_id(s tidemark.subscription) returns bigint
language plpgsql immutable as $$
begin
  return least(greatest(s.at_id, least(s.from_id, tidemark_fn.late_after(s))), s.next_id, (select min(i) from unnest(s.open_ids) as i));
end
$$;

create function tidemark_fn.last_id(topic_id int) returns bigint
language sql volatile as $$
  -- null, not 1, if the sequence was never used.
  select coalesce(pg_sequence_last_value(format('tidemark.log_%s_id', topic_id)::regclass), 0)
$$;

-- Lower id bounds for each transaction in progress at a snapshot just taken, for a cursor placed anew. Bounds known
-- from other cursors hold here too: a transaction that is not older than a snapshot draws ids above those handed out by
-- then. A partition's seal gives the same kind of bound. 0 if nothing is known: then the first window that sees the
-- transaction ended is scanned from the start, once. The cursors that are furthest ahead give the best bounds.
create function tidemark_fn.id_bounds(p_topic int, taken pg_snapshot) returns bigint[]
language plpgsql volatile as $$
begin
  if not tidemark_fn.lists_any(taken) then
    return '{}';
  end if;
  return array(
    select coalesce(greatest(
      (
        select max(case when x >= pg_snapshot_xmax(s.window_to) then s.next_id else known.id end)
        from (
          select * from tidemark.subscription as y where y.topic_id = p_topic order by y.next_id desc limit 8
        ) as s
        left join lateral (
          select l.id from rows from (pg_snapshot_xip(s.window_to), unnest(s.open_ids)) as l (x, id) where l.x = transactions.x
        ) as known on true
      ),
      (
        select max((p.number + 1) * (t.config ->> 'partitionRows')::bigint - 1)
        from tidemark.partition as p
        join tidemark.topic as t on t.id = p.topic_id
        where p.topic_id = p_topic and p.seal_xid <= x
      )
    ), 0)
    from pg_snapshot_xip(taken) as transactions (x)
    order by x
  );
end
$$;

-- An id just below the first message created at or after a time; `otherwise` if there is none. The optimisation fence
-- keeps the planner from walking the ids from the oldest, where the BRIN index finds the time.
create function tidemark_fn.id_before(p_topic int, at timestamptz, otherwise bigint) returns bigint
language plpgsql volatile as $$
declare
  first bigint;
begin
  first := tidemark_fn.number_of(
    format('select min(id) from (select id from tidemark.log_%s where created_at >= %L offset 0) as m', p_topic, at));
  return coalesce(first - 1, otherwise);
end
$$;

-- Whether the page up to this id is the same for every group. Nothing after the place was visible before the window,
-- and no transaction that was in progress at its end or began later can have an id up to this one. So any cursor at the
-- same place that sees as far reads the same rows. Takes columns of a subscription: see window_query.
create function tidemark_fn.is_complete(
  since timestamptz, at_id bigint, seen_id bigint, next_id bigint, open_ids bigint[], last_id bigint
) returns boolean
language sql immutable as $$
  select since is null and at_id >= seen_id and last_id <= next_id and last_id <= all(open_ids)
$$;

-- The subscription moved past messages that are dropped or about to be: raises the lower bounds of the ids to come.
create function tidemark_fn.past_gone(s tidemark.subscription, gone bigint) returns tidemark.subscription
language plpgsql immutable as $$
begin
  if s.from_id < gone or s.next_id < gone or gone > any(s.late_ids) or gone > any(s.open_ids) then
    s.late_ids := array(select greatest(l.id, gone) from unnest(s.late_ids) with ordinality as l (id, place) order by l.place);
    s.open_ids := array(select greatest(o.id, gone) from unnest(s.open_ids) with ordinality as o (id, place) order by o.place);
    s.from_id := greatest(s.from_id, gone);
    s.next_id := greatest(s.next_id, gone);
  end if;
  return s;
end
$$;

-- Whether the cursor is ahead of the database: of its transaction ids, or of the message ids it has handed out. Claims
-- from there would treat everything published until the database catches up as already seen. repair() fixes such
-- cursors. `floor` is an id handed out in this incarnation of the server, which spares most callers a read of the
-- sequence.
create function tidemark_fn.is_ahead(topic_id int, window_to pg_snapshot, to_id bigint, floor bigint) returns boolean
language sql volatile as $$
  select pg_snapshot_xmax(window_to) > pg_snapshot_xmax(pg_current_snapshot()) or to_id > floor and to_id > tidemark_fn.last_id(topic_id)
$$;

-- Identifies the current incarnation of the server. It changes whenever the server may have lost its newest commits and
-- hands out ids and transaction ids again: after a restart, a failover or a restored data directory (all change the
-- start time), and after crash recovery of one of its processes, which is not a restart (it resets the statistics).
-- Together with the transaction that wrote the topic's row it also detects a topic loaded from a dump. Costs about 2
-- us.
create function tidemark_fn.incarnation() returns text
language sql volatile as $$
  select format('%s/%s', extract(epoch from pg_postmaster_start_time()), coalesce(extract(epoch from pg_stat_get_bgwriter_stat_reset_time()), 0))
$$;
