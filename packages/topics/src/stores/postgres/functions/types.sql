-- Composite types that functions take and return. Column types are in schema/.

-- A page that was read, described so that another group can claim the same one: the id before its first row, its rows,
-- and the server incarnation in which it was read (see incarnation).
create type tidemark_fn.known_page as (
  at_id bigint,
  first_id bigint,
  last_id bigint,
  size int,
  server text
);

-- What a consumer asks for.
create type tidemark_fn.claim_request as (
  topic int,
  topic_uid bigint,
  subscription int,
  subscription_uid bigint,
  -- The token of the lease, the consumer that will hold it, and the maximum number of messages.
  token uuid,
  consumer text,
  page_limit int,
  -- Which messages of expired leases it may take: 'none', 'shared' or 'alone' (see choose_retries).
  suspects text,
  -- Whether to end expired leases first.
  sweep boolean,
  -- Work is likely: lock at once, without looking first.
  eager boolean,
  -- Rows without their contents; payloads as bytes, if they are not text; with the data that other groups need to share
  -- them.
  keys_only boolean,
  as_bytes boolean,
  shared boolean,
  -- Ended leases that nobody will ask about any more.
  forget uuid[],
  -- The next page, if another group of the caller has read it.
  known tidemark_fn.known_page,
  -- The group's own lease time; null means the topic's.
  lease_ms float8,
  -- The history entry for an expired lease, and how many of its messages it names.
  expired_text text,
  most_named int
);

-- The settings of a claim. `lease` is null if it never expires; `last_id` is the last id handed out before the claim; `now` is
-- its time, because an index can't be searched for the value of a volatile function.
create type tidemark_fn.claim_terms as (max_attempts int, lease interval, gone_id bigint, last_id bigint, now timestamptz);

-- As few columns as possible: each is described, sent and decoded with every answer.
create type tidemark_fn.claim_result as (
  status text,
  conflict boolean,
  next_due_ms float8,
  config_version int,
  -- Present in few claims: take_overs (whose leases were taken over, and which messages), dead_lettered, waiting and,
  -- for retries, suspects, attempts, versions and slots (the remaining ones, if some messages are gone).
  exceptions jsonb,
  -- The rows, column by column: one result row is several times faster to send and decode than one per message.
  size int,
  -- The cursor position after these rows.
  at_id bigint,
  -- Their ids; a null list means every id from the first to the last.
  first_id bigint,
  last_id bigint,
  ids bytea,
  -- What rows of one publish have in common: a single value if that is all rows; two values if the rows before `turn` are
  -- of one publish and the others of another; or a list. Transaction ids only if rows are shared.
  turn int,
  xid xid8,
  xids bytea,
  salt bigint,
  salts bytea,
  created_ms bigint,
  created bytea,
  extras bytea,
  texts text,
  payloads bytea,
  -- This is the page that the caller already had; its rows were not read.
  is_known boolean,
  -- The identity by which other groups can claim this page, if the page is final.
  page tidemark_fn.known_page,
  -- The incarnation of the server that answered, how often the group's cursor had moved before this claim, and whether
  -- it moved now.
  server text,
  moves bigint,
  has_moved boolean
);

-- A subscription, whether it was created just now, why it could not be, and how many messages a new one does not get.
create type tidemark_fn.subscribed as (
  id int,
  uid bigint,
  topic_id int,
  group_name text,
  status text,
  epoch int,
  heartbeat_interval_ms bigint,
  heartbeat_timeout_ms bigint,
  dead_after_misses int,
  at_id bigint,
  created boolean,
  refusal text,
  skipped bigint
);

-- The position of a group that is behind: what it has not passed lies after `start`.
create type tidemark_fn.group_place as (
  id int,
  start bigint,
  window_from pg_snapshot,
  window_to pg_snapshot,
  at_id bigint,
  since timestamptz
);

-- Columns that few messages have.
create type tidemark_fn.extra as (id bigint, key text, type text, headers text, message_id text);

-- What a settlement asks for the slots of its lease: when each nacked one is due again and why, and whether any slot is
-- left.
create type tidemark_fn.settled_slots as (
  acks int[],
  nacks int[],
  dues timestamptz[],
  errors jsonb[],
  releases int[],
  are_all boolean
);

-- The range of a backfill: the messages that `upper` sees and the lower cursor had not passed, bounded by ids as well.
create type tidemark_fn.backfill_range as (
  lower_from pg_snapshot,
  lower_to pg_snapshot,
  lower_place bigint,
  since timestamptz,
  upper pg_snapshot,
  lower_id bigint,
  upper_id bigint
);
