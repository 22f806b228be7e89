-- Transaction ids mean something in one cluster only. A namespace that a logical dump brought into another one has
-- positions in terms of transactions that were another server's. Where this one's counter stands lower, messages published
-- here would lie below cursors that have never seen them: lost. So a namespace knows its cluster, open() looks whether it
-- is still there, and repair() tells everything that is stored anew.

create table tidemark.cluster (
  only_row boolean primary key default true check (only_row),
  system_identifier text not null,
  since timestamptz not null default clock_timestamp()
);

create function tidemark.xid_number(x xid8) returns bigint
language sql immutable as $$ select x::text::bigint $$;

-- One more than the highest transaction id that a snapshot speaks of.
create function tidemark.snapshot_end(s pg_snapshot) returns bigint
language sql immutable as $$ select pg_snapshot_xmax(s)::text::bigint $$;

-- '' where this user may not know.
create function tidemark.system_identifier() returns text
language plpgsql stable as $$
begin
  return (select c.system_identifier::text from pg_control_system() as c);
exception
  when insufficient_privilege then
    return '';
end
$$;

-- One more than the highest transaction id that anything stored speaks of.
create function tidemark.stored_end() returns bigint
language plpgsql volatile as $$
declare
  each_topic int;
  top xid8;
  highest bigint;
begin
  select coalesce(max(x.number), 0) into highest from (
    select greatest(tidemark.snapshot_end(s.window_from), tidemark.snapshot_end(s.window_to), tidemark.snapshot_end(s.start_window),
      tidemark.xid_number(s.at_xid) + 1, tidemark.xid_number(s.start_xid) + 1, tidemark.xid_number(s.ended_xid) + 1)
    from tidemark.subscription as s
    union all
    select greatest(tidemark.snapshot_end(l.window_to), tidemark.xid_number(l.last_xid) + 1) from tidemark.lease as l
    union all
    select tidemark.xid_number(r.xid) + 1 from tidemark.retry as r
    union all
    select greatest(tidemark.xid_number(p.seal_xid), tidemark.xid_number(p.high_xid)) + 1 from tidemark.partition as p
    union all
    select greatest(tidemark.snapshot_end(b.upper), tidemark.snapshot_end(b.lower_from), tidemark.snapshot_end(b.lower_to),
      tidemark.xid_number(b.lower_xid) + 1)
    from tidemark.backfill as b
    union all
    select tidemark.xid_number(w.ended_xid) + 1 from tidemark.bit_wipe as w
    union all
    select tidemark.xid_number(t.fill_xid) + 1 from tidemark.topic as t
  ) as x (number);
  for each_topic in select t.id from tidemark.topic as t loop
    execute format('select xid from tidemark.log_%s order by xid desc limit 1', each_topic) into top;
    highest := greatest(highest, tidemark.xid_number(top) + 1);
  end loop;
  return highest;
end
$$;

--   same      here as ever
--   new       not noted yet, and nothing speaks against this cluster
--   moved     from another one, and all that is stored lies before whatever runs here: it means the same
--   restored  from another one, and it does not: repair() is needed
create function tidemark.cluster_state() returns text
language plpgsql volatile as $$
declare
  known text := coalesce((select c.system_identifier from tidemark.cluster as c), '');
  here text := tidemark.system_identifier();
  stored bigint;
begin
  if known = here and known <> '' then
    -- A snapshot that is stored ended before one that is taken now, unless it is of another counter.
    return case when exists (
      select from tidemark.subscription as s
      where pg_snapshot_xmax(s.window_to) > pg_snapshot_xmax(pg_current_snapshot())
    ) then 'restored' else 'same' end;
  end if;
  stored := tidemark.stored_end();
  if known = '' or here = '' then
    return case when stored > tidemark.snapshot_end(pg_current_snapshot()) then 'restored' else 'new' end;
  end if;
  return case when stored > tidemark.xid_number(pg_snapshot_xmin(pg_current_snapshot())) then 'restored' else 'moved' end;
end
$$;

create function tidemark.note_cluster() returns void
language sql volatile as $$
  insert into tidemark.cluster (system_identifier) values (tidemark.system_identifier())
  on conflict (only_row) do update
  set system_identifier = excluded.system_identifier, since = clock_timestamp()
  where cluster.system_identifier <> excluded.system_identifier
$$;

-- ── repair ──────────────────────────────────────────────────────────────────────────────────────────────────────────
--
-- Every message gets the number of its partition, counted from the lowest that is kept, for its transaction id: below
-- all that runs here, however few transactions this cluster has seen, and in the order of the ids. A cursor then is the
-- highest id that its group has passed; what it has not passed below that becomes retries, due at once.

-- The transaction id that the messages of this id's partition have after a repair.
create function tidemark.rebased_xid(p_topic int, p_id bigint, p_most bigint) returns xid8
language sql stable as $$
  select greatest(1, least(p_most, count(*)))::text::xid8
  from tidemark.log_partitions(p_topic) as p
  where p.number <= p_id / tidemark.partition_rows(p_topic)
$$;

