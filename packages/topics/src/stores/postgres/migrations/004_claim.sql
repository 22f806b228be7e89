-- One claim, one round trip. A function and not one statement: every statement in it must see what was committed after
-- it got the subscription's lock, or it would read the log with a snapshot older than the window it reads.

create type tidemark.claim_result as (
  status text,
  conflict boolean,
  -- JSON: whose leases were taken over, and which messages.
  take_overs jsonb,
  dead_lettered int,
  waiting text,
  next_due_ms float8,
  config_version int,
  kind text,
  suspects text,
  attempts int[],
  versions int[],
  -- Of retries whose messages are not all there any more: the slots of those that are.
  slots int[],
  -- The rows, column by column: one result row is several times faster to send and decode than one a message.
  size int,
  -- The place after them.
  at_id bigint,
  -- Their ids: all from the first to the last where the list is null.
  first_id bigint,
  last_id bigint,
  ids bytea,
  -- Their transactions, where rows are shared.
  xids bytea,
  -- What rows of one publish have in common: one for all where there is only one, else a list.
  salt bigint,
  salts bytea,
  created_ms bigint,
  created bytea,
  extras bytea,
  texts text,
  payloads bytea,
  -- It is the page that the caller knew; its rows were not read.
  is_known boolean,
  -- What others may know it by, where that is for ever the same.
  page tidemark.known_page,
  -- The life of the server that answered, and how often the group's cursor had moved before this claim and has after it.
  server text,
  moves_before bigint,
  moves bigint
);

-- What changes whenever the server may have lost its newest commits, which hand out ids and transaction ids anew: a start of
-- the server, a failover to another one, a restored folder (the start), and a recovery from the crash of one of its
-- processes, which is no start (the statistics begin anew). With the transaction that wrote the topic's row, also a
-- topic that was loaded from a dump. Costs about 2 us.
create function tidemark.incarnation() returns text
language sql volatile as $$
  select extract(epoch from pg_postmaster_start_time()) || '/'
    || coalesce(extract(epoch from pg_stat_get_bgwriter_stat_reset_time()), 0)
$$;

-- What few messages have.
create type tidemark.extra as (id bigint, key text, type text, headers text, message_id text);

-- The select list that packs rows. JSON travels as text, joined by U+001E, which JSON can't contain: hex would double it
-- (measured: 800 000 rows a second against 470 000). `as_bytes` is for rows that turn out not to be valid text. Every
-- aggregate costs 50 to 100 us per 1000 rows, even over nulls, so what is mostly null is gathered in one, with a filter. A list
-- costs as much again to send and to decode, so what is mostly the same for all rows is sent once: two more aggregates
-- (min and max are the cheapest) cost less than a list. `in_order`: the rows come by rising ids.
create function tidemark.pack(keys_only boolean, as_bytes boolean, with_xids boolean default false, in_order boolean default false)
returns text
language sql immutable as $$
  select 'count(*)::int as size, min(id) as first_id, max(id) as last_id, '
    || case when in_order then 'case when max(id) - min(id) + 1 > count(*) then array_send(array_agg(id)) end as ids, '
      else 'array_send(array_agg(id)) as ids, ' end
    || case when with_xids then 'array_send(array_agg(xid)) as xids, ' else 'null::bytea as xids, ' end
    || case when keys_only then
      'null::bigint as salt, null::bytea as salts, null::bigint as created_ms, '
      'null::bytea as created, null::bytea as extras, null::text as texts, null::bytea as payloads'
    else
      'case when min(salt) = max(salt) then min(salt) end as salt, '
      'case when min(salt) < max(salt) then array_send(array_agg(salt)) end as salts, '
      'case when min(created_at) = max(created_at) then floor(extract(epoch from min(created_at)) * 1000)::bigint end as created_ms, '
      'case when min(created_at) < max(created_at) then array_send(array_agg(created_at)) end as created, '
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
  select case when keys_only then 'xid, id' else 'xid, id, created_at, salt, key, type, headers, message_id, payload' end
