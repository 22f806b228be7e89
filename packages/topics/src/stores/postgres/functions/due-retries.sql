-- Due retries: which of them a claim takes, and how they are leased and read.

-- Claims due retries, as far as this claim may take them.
create function tidemark_fn.claim_retries(
  q tidemark_fn.claim_request, s tidemark.subscription, terms tidemark_fn.claim_terms, r tidemark_fn.claim_result
) returns tidemark_fn.claim_result
language plpgsql volatile as $$
declare
  chosen record;
  retries record;
begin
  select * into chosen from tidemark_fn.choose_retries(s.id, q.suspects, terms.max_attempts);
  if chosen.suspects is not null then
    select * into retries from tidemark_fn.lease_retries(s, q.token, q.page_limit, chosen.suspects, chosen.piece);
    r := tidemark_fn.read_held(q, s, terms, r, retries.xids, retries.ids);
  end if;
  if r.size > 0 then
    r.exceptions := coalesce(r.exceptions, '{}') || jsonb_build_object('waiting', chosen.waiting,
      'suspects', chosen.suspects, 'attempts', retries.attempts, 'versions', retries.versions);
  elsif chosen.waiting <> 'none' then
    r.exceptions := coalesce(r.exceptions, '{}') || jsonb_build_object('waiting', chosen.waiting);
  end if;
  return r;
end
$$;

-- Chooses which due retries a claim takes; lease_retries leases them. "Suspects" in docs/internals/architecture.md explains why:
--   'alone'   one suspect on its last attempt, if the claimer allows that (p_suspects = 'alone'), before all others
--   'none'    otherwise messages that failed on their own, together
--   'shared'  otherwise one piece of an expired lease, unless p_suspects = 'none'
--   null      nothing that this claim may take
-- `waiting`: the due suspects that this claim may not take.
create function tidemark_fn.choose_retries(
  subscription int, p_suspects text, max_attempts int, out suspects text, out piece uuid, out waiting text
)
language plpgsql volatile as $$
declare
  -- A variable, because an index cannot be searched for a volatile expression.
  now timestamptz := clock_timestamp();
  head record;
  is_last boolean;
  is_alone boolean;
begin
  select r.piece, r.attempts into head
  from tidemark.retry as r
  where r.subscription_id = subscription and r.token is null and r.piece is not null and r.due_at <= now
  order by r.due_at, r.id
  limit 1;
  -- Its piece was formed when it had more attempts left.
  is_last := coalesce(head.attempts + 1 >= max_attempts, false);
  is_alone := is_last or exists (
    select from tidemark.retry as r
    where r.subscription_id = subscription and r.token is null and r.suspect and r.piece is null and r.due_at <= now
  );
  if is_alone and p_suspects = 'alone' then
    suspects := 'alone';
    piece := case when is_last then head.piece end;
    return;
  end if;
  waiting := case when is_alone then 'alone' when head.piece is not null and p_suspects = 'none' then 'shared' else 'none' end;
  if exists (
    select from tidemark.retry as r
    where r.subscription_id = subscription and r.token is null and r.suspect = false and r.due_at <= now
  ) then
    suspects := 'none';
  elsif head.piece is not null and not is_last and p_suspects <> 'none' then
    suspects := 'shared';
    piece := head.piece;
  end if;
end
$$;

-- Leases the retries that choose_retries chose.
create function tidemark_fn.lease_retries(
  s tidemark.subscription, p_token uuid, p_limit int, p_suspects text, p_piece uuid,
  out ids bigint[], out xids xid8[], out attempts int[], out versions int[]
)
language plpgsql volatile as $$
declare
  now timestamptz := clock_timestamp();
  chosen bigint[];
begin
  if p_piece is not null then
    chosen := array(
      select r.id from tidemark.retry as r
      where r.piece = p_piece and r.token is null and r.due_at <= now
      order by r.id
      limit case when p_suspects = 'alone' then 1 else p_limit end
    );
  elsif p_suspects = 'alone' then
    chosen := array(
      select r.id from tidemark.retry as r
      where r.subscription_id = s.id and r.token is null and r.suspect and r.piece is null and r.due_at <= now
      order by r.due_at, r.id
      limit 1
    );
  else
    chosen := array(
      select r.id from tidemark.retry as r
      where r.subscription_id = s.id and r.token is null and r.suspect = false and r.due_at <= now
      order by r.due_at, r.id
      limit p_limit
    );
  end if;
  with leased as (
    update tidemark.retry as r
    set attempts = r.attempts + 1, version = r.version + 1, token = p_token, slot = due.place - 1
    -- Joined on the whole key, without constants: believing that a group has few retries, the planner compared each of
    -- them with each due one (a page of 10 000 took minutes).
    from unnest(chosen, array_fill(s.id, array[cardinality(chosen)])) with ordinality as due (id, subscription_id, place)
    where r.subscription_id = due.subscription_id and r.id = due.id
    returning r.id, r.xid, r.slot, r.attempts, r.version
  )
  select array_agg(l.id order by l.slot), array_agg(l.xid order by l.slot),
    array_agg(l.attempts order by l.slot), array_agg(l.version order by l.slot)
  into ids, xids, attempts, versions
  from leased as l;
end
$$;

-- Reads the messages of retry rows that were just leased, and their lease. Messages that are gone from the log are
-- settled; `size` stays 0 if all of them are gone.
create function tidemark_fn.read_held(
  q tidemark_fn.claim_request, s tidemark.subscription, terms tidemark_fn.claim_terms, r tidemark_fn.claim_result,
  xids xid8[], ids bigint[]
) returns tidemark_fn.claim_result
language plpgsql volatile as $$
declare
  rows text := tidemark_fn.rows_query(s.topic_id, xids, ids);
  present bigint[];
  slots int[];
begin
  r := tidemark_fn.read_rows(r, rows, tidemark_fn.pack(q.keys_only, q.as_bytes, q.shared));
  if r.size < cardinality(ids) then
    present := (tidemark_fn.keys_of(rows)).ids;
    -- Sets, looked up by the whole key: `= any(array)` compared all messages of the page with each other, which took
    -- two seconds for 10 000.
    slots := array(
      select w.place - 1
      from unnest(ids) with ordinality as w (id, place)
      where w.id in (select unnest(present))
      order by 1
    );
    delete from tidemark.retry as x
    using (
      select q.token as token, place - 1 as slot
      from generate_series(1, cardinality(ids)) as place
      where place - 1 not in (select unnest(slots))
      offset 0
    ) as missing
    where x.token = missing.token and x.slot = missing.slot;
    if cardinality(slots) = 0 then
      r.size := 0;
      return r;
    end if;
    r.exceptions := coalesce(r.exceptions, '{}') || jsonb_build_object('slots', slots);
    r.size := cardinality(ids);
  end if;
  insert into tidemark.lease (token, subscription_id, consumer, kind, size, deadline)
  values (q.token, s.id, q.consumer, 'retry', r.size, clock_timestamp() + terms.lease);
  return r;
end
$$;
