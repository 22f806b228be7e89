-- `tidemark.` stands for the namespace's schema; migrate.ts puts the real one in its place.

create table tidemark.topic (
  id int generated always as identity primary key,
  name text not null unique,
  uid bigint not null,
  semantics text not null check (semantics in ('queue', 'pub-sub')),
  config jsonb not null,
  config_version int not null default 1,
  created_at timestamptz not null default clock_timestamp()
);

-- The cursor: a window between two snapshots and a place in it (see 002_cursor.sql).
create table tidemark.subscription (
  id int generated always as identity primary key,
  topic_id int not null references tidemark.topic on delete cascade,
  group_name text not null,
  status text not null default 'ACTIVE' check (status in ('ACTIVE', 'PAUSED', 'DEAD', 'CANCELLED')),
  epoch int not null default 1,
  window_from pg_snapshot not null,
  window_to pg_snapshot not null,
  -- Lower bounds of the ids still to come: of transactions in progress at window_from, of those after it, and of
  -- those after window_to. to_id is the upper bound of the window.
  straggler_id bigint not null,
  from_id bigint not null,
  to_id bigint not null,
  next_id bigint not null,
  at_xid xid8 not null,
  at_id bigint not null,
  -- Started at a point in time: older messages are not for this group, whenever they commit.
  since timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  last_heartbeat_at timestamptz not null default clock_timestamp(),
  moved_at timestamptz not null default clock_timestamp(),
  unique (topic_id, group_name)
)
-- Every claim updates its row; half-empty pages, and no index on what a claim changes, keep those updates HOT.
with (fillfactor = 50);

create table tidemark.lease (
  token uuid primary key,
  -- no foreign key: a claim inserts it under the subscription's lock, and the check would cost every claim
  subscription_id int not null,
  consumer text not null,
  kind text not null check (kind in ('page', 'retry')),
  size int not null,
  suspect boolean not null default false,
  -- A page lease reads its rows again from its window, its first row and its size; the ids bound the partitions.
  window_from pg_snapshot,
  window_to pg_snapshot,
  first_xid xid8,
  first_id bigint,
  last_xid xid8,
  last_id bigint,
  low_id bigint,
  high_id bigint,
  -- One bit a slot; null while none is settled.
  settled varbit,
  -- null: never runs out.
  deadline timestamptz,
  claimed_at timestamptz not null default clock_timestamp(),
  done_at timestamptz,
  expired_at timestamptz
)
with (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 2000);

create index lease_live on tidemark.lease (subscription_id, deadline) where done_at is null and expired_at is null;
create index lease_ended on tidemark.lease (subscription_id) where done_at is not null or expired_at is not null;

create table tidemark.retry (
  -- no foreign key: its check would make a settlement wait for the subscription that a claim has locked
  subscription_id int not null,
  id bigint not null,
  xid xid8 not null,
  attempts int not null,
  version int not null,
  due_at timestamptz not null,
  token uuid,
  slot int,
  suspect boolean not null,
  history jsonb not null,
  primary key (subscription_id, id)
);

create index retry_due on tidemark.retry (subscription_id, suspect, due_at, id) where token is null;
create index retry_leased on tidemark.retry (token, slot) where token is not null;

create table tidemark.dead_letter (
  id bigint generated always as identity primary key,
  topic_id int not null references tidemark.topic on delete cascade,
  subscription_id int not null,
  group_name text not null,
  message_id bigint not null,
  created_at timestamptz not null,
  key text,
  type text,
  headers text,
  given_message_id text,
  payload bytea not null,
  attempts int not null,
  error jsonb not null,
  history jsonb not null,
  dead_at timestamptz not null default clock_timestamp()
);

create index dead_letter_topic on tidemark.dead_letter (topic_id, id);
create index dead_letter_subscription on tidemark.dead_letter (subscription_id, id);

create table tidemark.dedupe (
  topic_id int not null references tidemark.topic on delete cascade,
  message_id text not null,
  id bigint not null,
  created_at timestamptz not null,
  primary key (topic_id, message_id)
);

create index dedupe_age on tidemark.dedupe (topic_id, created_at);
