-- One claim, one round trip. A function and not one statement: every statement in it must see what was committed after
-- it got the subscription's lock, or it would read the log with a snapshot older than the window it reads.

create type tidemark.claim_result as (
  status text,
  conflict boolean,
  taken_over int,
  dead_lettered int,
  next_due_ms float8,
  config_version int,
  kind text,
  suspect boolean,
  attempts int[],
  versions int[],
  -- Of retries whose messages are not all there any more: the slots of those that are.
  slots int[],
  -- The rows, column by column: one result row is several times faster to send and decode than one a message.
  size int,
  low_id bigint,
  high_id bigint,
  first_xid xid8,
  first_id bigint,
  last_xid xid8,
  last_id bigint,
  ids bytea,
  created bytea,
  extras bytea,
  texts text,
  payloads bytea,
  -- It is the page that the caller knew; its rows were not read.
  is_known boolean,
  -- What others may know it by, where that is for ever the same.
  page tidemark.known_page
);

-- What few messages have.
create type tidemark.extra as (id bigint, key text, type text, headers text, message_id text);

-- The select list that packs rows. JSON travels as text, joined by U+001E, which JSON can't contain: hex would double it
-- (measured: 800 000 rows a second against 470 000). `as_bytes` is for rows that turn out not to be valid text. Every
-- aggregate costs 50 to 100 us per 1000 rows, even over nulls, so what is mostly null is gathered in one, with a filter.
create function tidemark.pack(keys_only boolean, as_bytes boolean) returns text
language sql immutable as $$
  select 'count(*)::int as size, min(id) as low_id, max(id) as high_id, '
    '(array_agg(xid))[1] as first_xid, (array_agg(id))[1] as first_id, '
    '(array_agg(xid))[count(*)::int] as last_xid, (array_agg(id))[count(*)::int] as last_id, '
    'array_send(array_agg(id)) as ids, '
    || case when keys_only then
      'null::bytea as created, null::bytea as extras, null::text as texts, null::bytea as payloads'
    else
      'array_send(array_agg(created_at)) as created, '
      'array_send(array_agg(row(id, key, type, headers, message_id)::tidemark.extra) '
      'filter (where num_nonnulls(key, type, headers, message_id) > 0)) as extras, '
      || case when as_bytes then 'null::text as texts, array_send(array_agg(payload)) as payloads'
      else
        'convert_from(string_agg(payload, ''\x1e''::bytea) filter (where type is null), ''UTF8'') as texts, '
        'array_send(array_agg(payload) filter (where type is not null)) as payloads'
      end
    end
$$;

create function tidemark.log_columns(keys_only boolean) returns text
language sql immutable as $$
  select case when keys_only then 'xid, id' else 'xid, id, created_at, key, type, headers, message_id, payload' end
$$;

-- When there is something to do again, of what this claim may do at all.
create function tidemark.next_due_ms(subscription int, with_suspects boolean, with_leases boolean) returns float8
language sql volatile as $$
  select extract(epoch from least(
    (select r.due_at from tidemark.retry as r
      where r.subscription_id = subscription and r.token is null and not r.suspect order by r.due_at limit 1),
    (select r.due_at from tidemark.retry as r
      where r.subscription_id = subscription and r.token is null and r.suspect and with_suspects order by r.due_at limit 1),
    (select l.deadline from tidemark.lease as l
      where l.subscription_id = subscription and l.done_at is null and l.expired_at is null and with_leases order by l.deadline limit 1)
  ) - clock_timestamp())::float8 * 1000
$$;

create function tidemark.has_due(subscription int, is_suspect boolean) returns boolean
language plpgsql volatile as $$
declare
  -- a variable, because no index can be searched for what changes as it is read
  now timestamptz := clock_timestamp();
begin
  return exists (
    select from tidemark.retry as r
    where r.subscription_id = subscription and r.token is null and r.suspect = is_suspect and r.due_at <= now
  );
end
$$;

