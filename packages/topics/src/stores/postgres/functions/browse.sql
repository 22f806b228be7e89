-- Browsing topics without consuming from them.

-- Approximately the first id whose message was created at or after a time. Ids and times rise together except among
-- concurrent publishes, so callers leave a margin of ids and compare the times themselves.
create function tidemark_fn.id_near(p_topic int, at timestamptz) returns bigint
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  low bigint := tidemark_fn.first_kept_id(p_topic);
  high bigint := tidemark_fn.last_id(p_topic) + 1;
  middle bigint;
  step constant bigint := 1000;
  found_at timestamptz;
begin
  while low < high loop
    middle := low + (high - low) / 2;
    found_at := tidemark_fn.time_of(format('select created_at from tidemark.log_%s where id between %s and %s order by id limit 1',
      p_topic, middle, least(middle + step, high) - 1));
    if found_at >= at then
      high := middle;
    else
      low := case when found_at is null then least(middle + step, high) else middle + 1 end;
    end if;
  end loop;
  return low;
end
$$;

-- The size of a row as counted against the limit. The length of a large value is read from its TOAST pointer, without
-- fetching the value.
create function tidemark_fn.row_bytes() returns text
language sql immutable as $$
  select 'octet_length(payload) + coalesce(octet_length(headers), 0) + coalesce(octet_length(key), 0)'
$$;

-- A message's columns. Messages larger than p_largest come without payload and headers.
create function tidemark_fn.bounded_columns(p_largest bigint) returns text
language sql immutable as $$
  select case when p_largest is null then tidemark_fn.log_columns(false) else format(
    'xid, id, created_at, salt, key, type, case when %1$s <= %2$s then headers end as headers, message_id, '
    'case when %1$s <= %2$s then payload else '''' end as payload', tidemark_fn.row_bytes(), p_largest) end
$$;

-- The columns that row_room() counts: omitted contents take no room.
create function tidemark_fn.counted_columns(p_largest bigint) returns text
language sql immutable as $$
  select format('xid, id, case when %1$s <= %2$s then %1$s else 0 end as bytes', tidemark_fn.row_bytes(),
    coalesce(p_largest, 9223372036854775807))
$$;

-- How many rows of a query (of counted columns) fit; null if all do. With p_first the first row always fits.
create function tidemark_fn.row_room(p_rows text, p_newest boolean, p_bytes bigint, p_first boolean) returns int
language plpgsql volatile as $$
begin
  return tidemark_fn.number_of(format(
    'select case when count(*) filter (where fits) < count(*) then count(*) filter (where fits) end from ('
    'select sum(bytes) over w <= %s or (%L and row_number() over w = 1) as fits from (%s) as p '
    'window w as (order by id %s rows unbounded preceding)) as q',
    p_bytes, p_first, p_rows, case when p_newest then 'desc' else 'asc' end));
end
$$;

-- The matching messages in a range of ids. The caller keeps the range short, because keys and types are not indexed.
-- is_cut: not all of them fitted.
create function tidemark_fn.browse(
  p_topic int, p_low bigint, p_high bigint, p_since timestamptz, p_until timestamptz, p_key text, p_typed boolean, p_type text,
  p_newest boolean, p_limit int, p_bytes bigint, p_largest bigint, p_first boolean,
  out is_cut boolean, out page tidemark_fn.claim_result
)
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  matching text := '';
  place text;
  room int;
begin
  if p_since is not null then
    matching := matching || format(' and created_at >= %L::timestamptz', p_since);
  end if;
  if p_until is not null then
    matching := matching || format(' and created_at < %L::timestamptz', p_until);
  end if;
  if p_key is not null then
    matching := matching || format(' and key = %L', p_key);
  end if;
  if p_typed then
    matching := matching || case when p_type is null then ' and type is null' else format(' and type = %L', p_type) end;
  end if;
  place := format('from tidemark.log_%s where id between %s and %s%s order by id %s limit ',
    p_topic, p_low, p_high, matching, case when p_newest then 'desc' else 'asc' end);
  if p_bytes is not null then
    room := tidemark_fn.row_room(format('select %s %s%s', tidemark_fn.counted_columns(p_largest), place, p_limit),
      p_newest, p_bytes, p_first);
  end if;
  is_cut := room is not null;
  page := tidemark_fn.read_rows(page,
    format('select %s %s%s', tidemark_fn.bounded_columns(p_largest), place, coalesce(room, p_limit)), tidemark_fn.pack(false, true));
end
$$;

-- What was committed after a place. A place is a group's snapshot cursor, kept by the reader as a subscription, and the
-- server incarnation in which it was taken: in another incarnation its transaction ids may mean other transactions, and
-- `place` is null then. Writes nothing; it draws a transaction id only when there is something to move on to (see
-- cursor.sql).
create function tidemark_fn.tail(
  p_topic int, p_place text, p_limit int, p_bytes bigint, p_largest bigint, out place text, out page tidemark_fn.claim_result
)
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  s tidemark.subscription;
  columns text := tidemark_fn.bounded_columns(p_largest);
  room int := p_limit;
  floor bigint := tidemark_fn.last_id(p_topic);
  server text := tidemark_fn.incarnation();
  is_there boolean;
begin
  page.size := 0;
  if p_place is null then
    s.topic_id := p_topic;
    s.window_from := tidemark_fn.take_snapshot(pg_current_xact_id());
    s.window_to := s.window_from;
    s.late_ids := tidemark_fn.id_bounds(p_topic, s.window_from);
    s.open_ids := s.late_ids;
    s.from_id := floor;
    s.next_id := floor;
    s.to_id := tidemark_fn.last_id(p_topic);
    s.seen_id := s.to_id;
    s.at_id := 0;
    place := server || ' ' || s::text;
    return;
  end if;
  if split_part(p_place, ' ', 1) <> server then
    return;
  end if;
  s := substr(p_place, length(server) + 2)::tidemark.subscription;
  place := p_place;
  is_there := tidemark_fn.has_rows(tidemark_fn.window_query('xid, id', s, 1));
  if not is_there then
    is_there := tidemark_fn.has_rows(tidemark_fn.window_query('xid, id', tidemark_fn.window_ahead(s), 1));
    if not is_there then
      return;
    end if;
    s := tidemark_fn.next_window(s, tidemark_fn.take_snapshot(pg_current_xact_id()), floor, tidemark_fn.last_id(p_topic));
  end if;
  if p_bytes is not null then
    room := coalesce(
      tidemark_fn.row_room(tidemark_fn.window_query(tidemark_fn.counted_columns(p_largest), s, p_limit), false, p_bytes, true), p_limit);
  end if;
  page := tidemark_fn.read_rows(page, tidemark_fn.window_query(columns, s, room), tidemark_fn.pack(false, true));
  s.at_id := case when page.size < room then s.to_id else page.last_id end;
  place := server || ' ' || s::text;
end
$$;
