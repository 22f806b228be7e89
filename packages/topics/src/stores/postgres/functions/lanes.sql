-- A log and where its groups stand in it, for a picture.

-- The first ids of the parts into which the ids from `low` to `high` are divided, with the time of the first message in each.
create function tidemark_fn.log_buckets(p_topic int, low bigint, high bigint, p_buckets int) returns json
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  size bigint := high - low + 1;
  parts bigint := least(p_buckets, size);
  buckets json;
begin
  if parts <= 0 then
    return '[]';
  end if;
  select json_agg(json_build_object('position', b.low, 'at', tidemark_fn.to_ms(b.at),
    'count', case when b.at is null then 0 else b.high - b.low + 1 end) order by b.low)
  into buckets
  from tidemark_fn.records_of(format($q$
    select p.low, p.high, (
      select l.created_at from tidemark.log_%1$s as l
      where l.id between p.low and p.high and l.id between %2$s and %3$s
      order by l.id limit 1
    )
    from (
      select %2$s + n * %4$s / %5$s as low, %2$s + (n + 1) * %4$s / %5$s - 1 as high
      from generate_series(0::bigint, %5$s - 1) as n
    ) as p
  $q$, p_topic, low, high, size, parts)) as b (low bigint, high bigint, at timestamptz);
  return buckets;
end
$$;

-- What a group holds, at most `p_most` leases, the oldest first.
create function tidemark_fn.lane_leases(s tidemark.subscription, p_most int) returns json
language sql volatile as $$
  select coalesce(json_agg(json_build_object('from', m.low, 'to', m.high, 'consumer', m.consumer,
    'until', tidemark_fn.to_ms(m.deadline), 'attempt', m.attempt) order by m.claimed_at, m.token), '[]')
  from (
    select l.token, l.consumer, l.deadline, l.claimed_at, coalesce(r.low, l.first_id) as low,
      coalesce(r.high, l.last_id) as high, coalesce(r.attempt, 1) as attempt
    from tidemark.lease as l
    left join lateral (
      select min(x.id) as low, max(x.id) as high, max(x.attempts) as attempt
      from tidemark.retry as x
      where l.kind = 'retry' and x.token = l.token
    ) as r on true
    where l.subscription_id = (s).id and l.done_at is null and l.expired_at is null
    order by l.claimed_at, l.token
    limit p_most
  ) as m
  where m.low is not null
$$;

-- The log of a topic in buckets, and each of its groups with what it holds, retries and has given up, up to `p_most` of each.
create function tidemark_fn.lanes(
  p_topic int, p_from bigint, p_to bigint, p_buckets int, p_limit int, p_most int, p_counted bigint,
  out now bigint, out first bigint, out last bigint, out retained bigint, out buckets json, out groups json, out marks json
)
language plpgsql volatile
set enable_seqscan = off
set jit = off
as $$
declare
  low bigint;
  high bigint;
begin
  now := tidemark_fn.now_ms();
  last := tidemark_fn.last_id(p_topic);
  first := greatest(tidemark_fn.first_kept_id(p_topic), 1);
  retained := tidemark_fn.ids_after(p_topic, first - 1, last);
  low := greatest(coalesce(p_from, first), first);
  high := least(coalesce(p_to, last), last);
  buckets := tidemark_fn.log_buckets(p_topic, low, high, p_buckets);
  groups := (select d.groups from tidemark_fn.describe_json(array[p_topic], p_limit, p_counted) as d);
  select coalesce(json_object_agg(s.group_name, json_build_object(
    'leases', tidemark_fn.lane_leases(s, p_most),
    'waitingRetries', (
      select coalesce(json_agg(json_build_object('id', r.id, 'due', tidemark_fn.to_ms(r.due_at), 'attempt', r.attempts + 1)
        order by r.id), '[]')
      from (
        select x.id, x.due_at, x.attempts from tidemark.retry as x
        where x.subscription_id = s.id and x.id between low and high and x.token is null
        order by x.id
        limit p_most
      ) as r
    ),
    'deadIds', (
      select coalesce(json_agg(d.message_id) filter (where d.message_id between low and high), '[]')
      from (
        select x.message_id from tidemark.dead_letter as x
        where x.topic_id = p_topic and x.group_name between s.group_name and s.group_name
        order by x.topic_id desc, x.group_name desc, x.id desc
        limit p_most
      ) as d
    )
  )), '{}')
  into marks
  from tidemark.subscription as s
  where s.topic_id = p_topic;
