-- Packs the rows of a page column by column into one result row for the client.

-- The select list that packs rows. JSON is sent as text joined by U+001E, which JSON can't contain: hex would double
-- its size (800 000 rows a second against 470 000). `as_bytes` is for rows that turn out not to be valid text. Every
-- aggregate costs 50 to 100 us per 1000 rows, even over nulls, so columns that are mostly null share one aggregate with
-- a filter. Sending and decoding a list costs as much again, so a column that usually has one value for all rows is
-- sent once; detecting that with two more aggregates (min and max are the cheapest) costs less than a list. `in_order`:
-- the rows come in ascending id order.
create function tidemark_fn.pack(keys_only boolean, as_bytes boolean, with_xids boolean default false, in_order boolean default false)
returns text
language sql immutable as $$
  select 'count(*)::int as size, min(id) as first_id, max(id) as last_id, '
    || case when in_order then 'case when max(id) - min(id) + 1 > count(*) then array_send(array_agg(id)) end as ids, '
      else 'array_send(array_agg(id)) as ids, ' end
    -- Rows with the same salt come from one publish, and so from one transaction.
    || case when not with_xids then 'null::xid8 as xid, null::bytea as xids, '
      when keys_only then 'null::xid8 as xid, array_send(array_agg(xid)) as xids, '
      else '(array_agg(xid))[1] as xid, case when min(salt) < max(salt) then array_send(array_agg(xid)) end as xids, ' end
    || case when keys_only then
      'null::bigint as salt, null::bytea as salts, null::bigint as created_ms, '
      'null::bytea as created, null::bytea as extras, null::text as texts, null::bytea as payloads'
    else
      'case when min(salt) = max(salt) then min(salt) end as salt, '
      'case when min(salt) < max(salt) then array_send(array_agg(salt)) end as salts, '
      'case when min(created_at) = max(created_at) then floor(extract(epoch from min(created_at)) * 1000)::bigint end as created_ms, '
      'case when min(created_at) < max(created_at) then array_send(array_agg(created_at)) end as created, '
      'array_send(array_agg(row(id, key, type, headers, message_id)::tidemark_fn.extra) '
      'filter (where num_nonnulls(key, type, headers, message_id) > 0)) as extras, '
      || case when as_bytes then 'null::text as texts, array_send(array_agg(payload)) as payloads'
      else
        'convert_from(string_agg(payload, ''\x1e''::bytea) filter (where type is null), ''UTF8'') as texts, '
        'array_send(array_agg(payload) filter (where type is not null)) as payloads'
      end
    end
$$;

create function tidemark_fn.log_columns(keys_only boolean) returns text
language sql immutable as $$
  select case when keys_only then 'xid, id' else 'xid, id, created_at, salt, key, type, headers, message_id, payload' end
$$;

-- Reads the rows of a query into the result, packed with a select list of `pack`.
create function tidemark_fn.read_rows(r tidemark_fn.claim_result, rows text, list text) returns tidemark_fn.claim_result
language plpgsql volatile as $$
begin
  execute format('select %s from (%s) as p', list, rows)
  into r.size, r.first_id, r.last_id, r.ids, r.xid, r.xids, r.salt, r.salts, r.created_ms, r.created, r.extras, r.texts, r.payloads;
  return r;
end
$$;
