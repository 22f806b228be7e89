-- Transaction ids are only meaningful within one cluster. After a logical dump is loaded into another cluster, the
-- stored cursors refer to the old server's transactions. If the new server's counter is lower, messages published here
-- would lie below cursors that have never seen them, and be lost. So a namespace records its cluster, open() checks
-- that it is still there, and repair() rewrites everything stored in terms of transaction ids.

create function tidemark_fn.xid_number(x xid8) returns bigint
language sql immutable as $$ select x::text::bigint $$;

-- One more than the highest transaction id in a snapshot.
create function tidemark_fn.snapshot_end(s pg_snapshot) returns bigint
language sql immutable as $$ select pg_snapshot_xmax(s)::text::bigint $$;

-- '' if this user may not read it.
create function tidemark_fn.system_identifier() returns text
language plpgsql stable as $$
begin
  return (select c.system_identifier::text from pg_control_system() as c);
exception
  when insufficient_privilege then
    return '';
end
$$;

-- One more than the highest transaction id in stored data. The transaction ids of messages are not indexed: the
-- `newest` messages of each topic are checked, or all if null.
create function tidemark_fn.stored_end(newest bigint) returns bigint
language plpgsql volatile as $$
declare
  each_topic int;
  top xid8;
  highest bigint;
begin
  select coalesce(max(x.number), 0) into highest from (
    select greatest(tidemark_fn.snapshot_end(s.window_from), tidemark_fn.snapshot_end(s.window_to), tidemark_fn.snapshot_end(s.start_to),
      tidemark_fn.xid_number(s.ended_xid) + 1)
    from tidemark.subscription as s
    union all
    select tidemark_fn.snapshot_end(l.window_to) from tidemark.lease as l
    union all
    select tidemark_fn.xid_number(r.xid) + 1 from tidemark.retry as r
    union all
    select tidemark_fn.xid_number(p.seal_xid) + 1 from tidemark.partition as p
    union all
    select greatest(tidemark_fn.snapshot_end(b.upper), tidemark_fn.snapshot_end(b.lower_from), tidemark_fn.snapshot_end(b.lower_to))
    from tidemark.backfill as b
    union all
    select tidemark_fn.xid_number(w.ended_xid) + 1 from tidemark.bit_wipe as w
    union all
    select tidemark_fn.xid_number(t.fill_xid) + 1 from tidemark.topic as t
  ) as x (number);
  for each_topic in select t.id from tidemark.topic as t loop
    select r.xid into top from tidemark_fn.records_of(format(
      'select xid from (select xid from tidemark.log_%s order by id desc limit %L) as n order by xid desc limit 1', each_topic, newest
    )) as r (xid xid8);
    highest := greatest(highest, tidemark_fn.xid_number(top) + 1);
  end loop;
  return highest;
end
$$;

--   same      the cluster is the recorded one
--   new       no cluster is recorded, and nothing contradicts this one
--   moved     came from another cluster, but all stored transaction ids are in the past here: they keep their meaning
--   restored  came from another cluster, and they do not: repair() is needed
create function tidemark_fn.cluster_state() returns text
language plpgsql volatile as $$
declare
  known text := coalesce((select c.system_identifier from tidemark.cluster as c), '');
  here text := tidemark_fn.system_identifier();
  stored bigint;
begin
  if known = here and known <> '' then
    -- A stored snapshot ended before one taken now, unless it comes from another counter. The same holds for ids.
    return case when exists (
      select from tidemark.subscription as s where tidemark_fn.is_ahead(s.topic_id, s.window_to, s.to_id, 0)
    ) then 'restored' else 'same' end;
  end if;
  if known = '' or here = '' then
    -- Checked at every open if the cluster cannot be identified.
    stored := tidemark_fn.stored_end(10000);
    return case when stored > tidemark_fn.snapshot_end(pg_current_snapshot()) then 'restored' else 'new' end;
  end if;
  stored := tidemark_fn.stored_end(null);
  return case when stored > tidemark_fn.xid_number(pg_snapshot_xmin(pg_current_snapshot())) then 'restored' else 'moved' end;
end
$$;

create function tidemark_fn.note_cluster() returns void
language sql volatile as $$
  insert into tidemark.cluster (system_identifier) values (tidemark_fn.system_identifier())
  on conflict (only_row) do update
  set system_identifier = excluded.system_identifier, since = clock_timestamp()
  where cluster.system_identifier <> excluded.system_identifier
$$;

