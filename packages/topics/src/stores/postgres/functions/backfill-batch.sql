-- Runs a backfill batch by batch: marks messages as required of the group and saves a checkpoint.

-- Processes the next batch of ids and saves the checkpoint. Does nothing if the token is not the current holder's; a
-- holder that loses the backfill during the batch is rolled back. The backfill's own row is locked last and briefly,
-- because the group's claims need it too.
create function tidemark_fn.backfill_batch(p_subscription int, p_token uuid, p_limit int, p_ttl_ms float8, p_slowed boolean)
returns setof tidemark.backfill
language plpgsql volatile as $$
declare
  b tidemark.backfill;
  group_bit int;
  upto bigint;
  marked bigint;
begin
  select * into b from tidemark.backfill as x
  where x.subscription_id = p_subscription and x.token = p_token and x.status = 'RUNNING';
  if not found then
    return;
  end if;
  -- If the group has died in the meantime nothing is marked, because its bits are being cleared. The lock keeps the bit
  -- from being reassigned and does not conflict with claims.
  select s.bit into group_bit from tidemark.subscription as s
  where s.id = p_subscription and s.status in ('ACTIVE', 'PAUSED')
  for key share;
  if not found then
    return;
  end if;
  upto := least(b.checkpoint_id + p_limit, b.upper_id);
  if exists (select from tidemark.done_range as d where d.subscription_id = p_subscription) then
    perform tidemark_fn.mark_done(b, group_bit, upto);
  end if;
  marked := tidemark_fn.mark_required(b, group_bit, upto);
  if upto >= b.upper_id then
    delete from tidemark.done_range as d where d.subscription_id = p_subscription;
  end if;
  return query
  update tidemark.backfill as x
  set checkpoint_id = upto, processed = x.processed + marked, updated_at = clock_timestamp(), slowed = p_slowed,
    status = case when upto >= x.upper_id then 'COMPLETED' else x.status end,
    ended_at = case when upto >= x.upper_id then clock_timestamp() end,
    token = case when upto >= x.upper_id then null else x.token end,
    lease_until = case when upto >= x.upper_id then null else clock_timestamp() + p_ttl_ms * interval '1 millisecond' end
  where x.subscription_id = p_subscription and x.token = p_token and x.status = 'RUNNING'
  returning x.*;
  if not found then
    raise exception 'the backfill was taken over' using errcode = 'TMLST';
  end if;
end
$$;

-- Marks the backfill's next messages, up to an id, as required of the group. Returns how many.
create function tidemark_fn.mark_required(b tidemark.backfill, p_bit int, p_upto bigint) returns bigint
language plpgsql volatile as $$
begin
  return tidemark_fn.run(format($q$
    insert into tidemark.track_%1$s as t (id, xid, required, completed)
    select m.id, m.xid, 1::bigint << %4$s, 0
    from (
      select l.id, l.xid
      from tidemark.log_%1$s as l
      left join tidemark.track_%1$s as t on t.id = l.id and t.id > %2$s and t.id <= %3$s
      where l.id > %2$s and l.id <= %3$s%5$s
    ) as m
    where %6$s
    order by m.id
    on conflict (id) do update
    set required = t.required | (1::bigint << %4$s), completed = t.completed & ~(1::bigint << %4$s)
  $q$, b.topic_id, b.checkpoint_id, p_upto, p_bit, tidemark_fn.backfill_wanted(b, p_bit), tidemark_fn.backfill_filter(b)));
end
$$;

-- Which messages to mark, as conditions on a row `l` of the log and `t` of the bitmaps.
create function tidemark_fn.backfill_wanted(b tidemark.backfill, group_bit int) returns text
language plpgsql stable as $$
declare
  unfilled bigint := (
    select coalesce(t.fill_next_id, 9223372036854775807) from tidemark.topic as t where t.id = b.topic_id
  );
  wanted text := '';
begin
  if b.since is not null then
    wanted := format(' and l.created_at >= %L::timestamptz', b.since);
  end if;
  if b.scope = 'pending' then
    -- A message without a bitmap row was finished before tracking began, unless filling has not reached it yet.
    wanted := wanted || format(' and case when t.id is null then l.id >= %s else t.required & ~t.completed <> 0 or t.required = 0 end', unfilled);
  end if;
  if exists (select from tidemark.done_range as d where d.subscription_id = b.subscription_id) then
    wanted := wanted || format(' and not exists (select from tidemark.done_range as d where d.subscription_id = %s '
      'and d.last_id >= l.id and d.first_id <= l.id)', b.subscription_id);
  end if;
  if not (b.settings ->> 'again')::boolean then
    wanted := wanted || format(' and (t.id is null or t.completed & (1::bigint << %s) = 0)', group_bit);
  end if;
  return wanted;
end
$$;

-- The range of a backfill, as a condition on rows that have xid and id.
create function tidemark_fn.backfill_filter(b tidemark.backfill) returns text
language plpgsql volatile as $$
begin
  perform tidemark_fn.await_partitions(b.topic_id);
  return format('pg_visible_in_snapshot(xid, %L::pg_snapshot)', b.upper)
    || case when b.lower_place = 0 and b.lower_from::text = '1:1:' then ''
      else format(' and not tidemark_fn.has_passed(%L::pg_snapshot, %L::pg_snapshot, %s, xid, id)',
        b.lower_from, b.lower_to, b.lower_place)
    end;
end
$$;

-- Copies what a resurrected group had already completed into its new bit.
create function tidemark_fn.mark_done(b tidemark.backfill, p_bit int, p_upto bigint) returns void
language plpgsql volatile as $$
declare
  s tidemark.subscription;
begin
  select * into s from tidemark.subscription as x where x.id = b.subscription_id;
  perform tidemark_fn.run(format($q$
    insert into tidemark.track_%1$s as t (id, xid, required, completed)
    select l.id, l.xid, 1::bigint << %4$s, 1::bigint << %4$s
    from tidemark.log_%1$s as l
    where l.id > %2$s and l.id <= %3$s and not l.id = any($1) and exists (
      select from tidemark.done_range as d where d.subscription_id = %5$s and d.last_id >= l.id and d.first_id <= l.id)
    order by l.id
    on conflict (id) do update
    set required = t.required | excluded.required, completed = t.completed | excluded.completed
  $q$, b.topic_id, b.checkpoint_id, p_upto, p_bit, b.subscription_id), tidemark_fn.held_ids(s, b.checkpoint_id + 1, p_upto));
end
$$;

-- The query for the backfill's messages after its cursor, up to an id, that the group has neither completed nor holds.
create function tidemark_fn.undone_query(s tidemark.subscription, b tidemark.backfill, p_last bigint) returns text
language sql volatile as $$
  select format(
    'select m.id, m.xid from (select l.id, l.xid from tidemark.log_%1$s as l '
    'left join tidemark.track_%1$s as t on t.id = l.id and t.id > %2$s and t.id <= %3$s '
    'where l.id > %2$s and l.id <= %3$s%4$s%5$s and not l.id = any(%6$L::bigint[]) and not exists ('
    'select from tidemark.done_range as r where r.subscription_id = %7$s and r.last_id >= l.id and r.first_id <= l.id)) as m where %8$s',
    s.topic_id, b.cursor_id, p_last,
    case when s.bit is null then '' else format(' and (t.id is null or t.completed & (1::bigint << %s) = 0)', s.bit) end,
    case when b.since is null then '' else format(' and l.created_at >= %L::timestamptz', b.since) end,
    tidemark_fn.held_ids(s, b.cursor_id + 1, p_last), s.id, tidemark_fn.backfill_filter(b))
$$;
