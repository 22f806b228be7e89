-- Tidemark's tables stand beside the application's own in one file, hence the prefix.
-- Each topic has a log of its own, tidemark_log_<topic id>, made when the topic is (topics.ts).

create table tidemark_topic (
  id integer primary key,
  name text not null unique,
  uid text not null, -- 60 random bits in hex: half of every derived messageId
  config text not null,
  config_version integer not null default 1,
  first_id integer not null default 1, -- the oldest id that is still kept; ids from here to next_id have no gaps
  next_id integer not null default 1,
  last_created_at integer not null default 0, -- created_at never goes back, so a time finds its id by bisection
  created_at integer not null
);

create table tidemark_subscription (
  id integer primary key,
  topic_id integer not null references tidemark_topic (id) on delete cascade,
  group_name text not null, -- '' is the implicit group of a queue
  status text not null default 'ACTIVE' check (status in ('ACTIVE', 'PAUSED', 'DEAD', 'CANCELLED')),
  epoch integer not null default 1,
  cursor integer not null, -- the highest id that was ever claimed
  created_at integer not null,
  moved_at integer,
  last_heartbeat_at integer,
  unique (topic_id, group_name)
);

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
  id integer primary key,
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
