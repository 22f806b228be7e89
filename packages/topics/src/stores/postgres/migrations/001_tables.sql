-- `tidemark.` stands for the namespace's schema; migrate.ts puts the real one in its place.

create table tidemark.topic (
  id int generated always as identity primary key,
  name text not null unique,
  uid bigint not null,
  semantics text not null check (semantics in ('queue', 'pub-sub')),
  config jsonb not null,
  config_version int not null default 1,
  created_at timestamptz not null default clock_timestamp(),
  -- Messages up to this id are gone or about to go: no claim looks for them.
  gone_id bigint not null default 0,
  -- Ids that were thrown away to fill a partition, and never were a message's.
  skipped_ids bigint not null default 0,
  -- While reference tracking is being switched on: the ids whose bitmaps are still to be filled, and the transaction that
  -- switched it; publishes of older ones may not have known.
  fill_next_id bigint,
  fill_last_id bigint,
  fill_xid xid8
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
  -- The cursor at the first subscription: what it had passed was never for this group.
  start_window pg_snapshot not null,
  start_xid xid8 not null,
  start_id bigint not null,
  -- Its place in the bitmaps of a topic with reference tracking.
  bit int check (bit between 0 and 63),
  created_at timestamptz not null default clock_timestamp(),
  status_at timestamptz not null default clock_timestamp(),
  moved_at timestamptz not null default clock_timestamp(),
  last_heartbeat_at timestamptz not null default clock_timestamp(),
  heartbeat_interval_ms bigint not null,
  heartbeat_timeout_ms bigint not null,
  dead_after_misses int not null,
  misses int not null default 0,
  missed_at timestamptz,
  -- Messages a resurrection may bring back; null: all.
  backfill_limit bigint,
  -- Its row in backfill may have messages to deliver.
  backfilling boolean not null default false,
  -- The epoch whose bits the dead clean-up has cleared for good, and how far it has come in this one.
  cleared_epoch int not null default 0,
  cleared_id bigint not null default 0,
  -- The transaction that made it DEAD or CANCELLED: publishes of older ones may still set its bit.
  ended_xid xid8,
  -- Counted by the consumers and brought along by their heartbeats.
  processed bigint not null default 0,
  failed bigint not null default 0,
  filtered bigint not null default 0,
  -- Messages of the present minute and of the one before: the rate.
  minute bigint not null default 0,
  minute_count bigint not null default 0,
  previous_count bigint not null default 0,
  -- Messages that the forced cap, a forced advance or a bounded resurrection took from this group.
  lost bigint not null default 0,
  lost_at timestamptz,
  unique (topic_id, group_name),
  unique (topic_id, bit)
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
  -- a redriven message goes on from here
  version int not null,
  error jsonb not null,
  history jsonb not null,
  dead_at timestamptz not null default clock_timestamp()
);

create index dead_letter_topic on tidemark.dead_letter (topic_id, id);
create index dead_letter_group on tidemark.dead_letter (topic_id, group_name, id);

create table tidemark.dedupe (
  topic_id int not null references tidemark.topic on delete cascade,
  message_id text not null,
  id bigint not null,
  created_at timestamptz not null,
  primary key (topic_id, message_id)
);

-- One backfill a group: its required bits are set batch by batch up to upper_id, and its messages delivered up to
-- checkpoint_id, by a cursor of their own beside the live one. It covers what `upper` sees and the lower cursor had not
-- passed; what `upper` doesn't see comes with the live stream.
create table tidemark.backfill (
  subscription_id int primary key references tidemark.subscription on delete cascade,
  topic_id int not null references tidemark.topic on delete cascade,
  epoch int not null,
  status text not null check (status in ('RUNNING', 'COMPLETED', 'CANCELLED', 'FAILED')),
  scope text not null check (scope in ('pending', 'retained')),
  settings jsonb not null,
  lower_from pg_snapshot not null,
  lower_to pg_snapshot not null,
  lower_xid xid8 not null,
  lower_place bigint not null,
  since timestamptz,
  upper pg_snapshot not null,
  lower_id bigint not null,
  upper_id bigint not null,
  checkpoint_id bigint not null,
  cursor_id bigint not null,
  processed bigint not null default 0,
  token uuid,
  lease_until timestamptz,
  started_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz,
  error text
);

-- Bits of groups that were removed: not given out again before they are wiped from every row that is kept.
create table tidemark.bit_wipe (
  topic_id int not null references tidemark.topic on delete cascade,
  bit int not null,
  next_id bigint not null,
  last_id bigint not null,
  ended_xid xid8 not null,
  primary key (topic_id, bit)
);

-- Partitions of the logs that take no more rows, and what is known of them for good.
create table tidemark.partition (
  topic_id int not null references tidemark.topic on delete cascade,
  number bigint not null,
  -- Taken when ids had gone past it: once all older transactions have ended, nothing can come.
  seal_xid xid8 not null,
  sealed_at timestamptz,
  rows bigint,
  low_xid xid8,
  high_xid xid8,
  newest timestamptz,
  -- Detaching has begun: a run that was killed goes on from here.
  dropping_since timestamptz,
  primary key (topic_id, number)
);

-- Maintenance jobs: a lock that runs out, so that one process does the work, and what came of it.
create table tidemark.job (
  name text primary key,
  token uuid,
  locked_until timestamptz,
  started_at timestamptz,
  finished_at timestamptz,
  runs bigint not null default 0,
  result jsonb
);

create index dedupe_age on tidemark.dedupe (topic_id, created_at);
