-- The lowest transaction id that the cursor has not passed: everything below was handed out, or never will be.
-- Transactions in progress at either end of the window hold it, until a window sees them ended.
create function tidemark.cursor_xid(s tidemark.subscription) returns xid8
language sql stable as $$
  select x from (
    select greatest(pg_snapshot_xmax(s.window_from)::text::numeric, s.at_xid::text::numeric)::text::xid8
    union all
    select x from pg_snapshot_xip(s.window_from) as x where x >= s.at_xid or not pg_visible_in_snapshot(x, s.window_to)
    union all
    select x from pg_snapshot_xip(s.window_to) as x
  ) as held (x)
  order by x
  limit 1
$$;

-- The lowest transaction id of which the group may still need a message: not claimed, held, or to be tried again. A
-- backfill is told by ids and not counted here. It never goes back.
create function tidemark.watermark(s tidemark.subscription) returns xid8
language sql stable as $$
  select needed.x from (
    select tidemark.cursor_xid(s)
    union all
    select l.first_xid from tidemark.lease as l
    where l.subscription_id = s.id and l.kind = 'page' and l.done_at is null and l.expired_at is null
    union all
    select r.xid from tidemark.retry as r where r.subscription_id = s.id
  ) as needed (x)
  order by needed.x
  limit 1
$$;

-- Ids after this one that are a message's, as far as sealed partitions tell: the rest may be.
create function tidemark.ids_after(p_topic int, after bigint, last bigint) returns bigint
language sql stable as $$
  select greatest(last - after - coalesce(sum(least(size.ids, size.ids * (p.number + 1) - 1 - after) - p.rows)
    filter (where least(size.ids, size.ids * (p.number + 1) - 1 - after) > p.rows), 0), 0)::bigint
  from tidemark.partition as p
  cross join (select (t.config ->> 'partitionRows')::bigint as ids from tidemark.topic as t where t.id = p_topic) as size
  where p.topic_id = p_topic and p.sealed_at is not null and size.ids * (p.number + 1) - 1 > after
$$;

-- Messages after the cursor: exact up to `p_limit`, an estimate by ids above it.
create function tidemark.backlog(s tidemark.subscription, p_limit int) returns bigint
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  ceiling bigint := tidemark.last_id(s.topic_id);
  here bigint;
  ahead bigint := 0;
begin
  execute format('select count(*) from (%s) as w', tidemark.window_query('xid, id', s, p_limit)) into here;
  if here < p_limit then
    execute format('select count(*) from (%s) as w', tidemark.window_query('xid, id',
      tidemark.next_window(s, pg_current_snapshot(), 0, ceiling), p_limit - here::int)) into ahead;
  end if;
  if here + ahead < p_limit then
    return here + ahead;
  end if;
  return greatest(p_limit, tidemark.ids_after(s.topic_id, greatest(s.from_id, s.at_id), ceiling));
end
$$;

create function tidemark.describe_groups(p_topic int, p_limit int)
returns table (group_name text, status text, watermark text, backlog bigint, in_flight bigint, retries bigint, dead_letters bigint)
language sql volatile as $$
  select s.group_name, s.status,
    tidemark.watermark(s)::text,
    tidemark.backlog(s, p_limit),
    (select coalesce(sum(l.size - coalesce(bit_count(l.settled), 0)), 0)::bigint from tidemark.lease as l
      where l.subscription_id = s.id and l.done_at is null and l.expired_at is null),
    (select count(*) from tidemark.retry as r where r.subscription_id = s.id and r.token is null),
    (select count(*) from tidemark.dead_letter as d where d.subscription_id = s.id)
  from tidemark.subscription as s
  where s.topic_id = p_topic
  order by s.group_name
$$;
