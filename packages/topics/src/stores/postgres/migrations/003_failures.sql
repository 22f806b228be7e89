-- What becomes of messages that were not acknowledged: retry rows, and past their attempts dead letters.

create function tidemark.now_ms() returns bigint
language sql volatile as $$ select floor(extract(epoch from clock_timestamp()) * 1000)::bigint $$;

-- Moves these retry rows to the dead letters.
create function tidemark.bury(s tidemark.subscription, ids bigint[]) returns void
language plpgsql volatile as $$
declare
  found_ids bigint[];
  found_xids xid8[];
begin
  select array_agg(r.id), array_agg(r.xid) into found_ids, found_xids
  from tidemark.retry as r
  where r.subscription_id = s.id and r.id = any(ids);
  if found_ids is null then
    return;
  end if;

  -- One that is gone from the log leaves no letter.
  execute format(
    'insert into tidemark.dead_letter (topic_id, subscription_id, group_name, message_id, created_at, key, type, headers, '
    'given_message_id, payload, attempts, version, error, history) '
    'select %s, %s, %L, m.id, m.created_at, m.key, m.type, m.headers, m.message_id, m.payload, r.attempts, r.version, '
    'jsonb_build_object(''name'', r.history -> -1 -> ''name'', ''message'', r.history -> -1 -> ''message''), r.history '
    'from (%s) as m join tidemark.retry as r on r.subscription_id = %s and r.id = m.id',
    s.topic_id, s.id, s.group_name, tidemark.rows_query(s.topic_id, found_xids, found_ids), s.id);

  delete from tidemark.retry as r
  where r.subscription_id = s.id and r.id = any(ids);
end
$$;

-- These slots of a live lease failed: to be tried again when due or, out of attempts, buried. Returns the buried slots.
create function tidemark.fail_slots(
  s tidemark.subscription, l tidemark.lease, slots int[], dues timestamptz[], errors jsonb[], max_attempts int, p_suspect boolean
) returns int[]
language plpgsql volatile as $$
declare
  at_ms bigint := tidemark.now_ms();
  xids xid8[];
  ids bigint[];
  dead_slots int[];
  dead_ids bigint[];
begin
  if cardinality(slots) = 0 then
    return '{}';
  end if;
  if l.kind = 'page' then
    execute format('select array_agg(xid), array_agg(id) from (%s) as p', tidemark.lease_query('xid, id', s, l))
      into xids, ids;
    insert into tidemark.retry (subscription_id, id, xid, attempts, version, due_at, suspect, history)
    select s.id, ids[f.slot + 1], xids[f.slot + 1], 1, 1, f.due, p_suspect,
      jsonb_build_array(f.error || jsonb_build_object('attempt', 1, 'at', at_ms))
    from unnest(slots, dues, errors) as f (slot, due, error)
    -- what somebody deleted from the log by hand is settled
    where ids[f.slot + 1] is not null;
    if max_attempts <= 1 then
      dead_slots := slots;
      select array_agg(ids[slot + 1]) into dead_ids from unnest(slots) as slot;
    end if;
  else
    with failed as (
      update tidemark.retry as r
      set token = null, slot = null, due_at = f.due, suspect = p_suspect,
        history = r.history || jsonb_build_array(f.error || jsonb_build_object('attempt', r.attempts, 'at', at_ms))
      from unnest(slots, dues, errors) as f (slot, due, error)
      where r.token = l.token and r.slot = f.slot
      returning f.slot, r.id, r.attempts
    )
    select array_agg(f.slot), array_agg(f.id) into dead_slots, dead_ids
    from failed as f
    where f.attempts >= max_attempts;
  end if;
  if dead_ids is null then
    return '{}';
  end if;
  perform tidemark.bury(s, dead_ids);
  return dead_slots;
end
$$;

-- These slots of a live lease were never tried: due at once, and the claim doesn't count.
create function tidemark.release_slots(s tidemark.subscription, l tidemark.lease, slots int[]) returns void
language plpgsql volatile as $$
declare
  xids xid8[];
  ids bigint[];
begin
  if cardinality(slots) = 0 then
    return;
  end if;
  if l.kind = 'page' then
    execute format('select array_agg(xid), array_agg(id) from (%s) as p', tidemark.lease_query('xid, id', s, l))
      into xids, ids;
    insert into tidemark.retry (subscription_id, id, xid, attempts, version, due_at, suspect, history)
    select s.id, ids[slot + 1], xids[slot + 1], 0, 1, clock_timestamp(), false, '[]'
    from unnest(slots) as slot
    where ids[slot + 1] is not null;
  else
    update tidemark.retry as r
    set token = null, slot = null, due_at = clock_timestamp(), attempts = r.attempts - 1
    where r.token = l.token and r.slot = any(slots);
  end if;
end
$$;

create function tidemark.open_slots(l tidemark.lease) returns int[]
language sql stable as $$
  select array(
    select slot from generate_series(0, l.size - 1) as slot
    where l.settled is null or get_bit(l.settled, slot) = 0
  )
$$;

-- Leases whose deadline has passed end here. Each is split, so that one poison message can't hold the others: what was
-- not settled becomes suspects, which are leased one at a time. The lease stays, to tell a late settlement it is late.
create function tidemark.expire_leases(
  s tidemark.subscription, max_attempts int, error_text text, out taken_over int, out dead_lettered int
)
language plpgsql volatile as $$
declare
  l tidemark.lease;
  slots int[];
  now timestamptz := clock_timestamp();
  error jsonb;
  dead_slots int[];
  dead int;
  slot_ids bigint[];
  dead_ids bigint[] := '{}';
begin
  taken_over := 0;
  dead_lettered := 0;
  for l in
    select * from tidemark.lease as x
    where x.subscription_id = s.id and x.done_at is null and x.expired_at is null and x.deadline < now
    order by x.deadline
    -- one that is being settled is not expired
    for update skip locked
  loop
    slots := tidemark.open_slots(l);
    error := jsonb_build_object('name', 'LeaseExpiredError', 'message', replace(error_text, '{consumer}', l.consumer));
    -- due since the deadline: of several, those that have waited longest come first
    slot_ids := case when s.bit is not null then tidemark.slot_ids(s, l, slots) end;
    dead_slots := tidemark.fail_slots(
      s, l, slots, array_fill(l.deadline, array[cardinality(slots)]), array_fill(error, array[cardinality(slots)]), max_attempts, true);
    dead := cardinality(dead_slots);
    if s.bit is not null then
      dead_ids := dead_ids || array(select slot_ids[array_position(slots, d)] from unnest(dead_slots) as d);
    end if;
    update tidemark.lease as x set expired_at = now where x.token = l.token;
    dead_lettered := dead_lettered + dead;
    taken_over := taken_over + cardinality(slots) - dead;
  end loop;
  if cardinality(dead_ids) > 0 then
    perform tidemark.complete(s.topic_id, dead_ids, array_fill(1::bigint << s.bit, array[cardinality(dead_ids)]));
  end if;

  delete from tidemark.lease as x
  where x.subscription_id = s.id
    and (x.done_at is not null or x.expired_at is not null)
    and greatest(x.done_at, x.expired_at) < now - interval '1 hour';
end
$$;
