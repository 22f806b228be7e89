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

create type tidemark_fn.claim_result as (
  status text,
  conflict boolean,
  -- JSON: whose leases were taken over, and which messages.
  take_overs jsonb,
  dead_lettered int,
  waiting text,
  next_due_ms float8,
  config_version int,
  kind text,
  suspects text,
  attempts int[],
  versions int[],
  -- Of retries whose messages are not all there any more: the slots of those that are.
  slots int[],
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
  -- The life of the server that answered, and how often the group's cursor had moved before this claim and has after it.
  server text,
  moves_before bigint,
  moves bigint
);

-- What few messages have.
create type tidemark_fn.extra as (id bigint, key text, type text, headers text, message_id text);
