-- Composite types that functions take and return. Types of columns are in schema/.

-- A page that was read, in terms of which another group may claim the same: the id after which it begins, its rows, and the
-- life of the server in which it was read (see incarnation).
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
  -- The token of the lease, the consumer that will hold it, and how many messages it wants at most.
  token uuid,
  consumer text,
  page_limit int,
  -- Which messages of expired leases it may take: 'none', 'shared', 'alone' (see choose_retries).
  suspects text,
  -- Expired leases are to be ended first.
  sweep boolean,
  -- There is likely to be something: no look before the lock.
  eager boolean,
  -- Rows without their contents; payloads as bytes, where they are not text; with what others need to share them.
  keys_only boolean,
  as_bytes boolean,
  shared boolean,
  -- Leases that have ended, and that nobody will ask for.
  forget uuid[],
  -- The next page, where another group of the caller has read it.
  known tidemark_fn.known_page,
  -- The group's own lease time; null: the topic's.
  lease_ms float8,
  -- What the history says of an expired lease, and how many of its messages are named.
  expired_text text,
  most_named int
);

-- What a claim goes by. `lease`: null where it never runs out; `last_id`: the last id that was handed out before the claim.
create type tidemark_fn.claim_terms as (max_attempts int, lease interval, gone_id bigint, last_id bigint);

-- As few columns as can be: each is described, sent and decoded with every answer.
create type tidemark_fn.claim_result as (
  status text,
  conflict boolean,
  next_due_ms float8,
  config_version int,
  -- What few claims have to tell: take_overs (whose leases were taken over, and which messages), dead_lettered, waiting, and
  -- of retries suspects, attempts, versions, and slots (where the messages are not all there any more, of those that are).
  exceptions jsonb,
  -- The rows, column by column: one result row is several times faster to send and decode than one a message.
  size int,
  -- The place after them.
  at_id bigint,
  -- Their ids: all from the first to the last where the list is null.
  first_id bigint,
  last_id bigint,
  ids bytea,
  -- Their transactions, where rows are shared.
  xids bytea,
  -- What rows of one publish have in common: one for all where there is only one, else a list.
  salt bigint,
  salts bytea,
  created_ms bigint,
  created bytea,
  extras bytea,
  texts text,
  payloads bytea,
  -- It is the page that the caller knew; its rows were not read.
  is_known boolean,
  -- What others may know it by, where that is for ever the same.
  page tidemark_fn.known_page,
  -- The life of the server that answered, how often the group's cursor had moved before this claim, and whether it has now.
  server text,
  moves bigint,
  has_moved boolean
);

-- Where a group stands that is behind: what it has not passed lies after `start`.
create type tidemark_fn.group_place as (
  id int,
  start bigint,
  window_from pg_snapshot,
  window_to pg_snapshot,
  at_id bigint,
  since timestamptz
);

-- What few messages have.
create type tidemark_fn.extra as (id bigint, key text, type text, headers text, message_id text);

-- What a settlement says of the slots of its lease: when each nacked one is due again and why, and whether none is left.
create type tidemark_fn.settled_slots as (
  acks int[],
  nacks int[],
  dues timestamptz[],
  errors jsonb[],
  releases int[],
  are_all boolean
);

-- What a backfill covers: the messages that `upper` sees and the lower cursor had not passed, by ids as well.
create type tidemark_fn.backfill_range as (
  lower_from pg_snapshot,
  lower_to pg_snapshot,
  lower_place bigint,
  since timestamptz,
  upper pg_snapshot,
  lower_id bigint,
  upper_id bigint
);
