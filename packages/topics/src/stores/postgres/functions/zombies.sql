-- Zombies: live groups that do not move.

-- Live groups that have had messages waiting and have neither moved nor been resumed for the whole zombieTtl. A message
-- that has only just arrived in a quiet topic makes no zombie.
create function tidemark_fn.zombies(p_limit int)
returns table (subscription_id int, moved_ms float8, waiting bigint)
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  s tidemark.subscription;
  later tidemark.subscription;
  since timestamptz;
  oldest timestamptz;
begin
  for s in
    select x.* from tidemark.subscription as x
    join tidemark.topic as t on t.id = x.topic_id
    where x.status in ('ACTIVE', 'PAUSED')
      and tidemark_fn.is_older(greatest(x.moved_at, x.status_at), (t.config ->> 'zombieTtlMs')::float8)
    order by x.id
  loop
    select clock_timestamp() - (t.config ->> 'zombieTtlMs')::float8 * interval '1 millisecond' into since
    from tidemark.topic as t where t.id = s.topic_id;
    later := tidemark_fn.next_window(s, pg_current_snapshot(), 0, tidemark_fn.last_id(s.topic_id));
    oldest := tidemark_fn.time_of(format('select min(created_at) from ((%s) union all (%s)) as w',
      tidemark_fn.window_query('xid, id, created_at', s, 1), tidemark_fn.window_query('xid, id, created_at', later, 1)));
    if oldest < since or exists (
      select from tidemark.retry as r where r.subscription_id = s.id and r.token is null and r.due_at < since
    ) then
      subscription_id := s.id;
      moved_ms := extract(epoch from s.moved_at)::float8 * 1000;
      waiting := tidemark_fn.backlog(s, p_limit) + (select count(*) from tidemark.retry as r where r.subscription_id = s.id);
      return next;
    end if;
  end loop;
end
$$;

-- Moves the cursor to the present. Messages in progress commit later and are delivered. Returns how many the group has
-- lost.
create function tidemark_fn.force_advance(p_subscription int) returns bigint
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  s tidemark.subscription;
  -- Read before this transaction has an id: see cursor.sql. A resurrection already has one; then only an older bound is
  -- safe.
  floor bigint := (select tidemark_fn.last_id(x.topic_id) from tidemark.subscription as x
    where x.id = p_subscription and pg_current_xact_id_if_assigned() is null);
  until pg_snapshot;
  ceiling bigint;
  bounds bigint[];
  counted bigint;
  ahead bigint;
begin
  select * into s from tidemark.subscription as x where x.id = p_subscription for no key update;
  if not found then
    return null;
  end if;
  floor := coalesce(floor, s.next_id);
  until := tidemark_fn.take_snapshot(pg_current_xact_id());
  ceiling := tidemark_fn.last_id(s.topic_id);
  bounds := tidemark_fn.id_bounds(s.topic_id, until);
  counted := tidemark_fn.count_of(tidemark_fn.window_query('xid, id', s, 2147483647));
  ahead := tidemark_fn.count_of(tidemark_fn.window_query('xid, id', tidemark_fn.next_window(s, until, floor, ceiling), 2147483647));
  perform from tidemark.lease as l
  where l.subscription_id = s.id and l.done_at is null and l.expired_at is null
  order by l.token for update;
  counted := counted + ahead + tidemark_fn.skip_backfill(s, ceiling) + (
    select coalesce(sum(l.size - coalesce(bit_count(l.settled), 0)), 0) from tidemark.lease as l
    where l.subscription_id = s.id and l.kind = 'page' and l.done_at is null and l.expired_at is null
  ) + (select count(*) from tidemark.retry as r where r.subscription_id = s.id);
  update tidemark.lease as l set expired_at = clock_timestamp()
  where l.subscription_id = s.id and l.done_at is null and l.expired_at is null;
  delete from tidemark.retry as r where r.subscription_id = s.id;
  update tidemark.backfill as b
  set status = 'CANCELLED', ended_at = clock_timestamp(), updated_at = clock_timestamp(), token = null, lease_until = null
  where b.subscription_id = s.id and b.status = 'RUNNING';
  delete from tidemark.done_range as d where d.subscription_id = s.id;
  perform tidemark_fn.unrequire(s, ceiling);
  perform tidemark_fn.add_loss(s.id, counted);
  update tidemark.subscription as x
  set window_from = until, window_to = until, late_ids = bounds, open_ids = bounds, from_id = floor, next_id = floor,
    seen_id = ceiling, to_id = ceiling, at_id = 0, moved_at = clock_timestamp(), backfilling = false, live_xid = pg_current_xact_id()
  where x.id = s.id;
  return counted;
end
$$;