end
$$;

-- A message that this group retries or has in flight. Without a state where it does neither.
create function tidemark_fn.held_state(
  s tidemark.subscription, p_id bigint, out state text, out consumer text, out until bigint, out attempt int
)
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  r tidemark.retry;
  l tidemark.lease;
begin
  select * into r from tidemark.retry as x where x.subscription_id = s.id and x.id = p_id;
  if found then
    select * into l from tidemark.lease as x where x.token = r.token;
    state := case when r.token is null then 'retry' else 'in-flight' end;
    consumer := l.consumer;
    until := tidemark_fn.to_ms(case when r.token is null then r.due_at else l.deadline end);
    attempt := r.attempts + case when r.token is null then 1 else 0 end;
    return;
  end if;
  select x.* into l from tidemark.lease as x
  where x.subscription_id = s.id and x.done_at is null and x.expired_at is null and x.kind = 'page'
    and p_id between x.first_id and x.last_id and exists (select from tidemark_fn.unsettled(s, x) as u where u.id = p_id)
  limit 1;
  if found then
    state := 'in-flight';
    consumer := l.consumer;
    until := tidemark_fn.to_ms(l.deadline);
    attempt := 1;
  end if;
end
$$;

-- Where a message stands in each group of its topic. Of a group's dead letters the newest `p_letters` are looked through: no index
-- has the ids of their messages.
create function tidemark_fn.message_states(p_topic int, p_id bigint, p_letters int)
returns table (
  group_name text, status text, state text, consumer text, until bigint, attempt int, dead_letter bigint
)
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  s tidemark.subscription;
  m record;
  letters bigint;
begin
  select k.xid, k.created_at, k.required, k.completed into m
  from tidemark_fn.records_of(format(
    case when to_regclass(format('tidemark.track_%s', p_topic)) is null
      then 'select xid, created_at, null::bigint, null::bigint from tidemark.log_%1$s where id = %2$s limit 1'
      else 'select l.xid, l.created_at, t.required, t.completed from tidemark.log_%1$s as l '
        'left join tidemark.track_%1$s as t on t.id = %2$s where l.id = %2$s limit 1' end, p_topic, p_id))
    as k (xid xid8, created_at timestamptz, required bigint, completed bigint);
  for s in select x.* from tidemark.subscription as x where x.topic_id = p_topic order by x.group_name collate "C" loop
    group_name := s.group_name;
    status := s.status;
    dead_letter := null;
    select h.state, h.consumer, h.until, h.attempt into state, consumer, until, attempt from tidemark_fn.held_state(s, p_id) as h;
    if state is not null then
      return next;
      continue;
    end if;
    select max(d.id) filter (where d.message_id = p_id), count(*) into dead_letter, letters
    from (
      select x.id, x.message_id from tidemark.dead_letter as x
      where x.topic_id = p_topic and x.group_name between s.group_name and s.group_name
      order by x.topic_id desc, x.group_name desc, x.id desc
      limit p_letters
    ) as d;
    state := case
      when dead_letter is not null then 'dead-letter'
      when s.bit is not null and m.completed & (1::bigint << s.bit) <> 0 then 'done'
      when s.bit is not null and m.required & (1::bigint << s.bit) <> 0 then 'waiting'
      when not tidemark_fn.has_passed(s.window_from, s.window_to, s.at_id, m.xid, p_id)
        and (s.since is null or m.created_at >= s.since) then 'waiting'
      when s.bit is not null and m.required is not null
        or tidemark_fn.has_passed(s.start_from, s.start_to, s.start_id, m.xid, p_id) or m.created_at < s.since then 'not-for-group'
      when letters = p_letters then 'settled'
      else 'done'
    end;
    return next;
  end loop;
end
$$;
