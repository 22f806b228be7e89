-- Reference tracking: beside the log, a narrow table with two bitmaps per message, `required` and `completed`, and one
-- bit per group. Bits are only set and cleared by | and & in single statements, so repeating an update, whole or in
-- part, is harmless. Rows are always locked in id order, so two groups that settle the same messages can't deadlock.

create function tidemark_fn.has_ended(x xid8) returns boolean
language plpgsql volatile as $$
declare
  now pg_snapshot;
begin
  select pg_current_snapshot() into now;
  return pg_snapshot_xmin(now) > x;
end
$$;

create function tidemark_fn.create_track(topic_id int, partition_rows bigint) returns void
language plpgsql volatile as $$
declare
  number bigint;
begin
  perform pg_advisory_xact_lock(hashtextextended('tidemark.log', topic_id));
  perform tidemark_fn.run(format($ddl$
    create table tidemark.track_%1$s (
      id bigint primary key,
      xid xid8 not null,
      required bigint not null default 0,
      completed bigint not null default 0
    ) partition by range (id)
  $ddl$, topic_id));
  for number in select * from tidemark_fn.partition_numbers(topic_id) loop
    perform tidemark_fn.add_track_partition(topic_id, partition_rows, number);
  end loop;
  perform tidemark_fn.run(format($ddl$
    create view tidemark.completion_%1$s as
    select t.id, s.group_name, (t.required >> s.bit) & 1 = 1 as required, (t.completed >> s.bit) & 1 = 1 as completed
    from tidemark.track_%1$s as t
    join tidemark.subscription as s on s.topic_id = %1$s and ((t.required | t.completed) >> s.bit) & 1 = 1
  $ddl$, topic_id));
  perform tidemark_fn.run(format($ddl$
    create view tidemark.completion_counts_%1$s as
    select t.id, bit_count(t.required::bit(64)) as required, bit_count((t.required & t.completed)::bit(64)) as completed,
      t.required & ~t.completed = 0 as done
    from tidemark.track_%1$s as t
  $ddl$, topic_id));
end
$$;

create function tidemark_fn.drop_track(topic_id int) returns void
language plpgsql volatile as $$
begin
  perform tidemark_fn.run(format('drop view if exists tidemark.completion_%1$s, tidemark.completion_counts_%1$s', topic_id));
  perform tidemark_fn.run(format('drop table if exists tidemark.track_%s', topic_id));
end
$$;

-- Half-empty pages keep bitmap updates HOT. Every group updates every row, and vacuum by default waits until a fifth of the
-- rows are dead.
create function tidemark_fn.add_track_partition(topic_id int, partition_rows bigint, number bigint) returns void
language plpgsql volatile as $$
begin
  perform tidemark_fn.run(format(
    'create table tidemark.track_%1$s_p%2$s (like tidemark.track_%1$s including all) '
    'with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.1)', topic_id, number));
  perform tidemark_fn.run(format(
    'alter table tidemark.track_%1$s attach partition tidemark.track_%1$s_p%2$s for values from (%3$s) to (%4$s)',
    topic_id, number, number * partition_rows, (number + 1) * partition_rows));
end
$$;

create function tidemark_fn.is_tracked(topic_id int) returns boolean
language sql stable as $$ select to_regclass(format('tidemark.track_%s', topic_id)) is not null $$;

-- The lowest bit that is not assigned and has no traces of a removed group left; null if there is none. Call it with
-- the topic's row locked.
create function tidemark_fn.free_bit(p_topic int) returns int
language sql volatile as $$
  select b
  from generate_series(0, 63) as b
  where not exists (select from tidemark.subscription as s where s.topic_id = p_topic and s.bit = b)
    and not exists (select from tidemark.bit_wipe as w where w.topic_id = p_topic and w.bit = b)
  order by b
  limit 1
$$;

