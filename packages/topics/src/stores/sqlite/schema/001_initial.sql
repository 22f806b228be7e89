-- Tidemark's tables stand beside the application's own in one file, hence the prefix.
-- Each topic has a log of its own, tidemark_log_<topic id>, made when the topic is (topics.ts).

-- Which namespace this is: one that is dropped and made again has another incarnation, though all ids are given again.
create table tidemark_namespace (
  only_row integer primary key check (only_row = 1),
  incarnation integer not null,
  receipt_key blob not null -- signs the receipts of pulls: whoever can't read this table can't forge one
);

insert into tidemark_namespace (only_row, incarnation, receipt_key) values (1, random() & 0xfffffffffffff, randomblob(32));

create table tidemark_topic (
  id integer primary key autoincrement, -- never used again: a process may not know yet that a topic was deleted
  name text not null unique,
  uid integer not null, -- 52 random bits: its incarnation; some are in every derived messageId
  config text not null,
  config_version integer not null default 1,
  first_id integer not null default 1, -- the oldest id that is still kept; ids from here to next_id have no gaps
  next_id integer not null default 1,
  last_created_at integer not null default 0, -- created_at never goes back, so a time finds its id by bisection
  last_extra_id integer not null default 0, -- messages above have neither key, type, headers nor a messageId of their own
  last_large_id integer not null default 0, -- messages above have payloads that any page of them has room for
  created_at integer not null,
  -- While reference tracking is being switched on: the ids whose bitmaps are still to be filled.
  fill_next_id integer,
  fill_last_id integer
);

-- One row: the file's clock (clock.ts). It was `wall` when the machine had been up for `uptime` milliseconds.
create table tidemark_clock (
  id integer primary key check (id = 1),
  wall real not null,
  uptime real not null,
  boot text not null, -- of the machine's run that `uptime` is counted in
  agreed_uptime real not null, -- when a process last wrote whose wall clock agrees
  trial_until real not null, -- nothing is removed before this uptime
  off_since real, -- since when wall clocks are off by off_ms, and none agrees
  off_ms real not null
);

-- When the file's clock was set forward, and by how much: what was stored before is not older for it.
create table tidemark_clock_step (
  at integer primary key, -- the time before
  ms integer not null
);

create table tidemark_subscription (
  id integer primary key autoincrement,
  uid integer not null default (random() & 0xfffffffffffff), -- its incarnation: ids are given again after a restore
  topic_id integer not null references tidemark_topic (id) on delete cascade,
  group_name text not null, -- '' is the implicit group of a queue
  status text not null default 'ACTIVE' check (status in ('ACTIVE', 'PAUSED', 'DEAD', 'CANCELLED')),
  epoch integer not null default 1,
  cursor integer not null, -- the highest id that was ever claimed
  start_id integer not null, -- the cursor at the first subscription: what is at or below was never for this group
  bit integer check (bit between 0 and 63), -- its place in the bitmaps of a topic with reference tracking; of a group that
    -- has ended it may be taken away, and one that comes back gets another
  live_id integer not null default 0, -- messages above were published while it was live: they have its bit
  created_at integer not null,
  status_at integer not null, -- when the status was last changed
  moved_at integer not null, -- when the cursor last moved
  moves integer not null default 0, -- how often it has: only ever more, unless the file was restored
  last_heartbeat_at integer not null,
  heartbeat_interval_ms integer not null,
  heartbeat_timeout_ms integer not null,
  dead_after_misses integer not null,
  misses integer not null default 0,
  missed_at integer,
  backfill_limit integer, -- messages a resurrection may bring back; null: all
  backfilling integer not null default 0, -- 1: its row in tidemark_backfill may have messages to deliver
  cleared_epoch integer not null default 0, -- the epoch whose bits the dead clean-up has cleared for good
  cleared_id integer not null default 0, -- and how far it has come in this one
  -- Counted by the consumers and brought along by their heartbeats.
  processed integer not null default 0,
  failed integer not null default 0,
  filtered integer not null default 0,
  -- Messages of the present minute and of the one before: the rate.
  minute integer not null default 0,
  minute_count integer not null default 0,
  previous_count integer not null default 0,
  -- Messages that this group will never get: taken by the forced cap, a forced advance or a bounded resurrection, or cleaned
  -- up while it was DEAD; those are counted apart until it comes back. And how many an operator has taken note of.
  lost integer not null default 0,
  lost_at integer,
  lost_dead integer not null default 0,
  lost_acknowledged integer not null default 0,
  unique (topic_id, group_name),
  unique (topic_id, bit)
);

-- What the consumers of each process have done, as their heartbeats told last; consumer '': the group's own in that process.
create table tidemark_consumer (
  subscription_id integer not null references tidemark_subscription (id) on delete cascade,
  instance text not null, -- of the process
  consumer text not null,
  started_at integer not null,
  reported_at integer not null,
  active_at integer, -- null: it had no message yet
  processed integer not null,
  failed integer not null,
  claims integer not null, -- of the minute before the report
  claim_conflicts integer not null,
  handler text not null, -- JSON: a histogram of its times
  primary key (subscription_id, instance, consumer)
) without rowid;

