CREATE TABLE tidemark_migration (
    version integer primary key, checksum text not null, applied_at integer not null
  );
CREATE TABLE tidemark_namespace (
  only_row integer primary key check (only_row = 1),
  incarnation integer not null,
  receipt_key blob not null -- signs the receipts of pulls: whoever can't read this table can't forge one
);
CREATE TABLE tidemark_topic (
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
CREATE TABLE tidemark_clock (
  id integer primary key check (id = 1),
  wall real not null,
  uptime real not null,
  boot text not null, -- of the machine's run that `uptime` is counted in
  agreed_uptime real not null, -- when a process last wrote whose wall clock agrees
  trial_until real not null, -- nothing is removed before this uptime
  off_since real, -- since when wall clocks are off by off_ms, and none agrees
  off_ms real not null
);
CREATE TABLE tidemark_clock_step (
  at integer primary key, -- the time before
  ms integer not null
);
CREATE TABLE tidemark_subscription (
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
CREATE TABLE tidemark_consumer (
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
CREATE TABLE tidemark_backfill (
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
CREATE TABLE tidemark_done_range (
  subscription_id integer not null references tidemark_subscription (id) on delete cascade,
  first_id integer not null,
  last_id integer not null,
  primary key (subscription_id, last_id, first_id)
) without rowid;
CREATE TABLE tidemark_bit_wipe (
  topic_id integer not null references tidemark_topic (id) on delete cascade,
  bit integer not null,
  next_id integer not null,
  last_id integer not null,
  primary key (topic_id, bit)
) without rowid;
CREATE TABLE tidemark_job (
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
CREATE TABLE tidemark_lease (
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
CREATE TABLE tidemark_retry (
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
CREATE TABLE tidemark_dead_letter (
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
CREATE TABLE tidemark_dedupe (
  topic_id integer not null references tidemark_topic (id) on delete cascade,
  message_id text not null,
  id integer not null,
  created_at integer not null,
  primary key (topic_id, message_id)
) without rowid;
CREATE TABLE tidemark_log_1 (
      id integer primary key,
      created_at integer not null,
      salt integer not null default (random() & 0xfffffffffffff), -- 52 random bits of the publish: ids are drawn again after a rollback or a restore
      key text,
      type text,
      headers text,
      message_id text,
      payload not null
    );
CREATE TABLE tidemark_log_2 (
      id integer primary key,
      created_at integer not null,
      salt integer not null default (random() & 0xfffffffffffff), -- 52 random bits of the publish: ids are drawn again after a rollback or a restore
      key text,
      type text,
      headers text,
      message_id text,
      payload not null
    );
CREATE TABLE tidemark_track_2 (
      id integer primary key,
      required integer not null default 0,
      completed integer not null default 0
    );
CREATE TABLE tidemark_log_3 (
      id integer primary key,
      created_at integer not null,
      salt integer not null default (random() & 0xfffffffffffff), -- 52 random bits of the publish: ids are drawn again after a rollback or a restore
      key text,
      type text,
      headers text,
      message_id text,
      payload not null
    );
insert into "tidemark_migration" ("version", "checksum", "applied_at") values (1, 'fa1c26a3f8227bcf', 1794987934446);
insert into "tidemark_namespace" ("only_row", "incarnation", "receipt_key") values (1, 3182064089089875, X'DD3CB97099C3227A2578EB7E7C2644F8EE3BCF63A9CAE9D4DF629446E5C30517');
insert into "tidemark_topic" ("id", "name", "uid", "config", "config_version", "first_id", "next_id", "last_created_at", "last_extra_id", "last_large_id", "created_at", "fill_next_id", "fill_last_id") values (1, 'orders', 4017739733552923, '{"semantics":"pub-sub","tracking":"offset","retentionMs":null,"maxRetentionMs":null,"zeroSubscriptionRetentionMs":null,"blockPublishWithoutSubscription":false,"zombieTtlMs":604800000,"advanceZombies":false,"leaseMs":1000,"maxAttempts":2,"backoff":{"initialMs":0,"maxMs":0,"factor":2},"dedupeWindowMs":null,"maxMessageBytes":1048576,"partitionRows":10,"given":[]}', 1, 1, 21, 1794987934457, 1, 0, 1794987934452, NULL, NULL);
insert into "tidemark_topic" ("id", "name", "uid", "config", "config_version", "first_id", "next_id", "last_created_at", "last_extra_id", "last_large_id", "created_at", "fill_next_id", "fill_last_id") values (2, 'tracked', 510415331195704, '{"semantics":"pub-sub","tracking":"reference","retentionMs":86400000,"maxRetentionMs":2592000000,"zeroSubscriptionRetentionMs":86400000,"blockPublishWithoutSubscription":false,"zombieTtlMs":604800000,"advanceZombies":false,"leaseMs":1000,"maxAttempts":5,"backoff":{"initialMs":1000,"maxMs":60000,"factor":2},"dedupeWindowMs":604800000,"maxMessageBytes":1048576,"partitionRows":10,"given":[]}', 1, 1, 13, 1794987934469, 0, 0, 1794987934467, NULL, NULL);
insert into "tidemark_topic" ("id", "name", "uid", "config", "config_version", "first_id", "next_id", "last_created_at", "last_extra_id", "last_large_id", "created_at", "fill_next_id", "fill_last_id") values (3, 'work', 1844722947480498, '{"semantics":"queue","tracking":"offset","retentionMs":86400000,"maxRetentionMs":2592000000,"zeroSubscriptionRetentionMs":86400000,"blockPublishWithoutSubscription":false,"zombieTtlMs":604800000,"advanceZombies":false,"leaseMs":1000,"maxAttempts":5,"backoff":{"initialMs":1000,"maxMs":60000,"factor":2},"dedupeWindowMs":604800000,"maxMessageBytes":1048576,"partitionRows":1000000,"given":[]}', 1, 1, 6, 1794987934476, 0, 0, 1794987934476, NULL, NULL);
insert into "tidemark_clock" ("id", "wall", "uptime", "boot", "agreed_uptime", "trial_until", "off_since", "off_ms") values (1, 1794987934451.0, 14901103.699211001, 'dccac13c-e95c-420d-a5f6-e309734f8c8a', 14901103.699211001, 0.0, NULL, 0.0);
insert into "tidemark_subscription" ("id", "uid", "topic_id", "group_name", "status", "epoch", "cursor", "start_id", "bit", "live_id", "created_at", "status_at", "moved_at", "moves", "last_heartbeat_at", "heartbeat_interval_ms", "heartbeat_timeout_ms", "dead_after_misses", "misses", "missed_at", "backfill_limit", "backfilling", "cleared_epoch", "cleared_id", "processed", "failed", "filtered", "minute", "minute_count", "previous_count", "lost", "lost_at", "lost_dead", "lost_acknowledged") values (1, 3076840948204484, 1, 'audit', 'ACTIVE', 1, 0, 0, NULL, 0, 1794987934453, 1794987934453, 1794987934453, 0, 1794987934453, 60000, 300000, 3, 0, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0);
insert into "tidemark_subscription" ("id", "uid", "topic_id", "group_name", "status", "epoch", "cursor", "start_id", "bit", "live_id", "created_at", "status_at", "moved_at", "moves", "last_heartbeat_at", "heartbeat_interval_ms", "heartbeat_timeout_ms", "dead_after_misses", "misses", "missed_at", "backfill_limit", "backfilling", "cleared_epoch", "cleared_id", "processed", "failed", "filtered", "minute", "minute_count", "previous_count", "lost", "lost_at", "lost_dead", "lost_acknowledged") values (2, 3855152820400968, 1, 'paused', 'PAUSED', 1, 0, 0, NULL, 0, 1794987934454, 1794987934455, 1794987934454, 0, 1794987934454, 60000, 300000, 3, 0, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0);
insert into "tidemark_subscription" ("id", "uid", "topic_id", "group_name", "status", "epoch", "cursor", "start_id", "bit", "live_id", "created_at", "status_at", "moved_at", "moves", "last_heartbeat_at", "heartbeat_interval_ms", "heartbeat_timeout_ms", "dead_after_misses", "misses", "missed_at", "backfill_limit", "backfilling", "cleared_epoch", "cleared_id", "processed", "failed", "filtered", "minute", "minute_count", "previous_count", "lost", "lost_at", "lost_dead", "lost_acknowledged") values (3, 2151469782767872, 1, 'cancelled', 'CANCELLED', 1, 0, 0, NULL, 0, 1794987934454, 1794987934456, 1794987934454, 0, 1794987934454, 60000, 300000, 3, 0, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0);
insert into "tidemark_subscription" ("id", "uid", "topic_id", "group_name", "status", "epoch", "cursor", "start_id", "bit", "live_id", "created_at", "status_at", "moved_at", "moves", "last_heartbeat_at", "heartbeat_interval_ms", "heartbeat_timeout_ms", "dead_after_misses", "misses", "missed_at", "backfill_limit", "backfilling", "cleared_epoch", "cleared_id", "processed", "failed", "filtered", "minute", "minute_count", "previous_count", "lost", "lost_at", "lost_dead", "lost_acknowledged") values (4, 2284736343986467, 1, 'email', 'ACTIVE', 1, 10, 0, NULL, 20, 1794987934458, 1794987934458, 1794987934461, 10, 1794987934458, 60000, 300000, 3, 0, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0);
insert into "tidemark_subscription" ("id", "uid", "topic_id", "group_name", "status", "epoch", "cursor", "start_id", "bit", "live_id", "created_at", "status_at", "moved_at", "moves", "last_heartbeat_at", "heartbeat_interval_ms", "heartbeat_timeout_ms", "dead_after_misses", "misses", "missed_at", "backfill_limit", "backfilling", "cleared_epoch", "cleared_id", "processed", "failed", "filtered", "minute", "minute_count", "previous_count", "lost", "lost_at", "lost_dead", "lost_acknowledged") values (5, 1186264306342433, 2, 'a', 'ACTIVE', 1, 6, 0, 0, 0, 1794987934468, 1794987934468, 1794987934471, 6, 1794987934468, 60000, 300000, 3, 0, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0);
insert into "tidemark_subscription" ("id", "uid", "topic_id", "group_name", "status", "epoch", "cursor", "start_id", "bit", "live_id", "created_at", "status_at", "moved_at", "moves", "last_heartbeat_at", "heartbeat_interval_ms", "heartbeat_timeout_ms", "dead_after_misses", "misses", "missed_at", "backfill_limit", "backfilling", "cleared_epoch", "cleared_id", "processed", "failed", "filtered", "minute", "minute_count", "previous_count", "lost", "lost_at", "lost_dead", "lost_acknowledged") values (6, 663606542818250, 2, 'late', 'ACTIVE', 1, 12, 0, 1, 12, 1794987934474, 1794987934474, 1794987934474, 0, 1794987934474, 60000, 300000, 3, 0, NULL, NULL, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0);
insert into "tidemark_subscription" ("id", "uid", "topic_id", "group_name", "status", "epoch", "cursor", "start_id", "bit", "live_id", "created_at", "status_at", "moved_at", "moves", "last_heartbeat_at", "heartbeat_interval_ms", "heartbeat_timeout_ms", "dead_after_misses", "misses", "missed_at", "backfill_limit", "backfilling", "cleared_epoch", "cleared_id", "processed", "failed", "filtered", "minute", "minute_count", "previous_count", "lost", "lost_at", "lost_dead", "lost_acknowledged") values (7, 4447804931452571, 3, '', 'ACTIVE', 1, 2, 0, NULL, 5, 1794987934477, 1794987934477, 1794987934478, 2, 1794987934477, 60000, 300000, 3, 0, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0);
insert into "tidemark_backfill" ("subscription_id", "topic_id", "epoch", "status", "scope", "settings", "lower_id", "upper_id", "checkpoint_id", "cursor_id", "processed", "token", "lease_until", "started_at", "updated_at", "ended_at", "error") values (5, 2, 1, 'COMPLETED', 'retained', '{"batchSize":10000,"maxPerSecond":50000,"targetMs":10,"again":false}', 0, 0, 0, 0, 0, NULL, NULL, 1794987934468, 1794987934468, 1794987934468, NULL);
insert into "tidemark_backfill" ("subscription_id", "topic_id", "epoch", "status", "scope", "settings", "lower_id", "upper_id", "checkpoint_id", "cursor_id", "processed", "token", "lease_until", "started_at", "updated_at", "ended_at", "error") values (6, 2, 1, 'COMPLETED', 'retained', '{"batchSize":10000,"maxPerSecond":50000,"targetMs":10,"again":false}', 0, 12, 12, 0, 12, NULL, NULL, 1794987934474, 1794987934475, 1794987934475, NULL);
insert into "tidemark_lease" ("token", "subscription_id", "consumer", "kind", "first_id", "size", "settled", "deadline", "claimed_at", "done_at", "expired_at") values ('24af4329-3b85-4837-a96a-b03b49377e47', 7, 'reader-11114-14', 'page', 2, 1, NULL, 1794987935478, 1794987934478, 1794987934478, NULL);
insert into "tidemark_lease" ("token", "subscription_id", "consumer", "kind", "first_id", "size", "settled", "deadline", "claimed_at", "done_at", "expired_at") values ('2c49580e-4a41-4022-8ee1-f383d39eb047', 5, 'reader-11114-12', 'page', 2, 1, NULL, 1794987935470, 1794987934470, 1794987934472, NULL);
insert into "tidemark_lease" ("token", "subscription_id", "consumer", "kind", "first_id", "size", "settled", "deadline", "claimed_at", "done_at", "expired_at") values ('46de6828-3614-4d9d-9602-bf46cfd40f17', 4, 'reader-11114-11', 'retry', NULL, 1, NULL, 1794987935465, 1794987934465, 1794987934466, NULL);
insert into "tidemark_lease" ("token", "subscription_id", "consumer", "kind", "first_id", "size", "settled", "deadline", "claimed_at", "done_at", "expired_at") values ('5bd50359-6096-40ec-b8cc-ef512878bf65', 5, 'reader-11114-12', 'page', 5, 1, NULL, 1794987935471, 1794987934471, 1794987934473, NULL);
insert into "tidemark_lease" ("token", "subscription_id", "consumer", "kind", "first_id", "size", "settled", "deadline", "claimed_at", "done_at", "expired_at") values ('687f041b-aa1d-4431-bf23-d7307d2bfd9f', 7, 'reader-11114-14', 'page', 1, 1, NULL, 1794987935478, 1794987934478, 1794987934478, NULL);
insert into "tidemark_lease" ("token", "subscription_id", "consumer", "kind", "first_id", "size", "settled", "deadline", "claimed_at", "done_at", "expired_at") values ('7ff33d85-1466-4eed-a7e6-5d91a42bb8c2', 5, 'reader-11114-12', 'page', 6, 1, NULL, 1794987935471, 1794987934471, 1794987934473, NULL);
insert into "tidemark_lease" ("token", "subscription_id", "consumer", "kind", "first_id", "size", "settled", "deadline", "claimed_at", "done_at", "expired_at") values ('803eac9c-5ef3-4d2e-839d-f7fe6c6b10d0', 5, 'reader-11114-12', 'page', 4, 1, NULL, 1794987935471, 1794987934471, 1794987934473, NULL);
insert into "tidemark_lease" ("token", "subscription_id", "consumer", "kind", "first_id", "size", "settled", "deadline", "claimed_at", "done_at", "expired_at") values ('be0da1b2-73e5-4d46-9de6-9dc6537236b3', 5, 'reader-11114-12', 'page', 3, 1, NULL, 1794987935470, 1794987934470, 1794987934472, NULL);
insert into "tidemark_lease" ("token", "subscription_id", "consumer", "kind", "first_id", "size", "settled", "deadline", "claimed_at", "done_at", "expired_at") values ('ce59ac96-ae42-4136-858c-57c5fcc32ac1', 5, 'reader-11114-12', 'page', 1, 1, NULL, 1794987935470, 1794987934470, 1794987934471, NULL);
insert into "tidemark_lease" ("token", "subscription_id", "consumer", "kind", "first_id", "size", "settled", "deadline", "claimed_at", "done_at", "expired_at") values ('e8a79868-6bde-474b-a26b-59164b6c5140', 4, 'reader-11114-11', 'page', 9, 1, NULL, 1794987935461, 1794987934461, 1794987934466, NULL);
insert into "tidemark_retry" ("subscription_id", "id", "attempts", "version", "due_at", "suspect", "piece", "history", "token", "slot") values (4, 9, 1, 1, 1794987934466, 0, NULL, '[{"attempt":1,"at":1794987934466,"name":"Error","message":"to be tried again"}]', NULL, NULL);
insert into "tidemark_dead_letter" ("id", "topic_id", "subscription_id", "group_name", "log_id", "salt", "message_id", "key", "type", "headers", "payload", "created_at", "attempts", "version", "error", "history", "dead_at") values (1, 1, 4, 'email', 10, 751103419482068, NULL, NULL, NULL, NULL, '10', 1794987934457, 2, 2, '{"name":"Error","message":"refused twice"}', '[{"attempt":1,"at":1794987934464,"name":"Error","message":"refused once"},{"attempt":2,"at":1794987934466,"name":"Error","message":"refused twice"}]', 1794987934466);
insert into "tidemark_dedupe" ("topic_id", "message_id", "id", "created_at") values (1, 'first', 1, 1794987934457);
insert into "tidemark_log_1" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (1, 1794987934457, 933773537394225, 'customer-1', NULL, '{"trace":"abc"}', 'first', '1');
insert into "tidemark_log_1" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (2, 1794987934457, 751103419482068, NULL, NULL, NULL, NULL, '2');
insert into "tidemark_log_1" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (3, 1794987934457, 751103419482068, NULL, NULL, NULL, NULL, '3');
insert into "tidemark_log_1" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (4, 1794987934457, 751103419482068, NULL, NULL, NULL, NULL, '4');
insert into "tidemark_log_1" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (5, 1794987934457, 751103419482068, NULL, NULL, NULL, NULL, '5');
insert into "tidemark_log_1" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (6, 1794987934457, 751103419482068, NULL, NULL, NULL, NULL, '6');
insert into "tidemark_log_1" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (7, 1794987934457, 751103419482068, NULL, NULL, NULL, NULL, '7');
insert into "tidemark_log_1" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (8, 1794987934457, 751103419482068, NULL, NULL, NULL, NULL, '8');
insert into "tidemark_log_1" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (9, 1794987934457, 751103419482068, NULL, NULL, NULL, NULL, '9');
insert into "tidemark_log_1" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (10, 1794987934457, 751103419482068, NULL, NULL, NULL, NULL, '10');
insert into "tidemark_log_1" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (11, 1794987934457, 751103419482068, NULL, NULL, NULL, NULL, '11');
insert into "tidemark_log_1" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (12, 1794987934457, 751103419482068, NULL, NULL, NULL, NULL, '12');
insert into "tidemark_log_1" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (13, 1794987934457, 751103419482068, NULL, NULL, NULL, NULL, '13');
insert into "tidemark_log_1" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (14, 1794987934457, 751103419482068, NULL, NULL, NULL, NULL, '14');
insert into "tidemark_log_1" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (15, 1794987934457, 751103419482068, NULL, NULL, NULL, NULL, '15');
insert into "tidemark_log_1" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (16, 1794987934457, 751103419482068, NULL, NULL, NULL, NULL, '16');
insert into "tidemark_log_1" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (17, 1794987934457, 751103419482068, NULL, NULL, NULL, NULL, '17');
insert into "tidemark_log_1" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (18, 1794987934457, 751103419482068, NULL, NULL, NULL, NULL, '18');
insert into "tidemark_log_1" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (19, 1794987934457, 751103419482068, NULL, NULL, NULL, NULL, '19');
insert into "tidemark_log_1" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (20, 1794987934457, 751103419482068, NULL, NULL, NULL, NULL, '20');
insert into "tidemark_log_2" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (1, 1794987934469, 4495504060824389, NULL, NULL, NULL, NULL, '1');
insert into "tidemark_log_2" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (2, 1794987934469, 4495504060824389, NULL, NULL, NULL, NULL, '2');
insert into "tidemark_log_2" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (3, 1794987934469, 4495504060824389, NULL, NULL, NULL, NULL, '3');
insert into "tidemark_log_2" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (4, 1794987934469, 4495504060824389, NULL, NULL, NULL, NULL, '4');
insert into "tidemark_log_2" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (5, 1794987934469, 4495504060824389, NULL, NULL, NULL, NULL, '5');
insert into "tidemark_log_2" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (6, 1794987934469, 4495504060824389, NULL, NULL, NULL, NULL, '6');
insert into "tidemark_log_2" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (7, 1794987934469, 4495504060824389, NULL, NULL, NULL, NULL, '7');
insert into "tidemark_log_2" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (8, 1794987934469, 4495504060824389, NULL, NULL, NULL, NULL, '8');
insert into "tidemark_log_2" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (9, 1794987934469, 4495504060824389, NULL, NULL, NULL, NULL, '9');
insert into "tidemark_log_2" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (10, 1794987934469, 4495504060824389, NULL, NULL, NULL, NULL, '10');
insert into "tidemark_log_2" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (11, 1794987934469, 4495504060824389, NULL, NULL, NULL, NULL, '11');
insert into "tidemark_log_2" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (12, 1794987934469, 4495504060824389, NULL, NULL, NULL, NULL, '12');
insert into "tidemark_track_2" ("id", "required", "completed") values (1, 3, 1);
insert into "tidemark_track_2" ("id", "required", "completed") values (2, 3, 1);
insert into "tidemark_track_2" ("id", "required", "completed") values (3, 3, 1);
insert into "tidemark_track_2" ("id", "required", "completed") values (4, 3, 1);
insert into "tidemark_track_2" ("id", "required", "completed") values (5, 3, 1);
insert into "tidemark_track_2" ("id", "required", "completed") values (6, 3, 1);
insert into "tidemark_track_2" ("id", "required", "completed") values (7, 3, 0);
insert into "tidemark_track_2" ("id", "required", "completed") values (8, 3, 0);
insert into "tidemark_track_2" ("id", "required", "completed") values (9, 3, 0);
insert into "tidemark_track_2" ("id", "required", "completed") values (10, 3, 0);
insert into "tidemark_track_2" ("id", "required", "completed") values (11, 3, 0);
insert into "tidemark_track_2" ("id", "required", "completed") values (12, 3, 0);
insert into "tidemark_log_3" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (1, 1794987934476, 1747355691409915, NULL, NULL, NULL, NULL, '1');
insert into "tidemark_log_3" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (2, 1794987934476, 1747355691409915, NULL, NULL, NULL, NULL, '2');
insert into "tidemark_log_3" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (3, 1794987934476, 1747355691409915, NULL, NULL, NULL, NULL, '3');
insert into "tidemark_log_3" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (4, 1794987934476, 1747355691409915, NULL, NULL, NULL, NULL, '4');
insert into "tidemark_log_3" ("id", "created_at", "salt", "key", "type", "headers", "message_id", "payload") values (5, 1794987934476, 1747355691409915, NULL, NULL, NULL, NULL, '5');
CREATE INDEX tidemark_lease_live on tidemark_lease (subscription_id, deadline)
  where done_at is null and expired_at is null;
CREATE INDEX tidemark_retry_due on tidemark_retry (subscription_id, suspect, due_at) where token is null;
CREATE INDEX tidemark_retry_suspect on tidemark_retry (subscription_id, due_at) where token is null and piece is not null;
CREATE INDEX tidemark_retry_alone on tidemark_retry (subscription_id, due_at) where token is null and suspect = 1 and piece is null;
CREATE INDEX tidemark_retry_piece on tidemark_retry (piece, id) where token is null and piece is not null;
CREATE INDEX tidemark_retry_leased on tidemark_retry (token, slot) where token is not null;
CREATE INDEX tidemark_dead_letter_topic on tidemark_dead_letter (topic_id, id);
CREATE INDEX tidemark_dead_letter_group on tidemark_dead_letter (topic_id, group_name, id);
CREATE INDEX tidemark_dedupe_age on tidemark_dedupe (topic_id, created_at);
CREATE VIEW tidemark_completion_2 as
    select t.id, s.group_name, (t.required >> s.bit) & 1 as required, (t.completed >> s.bit) & 1 as completed
    from tidemark_track_2 t
    join tidemark_subscription s on s.topic_id = 2 and ((t.required | t.completed) >> s.bit) & 1;
CREATE VIEW tidemark_completion_counts_2 as
    select t.id, (
      with recursive every(bit) as (select 0 union all select bit + 1 from every where bit < 63)
      select sum((t.required >> bit) & 1) from every
    ) as required, (
      with recursive every(bit) as (select 0 union all select bit + 1 from every where bit < 63)
      select sum(((t.required & t.completed) >> bit) & 1) from every
    ) as completed,
      t.required & ~t.completed = 0 as done
    from tidemark_track_2 t;