-- The subscription, past the messages that are gone or about to go: the lower bounds of the ids still to come.
create function tidemark.past_gone(s tidemark.subscription, gone bigint) returns tidemark.subscription
language plpgsql immutable as $$
begin
  if s.from_id < gone or s.straggler_id < gone then
    s.straggler_id := greatest(s.straggler_id, gone);
    s.from_id := greatest(s.from_id, gone);
    s.next_id := greatest(s.next_id, gone);
  end if;
  return s;
end
$$;

-- Looks without locking or writing, so that an idle group costs no transaction id.
create function tidemark.has_work(s tidemark.subscription, with_suspects boolean, sweep boolean) returns boolean
language plpgsql volatile as $$
declare
  now timestamptz := clock_timestamp();
  until pg_snapshot;
  later tidemark.subscription;
  is_there boolean;
begin
  if tidemark.has_due(s.id, false) or with_suspects and tidemark.has_due(s.id, true) or sweep and exists (
    select from tidemark.lease as l
    where l.subscription_id = s.id and l.done_at is null and l.expired_at is null and l.deadline < now
  ) then
    return true;
  end if;
  if s.backfilling and tidemark.has_backfilled(s) then
    return true;
  end if;

  execute format('select exists (%s)', tidemark.window_query('xid, id', s, 1)) into is_there;
  if is_there then
    return true;
  end if;
  select pg_current_snapshot() into until;
  later := tidemark.next_window(s, until, 0, tidemark.last_id(s.topic_id));
  execute format('select exists (%s)', tidemark.window_query('xid, id', later, 1)) into is_there;
  return is_there or tidemark.is_outworn(s, until);
end
$$;

-- Transactions listed by an idle window that have all ended would be looked for at every look, in every partition since:
-- once in a while it is worth a write to be rid of them.
create function tidemark.is_outworn(s tidemark.subscription, until pg_snapshot) returns boolean
language sql volatile as $$
  select s.moved_at < clock_timestamp() - interval '10 seconds' and exists (
    select from pg_snapshot_xip(s.window_to) as x where pg_visible_in_snapshot(x, until)
  )
$$;

-- Due retries: all that may be shared first, then one suspect, alone.
create function tidemark.lease_retries(
  s tidemark.subscription, p_token uuid, p_limit int, p_suspect boolean,
  out ids bigint[], out xids xid8[], out attempts int[], out versions int[]
)
language plpgsql volatile as $$
declare
  now timestamptz := clock_timestamp();
begin
  with due as (
    select r.id, row_number() over (order by r.due_at, r.id) - 1 as slot
    from tidemark.retry as r
    where r.subscription_id = s.id and r.token is null and r.suspect = p_suspect and r.due_at <= now
    order by r.due_at, r.id
    limit p_limit
  ), leased as (
    update tidemark.retry as r
    set attempts = r.attempts + 1, version = r.version + 1, token = p_token, slot = due.slot
    from due
    where r.subscription_id = s.id and r.id = due.id
    returning r.id, r.xid, r.slot, r.attempts, r.version
  )
  select array_agg(l.id order by l.slot), array_agg(l.xid order by l.slot),
    array_agg(l.attempts order by l.slot), array_agg(l.version order by l.slot)
  into ids, xids, attempts, versions
  from leased as l;
end
$$;

create function tidemark.claim(
  p_topic int, p_subscription int, p_token uuid, p_consumer text, p_limit int, p_suspects boolean, p_sweep boolean, p_eager boolean,
  p_keys_only boolean, p_as_bytes boolean, p_forget uuid[], p_expired text, p_shared boolean, p_known tidemark.known_page
) returns tidemark.claim_result
language plpgsql volatile
-- Only the (xid, id) index gives a page without reading the whole window, and statistics lag behind a growing partition:
-- left to choose, the planner sorted all that was left for every claim (20 000 rows a second in place of 400 000).
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  s tidemark.subscription;
  r tidemark.claim_result;
  page record;
  retries record;
  present bigint[];
  gone bigint;
  held bigint[];
  held_xids xid8[];
  more_backfilled boolean := false;
  floor bigint;
  lease_ms float8;
  max_attempts int;
  due_at timestamptz;
  columns text := tidemark.log_columns(p_keys_only);
