-- What becomes of messages that were not acknowledged: retry rows, and past their attempts dead letters.

create function tidemark.now_ms() returns bigint
language sql volatile as $$ select floor(extract(epoch from clock_timestamp()) * 1000)::bigint $$;

-- Stable, as `extract` is: only so it is put into the statement that calls it.
create function tidemark.to_ms(at timestamptz) returns bigint
language sql stable as $$ select floor(extract(epoch from at) * 1000)::bigint $$;

-- Moves these retry rows to the dead letters.
create function tidemark.bury(s tidemark.subscription, ids bigint[]) returns void
language plpgsql volatile as $$
declare
  found_ids bigint[];
  found_xids xid8[];
begin
  -- Here and below a group's retries are asked for with `(select s.id)`, a value that the planner does not know: where it
  -- believes that this group has hardly any, every index seems as good as the key, and each look-up read all of them.
  select array_agg(r.id), array_agg(r.xid) into found_ids, found_xids
  from tidemark.retry as r
  where r.subscription_id = (select s.id) and r.id = any(ids);
  if found_ids is null then
    return;
  end if;

  -- One that is gone from the log leaves no letter.
  execute format(
    'insert into tidemark.dead_letter (topic_id, subscription_id, group_name, message_id, salt, created_at, key, type, headers, '
    'given_message_id, payload, attempts, version, error, history) '
    'select %s, %s, %L, m.id, m.salt, m.created_at, m.key, m.type, m.headers, m.message_id, m.payload, r.attempts, r.version, '
    'jsonb_build_object(''name'', r.history -> -1 -> ''name'', ''message'', r.history -> -1 -> ''message''), r.history '
    -- the limit makes the planner look each one up, whatever it believes about the table
    'from (%s) as m cross join lateral (select * from tidemark.retry as x where x.subscription_id = (select %s) and x.id = m.id limit 1) as r',
    s.topic_id, s.id, s.group_name, tidemark.rows_query(s.topic_id, found_xids, found_ids), s.id);

  delete from tidemark.retry as r
  where r.subscription_id = (select s.id) and r.id = any(ids);
end
$$;

