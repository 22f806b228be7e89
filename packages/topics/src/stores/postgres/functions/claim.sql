-- One claim, one round trip. A function and not one statement: every statement in it must see what was committed after
-- it got the subscription's lock, or it would read the log with a snapshot older than the window it reads.

-- When there is something to do again, of what this claim may do at all.
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

-- What of the retries that are due a claim takes: suspects on their last attempt, where it has nothing else in hand
-- ('alone'); all that failed by themselves, together ('none'); then one piece of an expired lease ('shared'). null where
-- there is nothing for it. `waiting`: suspects that are due and that it may not take.
create function tidemark_fn.choose_retries(
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

-- Looks without locking or writing, so that an idle group costs no transaction id.
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

  execute format('select exists (%s)', tidemark_fn.window_query('xid, id', s, 1)) into is_there;
  if is_there then
    return true;
  end if;
  select pg_current_snapshot() into until;
  later := tidemark_fn.next_window(s, until, 0, tidemark_fn.last_id(s.topic_id));
  -- What ended transactions may have brought would be looked for at every look, among all that was published since they
  -- began: where that is much, or once in a while, it is worth a write to be rid of them.
  late_after := tidemark_fn.late_after(later);
  if late_after < later.to_id - 10000 or late_after is not null and s.moved_at < now - interval '10 seconds' then
    return true;
  end if;
  execute format('select exists (%s)', tidemark_fn.window_query('xid, id', later, 1)) into is_there;
  return is_there;
end
$$;

-- Leases what choose_retries has chosen.
create function tidemark_fn.lease_retries(
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

create function tidemark_fn.claim(
  p_topic int, p_topic_uid bigint, p_subscription int, p_subscription_uid bigint, p_token uuid, p_consumer text, p_limit int,
  p_suspects text, p_sweep boolean, p_eager boolean, p_keys_only boolean, p_as_bytes boolean, p_forget uuid[], p_expired text,
  p_shared boolean, p_known tidemark_fn.known_page, p_lease_ms float8, p_most_named int
) returns tidemark_fn.claim_result
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
  r tidemark_fn.claim_result;
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
  columns text := tidemark_fn.log_columns(p_keys_only);
begin
  r.conflict := false;
  r.take_overs := '[]';
  r.dead_lettered := 0;
  r.waiting := 'none';
  r.suspects := 'none';
  r.size := 0;
  select t.config_version, coalesce(p_lease_ms, (t.config ->> 'leaseMs')::float8), (t.config ->> 'maxAttempts')::int, t.gone_id,
    tidemark_fn.incarnation() || '/' || t.xmin
  into r.config_version, lease_ms, max_attempts, gone, r.server
  from tidemark.topic as t
  where t.id = p_topic and t.uid = p_topic_uid;
  -- Deleted: its log is gone too. Or made anew, with its namespace: the log is another topic's.
  if not found then
    r.status := 'GONE';
    return r;
  end if;
  -- Read before this transaction has an id: see cursor.sql.
  floor := tidemark_fn.last_id(p_topic);
  if not p_eager and cardinality(p_forget) = 0 then
    select * into s from tidemark.subscription as x where x.id = p_subscription and x.uid = p_subscription_uid;
    r.status := coalesce(s.status, 'GONE');
    r.moves_before := s.moves;
    r.moves := s.moves;
    if r.status <> 'ACTIVE' then
      return r;
    end if;
    s := tidemark_fn.past_gone(s, gone);
    if tidemark_fn.is_ahead(s) then
      r.status := 'AHEAD';
      return r;
    end if;
    select * into chosen from tidemark_fn.choose_retries(s.id, p_suspects, max_attempts);
    if chosen.suspects is null and not tidemark_fn.has_work(s, p_sweep) then
      r.waiting := chosen.waiting;
      r.next_due_ms := tidemark_fn.next_due_ms(s.id, p_suspects, p_sweep);
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
  s := tidemark_fn.past_gone(s, gone);
  if tidemark_fn.is_ahead(s) then
    r.status := 'AHEAD';
    return r;
  end if;
  if cardinality(p_forget) > 0 then
    delete from tidemark.lease as l where l.token = any(p_forget) and l.subscription_id = s.id
      and (l.done_at is not null or l.expired_at is not null);
  end if;
  if p_sweep then
    select e.take_overs, e.dead_lettered into r.take_overs, r.dead_lettered
    from tidemark_fn.expire_leases(s, max_attempts, p_expired, p_most_named) as e;
  end if;
  if lease_ms > 0 then
    due_at := clock_timestamp() + lease_ms * interval '1 millisecond';
  end if;

  select * into chosen from tidemark_fn.choose_retries(s.id, p_suspects, max_attempts);
  r.waiting := chosen.waiting;
  if chosen.suspects is not null then
    r.kind := 'retry';
    r.suspects := chosen.suspects;
    select * into retries from tidemark_fn.lease_retries(s, p_token, p_limit, chosen.suspects, chosen.piece);
    held := retries.ids;
    held_xids := retries.xids;
    r.attempts := retries.attempts;
    r.versions := retries.versions;
  else
    if s.backfilling then
      select b.ids, b.xids, b.more into held, held_xids, more_backfilled
      from tidemark_fn.take_backfilled(s, p_token, p_limit) as b;
      if cardinality(held) > 0 then
        r.kind := 'retry';
      end if;
    end if;
  end if;

  if r.kind = 'retry' then
    execute format('select %s from (%s) as p', tidemark_fn.pack(p_keys_only, p_as_bytes, p_shared),
      tidemark_fn.rows_query(s.topic_id, held_xids, held)) into page;
    if page.size < cardinality(held) then
      -- Messages that are gone from the log are settled.
      execute format('select array_agg(id) from (%s) as p', tidemark_fn.rows_query(s.topic_id, held_xids, held)) into present;
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
    r.is_known := coalesce(tidemark_fn.is_next(p_known, s, p_limit, r.server), false);
    if r.is_known then
      select p_known.*, null::bytea as ids, null::bytea as xids, null::bigint as salt, null::bytea as salts,
        null::bigint as created_ms, null::bytea as created, null::bytea as extras, null::text as texts, null::bytea as payloads into page;
    else
      execute format('select %s from (%s) as p', tidemark_fn.pack(p_keys_only, p_as_bytes, p_shared, true),
        tidemark_fn.window_query(columns, s, p_limit)) into page;
    end if;
    if page.size = 0 then
      s := tidemark_fn.next_window(s, tidemark_fn.take_snapshot(pg_current_xact_id()), floor, tidemark_fn.last_id(s.topic_id));
      execute format('select %s from (%s) as p', tidemark_fn.pack(p_keys_only, p_as_bytes, p_shared, true),
        tidemark_fn.window_query(columns, s, p_limit)) into page;
    end if;
    if page.size > 0 then
      r.kind := 'page';
      insert into tidemark.lease (token, subscription_id, consumer, kind, size, window_from, window_to, first_id, last_id, deadline)
      values (p_token, s.id, p_consumer, 'page', page.size, s.window_from, s.window_to, page.first_id, page.last_id, due_at);
      if p_shared and not r.is_known and tidemark_fn.is_complete(s, page.last_id) then
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
    r.next_due_ms := case when more_backfilled then 0 else tidemark_fn.next_due_ms(s.id, p_suspects, p_sweep) end;
  end if;
  return r;
end
$$;

-- The rows of a lease once more: for a claim of keys whose rows are not all cached, or, as bytes, for one whose texts
-- could not be told apart. `server` is null where the lease is not known.
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
  r.server := tidemark_fn.incarnation() || '/' || (select t.xmin from tidemark.topic as t where t.id = s.topic_id);
  execute format(
    'select ids, xids, salt, salts, created_ms, created, extras, texts, payloads from (select %s from (%s) as p) as q',
    tidemark_fn.pack(false, p_as_bytes, true), rows
  ) into r.ids, r.xids, r.salt, r.salts, r.created_ms, r.created, r.extras, r.texts, r.payloads;
  if l.size > 1 and coalesce(octet_length(r.texts), 0) + 2 * coalesce(octet_length(r.payloads), 0) > 134217728 then
    raise exception 'The page is too large' using errcode = 'program_limit_exceeded';
  end if;
  return r;
end
$$;
