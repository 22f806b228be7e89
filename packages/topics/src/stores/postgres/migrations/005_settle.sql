-- Settles leases. Locks leases only, one after another in the order of their tokens, and never the subscription: a claim
-- locks the subscription and then skips leases that are locked, so the two can't wait for each other.

create function tidemark.int_array(list jsonb) returns int[]
language sql immutable as $$ select array(select e::int from jsonb_array_elements_text(list) as e) $$;

-- One lease: { token, size, maxAttempts, acks: [slot] | null for all, nacks: [{ slot, delayMs, error }], releases: [slot] }
-- Gives { stale, deadLettered, finished, unknown, topic: id where something became due }, and in a topic with reference tracking
-- what the group has completed by it.
create function tidemark.settle_one(p jsonb, out result jsonb, out topic int, out group_bit int, out completed bigint[])
language plpgsql volatile as $$
declare
  l tidemark.lease;
  s tidemark.subscription;
  unsettled int[];
  acks int[];
  releases int[];
  nack_slots int[];
  dues timestamptz[];
  errors jsonb[];
  dead int[];
  nack_ids bigint[];
  slot int;
  bits varbit;
  done boolean;
begin
  completed := '{}';
  select * into l from tidemark.lease as x where x.token = (p ->> 'token')::uuid for update;
  if not found then
    l.size := (p ->> 'size')::int;
  end if;
  acks := case when p -> 'acks' = 'null' then array(select generate_series(0, l.size - 1))
    else tidemark.int_array(p -> 'acks') end;
  releases := tidemark.int_array(p -> 'releases');
  if l.done_at is not null then
    result := jsonb_build_object('stale', '[]'::jsonb, 'deadLettered', '[]'::jsonb, 'finished', true);
    return;
  end if;
  unsettled := tidemark.open_slots(l);
  select * into s from tidemark.subscription as x where x.id = l.subscription_id;
  if s.id is null or l.expired_at is not null then
    result := jsonb_build_object('finished', true, 'deadLettered', '[]'::jsonb, 'unknown', l.token is null, 'stale', to_jsonb(array(
      select x from unnest(unsettled) as x
      where x = any(acks) or x = any(releases) or exists (
        select from jsonb_array_elements(p -> 'nacks') as n where (n ->> 'slot')::int = x
      ) order by x
    )));
    return;
  end if;

  -- A slot that is named twice is settled as the first says: an ack before a nack before a release.
  acks := array(select x from unnest(unsettled) as x where x = any(acks));
  select coalesce(array_agg(n.slot), '{}'), coalesce(array_agg(clock_timestamp() + n.delay * interval '1 millisecond'), '{}'),
    coalesce(array_agg(n.error), '{}')
  into nack_slots, dues, errors
  from (
    select distinct on (1) (e ->> 'slot')::int as slot, (e ->> 'delayMs')::float8 as delay, e -> 'error' as error
    from jsonb_array_elements(p -> 'nacks') as e
  ) as n
  where n.slot = any(unsettled) and not n.slot = any(acks);
  releases := array(select x from unnest(unsettled) as x where x = any(releases) and not x = any(acks) and not x = any(nack_slots));

  if s.bit is not null then
    completed := tidemark.slot_ids(s, l, acks);
    nack_ids := tidemark.slot_ids(s, l, nack_slots);
  end if;
  if l.kind = 'retry' then
    delete from tidemark.retry as r where r.token = l.token and r.slot = any(acks);
  end if;
  dead := tidemark.fail_slots(s, l, nack_slots, dues, errors, (p ->> 'maxAttempts')::int, false, null);
  perform tidemark.release_slots(s, l, releases);

  done := cardinality(unsettled) = cardinality(acks) + cardinality(nack_slots) + cardinality(releases);
  bits := coalesce(l.settled, repeat('0', l.size)::varbit);
  if not done then
    foreach slot in array acks || nack_slots || releases loop
      bits := set_bit(bits, slot, 1);
    end loop;
  end if;
  update tidemark.lease as x
  set settled = bits, done_at = case when done then clock_timestamp() end
  where x.token = l.token;
  result := jsonb_build_object('stale', '[]'::jsonb, 'deadLettered', to_jsonb(dead), 'finished', done,
    'topic', case when cardinality(releases) > 0 then s.topic_id end);
  if s.bit is not null then
    topic := s.topic_id;
    group_bit := s.bit;
    completed := completed || array(select nack_ids[array_position(nack_slots, d)] from unnest(dead) as d);
  end if;
end
$$;

-- `p_done` are leases of which every slot is acknowledged, the common case: one statement for all that are page leases
-- and live. The rest, and what of those was not so simple, one by one. Returns the results of these, by token; a token
-- that is not among them is done.
create function tidemark.settle(p_done uuid[], p_rest jsonb) returns jsonb
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  done uuid[];
  results jsonb := '{}';
  rest jsonb;
  one record;
  tracked uuid[];
  topics int[] := '{}';
  ids bigint[] := '{}';
  bits bigint[] := '{}';
begin
  with settled as (
    update tidemark.lease as l
    set done_at = clock_timestamp()
    where l.token = any(p_done) and l.kind = 'page' and l.done_at is null and l.expired_at is null
    returning l.token
  )
  select coalesce(array_agg(token), '{}') into done from settled;
  -- Read when the leases are locked: a group that has ended gives up its bit under their locks, and another may get it.
  select array_agg(l.token) into tracked
  from tidemark.lease as l
  join tidemark.subscription as s on s.id = l.subscription_id
  where l.token = any(done) and s.bit is not null;
  if tracked is not null then
    select p.topics, p.ids, p.bits into topics, ids, bits from tidemark.page_bits(tracked) as p;
  end if;

  for rest in
    select e from jsonb_array_elements(p_rest) as e
    where not (e ->> 'token')::uuid = any(done)
    order by e ->> 'token'
  loop
    select * into one from tidemark.settle_one(rest);
    results := results || jsonb_build_object(rest ->> 'token', one.result);
    if cardinality(one.completed) > 0 then
      topics := topics || array_fill(one.topic, array[cardinality(one.completed)]);
      ids := ids || one.completed;
      bits := bits || array_fill(1::bigint << one.group_bit, array[cardinality(one.completed)]);
    end if;
  end loop;
  -- last, and all at once: rows that several settlements share are locked in one order
  if cardinality(ids) > 0 then
    perform tidemark.complete_all(topics, ids, bits);
  end if;
  return results;
end
$$;
