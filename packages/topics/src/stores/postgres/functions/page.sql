-- Packs the rows of a page column by column into one result row for the client.

-- The aggregates that pack rows. JSON is sent as text joined by U+001E, which JSON can't contain: hex would double its
-- size (800 000 rows a second against 470 000). `as_bytes` is for rows that turn out not to be valid text. Every aggregate
-- costs 50 to 100 us per 1000 rows, even over nulls, so columns that are mostly null share one aggregate with a filter.
-- `in_order`: the rows come in ascending id order.
create function tidemark_fn.pack(keys_only boolean, as_bytes boolean, with_xids boolean default false, in_order boolean default false)
returns text
language sql immutable as $$
  select 'count(*)::int as size, min(id) as first_id, max(id) as last_id, '
    || case when in_order then 'case when max(id) - min(id) + 1 > count(*) then array_send(array_agg(id)) end as ids, '
      else 'array_send(array_agg(id)) as ids, ' end
    || case when with_xids then 'array_agg(xid) as xids, ' else 'null::xid8[] as xids, ' end
    || case when keys_only then
      'null::bigint[] as salts, null::timestamptz[] as created, null::bytea as extras, null::text as texts, null::bytea as payloads'
    else
      'array_agg(salt) as salts, array_agg(created_at) as created, '
      'array_send(array_agg(row(id, key, type, headers, message_id)::tidemark_fn.extra) '
      'filter (where num_nonnulls(key, type, headers, message_id) > 0)) as extras, '
      || case when as_bytes then 'null::text as texts, array_send(array_agg(payload)) as payloads'
      else
        'convert_from(string_agg(payload, ''\x1e''::bytea) filter (where type is null), ''UTF8'') as texts, '
        'array_send(array_agg(payload) filter (where type is not null)) as payloads'
      end
    end
$$;

-- The place of the first row of the second publish, if the rows are those of one publish and then of another; 1 if all are
-- of one. Rows with the same salt come from one publish, and so from one transaction. Checking that costs a third of
-- sending the lists, and a page that pg has to put together from more than 256 KiB takes twice the memory.
create function tidemark_fn.turn_of(salts bigint[], created timestamptz[]) returns int
language plpgsql immutable as $$
declare
  size int := cardinality(salts);
  turn int := array_position(salts, salts[size]);
begin
  if salts[1] = all (salts[:turn - 1]) and salts[size] = all (salts[turn:])
    and created[1] = all (created[:turn - 1]) and created[size] = all (created[turn:])
  then
    return turn;
  end if;
  return null;
end
$$;

create function tidemark_fn.log_columns(keys_only boolean) returns text
language sql immutable as $$
  select case when keys_only then 'xid, id' else 'xid, id, created_at, salt, key, type, headers, message_id, payload' end
$$;

-- Reads the rows of a query into the result, packed with the aggregates of `pack`.
create function tidemark_fn.read_rows(r tidemark_fn.claim_result, rows text, list text) returns tidemark_fn.claim_result
language plpgsql volatile as $$
declare
  all_xids xid8[];
  all_salts bigint[];
  all_created timestamptz[];
  turn int;
begin
  execute format('select size, first_id, last_id, ids, extras, texts, payloads, xids, salts, created from (select %s from (%s) as p) as a', list, rows)
  into r.size, r.first_id, r.last_id, r.ids, r.extras, r.texts, r.payloads, all_xids, all_salts, all_created;
  turn := tidemark_fn.turn_of(all_salts, all_created);
  if turn = 1 then
    r.xid := all_xids[1];
    r.salt := all_salts[1];
    r.created_ms := floor(extract(epoch from all_created[1]) * 1000);
  elsif turn is not null then
    r.turn := turn - 1;
    r.xids := array_send(array[all_xids[1], all_xids[turn]]);
    r.salts := array_send(array[all_salts[1], all_salts[turn]]);
    r.created := array_send(array[all_created[1], all_created[turn]]);
  else
    r.xids := array_send(all_xids);
    r.salts := array_send(all_salts);
    r.created := array_send(all_created);
  end if;
  return r;
end
$$;

-- Reads the page of a claim: the next rows of the window. Often it has a single id, at the head of a log that is published to
-- now and then.
create function tidemark_fn.read_window(r tidemark_fn.claim_result, s tidemark.subscription, q tidemark_fn.claim_request)
returns tidemark_fn.claim_result
language plpgsql volatile as $$
begin
  if s.to_id - greatest(s.from_id, s.at_id) = 1 and cardinality(s.late_ids) = 0 and not q.keys_only then
    return tidemark_fn.read_row(r, tidemark_fn.window_query(tidemark_fn.log_columns(false), s, 1), q.as_bytes, q.shared);
  end if;
  return tidemark_fn.read_rows(r, tidemark_fn.window_query(tidemark_fn.log_columns(q.keys_only), s, q.page_limit),
    tidemark_fn.pack(q.keys_only, q.as_bytes, q.shared, true));
end
$$;

-- The same for a query of at most one row with all columns. Planning the aggregates takes most of the time of reading one
-- row: 230 us against 90 without them.
create function tidemark_fn.read_row(r tidemark_fn.claim_result, query text, as_bytes boolean, with_xid boolean)
returns tidemark_fn.claim_result
language plpgsql volatile as $$
declare
  m record;
begin
  execute query into m;
  if m.id is null then
    r.size := 0;
    return r;
  end if;
  r.size := 1;
  r.first_id := m.id;
  r.last_id := m.id;
  r.salt := m.salt;
  r.created_ms := floor(extract(epoch from m.created_at) * 1000);
  if with_xid then
    r.xid := m.xid;
  end if;
  if num_nonnulls(m.key, m.type, m.headers, m.message_id) > 0 then
    r.extras := array_send(array[row(m.id, m.key, m.type, m.headers, m.message_id)::tidemark_fn.extra]);
  end if;
  if as_bytes or m.type is not null then
    r.payloads := array_send(array[m.payload]);
  else
    r.texts := convert_from(m.payload, 'UTF8');
  end if;
  return r;
end
$$;
