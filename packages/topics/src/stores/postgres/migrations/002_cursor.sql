-- The snapshot cursor. A message's transaction id is taken before its id, so what bounds the one bounds the other:
--
--   v := last id handed out;  own := this transaction's id;  s := snapshot
--
-- A transaction with an id above `own` began to write after v was read, so its messages' ids are above v.

-- The snapshot of now, told in terms of `own`. pg_current_snapshot() ends at the last COMPLETED transaction: running
-- ones above that are neither listed nor told apart from future ones, and they may long have drawn their ids. Listing
-- them, up to `own`, changes nothing of what the snapshot sees, and makes "at or above xmax" mean "after v was read".
create function tidemark.take_snapshot(own xid8) returns pg_snapshot
language plpgsql volatile as $$
declare
  now pg_snapshot;
  top bigint := own::text::bigint;
  running text;
begin
  select pg_current_snapshot() into now;
  if pg_snapshot_xmax(now) > own then
    return now;
  end if;
  select string_agg(r.x::text, ',' order by r.x) into running
  from (
    select x::text::bigint as x from pg_snapshot_xip(now) as x
    union all
    select generate_series(pg_snapshot_xmax(now)::text::bigint, top - 1)
  ) as r;
  return format('%s:%s:%s', pg_snapshot_xmin(now), top + 1, running)::pg_snapshot;
end
$$;

-- The text that reads the rows visible in `seeing` and not in `seen`, after a place, in (xid, id) order. Text with
-- literals, because only constants let the planner leave out the partitions that the id bounds exclude.
create function tidemark.page_query(
  columns text, topic_id int, seen pg_snapshot, seeing pg_snapshot,
  straggler_id bigint, from_id bigint, to_id bigint, at_xid xid8, at_id bigint, since timestamptz, page_limit int
) returns text
language plpgsql stable as $$
declare
  log text := format('tidemark.log_%s', topic_id);
  visible text := '';
  recent text := '';
  place text;
  late xid8[];
  stragglers text;
  main text;
begin
  if exists (select from pg_snapshot_xip(seeing)) then
    visible := format(' and pg_visible_in_snapshot(xid, %L::pg_snapshot)', seeing);
  end if;
  if since is not null then
    recent := format(' and created_at >= %L::timestamptz', since);
  end if;
  if at_xid >= pg_snapshot_xmax(seen) then
    place := format('(xid, id) > (%L::xid8, %s)', at_xid, at_id);
  else
    place := format('xid >= %L::xid8', pg_snapshot_xmax(seen));
  end if;
  main := format(
    'select %s from %s where %s and xid < %L::xid8 and id > %s and id <= %s%s%s order by xid, id limit %s',
    columns, log, place, pg_snapshot_xmax(seeing), from_id, to_id, visible, recent, page_limit);

  -- Transactions that were in progress at `seen` and have ended since. Their ids are all below xmax(seen).
  late := array(
    select x from pg_snapshot_xip(seen) as x where x >= at_xid and pg_visible_in_snapshot(x, seeing)
  );
  if cardinality(late) = 0 then
    return main;
  end if;
  stragglers := format(
    'select %s from %s where xid = any(%L::xid8[]) and (xid, id) > (%L::xid8, %s) and id > %s and id <= %s%s '
    'order by xid, id limit %s',
    columns, log, late, at_xid, at_id, straggler_id, to_id, recent, page_limit);
  return format('select * from ((%s) union all (%s)) as w order by xid, id limit %s', stragglers, main, page_limit);
end
$$;

-- The text that reads the rows of these keys, in their order. The lateral limit makes the planner look each one up in
-- its own partition, whatever it believes about the sizes.
create function tidemark.rows_query(topic_id int, xids xid8[], ids bigint[]) returns text
language sql stable as $$
  select format(
    'select m.* from unnest(%L::xid8[], %L::bigint[]) with ordinality as wanted (xid, id, slot) cross join lateral '
    '(select * from tidemark.log_%s as l where l.xid = wanted.xid and l.id = wanted.id and l.id between %s and %s limit 1) as m '
    'order by wanted.slot',
    xids, ids, topic_id, (select min(i) from unnest(ids) as i), (select max(i) from unnest(ids) as i))
$$;

-- What a claim reads in its window as it stands.
create function tidemark.window_query(columns text, s tidemark.subscription, page_limit int) returns text
language sql stable as $$
  select tidemark.page_query(columns, s.topic_id, s.window_from, s.window_to,
    s.straggler_id, s.from_id, s.to_id, s.at_xid, s.at_id, s.since, page_limit)
$$;

-- Exactly the rows of a page lease: a window's rows are for ever the same.
create function tidemark.lease_query(columns text, s tidemark.subscription, l tidemark.lease) returns text
language sql stable as $$
  select tidemark.page_query(columns, s.topic_id, l.window_from, l.window_to,
    l.low_id - 1, l.low_id - 1, l.high_id, l.first_xid, l.first_id - 1, s.since, l.size)
$$;

-- The subscription with its window moved on: from where it ended to `until`. `floor` is v of the header, for `until`.
create function tidemark.next_window(s tidemark.subscription, until pg_snapshot, floor bigint, ceiling bigint)
returns tidemark.subscription
language plpgsql stable as $$
declare
  moved tidemark.subscription := s;
begin
  -- A transaction in progress at window_to was so at window_from already, or it began after that: above from_id. The
  -- from_id of a group that started from the beginning may skip old messages, so it says nothing of stragglers.
  if not exists (
    select from pg_snapshot_xip(s.window_to) as x where not x >= pg_snapshot_xmax(s.window_from)
  ) and pg_snapshot_xmax(s.window_from) > '1'::xid8 then
    moved.straggler_id := s.from_id;
  end if;
  moved.window_from := s.window_to;
  moved.window_to := until;
  moved.from_id := s.next_id;
  moved.to_id := ceiling;
  moved.next_id := floor;
  moved.at_xid := '0'::xid8;
  moved.at_id := 0;
  return moved;
end
$$;

create function tidemark.last_id(topic_id int) returns bigint
language sql volatile as $$
  -- null, not 1, for a sequence that was never used
  select coalesce(pg_sequence_last_value(format('tidemark.log_%s_id', topic_id)::regclass), 0)
$$;

-- A page that was read, in terms of which another group may claim the same: the place after which it begins, its rows, and
-- the id above which it was looked for.
create type tidemark.known_page as (
  at_xid xid8,
  at_id bigint,
  first_xid xid8,
  first_id bigint,
  last_xid xid8,
  last_id bigint,
  low_id bigint,
  high_id bigint,
  from_id bigint,
  size int
);

-- Nothing up to this transaction was in progress when the window was taken, and none before the window is still to come:
-- whoever stands at the same place and sees as far, sees the same rows up to it.
create function tidemark.is_complete(s tidemark.subscription, last_xid xid8) returns boolean
language sql immutable as $$
  select s.since is null and s.at_xid >= pg_snapshot_xmax(s.window_from) and last_xid < pg_snapshot_xmin(s.window_to)
$$;

-- The page is what this group would read next, or the beginning of it.
create function tidemark.is_next(k tidemark.known_page, s tidemark.subscription, page_limit int) returns boolean
language sql immutable as $$
  select k.at_xid = s.at_xid and k.at_id = s.at_id and k.size <= page_limit
    and k.from_id <= s.from_id and s.from_id < k.low_id and k.high_id <= s.to_id
    and tidemark.is_complete(s, k.last_xid)
$$;