-- One backfill a group: its required bits are set batch by batch up to `upper_id`, and its messages delivered up to
-- `checkpoint_id`, by a cursor of their own beside the live one.
create table tidemark_backfill (
  subscription_id integer primary key references tidemark_subscription (id) on delete cascade,
  topic_id integer not null references tidemark_topic (id) on delete cascade,
  epoch integer not null,
  status text not null check (status in ('RUNNING', 'COMPLETED', 'CANCELLED', 'FAILED')),
  scope text not null check (scope in ('pending', 'retained')),
  settings text not null, -- JSON: batchSize, maxPerSecond, targetMs
  lower_id integer not null, -- exclusive
  upper_id integer not null, -- inclusive, fixed when the group subscribed
  checkpoint_id integer not null, -- everything up to here has its bit
  cursor_id integer not null, -- everything up to here has been claimed
  processed integer not null default 0, -- bits set
  token text, -- of the process that runs it
  lease_until integer,
  started_at integer not null,
  updated_at integer not null,
  ended_at integer,
  error text
);

-- What a DEAD group had done or held beyond the cursor of a backfill that it had not got to the end: its bits may be wiped,
-- and a group that comes back gets nothing twice. Ranges may overlap.
create table tidemark_done_range (
  subscription_id integer not null references tidemark_subscription (id) on delete cascade,
  first_id integer not null,
  last_id integer not null,
  primary key (subscription_id, last_id, first_id)
) without rowid;

-- Bits of groups that were removed, or have ended: not given out again before they are wiped from every row that is kept.
create table tidemark_bit_wipe (
  topic_id integer not null references tidemark_topic (id) on delete cascade,
  bit integer not null,
  next_id integer not null,
  last_id integer not null,
  primary key (topic_id, bit)
) without rowid;

-- Maintenance jobs: a lock that runs out, so that one process does the work, and what came of it.
create table tidemark_job (
  name text primary key,
  token text,
  locked_until integer,
  started_at integer,
  finished_at integer,
  runs integer not null default 0,
  result text,
  succeeded_at integer, -- when it last ended without an error
  took_ms integer
) without rowid;

create table tidemark_lease (
  token text primary key,
  -- no foreign key: its check would cost every claim; whoever removes a group removes its leases
  subscription_id integer not null,
  consumer text not null,
  kind text not null check (kind in ('page', 'retry')),
  first_id integer, -- of a page: slot s holds message first_id + s
  size integer not null,
  settled blob, -- a bit per settled slot; null while there is none
  deadline integer, -- null: never expires
  claimed_at integer not null,
  done_at integer,
  expired_at integer
) without rowid;

create index tidemark_lease_live on tidemark_lease (subscription_id, deadline)
  where done_at is null and expired_at is null;

create table tidemark_retry (
  subscription_id integer not null references tidemark_subscription (id) on delete cascade,
  id integer not null,
  attempts integer not null,
  version integer not null,
  due_at integer not null,
  suspect integer not null, -- its last lease ran out
  piece text, -- of a suspect: what it is leased together with; null: it is leased alone, on its last attempt
  history text not null, -- JSON: every failed attempt
  token text, -- the lease that holds it now
  slot integer,
  primary key (subscription_id, id)
) without rowid;

create index tidemark_retry_due on tidemark_retry (subscription_id, suspect, due_at) where token is null;
create index tidemark_retry_suspect on tidemark_retry (subscription_id, due_at) where token is null and piece is not null;
create index tidemark_retry_alone on tidemark_retry (subscription_id, due_at) where token is null and suspect = 1 and piece is null;
create index tidemark_retry_piece on tidemark_retry (piece, id) where token is null and piece is not null;
-- With its slot: settling a page of n messages by token alone looked at n * n rows.
create index tidemark_retry_leased on tidemark_retry (token, slot) where token is not null;

create table tidemark_dead_letter (
  id integer primary key autoincrement,
  topic_id integer not null references tidemark_topic (id) on delete cascade,
  subscription_id integer not null,
  group_name text not null,
  log_id integer not null,
  salt integer not null,
  message_id text,
  key text,
  type text,
  headers text,
  payload not null,
  created_at integer not null,
  attempts integer not null,
  version integer not null, -- a redriven message goes on from here
  error text not null,
  history text not null,
  dead_at integer not null
);

create index tidemark_dead_letter_topic on tidemark_dead_letter (topic_id, id);
create index tidemark_dead_letter_group on tidemark_dead_letter (topic_id, group_name, id);

-- Only publishes with a messageId of the caller's touch this.
create table tidemark_dedupe (
  topic_id integer not null references tidemark_topic (id) on delete cascade,
  message_id text not null,
  id integer not null,
  created_at integer not null,
  primary key (topic_id, message_id)
) without rowid;

create index tidemark_dedupe_age on tidemark_dedupe (topic_id, created_at);
