-- The log of one topic: its own table, partitioned by `partition_rows` ids, with partitions created ahead of need.

create function tidemark_fn.create_log(topic_id int, partition_rows bigint) returns void
language plpgsql volatile as $$
begin
  perform tidemark_fn.run(format('create sequence tidemark.log_%s_id as bigint cache 1', topic_id));
  -- No unique index: ids come from the sequence and rows are never updated. Claims read by id and filter windows by
  -- xid, using only the index. Ids rise, so a publish appends at the right end of the index. The BRIN index finds a
  -- point in time at almost no cost.
  perform tidemark_fn.run(format($ddl$
    create table tidemark.log_%1$s (
      xid xid8 not null default pg_current_xact_id(),
      id bigint not null default nextval('tidemark.log_%1$s_id'),
      created_at timestamptz not null default clock_timestamp(),
      -- One salt per publish. Ids are reused after a restore or a lost commit; the salt is not.
      salt bigint not null default ('x' || right(replace(gen_random_uuid()::text, '-', ''), 13))::bit(52)::bigint,
      key text,
      type text,
      headers text,
      message_id text,
      payload bytea not null
    ) partition by range (id)
  $ddl$, topic_id));
  perform tidemark_fn.run(format('alter sequence tidemark.log_%1$s_id owned by tidemark.log_%1$s.id', topic_id));
  perform tidemark_fn.run(format('create index on tidemark.log_%s (id, xid)', topic_id));
  perform tidemark_fn.run(format('create index on tidemark.log_%s using brin (created_at) with (pages_per_range = 16)', topic_id));
  perform tidemark_fn.run(format($ddl$
    create view tidemark.messages_%1$s as
    select id, created_at, key, type, headers::jsonb as headers, message_id,
      case when type is null then convert_from(payload, 'UTF8')::jsonb end as json, payload, xid
    from tidemark.log_%1$s
  $ddl$, topic_id));
  -- The first two, as add_partitions would make them. Nobody uses the log yet, so they need not be attached.
  for number in 0..1 loop
    perform tidemark_fn.run(format(
      'create table tidemark.log_%1$s_p%2$s partition of tidemark.log_%1$s for values from (%3$s) to (%4$s)',
      topic_id, number, number * partition_rows, (number + 1) * partition_rows));
  end loop;
end
$$;

create function tidemark_fn.log_partitions(topic_id int) returns table (number bigint)
language sql stable as $$
  select substring(c.relname from '_p([0-9]+)$')::bigint
  from pg_inherits as i
  join pg_class as c on c.oid = i.inhrelid
  where i.inhparent = format('tidemark.log_%s', topic_id)::regclass and not i.inhdetachpending
$$;

-- Makes sure that there is a partition for `up_to` and one after it. Returns the first id without a partition. The
-- table is created first and attached afterwards, because attaching takes a lock that blocks neither readers nor
-- writers.
create function tidemark_fn.add_partitions(topic_id int, partition_rows bigint, up_to bigint) returns bigint
language plpgsql volatile as $$
declare
  last bigint;
  is_tracked boolean;
  has_made boolean := false;
begin
  perform pg_advisory_xact_lock(hashtextextended('tidemark.log', topic_id));
  is_tracked := tidemark_fn.is_tracked(topic_id);
  -- If all are gone it continues with the partition of the last id: no transaction can still hold an older id.
  select coalesce(max(p.number), (tidemark_fn.last_id(topic_id) + 1) / partition_rows - 1) into last
  from tidemark_fn.log_partitions(topic_id) as p;

  while last < up_to / partition_rows + 1 loop
    last := last + 1;
    perform tidemark_fn.run(format(
      'create table tidemark.log_%1$s_p%2$s (like tidemark.log_%1$s including defaults including storage)', topic_id, last));
    perform tidemark_fn.run(format(
      'alter table tidemark.log_%1$s attach partition tidemark.log_%1$s_p%2$s for values from (%3$s) to (%4$s)',
      topic_id, last, last * partition_rows, (last + 1) * partition_rows));
    if is_tracked then
      perform tidemark_fn.add_track_partition(topic_id, partition_rows, last);
    end if;
    has_made := true;
  end loop;
  -- Taken only now, so that claims wait no longer than the commit takes: see await_partitions.
  if has_made then
    perform pg_advisory_xact_lock(hashtextextended('tidemark.attach', topic_id));
  end if;
  return (last + 1) * partition_rows;
end
$$;

create function tidemark_fn.partition_rows(p_topic int) returns bigint
language sql stable as $$ select (t.config ->> 'partitionRows')::bigint from tidemark.topic as t where t.id = p_topic $$;

-- The log's partitions, lowest first.
create function tidemark_fn.partition_numbers(topic_id int) returns setof bigint
language sql stable as $$
  select substring(c.relname from '_p([0-9]+)$')::bigint as number
  from pg_inherits as i
  join pg_class as c on c.oid = i.inhrelid
  where i.inhparent = format('tidemark.log_%s', topic_id)::regclass
  order by number
$$;

-- The lowest id that still has a partition. Everything below was cleaned up.
create function tidemark_fn.first_kept_id(p_topic int) returns bigint
language sql volatile as $$
  select coalesce(min(substring(c.relname from '_p([0-9]+)$')::bigint), 0)
    * (select (t.config ->> 'partitionRows')::bigint from tidemark.topic as t where t.id = p_topic)
  from pg_inherits as i
  join pg_class as c on c.oid = i.inhrelid
  where i.inhparent = to_regclass(format('tidemark.log_%s', p_topic))
    and not i.inhdetachpending
$$;

-- The number of further messages that each topic has partitions for.
create function tidemark_fn.partition_room() returns table (topic_id int, name text, partition_rows bigint, room bigint)
language sql volatile as $$
  select t.id, t.name, size.rows, greatest((made.last + 1) * size.rows - 1 - tidemark_fn.last_id(t.id), 0)
  from tidemark.topic as t
  cross join lateral (select (t.config ->> 'partitionRows')::bigint as rows) as size
  cross join lateral (select coalesce(max(p.number), -1) as last from tidemark_fn.log_partitions(t.id) as p) as made
$$;

-- For programs whose user may not create tables: adds partitions to every topic with less than one partition of room.
create function tidemark_fn.make_partitions_ahead() returns void
language plpgsql volatile as $$
declare
  t record;
begin
  for t in select * from tidemark_fn.partition_room() as r where r.room < r.partition_rows order by r.topic_id loop
    perform tidemark_fn.add_partitions(t.topic_id, t.partition_rows, tidemark_fn.last_id(t.topic_id) + t.partition_rows);
  end loop;
end
$$;
