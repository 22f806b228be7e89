-- One claim in one round trip. It is a function rather than one statement because each statement in it must see what
-- was committed after it got the subscription's lock. Otherwise it would read the log with a snapshot older than its
-- window.

-- One claim. plpgsql initialises every expression anew in each transaction, for about a microsecond each. So
-- expressions are folded into statements that run anyway, and what few claims need is a function of its own. The last
-- id is read before this transaction has an id: see cursor.sql. synchronous_commit is off: a claim lost in a crash only
-- costs a redelivery, while waiting for the disk under the lock would slow every claim. If the topic is not found it
-- was deleted, and its log is gone too; or it was recreated with its namespace, and the log belongs to another topic.
-- force_generic_plan: PostgreSQL makes a custom plan for the first five runs of a statement on a connection. That is
-- wasted here, because every statement uses an index and no value changes the plan. It made a connection's second claim
-- take 850 us instead of 660.
create function tidemark_fn.claim(q tidemark_fn.claim_request) returns tidemark_fn.claim_result
language plpgsql volatile
-- Only the (id, xid) index yields a page without reading the whole window, and statistics lag behind a growing
-- partition. With sequential scans allowed, the planner sorted the whole backlog for every claim (20 000 rows a second
-- instead of 400 000).
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  terms tidemark_fn.claim_terms;
  r tidemark_fn.claim_result;
  setting text;
begin
  select t.config_version, nullif(coalesce(q.lease_ms, (t.config ->> 'leaseMs')::float8), 0) * interval '1 millisecond',
    (t.config ->> 'maxAttempts')::int, t.gone_id, format('%s/%s', tidemark_fn.incarnation(), t.xmin), tidemark_fn.last_id(q.topic),
    clock_timestamp(), set_config('synchronous_commit', 'off', true), false, 0
  into r.config_version, terms.lease, terms.max_attempts, terms.gone_id, r.server, terms.last_id, terms.now, setting, r.conflict,
    r.size
  from tidemark.topic as t
  where t.id = q.topic and t.uid = q.topic_uid;
  if not found then
    r.status := 'GONE';
    return r;
  end if;
  if not q.eager and cardinality(q.forget) = 0 then
    r := tidemark_fn.look_for_work(q, terms, r);
    if r.status <> 'WORK' then
      return r;
    end if;
  end if;
  return tidemark_fn.claim_work(q, terms, r);
end
$$;

-- Locks the subscription, ends its expired leases, and claims due retries, else backfilled messages, else the next page of the
-- log.
create function tidemark_fn.claim_work(
  q tidemark_fn.claim_request, terms tidemark_fn.claim_terms, r tidemark_fn.claim_result
) returns tidemark_fn.claim_result
language plpgsql volatile as $$
declare
  s tidemark.subscription;
begin
  select * into s from tidemark.subscription as x
  where x.id = q.subscription and x.uid = q.subscription_uid for no key update skip locked;
  if not found then
    r.conflict := true;
    select * into s from tidemark.subscription as x
    where x.id = q.subscription and x.uid = q.subscription_uid for no key update;
  end if;
  r.moves := s.moves;
  r.status := tidemark_fn.claim_status(s.status, s.topic_id, s.window_to, s.to_id, terms.last_id);
  if r.status <> 'ACTIVE' then
    return r;
  end if;
  if terms.gone_id > 0 then
    s := tidemark_fn.past_gone(s, terms.gone_id);
  end if;
  if q.sweep or cardinality(q.forget) > 0 then
    r.exceptions := tidemark_fn.end_leases(q, s, terms.max_attempts);
  end if;
  -- For nearly every claim this one look-up finds no retries.
  if exists (
    select from tidemark.retry as y
    where y.subscription_id = s.id and y.token is null and y.suspect = any('{false,true}') and y.due_at <= terms.now
  ) then
    r := tidemark_fn.claim_retries(q, s, terms, r);
  end if;
  if r.size = 0 and s.backfilling then
    r := tidemark_fn.claim_backfilled(q, s, terms, r);
  end if;
  if r.size = 0 and q.known is not null then
    r := tidemark_fn.claim_known_page(q, s, terms, r);
  end if;
  if r.size = 0 then
    r := tidemark_fn.claim_next_page(q, s, terms, r);
  end if;
  if r.size = 0 then
    r.next_due_ms := coalesce(r.next_due_ms, tidemark_fn.next_due_ms(s.id, q.suspects, q.sweep));
  elsif r.size > 1 and coalesce(octet_length(r.texts), 0) + 2 * coalesce(octet_length(r.payloads), 0) > 134217728 then
    -- Too large to send: the claim is rolled back and repeated with a lower limit. Bytes are sent as hexadecimal digits.
    raise exception 'The page is too large' using errcode = 'program_limit_exceeded';
  end if;
  return r;
