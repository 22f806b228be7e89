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

-- The window after this one, as a look finds it: nothing is written, so no transaction id is needed.
create function tidemark.window_ahead(s tidemark.subscription) returns tidemark.subscription
language sql volatile as $$
  select tidemark.next_window(s, pg_current_snapshot(), 0, tidemark.last_id(s.topic_id))
$$;

-- The lowest id that a partition of the log is there for: what is below was cleaned up.
create function tidemark.first_kept_id(p_topic int) returns bigint
language sql volatile as $$
  select coalesce(min(substring(c.relname from '_p([0-9]+)$')::bigint), 0)
    * (select (t.config ->> 'partitionRows')::bigint from tidemark.topic as t where t.id = p_topic)
  from pg_inherits as i
  join pg_class as c on c.oid = i.inhrelid
  where i.inhparent = to_regclass(format('tidemark.log_%s', p_topic))
    and not i.inhdetachpending
$$;

-- Messages after the cursor, exact up to `p_limit` and an estimate by ids above it; and when the first was created.
create function tidemark.backlog(s tidemark.subscription, p_limit int, first_kept bigint, out waiting bigint, out oldest_at timestamptz)
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  later tidemark.subscription;
  ahead bigint;
begin
  execute format('select count(*) from (%s) as w', tidemark.window_query('xid, id', s, p_limit)) into waiting;
  if waiting < p_limit then
    later := tidemark.window_ahead(s);
    execute format('select count(*) from (%s) as w', tidemark.window_query('xid, id', later, p_limit - waiting::int)) into ahead;
    if waiting = 0 and ahead > 0 then
      s := later;
    end if;
    waiting := waiting + ahead;
  end if;
  if waiting = 0 then
    return;
  end if;
  execute format('select created_at from (%s) as w', tidemark.window_query('xid, id, created_at', s, 1)) into oldest_at;
  if waiting >= p_limit then
    waiting := greatest(p_limit,
      tidemark.ids_after(s.topic_id, greatest(s.from_id, s.at_id, first_kept - 1), tidemark.last_id(s.topic_id)));
  end if;
end
$$;

create function tidemark.describe_groups(p_topic int, p_limit int)
returns table (
  s tidemark.subscription, watermark text, backlog bigint, oldest_waiting_at timestamptz, in_flight bigint, retries bigint,
  dead_letters bigint
)
language sql volatile as $$
  select s,
    tidemark.watermark(s)::text,
    b.waiting, b.oldest_at,
    (select coalesce(sum(l.size - coalesce(bit_count(l.settled), 0)), 0)::bigint from tidemark.lease as l
      where l.subscription_id = s.id and l.done_at is null and l.expired_at is null),
    (select count(*) from tidemark.retry as r where r.subscription_id = s.id and r.token is null),
    (select count(*) from tidemark.dead_letter as d where d.topic_id = p_topic and d.group_name = s.group_name)
  from (select tidemark.first_kept_id(p_topic) as id offset 0) as kept
  cross join tidemark.subscription as s
  cross join lateral tidemark.backlog(s, p_limit, kept.id) as b
  where s.topic_id = p_topic
  order by s.group_name
$$;