-- Converts a page lease to retries. A page finds its slots by reading its rows again from its window; retries under the
-- same lease keep their slots, so the holder can still settle it.
create function tidemark_fn.page_to_retries(s tidemark.subscription, l tidemark.lease) returns void
language plpgsql volatile as $$
declare
  xids xid8[];
  ids bigint[];
  bits varbit := coalesce(l.settled, repeat('0', l.size)::varbit);
begin
  select k.xids, k.ids into xids, ids from tidemark_fn.keys_of(tidemark_fn.lease_query('xid, id', s, l)) as k;
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

-- Finishes a tracking switch or backfill while the old snapshots still define what it covers.
create function tidemark_fn.finish_before_rebase(t tidemark.topic) returns void
language plpgsql volatile as $$
declare
  b tidemark.backfill;
  s tidemark.subscription;
  own uuid := gen_random_uuid();
begin
  update tidemark.topic as x set fill_xid = null, fill_last_id = tidemark_fn.last_id(x.id) where x.id = t.id and x.fill_xid is not null;
  while tidemark_fn.fill_tracking(t.id, 100000) loop
  end loop;
  for b in select * from tidemark.backfill as x where x.topic_id = t.id loop
    select * into s from tidemark.subscription as x where x.id = b.subscription_id;
    continue when s.status = 'CANCELLED' or s.bit is null;
    update tidemark.backfill as x set token = own where x.subscription_id = s.id and x.status = 'RUNNING';
    while exists (select from tidemark_fn.backfill_batch(s.id, own, 100000, 60000, false)) loop
    end loop;
    while (select x.more from tidemark_fn.take_backfilled(s, null, 100000) as x) loop
    end loop;
  end loop;
end
$$;

-- Rewrites the group's cursor in terms of ids. Returns how many messages became retries.
create function tidemark_fn.rebase_cursor(s tidemark.subscription, p_gone bigint, p_now pg_snapshot) returns bigint
language plpgsql volatile as $$
declare
  log text := format('tidemark.log_%s', s.topic_id);
  last bigint := tidemark_fn.last_id(s.topic_id);
  low bigint := greatest(tidemark_fn.cursor_id(s), p_gone);
  -- No window reaches beyond its to_id: messages above it were published later, whatever their transaction id seems to
  -- say.
  passed text := format('id <= %s and tidemark_fn.has_passed(%L::pg_snapshot, %L::pg_snapshot, %s, xid, id)',
    s.to_id, s.window_from, s.window_to, s.at_id);
  place bigint;
  is_there boolean;
  first_id bigint;
  bounds bigint[];
  made bigint;
begin
  place := tidemark_fn.number_of(format('select max(id) from %s where id > %s and %s', log, low, passed));
  -- A resumed backfill leaves out what the group holds, so whatever the live stream has not yet delivered of its range
  -- is held.
  place := greatest(place, low, (select b.upper_id from tidemark.backfill as b where b.subscription_id = s.id));
  made := tidemark_fn.run(format(
    'insert into tidemark.retry (subscription_id, id, xid, attempts, version, due_at, suspect, history) '
    'select %s, id, xid, 0, 0, clock_timestamp(), false, ''[]'' from %s where id > %s and id <= %s and not (%s) and created_at >= %L '
    'on conflict do nothing', s.id, log, low, place, passed, coalesce(s.since, '-infinity')));
  is_there := tidemark_fn.has_rows(format('select from %s where id > %s', log, place));
  if s.start_from::text <> '1:1:' or s.start_id > 0 then
    first_id := tidemark_fn.number_of(format('select min(id) from %s where not tidemark_fn.has_passed(%L, %L, %s, xid, id)',
      log, s.start_from, s.start_to, s.start_id));
    s.start_id := coalesce(first_id - 1, last);
  end if;
  -- Transactions in progress now were locked out, so they have not drawn any ids yet.
  bounds := array(select last from pg_snapshot_xip(p_now));
  update tidemark.subscription as x
  set window_from = case when is_there then '1:1:'::pg_snapshot else p_now end, window_to = p_now,
    late_ids = case when is_there then '{}' else bounds end, open_ids = bounds,
    from_id = case when is_there then place else last end, next_id = last,
    seen_id = case when is_there then 0 else last end, to_id = last, at_id = case when is_there then place else 0 end,
    start_from = '1:1:', start_to = p_now, start_id = s.start_id, ended_xid = null, live_xid = null
  where x.id = s.id;
  return made;
end
$$;

-- A cancelled or failed backfill can be resumed: rewrites its remaining range in terms of ids.
create function tidemark_fn.rebase_backfill(b tidemark.backfill, p_now pg_snapshot) returns void
language plpgsql volatile as $$
declare
  first_id bigint;