end
$$;

-- The status of the subscription that a claim returns. 'AHEAD': see is_ahead.
create function tidemark_fn.claim_status(status text, topic_id int, window_to pg_snapshot, to_id bigint, floor bigint) returns text
language sql volatile as $$
  select case
    when status is null then 'GONE'
    when status = 'ACTIVE' and tidemark_fn.is_ahead(topic_id, window_to, to_id, floor) then 'AHEAD'
    else status
  end
$$;

-- Looks for work without locking or writing. The status is 'WORK' if there is something to claim; otherwise it is the
-- status that the claim would return.
create function tidemark_fn.look_for_work(
  q tidemark_fn.claim_request, terms tidemark_fn.claim_terms, r tidemark_fn.claim_result
) returns tidemark_fn.claim_result
language plpgsql volatile as $$
declare
  s tidemark.subscription;
  chosen record;
begin
  select * into s from tidemark.subscription as x where x.id = q.subscription and x.uid = q.subscription_uid;
  r.moves := s.moves;
  r.status := tidemark_fn.claim_status(s.status, s.topic_id, s.window_to, s.to_id, terms.last_id);
  if r.status <> 'ACTIVE' then
    return r;
  end if;
  if terms.gone_id > 0 then
    s := tidemark_fn.past_gone(s, terms.gone_id);
  end if;
  -- For nearly every claim this one look-up finds no retries.
  if exists (
    select from tidemark.retry as y
    where y.subscription_id = s.id and y.token is null and y.suspect = any('{false,true}') and y.due_at <= terms.now
  ) then
    select c.suspects, c.waiting into chosen from tidemark_fn.choose_retries(s.id, q.suspects, terms.max_attempts) as c;
    if chosen.suspects is not null then
      r.status := 'WORK';
      return r;
    end if;
    if chosen.waiting <> 'none' then
      r.exceptions := jsonb_build_object('waiting', chosen.waiting);
    end if;
  end if;
  if tidemark_fn.has_work(s, q.sweep) then
    r.status := 'WORK';
    -- Left to the claim that follows, which reports what is waiting.
    r.exceptions := null;
  else
    r.next_due_ms := tidemark_fn.next_due_ms(s.id, q.suspects, q.sweep);
  end if;
  return r;
end
$$;

-- Checks without locking or writing, so that an idle group costs no transaction id.
create function tidemark_fn.has_work(s tidemark.subscription, sweep boolean) returns boolean
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
  if s.backfilling and tidemark_fn.has_backfilled(s) then
    return true;
  end if;

  if not tidemark_fn.is_used_up(s) then
    is_there := tidemark_fn.has_rows(tidemark_fn.window_query('xid, id', s, 1));
    if is_there then
      return true;
    end if;
  end if;
  select pg_current_snapshot() into until;
  later := tidemark_fn.next_window(s, until, 0, tidemark_fn.last_id(s.topic_id));
  -- Every look has to search for late rows: those of transactions that were in progress at the window's start and have
  -- ended since, among everything published since they began. If that is a lot, or now and then, a claim that moves the
  -- window past them is worth its write.
  late_after := tidemark_fn.late_after(later);
  if late_after < later.to_id - 10000 or late_after is not null and s.moved_at < now - interval '10 seconds' then
    return true;
  end if;
  if tidemark_fn.is_used_up(later) then
    return false;
  end if;
  is_there := tidemark_fn.has_rows(tidemark_fn.window_query('xid, id', later, 1));
  return is_there;
end
$$;

-- Milliseconds until this claim would have something to do again.
create function tidemark_fn.next_due_ms(subscription int, p_suspects text, with_leases boolean) returns float8
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

-- Deletes the leases that the caller knows to have ended, and ends expired ones. Returns what to report about that.
create function tidemark_fn.end_leases(q tidemark_fn.claim_request, s tidemark.subscription, max_attempts int) returns jsonb
language plpgsql volatile as $$
declare
  expired record;
begin
  if cardinality(q.forget) > 0 then
    delete from tidemark.lease as l where l.token = any(q.forget) and l.subscription_id = s.id
      and (l.done_at is not null or l.expired_at is not null);
  end if;
  if not q.sweep then
    return null;
  end if;
  select e.take_overs, e.dead_lettered into expired
  from tidemark_fn.expire_leases(s, max_attempts, q.expired_text, q.most_named) as e;
  if expired.dead_lettered = 0 and expired.take_overs = '[]' then
    return null;
  end if;
  return jsonb_build_object('take_overs', expired.take_overs, 'dead_lettered', expired.dead_lettered);
end
$$;

