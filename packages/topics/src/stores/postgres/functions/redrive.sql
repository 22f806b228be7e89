-- Dead letters that are delivered again.

-- Returns dead letters to delivery if their group is live and their message still exists. The message must match in
-- both id and salt, because ids are reused after a restore. Returns the number redriven and, for live groups, the number
-- whose message is gone.
create function tidemark_fn.redrive(p_topic int, p_ids bigint[], out redriven int, out gone int)
language plpgsql volatile as $$
declare
  live tidemark.subscription;
  kept_ids bigint[];
  kept_xids xid8[];
  kept_salts bigint[];
  kept_times timestamptz[];
  taken bigint[];
begin
  -- Claims of these groups wait until their retries are there.
  perform from tidemark.subscription as x
  where x.topic_id = p_topic and x.status in ('ACTIVE', 'PAUSED')
    and x.group_name = any(array(select d.group_name from tidemark.dead_letter as d where d.id = any(p_ids)))
  order by x.id
  for no key update;
  select coalesce(array_agg(distinct d.message_id), '{}') into kept_ids from tidemark.dead_letter as d where d.id = any(p_ids);
  select coalesce(array_agg(k.id), '{}'), coalesce(array_agg(k.xid), '{}'), coalesce(array_agg(k.salt), '{}'),
    coalesce(array_agg(k.created_at), '{}')
  into kept_ids, kept_xids, kept_salts, kept_times
  from tidemark_fn.records_of(format(
    'select l.id, l.xid, l.salt, l.created_at from unnest($1) as wanted (id) cross join lateral '
    '(select * from tidemark.log_%s as m where m.id = wanted.id limit 1) as l', p_topic), kept_ids)
    as k (id bigint, xid xid8, salt bigint, created_at timestamptz);
  select coalesce(array_agg(x.id), '{}') into taken from (
    select d.id from tidemark.dead_letter as d
    join tidemark.subscription as s on s.topic_id = d.topic_id and s.group_name = d.group_name
    where d.topic_id = p_topic and d.id = any(p_ids) and s.status in ('ACTIVE', 'PAUSED')
      and exists (select from unnest(kept_ids, kept_salts) as k (id, salt) where k.id = d.message_id and k.salt = d.salt)
    order by d.id
    for update of d skip locked
  ) as x;
  for live in
    select x.* from tidemark.subscription as x
    where x.topic_id = p_topic
      and x.group_name = any(array(select d.group_name from tidemark.dead_letter as d where d.id = any(taken)))
  loop
    perform tidemark_fn.queue_letters(live, taken, kept_ids, kept_xids, kept_times);
  end loop;
  if to_regclass(format('tidemark.track_%s', p_topic)) is not null then
    perform tidemark_fn.run(format(
      'update tidemark.track_%s as t set completed = t.completed & ~w.bits from ('
      'select d.message_id as id, bit_or(1::bigint << s.bit) as bits from tidemark.dead_letter as d '
      'join tidemark.subscription as s on s.topic_id = d.topic_id and s.group_name = d.group_name '
      'where d.id = any($1) and s.bit is not null group by d.message_id) as w where t.id = w.id',
      p_topic), taken);
  end if;
  delete from tidemark.dead_letter as d where d.id = any(taken);
  redriven := cardinality(taken);
  select count(*) into gone from tidemark.dead_letter as d
  where d.topic_id = p_topic and d.id = any(p_ids)
    and exists (
      select from tidemark.subscription as s
      where s.topic_id = d.topic_id and s.group_name = d.group_name and s.status in ('ACTIVE', 'PAUSED')
    )
    and not exists (select from unnest(kept_ids, kept_salts) as k (id, salt) where k.id = d.message_id and k.salt = d.salt);
end
$$;

-- Makes retries of dead letters. After a reset, the cursor or a page lease may deliver the message anyway; it is not queued
-- twice. A page that fails could not become retries that exist already.
create function tidemark_fn.queue_letters(
  s tidemark.subscription, p_letters bigint[], p_ids bigint[], p_xids xid8[], p_times timestamptz[]
) returns void
language plpgsql volatile as $$
declare
  paged bigint[];
begin
  select tidemark_fn.paged_ids(s, min(i), max(i)) into paged from unnest(p_ids) as i;
  insert into tidemark.retry (subscription_id, id, xid, attempts, version, due_at, suspect, history)
  select s.id, m.id, m.xid, 0, d.version, clock_timestamp(), false, d.history
  from tidemark.dead_letter as d
  join unnest(p_ids, p_xids, p_times) as m (id, xid, created_at) on m.id = d.message_id
  where d.id = any(p_letters) and d.group_name = s.group_name
    and not exists (select from unnest(paged) as p (id) where p.id = m.id)
    and (tidemark_fn.has_passed(s.window_from, s.window_to, s.at_id, m.xid, m.id) or m.created_at < s.since)
  on conflict do nothing;
end
$$;
