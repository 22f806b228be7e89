-- Settles leases. Locks only leases, in token order, and never the subscription. A claim locks the subscription and
-- then skips locked leases, so the two can't deadlock. Messages that were not acknowledged become retry rows or, out of
-- attempts, dead letters.

-- Moves retry rows to the dead letters.
create function tidemark_fn.bury(s tidemark.subscription, ids bigint[]) returns void
language plpgsql volatile as $$
declare
  found_ids bigint[];
  found_xids xid8[];
begin
  -- Here and below, a group's retries are selected with `(select s.id)`, a value unknown to the planner. If it knew
  -- that this group has hardly any, every index would look as good as the key, and each lookup read all of them.
  select array_agg(r.id), array_agg(r.xid) into found_ids, found_xids
  from tidemark.retry as r
  where r.subscription_id = (select s.id) and r.id = any(ids);
  if found_ids is null then
    return;
  end if;

  -- A message that is gone from the log leaves no dead letter.
  perform tidemark_fn.run(format(
    'insert into tidemark.dead_letter (topic_id, subscription_id, group_name, message_id, salt, created_at, key, type, headers, '
    'given_message_id, payload, attempts, version, error, history) '
    'select %s, %s, %L, m.id, m.salt, m.created_at, m.key, m.type, m.headers, m.message_id, m.payload, r.attempts, r.version, '
    'jsonb_build_object(''name'', r.history -> -1 -> ''name'', ''message'', r.history -> -1 -> ''message''), r.history '
    -- The limit makes the planner look each one up, whatever its statistics say.
    'from (%s) as m cross join lateral (select * from tidemark.retry as x where x.subscription_id = (select %s) and x.id = m.id limit 1) as r',
    s.topic_id, s.id, s.group_name, tidemark_fn.rows_query(s.topic_id, found_xids, found_ids), s.id));

  delete from tidemark.retry as r
  where r.subscription_id = (select s.id) and r.id = any(ids);
end
$$;

-- Fails slots of a live lease: they are retried when due or, out of attempts, dead-lettered. Returns the dead-lettered
-- slots. `pieces`: for suspects, a piece per slot; null for those that are leased alone.
create function tidemark_fn.fail_slots(
  s tidemark.subscription, l tidemark.lease, slots int[], dues timestamptz[], errors jsonb[], max_attempts int,
  p_suspect boolean, pieces uuid[]
) returns int[]
language plpgsql volatile as $$
declare
  at_ms bigint := tidemark_fn.now_ms();
  xids xid8[];
  ids bigint[];
  dead_slots int[];
  dead_ids bigint[];
begin
  if cardinality(slots) = 0 then
    return '{}';
  end if;
  if l.kind = 'page' then
    select k.xids, k.ids into xids, ids from tidemark_fn.keys_of(tidemark_fn.lease_query('xid, id', s, l)) as k;
    insert into tidemark.retry (subscription_id, id, xid, attempts, version, due_at, suspect, piece, history)
    select s.id, ids[f.slot + 1], xids[f.slot + 1], 1, 1, f.due, p_suspect, f.piece,
      jsonb_build_array(f.error || jsonb_build_object('attempt', 1, 'at', at_ms))
    from unnest(slots, dues, errors, pieces) as f (slot, due, error, piece)
    -- A message deleted from the log by hand counts as settled.
    where ids[f.slot + 1] is not null;
    if max_attempts <= 1 then
      dead_slots := slots;
      select array_agg(ids[slot + 1]) into dead_ids from unnest(slots) as slot;
    end if;
  else
    with failed as (
      update tidemark.retry as r
      set token = null, slot = null, due_at = f.due, suspect = p_suspect, piece = f.piece,
        history = r.history || jsonb_build_array(f.error || jsonb_build_object('attempt', r.attempts, 'at', at_ms))
      -- The token is repeated for each slot. With a constant the planner, believing that few rows match it, compared
      -- each row of a page with each slot.
      from unnest(array_fill(l.token, array[cardinality(slots)]), slots, dues, errors, pieces)
        as f (token, slot, due, error, piece)
      where r.token = f.token and r.slot = f.slot
      returning f.slot, r.id, r.attempts
    )
    select array_agg(f.slot), array_agg(f.id) into dead_slots, dead_ids
    from failed as f
    where f.attempts >= max_attempts;
  end if;
  if dead_ids is null then
    return '{}';
  end if;
  perform tidemark_fn.bury(s, dead_ids);
  return dead_slots;
end
$$;

-- Releases slots of a live lease that were never tried: they are due at once, and the attempt doesn't count.
create function tidemark_fn.release_slots(s tidemark.subscription, l tidemark.lease, slots int[]) returns void
language plpgsql volatile as $$
declare
  xids xid8[];
  ids bigint[];