-- Records that groups have completed messages; several groups' bits of one message are one update of its row.
create function tidemark_fn.complete(p_topic int, ids bigint[], bits bigint[]) returns void
language plpgsql volatile as $$
declare
  wanted bigint[];
  masks bigint[];
  bounds text;
begin
  select array_agg(x.id order by x.id), array_agg(x.mask order by x.id) into wanted, masks
  from (select d.id, bit_or(d.bit) as mask from unnest(ids, bits) as d (id, bit) group by d.id) as x;
  if wanted is null then
    return;
  end if;
  -- Two statements, each with one key lookup per row. Joined with the locked rows, the planner, which assumes that an
  -- array is short, compared every row with every other (the benchmark with 8 groups took 77 s instead of 10).
  bounds := format('t.id between %s and %s', wanted[1], wanted[cardinality(wanted)]);
  perform tidemark_fn.run(format(
    'select from tidemark.track_%s as t where %s and t.id = any($1) order by t.id for no key update', p_topic, bounds), wanted);
  perform tidemark_fn.run(format(
    'update tidemark.track_%s as t set required = t.required | d.mask, completed = t.completed | d.mask '
    'from unnest($1, $2) as d (id, mask) where %s and t.id = d.id and t.required & t.completed & d.mask <> d.mask',
    p_topic, bounds), wanted, masks);
exception
  when undefined_table then
    -- The topic left reference tracking after the settlement had read the group's bit, so the bit no longer matters.
    null;
end
$$;

-- One statement per topic, however many leases of however many groups were settled.
create function tidemark_fn.complete_all(topics int[], ids bigint[], bits bigint[]) returns void
language plpgsql volatile as $$
declare
  each_topic int;
begin
  for each_topic in select distinct x from unnest(topics) as x order by x loop
    perform tidemark_fn.complete(each_topic, array_agg(d.id), array_agg(d.bits))
    from unnest(topics, ids, bits) as d (topic, id, bits)
    where d.topic = each_topic;
  end loop;
end
$$;

-- What is completed by page leases that were just acknowledged as a whole.
create function tidemark_fn.page_bits(tokens uuid[], out topics int[], out ids bigint[], out bits bigint[])
language plpgsql volatile as $$
declare
  l tidemark.lease;
  s tidemark.subscription;
  page bigint[];
begin
  topics := '{}';
  ids := '{}';
  bits := '{}';
  for l in select * from tidemark.lease as x where x.token = any(tokens) loop
    select * into s from tidemark.subscription as x where x.id = l.subscription_id;
    page := tidemark_fn.slot_ids(s, l, tidemark_fn.open_slots(l));
    topics := topics || array_fill(s.topic_id, array[cardinality(page)]);
    ids := ids || page;
    bits := bits || array_fill(1::bigint << s.bit, array[cardinality(page)]);
  end loop;
end
$$;

-- Which of these ids the group's live leases and retry rows hold.
create function tidemark_fn.held_ids(s tidemark.subscription, low bigint, high bigint) returns bigint[]
language plpgsql volatile as $$
begin
  return array(select r.id from tidemark.retry as r where r.subscription_id = s.id and r.id between low and high)
    || tidemark_fn.paged_ids(s, low, high);
end
$$;

-- Those that the group's pages hold.
create function tidemark_fn.paged_ids(s tidemark.subscription, low bigint, high bigint) returns bigint[]
language plpgsql volatile as $$
declare
  l tidemark.lease;
  held bigint[] := '{}';
begin
  for l in
    select * from tidemark.lease as x
    where x.subscription_id = s.id and x.kind = 'page' and x.done_at is null and x.expired_at is null
      and x.first_id <= high and x.last_id >= low
  loop
    held := held || array(select i from unnest(tidemark_fn.slot_ids(s, l, tidemark_fn.open_slots(l))) as i where i between low and high);
  end loop;
  return held;
end
$$;

-- For a group that may be resurrected before its backfill was delivered: what lies beyond and is completed or held must
-- not be delivered twice.
create function tidemark_fn.note_undelivered(s tidemark.subscription, upto bigint) returns void
language plpgsql volatile as $$
declare
  b tidemark.backfill;