begin
  r.conflict := false;
  r.taken_over := 0;
  r.dead_lettered := 0;
  r.suspect := false;
  r.size := 0;
  select t.config_version, (t.config ->> 'leaseMs')::float8, (t.config ->> 'maxAttempts')::int, t.gone_id
  into r.config_version, lease_ms, max_attempts, gone
  from tidemark.topic as t
  where t.id = p_topic;
  -- Deleted: its log is gone too.
  if not found then
    r.status := 'GONE';
    return r;
  end if;
  -- Read before this transaction has an id: see 002_cursor.sql.
  floor := tidemark.last_id(p_topic);
  if not p_eager and cardinality(p_forget) = 0 then
    select * into s from tidemark.subscription as x where x.id = p_subscription;
    r.status := coalesce(s.status, 'GONE');
    if r.status <> 'ACTIVE' then
      return r;
    end if;
    s := tidemark.past_gone(s, gone);
    if not tidemark.has_work(s, p_suspects, p_sweep) then
      r.next_due_ms := tidemark.next_due_ms(s.id, p_suspects, p_sweep);
      return r;
    end if;
  end if;

  -- A claim that is lost in a crash only costs a redelivery; waiting for the disk under the lock would cost every claim.
  perform set_config('synchronous_commit', 'off', true);
  select * into s from tidemark.subscription as x where x.id = p_subscription for no key update skip locked;
  if not found then
    r.conflict := true;
    select * into s from tidemark.subscription as x where x.id = p_subscription for no key update;
  end if;
  r.status := coalesce(s.status, 'GONE');
  if r.status <> 'ACTIVE' then
    return r;
  end if;
  s := tidemark.past_gone(s, gone);
  if cardinality(p_forget) > 0 then
    delete from tidemark.lease as l where l.token = any(p_forget) and l.subscription_id = s.id
      and (l.done_at is not null or l.expired_at is not null);
  end if;
  if p_sweep then
    select e.taken_over, e.dead_lettered into r.taken_over, r.dead_lettered
    from tidemark.expire_leases(s, max_attempts, p_expired) as e;
  end if;
  if lease_ms > 0 then
    due_at := clock_timestamp() + lease_ms * interval '1 millisecond';
  end if;

  r.suspect := not tidemark.has_due(s.id, false);
  if not r.suspect or p_suspects and tidemark.has_due(s.id, true) then
    r.kind := 'retry';
    select * into retries
    from tidemark.lease_retries(s, p_token, case when r.suspect then 1 else p_limit end, r.suspect);
    held := retries.ids;
    held_xids := retries.xids;
    r.attempts := retries.attempts;
    r.versions := retries.versions;
  else
    r.suspect := false;
    if s.backfilling then
      select b.ids, b.xids, b.more into held, held_xids, more_backfilled
      from tidemark.take_backfilled(s, p_token, p_limit) as b;
      if cardinality(held) > 0 then
        r.kind := 'retry';
      end if;
    end if;
  end if;

  if r.kind = 'retry' then
    execute format('select %s from (%s) as p', tidemark.pack(p_keys_only, p_as_bytes),
      tidemark.rows_query(s.topic_id, held_xids, held)) into page;
    if page.size < cardinality(held) then
      -- Messages that are gone from the log are settled.
      execute format('select array_agg(id) from (%s) as p', tidemark.rows_query(s.topic_id, held_xids, held)) into present;
      r.slots := array(
        select w.place - 1 from unnest(held) with ordinality as w (id, place) where w.id = any(present) order by 1
      );
      delete from tidemark.retry as x where x.token = p_token and not x.slot = any(r.slots);
      page.size := cardinality(held);
    end if;
    if cardinality(r.slots) = 0 then
      r.kind := null;
      r.suspect := false;
      r.slots := null;
      r.attempts := null;
      r.versions := null;
    else
      insert into tidemark.lease (token, subscription_id, consumer, kind, size, suspect, deadline)
      values (p_token, s.id, p_consumer, 'retry', cardinality(held), r.suspect, due_at);
    end if;
  end if;

  if r.kind is null then
    r.is_known := coalesce(tidemark.is_next(p_known, s, p_limit), false);
    if r.is_known then
      select p_known.*, null::bytea as ids, null::bytea as created, null::bytea as extras, null::text as texts,
        null::bytea as payloads into page;
    else
      execute format('select %s from (%s) as p', tidemark.pack(p_keys_only, p_as_bytes),
        tidemark.window_query(columns, s, p_limit)) into page;
    end if;
    if page.size = 0 then
      s := tidemark.next_window(s, tidemark.take_snapshot(pg_current_xact_id()), floor, tidemark.last_id(s.topic_id));
      execute format('select %s from (%s) as p', tidemark.pack(p_keys_only, p_as_bytes),
        tidemark.window_query(columns, s, p_limit)) into page;
    end if;
    if page.size > 0 then
      r.kind := 'page';
      insert into tidemark.lease (token, subscription_id, consumer, kind, size, window_from, window_to,
        first_xid, first_id, last_xid, last_id, low_id, high_id, deadline)
      values (p_token, s.id, p_consumer, 'page', page.size, s.window_from, s.window_to,
        page.first_xid, page.first_id, page.last_xid, page.last_id, page.low_id, page.high_id, due_at);
      if p_shared then
        r.last_xid := page.last_xid;
        r.last_id := page.last_id;
        if not r.is_known and tidemark.is_complete(s, page.last_xid) then
          r.page := row(s.at_xid, s.at_id, page.first_xid, page.first_id, page.last_xid, page.last_id,
            page.low_id, page.high_id, s.from_id, page.size);
        end if;
      end if;
      s.at_xid := page.last_xid;
      s.at_id := page.last_id;
    end if;
    -- Rows, or stragglers to be rid of: otherwise the next claim simply takes a later window.
    if page.size > 0 or exists (select from pg_snapshot_xip(s.window_from)) then
      update tidemark.subscription as x
      set window_from = s.window_from, window_to = s.window_to, straggler_id = s.straggler_id, from_id = s.from_id,
        to_id = s.to_id, next_id = s.next_id, at_xid = s.at_xid, at_id = s.at_id, moved_at = clock_timestamp()
      where x.id = s.id;
    end if;
  end if;

  if r.kind is not null then
    r.size := page.size;
    r.ids := page.ids;
    r.created := page.created;
    r.extras := page.extras;
    r.texts := page.texts;
    r.payloads := page.payloads;
  end if;
  if r.kind is null then
    r.next_due_ms := case when more_backfilled then 0 else tidemark.next_due_ms(s.id, p_suspects, p_sweep) end;
  end if;
  return r;
end
$$;

-- The rows of a lease once more: for a claim of keys whose rows are not all cached, or, as bytes, for one whose texts
-- could not be told apart.
create function tidemark.read_lease(p_token uuid, p_as_bytes boolean) returns tidemark.claim_result
language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  s tidemark.subscription;
  l tidemark.lease;
  r tidemark.claim_result;
  xids xid8[];
  ids bigint[];
  rows text;
begin
  select * into l from tidemark.lease as x where x.token = p_token;
  select * into s from tidemark.subscription as x where x.id = l.subscription_id;
  if l.kind = 'page' then
    rows := tidemark.lease_query(tidemark.log_columns(false), s, l);
  else
    select array_agg(x.xid order by x.slot), array_agg(x.id order by x.slot) into xids, ids
    from tidemark.retry as x
    where x.token = p_token;
    rows := tidemark.rows_query(s.topic_id, xids, ids);
  end if;
  execute format(
    'select ids, created, extras, texts, payloads from (select %s from (%s) as p) as q',
    tidemark.pack(false, p_as_bytes), rows
  ) into r.ids, r.created, r.extras, r.texts, r.payloads;
  return r;
end
$$;