begin
  first_id := tidemark_fn.number_of(format('select min(id) from tidemark.log_%s where id > %s and id <= %s and %s',
    b.topic_id, b.checkpoint_id, b.upper_id, tidemark_fn.backfill_filter(b)));
  update tidemark.backfill as x
  set lower_from = '1:1:', lower_to = p_now, upper = p_now, lower_place = coalesce(first_id - 1, b.upper_id)
  where x.subscription_id = b.subscription_id;
end
$$;

create function tidemark_fn.rebase_topic(
  t tidemark.topic, p_now pg_snapshot, out messages bigint, out groups bigint, out retries bigint
)
language plpgsql volatile as $$
declare
  s tidemark.subscription;
  l tidemark.lease;
  b tidemark.backfill;
  last bigint;
  at_number bigint;
begin
  messages := 0;
  groups := 0;
  retries := 0;
  -- A restore that left the sequence behind would hand out ids twice, including ids that are no longer in the log.
  last := tidemark_fn.number_of(format('select max(id) from tidemark.log_%s', t.id));
  last := greatest(last, t.gone_id,
    (select max(greatest(x.to_id, x.next_id, x.at_id)) from tidemark.subscription as x where x.topic_id = t.id),
    (select max(d.id) from tidemark.dedupe as d where d.topic_id = t.id),
    (select max(d.message_id) from tidemark.dead_letter as d where d.topic_id = t.id));
  if last > tidemark_fn.last_id(t.id) then
    perform setval(format('tidemark.log_%s_id', t.id)::regclass, last);
  end if;
  perform tidemark_fn.finish_before_rebase(t);
  for s in select * from tidemark.subscription as x where x.topic_id = t.id order by x.id loop
    for l in
      select * from tidemark.lease as x
      where x.subscription_id = s.id and x.kind = 'page' and x.done_at is null and x.expired_at is null
    loop
      perform tidemark_fn.page_to_retries(s, l);
    end loop;
    retries := retries + tidemark_fn.rebase_cursor(s, t.gone_id, p_now);
    groups := groups + 1;
  end loop;
  for b in select * from tidemark.backfill as x where x.topic_id = t.id loop
    perform tidemark_fn.rebase_backfill(b, p_now);
  end loop;

  update tidemark.retry as r
  set xid = '1'
  where r.subscription_id in (select x.id from tidemark.subscription as x where x.topic_id = t.id);
  for at_number in select p.number from tidemark_fn.log_partitions(t.id) as p loop
    messages := messages
      + tidemark_fn.run(format('update tidemark.log_%s_p%s set xid = ''1'' where xid <> ''1''', t.id, at_number));
    if tidemark_fn.is_tracked(t.id) then
      perform tidemark_fn.run(format('update tidemark.track_%s_p%s set xid = ''1'' where xid <> ''1''', t.id, at_number));
    end if;
  end loop;
  -- Every transaction that could have written to them ended with the old cluster.
  update tidemark.partition as p set seal_xid = '1' where p.topic_id = t.id;
  update tidemark.bit_wipe as w set ended_xid = '1' where w.topic_id = t.id;
end
$$;

-- All or nothing, with everybody else locked out. Does nothing if nothing is wrong: see `state`.
create function tidemark_fn.repair(out state text, out topics bigint, out messages bigint, out groups bigint, out retries bigint)
language plpgsql volatile as $$
declare
  t tidemark.topic;
  own xid8 := pg_current_xact_id();
  now pg_snapshot;
  done record;
begin
  topics := 0;
  messages := 0;
  groups := 0;
  retries := 0;
  lock table tidemark.topic, tidemark.subscription, tidemark.lease, tidemark.retry, tidemark.backfill, tidemark.bit_wipe,
    tidemark.partition, tidemark.cluster in access exclusive mode;
  state := tidemark_fn.cluster_state();
  if state = 'restored' then
    for t in select * from tidemark.topic as x order by x.id loop
      perform tidemark_fn.run(format('lock table tidemark.log_%s in access exclusive mode', t.id));
    end loop;
    now := tidemark_fn.take_snapshot(own);
    for t in select * from tidemark.topic as x order by x.id loop
      select * into done from tidemark_fn.rebase_topic(t, now);
      topics := topics + 1;
      messages := messages + done.messages;
      groups := groups + done.groups;
      retries := retries + done.retries;
    end loop;
    update tidemark.lease as l
    set kind = 'retry', window_from = null, window_to = null
    where l.window_to is not null;
  end if;
  perform tidemark_fn.note_cluster();
end
$$;