begin
  select * into b from tidemark.backfill as x
  where x.subscription_id = s.id and (x.status = 'RUNNING' or x.cursor_id < x.checkpoint_id);
  if not found then
    return;
  end if;
  -- Only what the group holds at this point can still be settled.
  if s.cleared_id = 0 then
    insert into tidemark.done_range (subscription_id, first_id, last_id)
    select s.id, min(h.id), max(h.id)
    from (
      select i as id, i - row_number() over (order by i) as island
      from unnest(tidemark_fn.held_ids(s, b.cursor_id + 1, 9223372036854775807)) as i
    ) as h
    group by h.island
    on conflict do nothing;
  end if;
  -- Everything below is final by now: the transactions that published it have ended (see clear_bits).
  perform tidemark_fn.run(format($q$
    insert into tidemark.done_range (subscription_id, first_id, last_id)
    select %1$s, min(t.id), max(t.id)
    from (
      select r.id, r.done, row_number() over (order by r.id) - row_number() over (partition by r.done order by r.id) as island
      from (
        select id, (completed >> %2$s) & 1 = 1 as done from tidemark.track_%3$s where id > %4$s and id <= %5$s
      ) as r
    ) as t
    where t.done
    group by t.island
    on conflict do nothing
  $q$, s.id, s.bit, s.topic_id, greatest(s.cleared_id, b.cursor_id), coalesce(upto, 0)));
end
$$;

-- Takes the bit of an ended group if its topic has few left; completion history is kept while there is room. Cancelled
-- groups go first, because they never come back. False if there is none to take.
create function tidemark_fn.release_bit() returns boolean
language plpgsql volatile as $$
declare
  s tidemark.subscription;
begin
  select * into s
  from tidemark.subscription as x
  where x.bit is not null and x.status in ('DEAD', 'CANCELLED') and x.cleared_epoch = x.epoch
    and (select count(*) from tidemark.subscription as y where y.topic_id = x.topic_id and y.bit is not null)
      + (select count(*) from tidemark.bit_wipe as w where w.topic_id = x.topic_id) > 48
  order by x.status = 'DEAD', x.status_at
  limit 1
  -- Not "for no key update": a backfill batch in progress holds a key share lock.
  for update skip locked;
  if not found then
    return false;
  end if;
  -- Waits for settlements in progress, which have already read the bit.
  perform from tidemark.lease as l
  where l.subscription_id = s.id and l.done_at is null and l.expired_at is null
  order by l.token
  for update;
  insert into tidemark.bit_wipe (topic_id, bit, next_id, last_id, ended_xid)
  values (s.topic_id, s.bit, 0, tidemark_fn.last_id(s.topic_id), coalesce(s.ended_xid, pg_current_xact_id()))
  on conflict do nothing;
  update tidemark.subscription as x set bit = null where x.id = s.id;
  return true;
end
$$;

-- One page of the dead-group clean-up: of the first DEAD or CANCELLED group that is not finished, then of the first bit
-- to clear; after that the next bit is taken. Publishes that began before the group ended may set its bit and commit
-- behind the clean-up's position, so the clean-up starts when they have ended. Nothing waits for it, because only the
-- bits of live groups retain a message.
create function tidemark_fn.clear_bits(p_limit int, out cleared bigint, out more boolean)
language plpgsql volatile as $$
declare
  s tidemark.subscription;
  w tidemark.bit_wipe;
  upto bigint;
