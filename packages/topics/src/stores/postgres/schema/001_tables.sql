-- `tidemark.` stands for the namespace's schema; schema-name.ts puts the real name in its place.
--
-- Tables, indexes and sequences only. Nothing here calls a function of functions/: a default or an index that did would keep
-- an old bundle from being dropped.
--
-- An incarnation is 52 random bits, which JavaScript's numbers hold exactly. The last digits of a UUID are all random.

-- Which namespace this is: one that is dropped and made again has another incarnation, though all ids are given again.
create table tidemark.namespace (
  only_row boolean primary key default true check (only_row),
  incarnation bigint not null default ('x' || right(replace(gen_random_uuid()::text, '-', ''), 13))::bit(52)::bigint,
  -- Signs the receipts of pulls: whoever can't read this table can't forge one. 244 of its bits are random.
  receipt_key bytea not null default sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())),
  created_at timestamptz not null default clock_timestamp()
);

insert into tidemark.namespace default values;

create table tidemark.topic (
  id int generated always as identity primary key,
  name text not null unique,
  -- 52 random bits: its incarnation. Some are in every derived messageId.
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

-- The cursor: a window between two snapshots and a place in it (see functions/cursor.sql).
create table tidemark.subscription (
  id int generated always as identity primary key,
  -- Its incarnation: ids are given again after a restore, and in a namespace that was made anew.
  uid bigint not null default ('x' || right(replace(gen_random_uuid()::text, '-', ''), 13))::bit(52)::bigint,
  topic_id int not null references tidemark.topic on delete cascade,
  group_name text not null,
  status text not null default 'ACTIVE' check (status in ('ACTIVE', 'PAUSED', 'DEAD', 'CANCELLED')),
  epoch int not null default 1,
  window_from pg_snapshot not null,
  window_to pg_snapshot not null,
  -- Lower bounds of ids, all of them exclusive: of each transaction in progress at window_from (late_ids) and at window_to
  -- (open_ids), in the order of the snapshot's list; of those after window_from (from_id) and after window_to (next_id).
  late_ids bigint[] not null,
  open_ids bigint[] not null,
  from_id bigint not null,
  next_id bigint not null,
  -- Upper bounds: of what window_from sees, and of the window.
  seen_id bigint not null,
  to_id bigint not null,
  -- The place in the window: up to here it was handed out.
  at_id bigint not null,
  -- Started at a point in time: older messages are not for this group, whenever they commit.
  since timestamptz,
  -- The cursor at the first subscription: what it had passed was never for this group.
  start_from pg_snapshot not null,
  start_to pg_snapshot not null,
  start_id bigint not null,
  -- Its place in the bitmaps of a topic with reference tracking. Of a group that has ended it may be taken away, and one that
  -- comes back gets another.
  bit int check (bit between 0 and 63),
  -- Messages of later transactions were published while it was live: they have its bit. null: not known yet.
  live_xid xid8,
  created_at timestamptz not null default clock_timestamp(),
  status_at timestamptz not null default clock_timestamp(),
  moved_at timestamptz not null default clock_timestamp(),
  -- Only ever more: whoever was told a higher number than this has been told by a database that lost it since.
  moves bigint not null default 0,
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
  -- Messages that this group will never get: taken by the forced cap, a forced advance or a bounded resurrection, or cleaned
  -- up while it was DEAD; those are counted apart until it comes back. And how many an operator has taken note of.
  lost bigint not null default 0,
  lost_at timestamptz,
  lost_dead bigint not null default 0,
  lost_acknowledged bigint not null default 0,
  unique (topic_id, group_name),
  unique (topic_id, bit)
)
-- Every claim updates its row; half-empty pages, and no index on what a claim changes, keep those updates HOT.
with (fillfactor = 50);

-- What the consumers of each process have done, as their heartbeats told last; consumer '': the group's own in that process.
create table tidemark.consumer (
  subscription_id int not null references tidemark.subscription on delete cascade,
  instance text not null,
  consumer text not null,
  started_at timestamptz not null,
  reported_at timestamptz not null,
  -- null: it had no message yet
  active_at timestamptz,
  processed bigint not null,
  failed bigint not null,
  -- of the minute before the report
  claims bigint not null,
  claim_conflicts bigint not null,
  -- a histogram of its times
  handler jsonb not null,
  primary key (subscription_id, instance, consumer)
);

create table tidemark.lease (
  token uuid primary key,
  -- no foreign key: a claim inserts it under the subscription's lock, and the check would cost every claim
  subscription_id int not null,
  consumer text not null,
  kind text not null check (kind in ('page', 'retry')),
  size int not null,
  -- A page lease reads its rows again from its window, between its first and its last id.
  window_from pg_snapshot,
  window_to pg_snapshot,
  first_id bigint,
  last_id bigint,
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
-- By when they ended: a claim that sweeps forgets the oldest, and must not read all that pulls have left in an hour.
create index lease_ended on tidemark.lease (subscription_id, (greatest(done_at, expired_at)))
  where done_at is not null or expired_at is not null;

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
  -- Its last lease ran out.
  suspect boolean not null,
  -- Of a suspect: what it is leased together with; null: it is leased alone, on its last attempt.
  piece uuid,
  history jsonb not null,
  primary key (subscription_id, id)
);

create index retry_due on tidemark.retry (subscription_id, suspect, due_at, id) where token is null;
create index retry_suspect on tidemark.retry (subscription_id, due_at, id) where token is null and piece is not null;
create index retry_alone on tidemark.retry (subscription_id, due_at, id) where token is null and suspect and piece is null;
create index retry_piece on tidemark.retry (piece, id) where token is null and piece is not null;
create index retry_leased on tidemark.retry (token, slot) where token is not null;

create table tidemark.dead_letter (
  id bigint generated always as identity primary key,
  topic_id int not null references tidemark.topic on delete cascade,
  subscription_id int not null,
  group_name text not null,
  message_id bigint not null,
  salt bigint not null,
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

-- What a DEAD group had done or held beyond the cursor of a backfill that it had not got to the end: its bits may be wiped,
-- and a group that comes back gets nothing twice. Ranges may overlap.
create table tidemark.done_range (
  subscription_id int not null references tidemark.subscription on delete cascade,
  first_id bigint not null,
  last_id bigint not null,
  primary key (subscription_id, last_id, first_id)
);

-- Bits of groups that were removed, or have ended: not given out again before they are wiped from every row that is kept.
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
  newest timestamptz,
  -- What dead groups have not claimed of it, counted before it is decided on: { subscription: [epoch, count] }.
  unclaimed jsonb not null default '{}',
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
  result jsonb,
  -- When it last ended without an error.
  succeeded_at timestamptz,
  took_ms float8
);

create index dedupe_age on tidemark.dedupe (topic_id, created_at);

-- The cluster in which the stored transaction ids mean something (see functions/repair.sql).
create table tidemark.cluster (
  only_row boolean primary key default true check (only_row),
  system_identifier text not null,
  since timestamptz not null default clock_timestamp()
);

-- The bundles of functions that are installed beside these tables, one for each version of the program that is in use.
create table tidemark.function_bundle (
  hash text primary key,
  installed_at timestamptz not null default clock_timestamp(),
  last_used_at timestamptz not null default clock_timestamp()
);