-- A page finds its slots by reading its rows again from its window. As retries under the same lease they keep their slots,
-- and whoever holds it may still settle it.
create function tidemark.page_to_retries(s tidemark.subscription, l tidemark.lease) returns void
language plpgsql volatile as $$
declare
  xids xid8[];
  ids bigint[];
  bits varbit := coalesce(l.settled, repeat('0', l.size)::varbit);
begin
  execute format('select array_agg(xid), array_agg(id) from (%s) as p', tidemark.lease_query('xid, id', s, l)) into xids, ids;
  for slot in 0..l.size - 1 loop
    continue when get_bit(bits, slot) = 1;
    if ids[slot + 1] is null then
      bits := set_bit(bits, slot, 1);
    else
      insert into tidemark.retry (subscription_id, id, xid, attempts, version, due_at, token, slot, suspect, history)
      values (s.id, ids[slot + 1], xids[slot + 1], 1, 1, clock_timestamp(), l.token, slot, false, '[]')
      on conflict do nothing;
    end if;
  end loop;
  update tidemark.lease as x
  set kind = 'retry', settled = bits, done_at = case when bit_count(bits) = x.size then clock_timestamp() end
  where x.token = l.token;
end
$$;

-- What a switch of the tracking or a backfill had yet to do, done while the old snapshots still tell what it covers.
create function tidemark.finish_before_rebase(t tidemark.topic) returns void
language plpgsql volatile as $$
declare
  b tidemark.backfill;
  s tidemark.subscription;
  own uuid := gen_random_uuid();
begin
  update tidemark.topic as x set fill_xid = null, fill_last_id = tidemark.last_id(x.id) where x.id = t.id and x.fill_xid is not null;
  while tidemark.fill_tracking(t.id, 100000) loop
  end loop;
  for b in select * from tidemark.backfill as x where x.topic_id = t.id loop
    select * into s from tidemark.subscription as x where x.id = b.subscription_id;
    continue when s.status = 'CANCELLED' or s.bit is null;
    update tidemark.backfill as x set token = own where x.subscription_id = s.id and x.status = 'RUNNING';
    while exists (select from tidemark.backfill_batch(s.id, own, 100000, 60000)) loop
    end loop;
    while (select x.more from tidemark.take_backfilled(s, null, 100000) as x) loop
    end loop;
  end loop;
end
$$;

-- The group's cursor by ids. Returns how many messages became retries.
create function tidemark.rebase_cursor(s tidemark.subscription, p_gone bigint, p_now pg_snapshot, p_most bigint) returns bigint
language plpgsql volatile as $$
declare
  log text := format('tidemark.log_%s', s.topic_id);
  last bigint := tidemark.last_id(s.topic_id);
  low bigint := greatest(least(s.straggler_id, s.from_id), p_gone);
  -- No window sees beyond its to_id: what is above was published after it, whatever its transaction id seems to say.
  passed text := format('id <= %s and tidemark.has_passed(%L::pg_snapshot, %L::pg_snapshot, %L::xid8, %s, xid, id)',
    s.to_id, s.window_from, s.window_to, s.at_xid, s.at_id);
  place bigint;
  is_there boolean;
  first_id bigint;
  made bigint;
begin
  execute format('select max(id) from %s where id > %s and %s', log, low, passed) into place;
  -- A backfill that is resumed leaves out what the group holds: all the live stream has yet to bring of its range is held.
  place := greatest(place, low, (select b.upper_id from tidemark.backfill as b where b.subscription_id = s.id));
  execute format(
    'insert into tidemark.retry (subscription_id, id, xid, attempts, version, due_at, suspect, history) '
    'select %s, id, xid, 0, 0, clock_timestamp(), false, ''[]'' from %s where id > %s and id <= %s and not (%s) and created_at >= %L '
    'on conflict do nothing', s.id, log, low, place, passed, coalesce(s.since, '-infinity'));
  get diagnostics made = row_count;
  execute format('select exists (select from %s where id > %s)', log, place) into is_there;
  if s.start_window::text <> '1:1:' or s.start_xid > '0'::xid8 then
    execute format('select min(id) from %s where not pg_visible_in_snapshot(xid, %L) and (xid, id) > (%L::xid8, %s)',
      log, s.start_window, s.start_xid, s.start_id) into first_id;
    s.start_id := coalesce(first_id - 1, last);
    s.start_xid := tidemark.rebased_xid(s.topic_id, s.start_id, p_most);
  end if;
  update tidemark.subscription as x
  set window_from = case when is_there then '1:1:'::pg_snapshot else p_now end, window_to = p_now,
    at_xid = case when is_there then tidemark.rebased_xid(s.topic_id, place, p_most) else '0' end,
    at_id = case when is_there then place else 0 end,
    straggler_id = last, from_id = case when is_there then place else last end, to_id = last, next_id = last,
    start_window = '1:1:', start_xid = s.start_xid, start_id = s.start_id, ended_xid = null
  where x.id = s.id;
  return made;
end
$$;

-- A backfill that was cancelled or has failed may be resumed: what it has yet to come to, by ids.
create function tidemark.rebase_backfill(b tidemark.backfill, p_now pg_snapshot, p_most bigint) returns void
language plpgsql volatile as $$
declare
  first_id bigint;
