-- Tidemark's tables stand beside the application's own in one file, hence the prefix.
-- Each topic has a log of its own, tidemark_log_<topic id>, made when the topic is (topics.ts).

create table tidemark_topic (
  id integer primary key autoincrement, -- never used again: a process may not know yet that a topic was deleted
  name text not null unique,
  uid text not null, -- 60 random bits in hex: half of every derived messageId
  config text not null,
  config_version integer not null default 1,
  first_id integer not null default 1, -- the oldest id that is still kept; ids from here to next_id have no gaps
  next_id integer not null default 1,
  last_created_at integer not null default 0, -- created_at never goes back, so a time finds its id by bisection
  last_extra_id integer not null default 0, -- messages above have neither key, type, headers nor a messageId of their own
  created_at integer not null,
  -- While reference tracking is being switched on: the ids whose bitmaps are still to be filled.
  fill_next_id integer,
  fill_last_id integer
);

create table tidemark_subscription (
  id integer primary key autoincrement,
  topic_id integer not null references tidemark_topic (id) on delete cascade,
  group_name text not null, -- '' is the implicit group of a queue
  status text not null default 'ACTIVE' check (status in ('ACTIVE', 'PAUSED', 'DEAD', 'CANCELLED')),
  epoch integer not null default 1,
  cursor integer not null, -- the highest id that was ever claimed
  start_id integer not null, -- the cursor at the first subscription: what is at or below was never for this group
  bit integer check (bit between 0 and 63), -- its place in the bitmaps of a topic with reference tracking
  created_at integer not null,
  status_at integer not null, -- when the status was last changed
  moved_at integer not null, -- when the cursor last moved
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
  -- Messages that the forced cap, a forced advance or a bounded resurrection took from this group.
  lost integer not null default 0,
  lost_at integer,
  unique (topic_id, group_name),
  unique (topic_id, bit)
);

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

-- Bits of groups that were removed: not given out again before they are wiped from every row that is kept.
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
  result text
) without rowid;

create table tidemark_lease (
  token text primary key,
  subscription_id integer not null references tidemark_subscription (id) on delete cascade,
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
  suspect integer not null, -- its last lease ran out: it is leased alone
  history text not null, -- JSON: every failed attempt
  token text, -- the lease that holds it now
  slot integer,
  primary key (subscription_id, id)
) without rowid;

create index tidemark_retry_due on tidemark_retry (subscription_id, suspect, due_at) where token is null;
create index tidemark_retry_leased on tidemark_retry (token) where token is not null;

create table tidemark_dead_letter (
  id integer primary key autoincrement,
  topic_id integer not null references tidemark_topic (id) on delete cascade,
  subscription_id integer not null,
  group_name text not null,
  log_id integer not null,
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