begin
  if cardinality(slots) = 0 then
    return;
  end if;
  if l.kind = 'page' then
    select k.xids, k.ids into xids, ids from tidemark_fn.keys_of(tidemark_fn.lease_query('xid, id', s, l)) as k;
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

create function tidemark_fn.open_slots(l tidemark.lease) returns int[]
language sql stable as $$
  select array(
    select slot from generate_series(0, l.size - 1) as slot
    where l.settled is null or get_bit(l.settled, slot) = 0
  )
$$;

-- The messages in these slots of a lease, in slot order.
create function tidemark_fn.slot_ids(s tidemark.subscription, l tidemark.lease, slots int[]) returns bigint[]
language plpgsql volatile as $$
declare
  ids bigint[];
begin
  if cardinality(slots) = 0 then
    return '{}';
  end if;
  if l.kind = 'page' then
    ids := (tidemark_fn.keys_of(tidemark_fn.lease_query('xid, id', s, l))).ids;
    return array(select ids[slot + 1] from unnest(slots) with ordinality as u (slot, place) order by place);
  end if;
  return array(
    select r.id
    from unnest(slots) with ordinality as u (slot, place)
    -- The limit makes the planner look each one up, whatever its statistics say.
    cross join lateral (select x.id from tidemark.retry as x where x.token = (select l.token) and x.slot = u.slot limit 1) as r
    order by u.place
  );
end
$$;

-- Settles one lease: { token, size, maxAttempts, acks: [slot] | null for all, nacks: [{ slot, delayMs, error }],
-- releases: [slot] }. Returns { stale, deadLettered, finished, unknown, topic: id if something became due } and, in a
-- topic with reference tracking, what the group has completed.
create function tidemark_fn.settle_one(p jsonb, out result jsonb, out topic int, out group_bit int, out completed bigint[])
language plpgsql volatile as $$
declare
  l tidemark.lease;
  s tidemark.subscription;
  c tidemark_fn.settled_slots;
  dead int[];
  nack_ids bigint[];
begin
  completed := '{}';
  select * into l from tidemark.lease as x where x.token = (p ->> 'token')::uuid for update;
  if not found then
    l.size := (p ->> 'size')::int;
  end if;
  if l.done_at is not null then
    result := jsonb_build_object('stale', '[]'::jsonb, 'deadLettered', '[]'::jsonb, 'finished', true);
    return;
  end if;
  select * into s from tidemark.subscription as x where x.id = l.subscription_id;
  if s.id is null or l.expired_at is not null then
    result := tidemark_fn.stale_result(p, l);
    return;
  end if;

  c := tidemark_fn.settled_slots(p, l);
  if s.bit is not null then
    completed := tidemark_fn.slot_ids(s, l, c.acks);
    nack_ids := tidemark_fn.slot_ids(s, l, c.nacks);
  end if;
  if l.kind = 'retry' then
    delete from tidemark.retry as r where r.token = l.token and r.slot = any(c.acks);
  end if;
  dead := tidemark_fn.fail_slots(s, l, c.nacks, c.dues, c.errors, (p ->> 'maxAttempts')::int, false, null);
  perform tidemark_fn.release_slots(s, l, c.releases);
  perform tidemark_fn.mark_settled(l, c);
  result := jsonb_build_object('stale', '[]'::jsonb, 'deadLettered', to_jsonb(dead), 'finished', c.are_all,
    'topic', case when cardinality(c.releases) > 0 then s.topic_id end);
  if s.bit is not null then
    topic := s.topic_id;
    group_bit := s.bit;
    completed := completed || array(
      select n.id from unnest(c.nacks, nack_ids) as n (slot, id) join unnest(dead) as d (slot) on d.slot = n.slot
    );
  end if;
end
$$;

-- The slots that a settlement acknowledges; null means all of them.
create function tidemark_fn.asked_acks(p jsonb, size int) returns int[]
language sql immutable as $$
  select case when p -> 'acks' = 'null' then array(select generate_series(0, size - 1)) else tidemark_fn.int_array(p -> 'acks') end
$$;

-- The result for a lease that has ended or is unknown: everything in the settlement is stale.
create function tidemark_fn.stale_result(p jsonb, l tidemark.lease) returns jsonb
language sql stable as $$
  select jsonb_build_object('finished', true, 'deadLettered', '[]'::jsonb, 'unknown', l.token is null, 'stale', to_jsonb(array(
    select unnest(tidemark_fn.open_slots(l))
    intersect (
      select unnest(tidemark_fn.asked_acks(p, l.size))
      union all select unnest(tidemark_fn.int_array(p -> 'releases'))
      union all select (n ->> 'slot')::int from jsonb_array_elements(p -> 'nacks') as n
    )
    order by 1
  )))