begin
  execute format('select min(id) from tidemark.log_%s where id > %s and id <= %s and %s',
    b.topic_id, b.checkpoint_id, b.upper_id, tidemark.backfill_filter(b)) into first_id;
  update tidemark.backfill as x
  set lower_from = '1:1:', lower_to = p_now, upper = p_now, lower_place = coalesce(first_id - 1, b.upper_id),
    lower_xid = tidemark.rebased_xid(b.topic_id, coalesce(first_id - 1, b.upper_id), p_most)
  where x.subscription_id = b.subscription_id;
end
$$;

create function tidemark.rebase_topic(
  t tidemark.topic, p_now pg_snapshot, p_most bigint, out messages bigint, out groups bigint, out retries bigint
)
language plpgsql volatile as $$
declare
  s tidemark.subscription;
  l tidemark.lease;
  b tidemark.backfill;
  last bigint;
  changed bigint;
  at_number bigint;
  rows bigint := tidemark.partition_rows(t.id);
  new_xid xid8;
begin
  messages := 0;
  groups := 0;
  retries := 0;
  -- A restore that left the sequence behind would give ids out twice.
  execute format('select max(id) from tidemark.log_%s', t.id) into last;
  if last > tidemark.last_id(t.id) then
    perform setval(format('tidemark.log_%s_id', t.id)::regclass, last);
  end if;
  perform tidemark.finish_before_rebase(t);
  for s in select * from tidemark.subscription as x where x.topic_id = t.id order by x.id loop
    for l in
      select * from tidemark.lease as x
      where x.subscription_id = s.id and x.kind = 'page' and x.done_at is null and x.expired_at is null
    loop
      perform tidemark.page_to_retries(s, l);
    end loop;
    retries := retries + tidemark.rebase_cursor(s, t.gone_id, p_now, p_most);
    groups := groups + 1;
  end loop;
  for b in select * from tidemark.backfill as x where x.topic_id = t.id loop
    perform tidemark.rebase_backfill(b, p_now, p_most);
  end loop;

  update tidemark.retry as r
  set xid = '1'
  where r.subscription_id in (select x.id from tidemark.subscription as x where x.topic_id = t.id);
  for at_number in select p.number from tidemark.log_partitions(t.id) as p loop
    new_xid := tidemark.rebased_xid(t.id, at_number * rows, p_most);
    execute format('update tidemark.log_%s_p%s set xid = %L::xid8 where xid <> %L::xid8', t.id, at_number, new_xid, new_xid);
    get diagnostics changed = row_count;
    messages := messages + changed;
    if tidemark.is_tracked(t.id) then
      execute format('update tidemark.track_%s_p%s set xid = %L::xid8 where xid <> %L::xid8', t.id, at_number, new_xid, new_xid);
    end if;
    update tidemark.retry as r
    set xid = new_xid
    where r.subscription_id in (select x.id from tidemark.subscription as x where x.topic_id = t.id)
      and r.id >= at_number * rows and r.id < (at_number + 1) * rows and r.xid <> new_xid;
    update tidemark.partition as p
    set low_xid = case when p.low_xid is not null then new_xid end, high_xid = case when p.high_xid is not null then new_xid end
    where p.topic_id = t.id and p.number = at_number;
  end loop;
  -- Whoever could have written to them has ended with the old cluster.
  update tidemark.partition as p set seal_xid = '1' where p.topic_id = t.id;
  update tidemark.bit_wipe as w set ended_xid = '1' where w.topic_id = t.id;
end
$$;

-- All or nothing, with everybody else kept out. Nothing where nothing is wrong: `state` says.
create function tidemark.repair(out state text, out topics bigint, out messages bigint, out groups bigint, out retries bigint)
language plpgsql volatile as $$
declare
  t tidemark.topic;
  own xid8 := pg_current_xact_id();
  now pg_snapshot;
  most bigint;
  done record;
begin
  topics := 0;
  messages := 0;
  groups := 0;
  retries := 0;
  lock table tidemark.topic, tidemark.subscription, tidemark.lease, tidemark.retry, tidemark.backfill, tidemark.bit_wipe,
    tidemark.partition, tidemark.cluster in access exclusive mode;
  state := tidemark.cluster_state();
  if state = 'restored' then
    for t in select * from tidemark.topic as x order by x.id loop
      execute format('lock table tidemark.log_%s in access exclusive mode', t.id);
    end loop;
    now := tidemark.take_snapshot(own);
    most := tidemark.xid_number(pg_snapshot_xmin(now)) - 1;
    for t in select * from tidemark.topic as x order by x.id loop
      select * into done from tidemark.rebase_topic(t, now, most);
      topics := topics + 1;
      messages := messages + done.messages;
      groups := groups + done.groups;
      retries := retries + done.retries;
    end loop;
    update tidemark.lease as l
    set kind = 'retry', window_from = null, window_to = null, first_xid = null, last_xid = null
    where l.window_to is not null;
  end if;
  perform tidemark.note_cluster();
end
$$;