-- Claims a page that another group of the caller has already read, without reading the log. Claims nothing unless the page
-- is what this group would read next, or the beginning of it.
create function tidemark_fn.claim_known_page(
  q tidemark_fn.claim_request, s tidemark.subscription, terms tidemark_fn.claim_terms, r tidemark_fn.claim_result
) returns tidemark_fn.claim_result
language plpgsql volatile as $$
declare
  k tidemark_fn.known_page := q.known;
begin
  if k.at_id <> s.at_id or k.size > q.page_limit or k.server <> r.server or s.from_id >= k.first_id
    or not tidemark_fn.is_complete(s.since, s.at_id, s.seen_id, s.next_id, s.open_ids, k.last_id) then
    return r;
  end if;
  insert into tidemark.lease (token, subscription_id, consumer, kind, size, window_from, window_to, first_id, last_id, deadline)
  values (q.token, s.id, q.consumer, 'page', k.size, s.window_from, s.window_to, k.first_id, k.last_id,
    clock_timestamp() + terms.lease);
  update tidemark.subscription as x
  set late_ids = s.late_ids, open_ids = s.open_ids, from_id = s.from_id, next_id = s.next_id, at_id = k.last_id,
    moved_at = clock_timestamp(), moves = x.moves + 1
  where x.id = s.id
  returning true, true, k.size, k.last_id into r.is_known, r.has_moved, r.size, r.at_id;
  return r;
end
$$;

-- The next page of the log: from the current window or, if that is used up, from the next one.
create function tidemark_fn.claim_next_page(
  q tidemark_fn.claim_request, s tidemark.subscription, terms tidemark_fn.claim_terms, r tidemark_fn.claim_result
) returns tidemark_fn.claim_result
language plpgsql volatile as $$
begin
  for attempt in 1..2 loop
    if not tidemark_fn.is_used_up(s) then
      r := tidemark_fn.read_window(r, s, q);
    end if;
    exit when r.size > 0 or attempt = 2;
    s := tidemark_fn.next_window(s, tidemark_fn.take_snapshot(pg_current_xact_id()), terms.last_id, tidemark_fn.last_id(s.topic_id));
  end loop;
  if r.size > 0 then
    insert into tidemark.lease (token, subscription_id, consumer, kind, size, window_from, window_to, first_id, last_id, deadline)
    values (q.token, s.id, q.consumer, 'page', r.size, s.window_from, s.window_to, r.first_id, r.last_id,
      clock_timestamp() + terms.lease);
    if q.shared and tidemark_fn.is_complete(s.since, s.at_id, s.seen_id, s.next_id, s.open_ids, r.last_id) then
      r.page := row(s.at_id, r.first_id, r.last_id, r.size, r.server);
    end if;
  end if;
  -- A short page was the last of the window, so later claims need not search the rest of it for late rows.
  r.at_id := case when r.size < q.page_limit then s.to_id else r.last_id end;
  -- Move the window only for rows, or to get past late transactions. Otherwise the next claim simply takes a later
  -- window.
  if r.size > 0 or tidemark_fn.lists_any(s.window_from) then
    update tidemark.subscription as x
    set window_from = s.window_from, window_to = s.window_to, late_ids = s.late_ids, open_ids = s.open_ids,
      from_id = s.from_id, next_id = s.next_id, seen_id = s.seen_id, to_id = s.to_id, at_id = r.at_id,
      moved_at = clock_timestamp(), moves = x.moves + 1
    where x.id = s.id
    returning true into r.has_moved;
  end if;
  return r;
end
$$;

-- Reads the rows of a lease again: for a keys-only claim whose rows are not all cached or, as bytes, for one whose
-- texts could not be split. `server` is null if the lease is unknown.
create function tidemark_fn.read_lease(p_token uuid, p_as_bytes boolean) returns tidemark_fn.claim_result
language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  s tidemark.subscription;
  l tidemark.lease;
  r tidemark_fn.claim_result;
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
    rows := tidemark_fn.lease_query(tidemark_fn.log_columns(false), s, l);
  else
    select array_agg(x.xid order by x.slot), array_agg(x.id order by x.slot) into xids, ids
    from tidemark.retry as x
    where x.token = p_token;
    rows := tidemark_fn.rows_query(s.topic_id, xids, ids);
  end if;
  r.server := format('%s/%s', tidemark_fn.incarnation(), (select t.xmin from tidemark.topic as t where t.id = s.topic_id));
  r := tidemark_fn.read_rows(r, rows, tidemark_fn.pack(false, p_as_bytes, true));
  if l.size > 1 and coalesce(octet_length(r.texts), 0) + 2 * coalesce(octet_length(r.payloads), 0) > 134217728 then
    raise exception 'The page is too large' using errcode = 'program_limit_exceeded';
  end if;
  return r;
end
$$;
