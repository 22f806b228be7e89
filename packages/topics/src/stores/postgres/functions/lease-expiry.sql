-- Leases that end before their messages are settled: at their deadline, or taken away by an operator.

-- The number of pieces that n messages with this many attempts left are split into; pieces.ts computes the same.
create function tidemark_fn.piece_count(messages bigint, attempts_left int) returns bigint
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

-- The piece of each message, given how often each was tried; null for messages on their last attempt. Only messages
-- with equally many attempts left share a piece.
create function tidemark_fn.split(attempts int[], max_attempts int) returns uuid[]
language sql volatile as $$
  with alike as materialized (
    select attempt, count(*) as total, tidemark_fn.piece_count(count(*), max_attempts - attempt) as pieces
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

-- The first of these messages with the parts of their messageIds, for people to read.
create function tidemark_fn.named_messages(s tidemark.subscription, ids bigint[], xids xid8[], versions int[]) returns jsonb
language plpgsql stable as $$
begin
  if coalesce(cardinality(ids), 0) = 0 then
    return '[]';
  end if;
  return (
    select jsonb_agg(
      jsonb_build_object('id', w.id, 'salt', m.salt, 'messageId', m.message_id, 'version', w.version) order by w.place)
    from unnest(ids, versions) with ordinality as w (id, version, place)
    left join tidemark_fn.records_of(
      format('select id, salt, message_id from (%s) as m', tidemark_fn.rows_query(s.topic_id, xids, ids))
    ) as m (id bigint, salt bigint, message_id text) on m.id = w.id
  );
end
$$;

-- Takes a live lease away from its holder. Unsettled messages are retried from p_due as suspects in pieces, so that a
-- poison message can't block the others for long; those out of attempts are dead-lettered. The lease row stays, so that
-- a late settlement is reported as late. `dead_ids`: the messages completed by dead-lettering, in a topic with
-- reference tracking.
create function tidemark_fn.end_lease(
  s tidemark.subscription, l tidemark.lease, p_due timestamptz, error jsonb, max_attempts int, most_named int,
  out taken jsonb, out dead int, out dead_ids bigint[]
)
language plpgsql volatile as $$
declare
  slots int[] := tidemark_fn.open_slots(l);
  attempts int[];
  slot_ids bigint[];
  dead_slots int[];
  first record;
begin
  if l.kind = 'page' then
    attempts := array_fill(1, array[cardinality(slots)]);
  else
    -- A slot whose message was gone when it was claimed has no row.
    select coalesce(array_agg(r.slot order by r.slot), '{}'), coalesce(array_agg(r.attempts order by r.slot), '{}')
    into slots, attempts
    from tidemark.retry as r
    where r.token = l.token;
  end if;
  slot_ids := tidemark_fn.slot_ids(s, l, slots);
  dead_slots := tidemark_fn.fail_slots(s, l, slots, array_fill(p_due, array[cardinality(slots)]),
    array_fill(error, array[cardinality(slots)]), max_attempts, true, tidemark_fn.split(attempts, max_attempts));
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
      -- Dead-lettered messages no longer have a row.
      select r.id, r.xid, r.version, u.place
      from unnest(slot_ids) with ordinality as u (id, place)
      join tidemark.retry as r on r.subscription_id = (select s.id) and r.id = u.id
      order by u.place
      limit most_named
    ) as f;
    taken := taken || jsonb_build_object('messages', tidemark_fn.named_messages(s, first.ids, first.xids, first.versions));
  end if;
end
$$;

-- Ends leases whose deadline has passed.
create function tidemark_fn.expire_leases(
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
    -- A lease that is being settled has not expired.
    for update skip locked
  loop
    -- Due since the deadline, so that those that have waited longest come first.
    select * into ended from tidemark_fn.end_lease(s, l, l.deadline,
      jsonb_build_object('name', 'LeaseExpiredError', 'message', replace(error_text, '{consumer}', l.consumer)),
      max_attempts, most_named);
    dead_lettered := dead_lettered + ended.dead;
    dead_ids := dead_ids || ended.dead_ids;
    if (ended.taken ->> 'count')::int > 0 then
      take_overs := take_overs || ended.taken;
    end if;
  end loop;
  if s.bit is not null and cardinality(dead_ids) > 0 then
    perform tidemark_fn.complete(s.topic_id, dead_ids, array_fill(1::bigint << s.bit, array[cardinality(dead_ids)]));
  end if;

  delete from tidemark.lease as x
  where x.subscription_id = s.id
    and (x.done_at is not null or x.expired_at is not null)
    and greatest(x.done_at, x.expired_at) < now - interval '1 hour';
end
$$;