begin
  cleared := 0;
  more := false;
  select * into s
  from tidemark.subscription as x
  where x.bit is not null and x.status in ('DEAD', 'CANCELLED') and x.cleared_epoch < x.epoch
    and (x.cleared_id > 0 or x.ended_xid is null or tidemark_fn.has_ended(x.ended_xid))
  order by x.id
  limit 1
  for no key update skip locked;
  if found then
    select p.cleared, p.upto into cleared, upto from tidemark_fn.clear_page(
      s.topic_id, s.cleared_id, p_limit, format('required = required & ~(1::bigint << %s)', s.bit),
      format('required & ~completed & (1::bigint << %s) <> 0', s.bit)) as p;
    if s.status = 'DEAD' then
      perform tidemark_fn.note_undelivered(s, upto);
    end if;
    update tidemark.subscription as x
    set cleared_id = coalesce(upto, 0), cleared_epoch = case when upto is null then x.epoch else x.cleared_epoch end
    where x.id = s.id;
    more := true;
    return;
  end if;

  select * into w from tidemark.bit_wipe as x where tidemark_fn.has_ended(x.ended_xid)
  order by x.topic_id, x.bit
  limit 1
  for update skip locked;
  if found then
    select p.cleared, p.upto into cleared, upto from tidemark_fn.clear_page(
      w.topic_id, w.next_id - 1, p_limit,
      format('required = required & ~(1::bigint << %1$s), completed = completed & ~(1::bigint << %1$s)', w.bit),
      format('(required | completed) & (1::bigint << %s) <> 0', w.bit)) as p;
    if upto is null then
      delete from tidemark.bit_wipe as x where x.topic_id = w.topic_id and x.bit = w.bit;
    else
      update tidemark.bit_wipe as x set next_id = upto + 1 where x.topic_id = w.topic_id and x.bit = w.bit;
    end if;
    more := true;
    return;
  end if;
  more := tidemark_fn.release_bit();
end
$$;

-- `upto` is null if nothing was left.
create function tidemark_fn.clear_page(
  p_topic int, after bigint, p_limit int, change text, condition text, out cleared bigint, out upto bigint
)
language plpgsql volatile as $$
begin
  cleared := 0;
  if not tidemark_fn.is_tracked(p_topic) then
    return;
  end if;
  upto := tidemark_fn.number_of(format(
    'select max(id) from (select id from tidemark.track_%s where id > %s order by id limit %s) as p', p_topic, after, p_limit));
  if upto is null then
    return;
  end if;
  cleared := tidemark_fn.run(format($q$
    with locked as materialized (
      select id from tidemark.track_%1$s where id > %2$s and id <= %3$s and %5$s order by id for no key update
    )
    update tidemark.track_%1$s set %4$s
    where id > %2$s and id <= %3$s and id in (select id from locked) and %5$s
  $q$, p_topic, after, upto, change, condition));
end
$$;

-- One page of ids: completes messages created before a time that no live group requires.
create function tidemark_fn.complete_orphans(
  p_topic int, p_after bigint, p_limit int, p_before timestamptz, out completed bigint, out upto bigint
)
language plpgsql volatile as $$
declare
  live bigint;
begin
  select coalesce(bit_or(1::bigint << s.bit), 0) into live
  from tidemark.subscription as s
  where s.topic_id = p_topic and s.status in ('ACTIVE', 'PAUSED');
  select p.cleared, p.upto into completed, upto from tidemark_fn.clear_page(
    p_topic, p_after, p_limit, 'required = required & completed',
    format(
      'required & ~completed <> 0 and required & ~completed & (%1$s) = 0 and exists (select from tidemark.log_%2$s as l '
      'where l.xid = track_%2$s.xid and l.id = track_%2$s.id and l.created_at < %3$L)', live, p_topic, p_before)) as p;
end
$$;

-- Messages that the group was moved past, up to p_last, are no longer required of it; otherwise they would be kept
-- until the forced cap.
create function tidemark_fn.unrequire(s tidemark.subscription, p_last bigint) returns void
language plpgsql volatile as $$
declare
  group_bit bigint := 1::bigint << s.bit;
begin
  if s.bit is not null then
    perform tidemark_fn.run(format(
      'update tidemark.track_%1$s set required = required & ~%2$L::bigint where id <= %3$s and required & ~completed & %2$L::bigint <> 0',
      s.topic_id, group_bit, p_last));
  end if;
end
$$;
