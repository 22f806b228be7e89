-- Delivers backfilled messages as retry rows, beside the live stream.

-- Claims the next page of backfilled messages. If it found none in the ids it scanned but more ids remain, it is due
-- again at once.
create function tidemark_fn.claim_backfilled(
  q tidemark_fn.claim_request, s tidemark.subscription, terms tidemark_fn.claim_terms, r tidemark_fn.claim_result
) returns tidemark_fn.claim_result
language plpgsql volatile as $$
declare
  taken record;
begin
  select * into taken from tidemark_fn.take_backfilled(s, q.token, q.page_limit);
  if cardinality(taken.ids) > 0 then
    return tidemark_fn.read_held(q, s, terms, r, taken.xids, taken.ids);
  end if;
  if taken.more then
    r.next_due_ms := 0;
  end if;
  return r;
end
$$;

-- Turns the next page of a backfill into retry rows, held by the claim's lease or, without a token, due at once. Skips
-- what the group already holds; the holder will process it. The number of ids scanned per claim is bounded; `more` is
-- true if some remain.
create function tidemark_fn.take_backfilled(
  s tidemark.subscription, p_token uuid, p_limit int, out ids bigint[], out xids xid8[], out more boolean
)
language plpgsql volatile as $$
declare
  b tidemark.backfill;
  last bigint;
  upto bigint;
  held bigint[];
begin
  more := false;
  select * into b from tidemark.backfill as x where x.subscription_id = s.id for no key update;
  last := case when s.status = 'DEAD' and b.status = 'RUNNING' then b.upper_id else b.checkpoint_id end;
  upto := least(last, b.cursor_id + greatest(p_limit, 50000));
  if b.cursor_id < upto then
    -- Read before the bitmaps: anything settled in between has its completed bit by then.
    held := tidemark_fn.held_ids(s, b.cursor_id + 1, upto);
    if s.status = 'DEAD' then
      -- The topic is leaving reference tracking; its bits are no longer valid.
      select k.ids, k.xids into ids, xids
      from tidemark_fn.keys_of(format('%s order by id limit %s', tidemark_fn.undone_query(s, b, upto), p_limit)) as k;
    else
      select k.ids, k.xids into ids, xids from tidemark_fn.keys_of(format($q$
        select id, xid from tidemark.track_%1$s
        where id > %2$s and id <= %3$s and required & ~completed & (1::bigint << %4$s) <> 0
          and %5$s and not id = any($1)
        order by id
        limit %6$s
      $q$, s.topic_id, b.cursor_id, upto, s.bit, tidemark_fn.backfill_filter(b), p_limit), held) as k;
    end if;
    if cardinality(ids) = p_limit then
      upto := ids[p_limit];
    end if;
    insert into tidemark.retry (subscription_id, id, xid, attempts, version, due_at, token, slot, suspect, history)
    select s.id, u.id, u.xid, case when p_token is null then 0 else 1 end, case when p_token is null then 0 else 1 end,
      clock_timestamp(), p_token, case when p_token is null then null else u.place - 1 end, false, '[]'
    from unnest(ids, xids) with ordinality as u (id, xid, place);
    update tidemark.backfill as x
    set cursor_id = upto, checkpoint_id = greatest(x.checkpoint_id, upto)
    where x.subscription_id = s.id;
    more := upto < last;
  end if;
  if not more and b.status is distinct from 'RUNNING' then
    update tidemark.subscription as x set backfilling = false where x.id = s.id;
  end if;
end
$$;

create function tidemark_fn.has_backfilled(s tidemark.subscription) returns boolean
language plpgsql volatile as $$
begin
  return s.backfilling and exists (
    select from tidemark.backfill as b
    where b.subscription_id = s.id and (b.cursor_id < b.checkpoint_id or b.status <> 'RUNNING')
  );
end
$$;

-- How much of the group's backfill is still undelivered, and when the first of it was created. The first thousand ids
-- are checked one by one. Beyond that the count is estimated from ids: the scanned range holds at most what was marked,
-- the rest may hold a message per id.
create function tidemark_fn.backfill_ahead(s tidemark.subscription, first_kept bigint, out waiting bigint, out oldest_at timestamptz)
language plpgsql volatile
set enable_seqscan = off
set jit = off
as $$
declare
  looked_at constant bigint := 1000;
  b tidemark.backfill;
  low bigint;
  last bigint;
  upto bigint;
  marked bigint;
begin
  waiting := 0;
  select * into b from tidemark.backfill as x where x.subscription_id = s.id;
  low := greatest(b.cursor_id, first_kept - 1);
  last := case when b.status = 'RUNNING' then b.upper_id else b.checkpoint_id end;
  if s.bit is null or b.subscription_id is null or low >= last then
    return;
  end if;
  upto := least(last, low + looked_at);
  select r.waiting, r.marked, r.oldest_at into waiting, marked, oldest_at from tidemark_fn.records_of(format($q$
    select count(*), count(*) filter (where id <= %4$s), min(created_at)
    from (
      select l.id, l.xid, l.created_at
      from tidemark.log_%1$s as l
      left join tidemark.track_%1$s as t on t.id = l.id and t.id > %2$s and t.id <= %3$s
      where l.id > %2$s and l.id <= %3$s and case
        when l.id <= %4$s then coalesce(t.required & ~t.completed & (1::bigint << %5$s) <> 0, false)
        else true%6$s end
    ) as m
    where not id = any($1) and %7$s
  $q$, s.topic_id, low, upto, b.checkpoint_id, s.bit, tidemark_fn.backfill_wanted(b, s.bit), tidemark_fn.backfill_filter(b)),
    tidemark_fn.held_ids(s, low + 1, upto)) as r (waiting bigint, marked bigint, oldest_at timestamptz);
  if upto = last then
    return;
  end if;
  waiting := waiting + least(greatest(b.checkpoint_id - upto, 0), greatest(b.processed - marked, 0))
    + last - greatest(upto, least(b.checkpoint_id, last));
  if oldest_at is null and waiting > 0 then
    oldest_at := tidemark_fn.time_of(
      format('select min(created_at) from tidemark.log_%s where id > %s and id <= %s', s.topic_id, upto, upto + looked_at));
  end if;
end
$$;

-- Turns a page of undelivered messages into retry rows, for a group whose topic is leaving reference tracking.
create function tidemark_fn.release_backfilled(p_topic int, p_limit int) returns boolean
language plpgsql volatile as $$
declare
  s tidemark.subscription;
  b tidemark.backfill;
begin
  select x.* into b from tidemark.backfill as x
  join tidemark.subscription as y on y.id = x.subscription_id and y.status <> 'CANCELLED'
  where x.topic_id = p_topic and (x.status <> 'RUNNING' and x.cursor_id < x.checkpoint_id
    or x.status = 'RUNNING' and x.cursor_id < x.upper_id and y.status = 'DEAD')
  limit 1;
  if not found then
    return false;
  end if;
  select * into s from tidemark.subscription as x where x.id = b.subscription_id for no key update;
  perform from tidemark_fn.take_backfilled(s, null, p_limit);
  return true;
end
$$;