-- These slots of a live lease failed: to be tried again when due or, out of attempts, buried. Returns the buried slots.
-- `pieces`: of suspects, a piece for each slot, null for those that are leased alone.
create function tidemark.fail_slots(
  s tidemark.subscription, l tidemark.lease, slots int[], dues timestamptz[], errors jsonb[], max_attempts int,
  p_suspect boolean, pieces uuid[]
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
    insert into tidemark.retry (subscription_id, id, xid, attempts, version, due_at, suspect, piece, history)
    select s.id, ids[f.slot + 1], xids[f.slot + 1], 1, 1, f.due, p_suspect, f.piece,
      jsonb_build_array(f.error || jsonb_build_object('attempt', 1, 'at', at_ms))
    from unnest(slots, dues, errors, pieces) as f (slot, due, error, piece)
    -- what somebody deleted from the log by hand is settled
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
      -- The token comes with each slot: with a constant the planner, which believes that few rows have it, compared each
      -- row of a page with each slot.
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

-- Into how many pieces n messages with so many attempts left are split; see pieces.ts, which computes the same.
create function tidemark.piece_count(messages bigint, attempts_left int) returns bigint
language plpgsql immutable as $$
declare
  pieces bigint := least(2, messages);
  power bigint;
begin
  if attempts_left <= 1 then
    return messages;
  end if;
  loop
    power := pieces;
    for step in 2..attempts_left loop
      exit when power >= messages;
      power := power * pieces;
    end loop;
    exit when power >= messages;
    pieces := pieces + 1;
  end loop;
  return pieces;
end
$$;

-- The piece that each of the messages belongs to, by how often each was tried; null for those on their last attempt. Only
-- messages with as many attempts left share one.
create function tidemark.split(attempts int[], max_attempts int) returns uuid[]
language sql volatile as $$
  with alike as materialized (
    select attempt, count(*) as total, tidemark.piece_count(count(*), max_attempts - attempt) as pieces
    from unnest(attempts) as a (attempt)
    group by attempt
  ), message as materialized (
    select place, attempt, rank * pieces / total as number
    from (
      select attempt, place, row_number() over (partition by attempt order by place) - 1 as rank
      from unnest(attempts) with ordinality as a (attempt, place)
    ) as m
    join alike using (attempt)
  ), piece as materialized (
    select attempt, number, gen_random_uuid() as name from message where max_attempts - attempt > 1 group by attempt, number
  )
  select array_agg(p.name order by m.place) from message as m left join piece as p using (attempt, number)
$$;

-- For people: the first of these messages, with what their messageIds are made of.
create function tidemark.named_messages(s tidemark.subscription, ids bigint[], xids xid8[], versions int[]) returns jsonb
language plpgsql stable as $$
declare
  named jsonb;
begin
  if cardinality(ids) > 0 then
    execute format(
      'select jsonb_agg(jsonb_build_object(''id'', w.id, ''salt'', m.salt, ''messageId'', m.message_id, ''version'', w.version) order by w.place) '
      'from unnest(%L::bigint[], %L::int[]) with ordinality as w (id, version, place) left join (%s) as m on m.id = w.id',
      ids, versions, tidemark.rows_query(s.topic_id, xids, ids)) into named;
  end if;
  return coalesce(named, '[]');
end
$$;

-- Takes a live lease from its holder. What was not settled is tried again from p_due, as suspects in pieces, so that a poison
-- message can't hold the others for long; past its attempts it is buried. The lease stays, to tell a late settlement that it
-- is late. `dead_ids`: what is completed by that, in a topic with reference tracking.
create function tidemark.end_lease(
  s tidemark.subscription, l tidemark.lease, p_due timestamptz, error jsonb, max_attempts int, most_named int,
  out taken jsonb, out dead int, out dead_ids bigint[]
)
language plpgsql volatile as $$
declare
  slots int[] := tidemark.open_slots(l);
  attempts int[];
  slot_ids bigint[];
  dead_slots int[];
  first record;
begin
  if l.kind = 'page' then
    attempts := array_fill(1, array[cardinality(slots)]);
  else
    -- a slot whose message was gone when it was claimed has no row
    select coalesce(array_agg(r.slot order by r.slot), '{}'), coalesce(array_agg(r.attempts order by r.slot), '{}')
    into slots, attempts
    from tidemark.retry as r
    where r.token = l.token;
  end if;
  slot_ids := tidemark.slot_ids(s, l, slots);
  dead_slots := tidemark.fail_slots(s, l, slots, array_fill(p_due, array[cardinality(slots)]),
    array_fill(error, array[cardinality(slots)]), max_attempts, true, tidemark.split(attempts, max_attempts));
  update tidemark.lease as x set expired_at = clock_timestamp() where x.token = l.token;
  dead := cardinality(dead_slots);
  dead_ids := array(
    select u.id from unnest(slots, slot_ids) as u (slot, id) join unnest(dead_slots) as d (slot) using (slot)
  );
  taken := jsonb_build_object('token', l.token, 'consumer', l.consumer, 'count', cardinality(slots) - dead, 'messages', '[]'::jsonb);
  if dead < cardinality(slots) then
    select array_agg(f.id order by f.place) as ids, array_agg(f.xid order by f.place) as xids,
      array_agg(f.version order by f.place) as versions
    into first
    from (
      -- what is buried has no row
      select r.id, r.xid, r.version, u.place
      from unnest(slot_ids) with ordinality as u (id, place)
      join tidemark.retry as r on r.subscription_id = (select s.id) and r.id = u.id
      order by u.place
      limit most_named
    ) as f;
    taken := taken || jsonb_build_object('messages', tidemark.named_messages(s, first.ids, first.xids, first.versions));
  end if;
end
$$;

-- Leases whose deadline has passed end here.
create function tidemark.expire_leases(
  s tidemark.subscription, max_attempts int, error_text text, most_named int, out take_overs jsonb, out dead_lettered int
)
language plpgsql volatile as $$
declare
  l tidemark.lease;
  now timestamptz := clock_timestamp();
  ended record;
  dead_ids bigint[] := '{}';
begin
  take_overs := '[]';
  dead_lettered := 0;
  for l in
    select * from tidemark.lease as x
    where x.subscription_id = s.id and x.done_at is null and x.expired_at is null and x.deadline < now
    order by x.deadline
    -- one that is being settled is not expired
    for update skip locked
  loop
    -- due since the deadline: of several, those that have waited longest come first
    select * into ended from tidemark.end_lease(s, l, l.deadline,
      jsonb_build_object('name', 'LeaseExpiredError', 'message', replace(error_text, '{consumer}', l.consumer)),
      max_attempts, most_named);
    dead_lettered := dead_lettered + ended.dead;
    dead_ids := dead_ids || ended.dead_ids;
    if (ended.taken ->> 'count')::int > 0 then
      take_overs := take_overs || ended.taken;
    end if;
  end loop;
  if s.bit is not null and cardinality(dead_ids) > 0 then
    perform tidemark.complete(s.topic_id, dead_ids, array_fill(1::bigint << s.bit, array[cardinality(dead_ids)]));
  end if;

  delete from tidemark.lease as x
  where x.subscription_id = s.id
    and (x.done_at is not null or x.expired_at is not null)
    and greatest(x.done_at, x.expired_at) < now - interval '1 hour';
end
$$;