$$;

-- When there is something to do again, of what this claim may do at all.
create function tidemark.next_due_ms(subscription int, p_suspects text, with_leases boolean) returns float8
language sql volatile as $$
  select extract(epoch from least(
    (select r.due_at from tidemark.retry as r
      where r.subscription_id = subscription and r.token is null and not r.suspect order by r.due_at limit 1),
    (select r.due_at from tidemark.retry as r
      where r.subscription_id = subscription and r.token is null and r.piece is not null and p_suspects <> 'none'
      order by r.due_at limit 1),
    (select r.due_at from tidemark.retry as r
      where r.subscription_id = subscription and r.token is null and r.suspect and r.piece is null and p_suspects = 'alone'
      order by r.due_at limit 1),
    (select l.deadline from tidemark.lease as l
      where l.subscription_id = subscription and l.done_at is null and l.expired_at is null and with_leases order by l.deadline limit 1)
  ) - clock_timestamp())::float8 * 1000
$$;

-- What of the retries that are due a claim takes: suspects on their last attempt, where it has nothing else in hand
-- ('alone'); all that failed by themselves, together ('none'); then one piece of an expired lease ('shared'). null where
-- there is nothing for it. `waiting`: suspects that are due and that it may not take.
create function tidemark.choose_retries(
  subscription int, p_suspects text, max_attempts int, out suspects text, out piece uuid, out waiting text
)
language plpgsql volatile as $$
declare
  -- a variable, because no index can be searched for what changes as it is read
  now timestamptz := clock_timestamp();
  head record;
  is_last boolean;
  is_alone boolean;
begin
  waiting := 'none';
  -- One look-up says for nearly every claim that there are none.
  if not exists (
    select from tidemark.retry as r
    where r.subscription_id = subscription and r.token is null and r.suspect = any('{false,true}') and r.due_at <= now
  ) then
    return;
  end if;
  select r.piece, r.attempts into head
  from tidemark.retry as r
  where r.subscription_id = subscription and r.token is null and r.piece is not null and r.due_at <= now
  order by r.due_at, r.id
  limit 1;
  -- Its piece is from a time when it had more attempts.
  is_last := coalesce(head.attempts + 1 >= max_attempts, false);
  is_alone := is_last or exists (
    select from tidemark.retry as r
    where r.subscription_id = subscription and r.token is null and r.suspect and r.piece is null and r.due_at <= now
  );
  if is_alone and p_suspects = 'alone' then
    suspects := 'alone';
    piece := case when is_last then head.piece end;
    return;
  end if;
  waiting := case when is_alone then 'alone' when head.piece is not null and p_suspects = 'none' then 'shared' else 'none' end;
  if exists (
    select from tidemark.retry as r
    where r.subscription_id = subscription and r.token is null and r.suspect = false and r.due_at <= now
  ) then
    suspects := 'none';
  elsif head.piece is not null and not is_last and p_suspects <> 'none' then
    suspects := 'shared';
    piece := head.piece;
  end if;
end
$$;

-- The subscription, past the messages that are gone or about to go: the lower bounds of the ids still to come.
create function tidemark.past_gone(s tidemark.subscription, gone bigint) returns tidemark.subscription
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

-- Looks without locking or writing, so that an idle group costs no transaction id.
create function tidemark.has_work(s tidemark.subscription, sweep boolean) returns boolean
language plpgsql volatile as $$
declare
  now timestamptz := clock_timestamp();
  until pg_snapshot;
  later tidemark.subscription;
  late_after bigint;
  is_there boolean;