$$;

-- What a settlement asks for each slot that is not settled yet. If a slot is named twice, an ack wins over a nack, and
-- a nack over a release. Sets, because `= any(array)` compares every slot of a page with every other.
create function tidemark_fn.settled_slots(p jsonb, l tidemark.lease) returns tidemark_fn.settled_slots
language plpgsql stable as $$
declare
  unsettled int[] := tidemark_fn.open_slots(l);
  c tidemark_fn.settled_slots;
begin
  c.acks := array(select unnest(unsettled) intersect select unnest(tidemark_fn.asked_acks(p, l.size)));
  select coalesce(array_agg(n.slot), '{}'), coalesce(array_agg(clock_timestamp() + n.delay * interval '1 millisecond'), '{}'),
    coalesce(array_agg(n.error), '{}')
  into c.nacks, c.dues, c.errors
  from (
    select distinct on (1) (e ->> 'slot')::int as slot, (e ->> 'delayMs')::float8 as delay, e -> 'error' as error
    from jsonb_array_elements(p -> 'nacks') as e
  ) as n
  where case when n.slot between 0 and l.size - 1 then l.settled is null or get_bit(l.settled, n.slot) = 0 end
    and n.slot not in (select unnest(c.acks));
  c.releases := array(
    select unnest(unsettled) intersect select unnest(tidemark_fn.int_array(p -> 'releases'))
    except select unnest(c.acks) except select unnest(c.nacks)
    -- Released messages keep their order.
    order by 1
  );
  c.are_all := cardinality(unsettled) = cardinality(c.acks) + cardinality(c.nacks) + cardinality(c.releases);
  return c;
end
$$;

create function tidemark_fn.mark_settled(l tidemark.lease, c tidemark_fn.settled_slots) returns void
language plpgsql volatile as $$
declare
  bits varbit := coalesce(l.settled, repeat('0', l.size)::varbit);
  slot int;
begin
  if not c.are_all then
    foreach slot in array c.acks || c.nacks || c.releases loop
      bits := set_bit(bits, slot, 1);
    end loop;
  end if;
  update tidemark.lease as x
  set settled = bits, done_at = case when c.are_all then clock_timestamp() end
  where x.token = l.token;
end
$$;

-- `p_done` lists leases with every slot acknowledged, the common case: one statement settles all live page leases among
-- them. The rest, and the exceptions among `p_done`, are settled one by one. Returns their results by token; tokens
-- without a result are done.
create function tidemark_fn.settle(p_done uuid[], p_rest jsonb) returns jsonb
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  done uuid[];
  tracked uuid[];
begin
  with settled as (
    update tidemark.lease as l
    set done_at = clock_timestamp()
    where l.token = any(p_done) and l.kind = 'page' and l.done_at is null and l.expired_at is null
    returning l.token
  )
  select coalesce(array_agg(token), '{}') into done from settled;
  -- Read once the leases are locked: a group that has ended gives up its bit under their locks, and another group may
  -- get it.
  select array_agg(l.token) into tracked
  from tidemark.lease as l
  join tidemark.subscription as s on s.id = l.subscription_id
  where l.token = any(done) and s.bit is not null;
  if tracked is null and cardinality(done) >= jsonb_array_length(p_rest) then
    return '{}';
  end if;
  return tidemark_fn.settle_rest(done, tracked, p_rest);
end
$$;

-- Completes a settlement after these leases are done: settles the others one by one, and sets the bits of messages in topics
-- with reference tracking.
create function tidemark_fn.settle_rest(done uuid[], tracked uuid[], p_rest jsonb) returns jsonb
language plpgsql volatile as $$
declare
  results jsonb := '{}';
  rest jsonb;
  one record;
  topics int[] := '{}';
  ids bigint[] := '{}';
  bits bigint[] := '{}';
begin
  if tracked is not null then
    select p.topics, p.ids, p.bits into topics, ids, bits from tidemark_fn.page_bits(tracked) as p;
  end if;

  for rest in
    select e from jsonb_array_elements(p_rest) as e
    where not (e ->> 'token')::uuid = any(done)
    order by e ->> 'token'
  loop
    select * into one from tidemark_fn.settle_one(rest);
    results := results || jsonb_build_object(rest ->> 'token', one.result);
    if cardinality(one.completed) > 0 then
      topics := topics || array_fill(one.topic, array[cardinality(one.completed)]);
      ids := ids || one.completed;
      bits := bits || array_fill(1::bigint << one.group_bit, array[cardinality(one.completed)]);
    end if;
  end loop;
  -- Last, and all at once, so that rows shared by several settlements are locked in one order.
  if cardinality(ids) > 0 then
    perform tidemark_fn.complete_all(topics, ids, bits);
  end if;
  return results;
end
$$;