begin
  if sweep and exists (
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
  -- What ended transactions may have brought would be looked for at every look, among all that was published since they
  -- began: where that is much, or once in a while, it is worth a write to be rid of them.
  late_after := tidemark.late_after(later);
  if late_after < later.to_id - 10000 or late_after is not null and s.moved_at < now - interval '10 seconds' then
    return true;
  end if;
  execute format('select exists (%s)', tidemark.window_query('xid, id', later, 1)) into is_there;
  return is_there;
end
$$;

-- Leases what choose_retries has chosen.
create function tidemark.lease_retries(
  s tidemark.subscription, p_token uuid, p_limit int, p_suspects text, p_piece uuid,
  out ids bigint[], out xids xid8[], out attempts int[], out versions int[]
)
language plpgsql volatile as $$
declare
  now timestamptz := clock_timestamp();
  chosen bigint[];
begin
  if p_piece is not null then
    chosen := array(
      select r.id from tidemark.retry as r
      where r.piece = p_piece and r.token is null and r.due_at <= now
      order by r.id
      limit case when p_suspects = 'alone' then 1 else p_limit end
    );
  elsif p_suspects = 'alone' then
    chosen := array(
      select r.id from tidemark.retry as r
      where r.subscription_id = s.id and r.token is null and r.suspect and r.piece is null and r.due_at <= now
      order by r.due_at, r.id
      limit 1
    );
  else
    chosen := array(
      select r.id from tidemark.retry as r
      where r.subscription_id = s.id and r.token is null and r.suspect = false and r.due_at <= now
      order by r.due_at, r.id
      limit p_limit
    );
  end if;
  with leased as (
    update tidemark.retry as r
    set attempts = r.attempts + 1, version = r.version + 1, token = p_token, slot = due.place - 1
    -- By all of the key, and with no constant: a planner that believes that a group has few retries compared each of them
    -- with each that is due (a page of 10 000 took minutes).
    from unnest(chosen, array_fill(s.id, array[cardinality(chosen)])) with ordinality as due (id, subscription_id, place)
    where r.subscription_id = due.subscription_id and r.id = due.id
    returning r.id, r.xid, r.slot, r.attempts, r.version
  )
  select array_agg(l.id order by l.slot), array_agg(l.xid order by l.slot),
    array_agg(l.attempts order by l.slot), array_agg(l.version order by l.slot)
  into ids, xids, attempts, versions
  from leased as l;
end
$$;

-- The cursor lies ahead of what the database knows: of the transactions it has had, or of the ids it has handed out. Claimed
-- from there, whatever is published until it catches up would be taken for seen. repair() places it anew.
create function tidemark.is_ahead(s tidemark.subscription) returns boolean
language sql volatile as $$
  select pg_snapshot_xmax(s.window_to) > pg_snapshot_xmax(pg_current_snapshot()) or s.to_id > tidemark.last_id(s.topic_id)
$$;

create function tidemark.claim(
  p_topic int, p_topic_uid bigint, p_subscription int, p_subscription_uid bigint, p_token uuid, p_consumer text, p_limit int,
  p_suspects text, p_sweep boolean, p_eager boolean, p_keys_only boolean, p_as_bytes boolean, p_forget uuid[], p_expired text,
  p_shared boolean, p_known tidemark.known_page, p_lease_ms float8, p_most_named int
) returns tidemark.claim_result
language plpgsql volatile
-- Only the (id, xid) index gives a page without reading the whole window, and statistics lag behind a growing partition:
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
  chosen record;
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
  r.take_overs := '[]';
  r.dead_lettered := 0;
  r.waiting := 'none';
  r.suspects := 'none';
  r.size := 0;
  select t.config_version, coalesce(p_lease_ms, (t.config ->> 'leaseMs')::float8), (t.config ->> 'maxAttempts')::int, t.gone_id,
    tidemark.incarnation() || '/' || t.xmin
  into r.config_version, lease_ms, max_attempts, gone, r.server
  from tidemark.topic as t
  where t.id = p_topic and t.uid = p_topic_uid;
  -- Deleted: its log is gone too. Or made anew, with its namespace: the log is another topic's.
  if not found then
    r.status := 'GONE';
    return r;
  end if;
  -- Read before this transaction has an id: see 002_cursor.sql.
  floor := tidemark.last_id(p_topic);
  if not p_eager and cardinality(p_forget) = 0 then
    select * into s from tidemark.subscription as x where x.id = p_subscription and x.uid = p_subscription_uid;
    r.status := coalesce(s.status, 'GONE');
    r.moves_before := s.moves;
    r.moves := s.moves;
    if r.status <> 'ACTIVE' then
      return r;
    end if;
    s := tidemark.past_gone(s, gone);
    if tidemark.is_ahead(s) then
      r.status := 'AHEAD';
      return r;
    end if;
    select * into chosen from tidemark.choose_retries(s.id, p_suspects, max_attempts);
    if chosen.suspects is null and not tidemark.has_work(s, p_sweep) then
      r.waiting := chosen.waiting;
      r.next_due_ms := tidemark.next_due_ms(s.id, p_suspects, p_sweep);
      return r;
    end if;
  end if;

  -- A claim that is lost in a crash only costs a redelivery; waiting for the disk under the lock would cost every claim.
  perform set_config('synchronous_commit', 'off', true);
  select * into s from tidemark.subscription as x
  where x.id = p_subscription and x.uid = p_subscription_uid for no key update skip locked;
  if not found then
    r.conflict := true;
    select * into s from tidemark.subscription as x
    where x.id = p_subscription and x.uid = p_subscription_uid for no key update;
  end if;
  r.status := coalesce(s.status, 'GONE');
  r.moves_before := s.moves;
  r.moves := s.moves;
  if r.status <> 'ACTIVE' then
    return r;
  end if;
  s := tidemark.past_gone(s, gone);
  if tidemark.is_ahead(s) then
    r.status := 'AHEAD';
    return r;
  end if;
  if cardinality(p_forget) > 0 then
    delete from tidemark.lease as l where l.token = any(p_forget) and l.subscription_id = s.id
      and (l.done_at is not null or l.expired_at is not null);
  end if;
  if p_sweep then
    select e.take_overs, e.dead_lettered into r.take_overs, r.dead_lettered
    from tidemark.expire_leases(s, max_attempts, p_expired, p_most_named) as e;
  end if;
  if lease_ms > 0 then
    due_at := clock_timestamp() + lease_ms * interval '1 millisecond';
  end if;

  select * into chosen from tidemark.choose_retries(s.id, p_suspects, max_attempts);
  r.waiting := chosen.waiting;
  if chosen.suspects is not null then
    r.kind := 'retry';
    r.suspects := chosen.suspects;
    select * into retries from tidemark.lease_retries(s, p_token, p_limit, chosen.suspects, chosen.piece);
    held := retries.ids;
    held_xids := retries.xids;
    r.attempts := retries.attempts;
    r.versions := retries.versions;
  else
    if s.backfilling then
      select b.ids, b.xids, b.more into held, held_xids, more_backfilled
      from tidemark.take_backfilled(s, p_token, p_limit) as b;
      if cardinality(held) > 0 then
        r.kind := 'retry';
      end if;
    end if;
  end if;

  if r.kind = 'retry' then
    execute format('select %s from (%s) as p', tidemark.pack(p_keys_only, p_as_bytes, p_shared),
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
      r.suspects := 'none';
      r.slots := null;
      r.attempts := null;
      r.versions := null;
    else
      insert into tidemark.lease (token, subscription_id, consumer, kind, size, deadline)
      values (p_token, s.id, p_consumer, 'retry', cardinality(held), due_at);
    end if;
  end if;

  if r.kind is null then
    r.is_known := coalesce(tidemark.is_next(p_known, s, p_limit, r.server), false);
    if r.is_known then
      select p_known.*, null::bytea as ids, null::bytea as xids, null::bigint as salt, null::bytea as salts,
        null::bigint as created_ms, null::bytea as created, null::bytea as extras, null::text as texts, null::bytea as payloads into page;
    else
      execute format('select %s from (%s) as p', tidemark.pack(p_keys_only, p_as_bytes, p_shared, true),
        tidemark.window_query(columns, s, p_limit)) into page;
    end if;
    if page.size = 0 then
      s := tidemark.next_window(s, tidemark.take_snapshot(pg_current_xact_id()), floor, tidemark.last_id(s.topic_id));
      execute format('select %s from (%s) as p', tidemark.pack(p_keys_only, p_as_bytes, p_shared, true),
        tidemark.window_query(columns, s, p_limit)) into page;
    end if;
    if page.size > 0 then
      r.kind := 'page';
      insert into tidemark.lease (token, subscription_id, consumer, kind, size, window_from, window_to, first_id, last_id, deadline)
      values (p_token, s.id, p_consumer, 'page', page.size, s.window_from, s.window_to, page.first_id, page.last_id, due_at);
      if p_shared and not r.is_known and tidemark.is_complete(s, page.last_id) then
        r.page := row(s.at_id, page.first_id, page.last_id, page.size, r.server);
      end if;
      s.at_id := page.last_id;
    end if;
    -- A short page was the window's last: nobody needs to look through the rest of it for late ones again.
    if not r.is_known and page.size < p_limit then
      s.at_id := s.to_id;
    end if;
    r.at_id := s.at_id;
    -- Rows, or late ones to be rid of: otherwise the next claim simply takes a later window.
    if page.size > 0 or exists (select from pg_snapshot_xip(s.window_from)) then
      r.moves := s.moves + 1;
      update tidemark.subscription as x
      set window_from = s.window_from, window_to = s.window_to, late_ids = s.late_ids, open_ids = s.open_ids,
        from_id = s.from_id, next_id = s.next_id, seen_id = s.seen_id, to_id = s.to_id, at_id = s.at_id,
        moved_at = clock_timestamp(), moves = r.moves
      where x.id = s.id;
    end if;
  end if;

  if r.kind is not null then
    -- Undoes the claim: it is made again with a lower limit. Bytes travel as hexadecimal digits.
    if page.size > 1 and coalesce(octet_length(page.texts), 0) + 2 * coalesce(octet_length(page.payloads), 0) > 134217728 then
      raise exception 'The page is too large' using errcode = 'program_limit_exceeded';
    end if;
    r.size := page.size;
    r.ids := page.ids;
    if not coalesce(r.is_known, false) then
      r.first_id := page.first_id;
      r.last_id := page.last_id;
    end if;
    r.xids := page.xids;
    r.salt := page.salt;
    r.salts := page.salts;
    r.created_ms := page.created_ms;
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
-- could not be told apart. `server` is null where the lease is not known.
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
  if s.id is null then
    return r;
  end if;
  if l.kind = 'page' then
    rows := tidemark.lease_query(tidemark.log_columns(false), s, l);
  else
    select array_agg(x.xid order by x.slot), array_agg(x.id order by x.slot) into xids, ids
    from tidemark.retry as x
    where x.token = p_token;
    rows := tidemark.rows_query(s.topic_id, xids, ids);
  end if;
  r.server := tidemark.incarnation() || '/' || (select t.xmin from tidemark.topic as t where t.id = s.topic_id);
  execute format(
    'select ids, xids, salt, salts, created_ms, created, extras, texts, payloads from (select %s from (%s) as p) as q',
    tidemark.pack(false, p_as_bytes, true), rows
  ) into r.ids, r.xids, r.salt, r.salts, r.created_ms, r.created, r.extras, r.texts, r.payloads;
  if l.size > 1 and coalesce(octet_length(r.texts), 0) + 2 * coalesce(octet_length(r.payloads), 0) > 134217728 then
    raise exception 'The page is too large' using errcode = 'program_limit_exceeded';
  end if;
  return r;
end
$$;
