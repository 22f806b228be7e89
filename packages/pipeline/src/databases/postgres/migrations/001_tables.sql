-- The index of one run, in the schema that `run` stands for. Times are unix milliseconds of the server.

create table run.run_metadata (
  id int primary key check (id = 1),
  document text not null, -- SimulationMetadata as JSON
  written_at bigint not null
);

-- One ledger for each indexer: every one of them processes every batch.
-- Its row is what competing claims queue up behind, and keeps the counts that a page polls.
create table run.batch_ledger (
  indexer text primary key,
  sampling_interval bigint not null check (sampling_interval > 0),
  first_tick bigint, -- null: whatever arrives first
  claimed bigint not null default 0,
  completed bigint not null default 0,
  failed bigint not null default 0,
  gap_pending bigint not null default 0,
  ready bigint not null default 0,
  recorded bigint not null default 0
);

create table run.batch_processing (
  indexer text not null references run.batch_ledger (indexer) on delete cascade,
  batch_key text not null,
  tick_start bigint not null,
  tick_end bigint not null check (tick_end >= tick_start),
  status text not null check (status in ('claimed', 'completed', 'failed', 'gap_pending', 'ready')),
  version bigint not null, -- counts the claims: the fencing token
  claimer text,
  claimed_at bigint,
  settled_at bigint,
  error text,
  primary key (indexer, batch_key)
);

create index batch_processing_status on run.batch_processing (indexer, status, tick_start);

-- Disjoint ranges, merged as they grow: as many rows as there are holes, however many batches there were.
create table run.batch_arrived (
  indexer text not null references run.batch_ledger (indexer) on delete cascade,
  tick_start bigint not null,
  tick_end bigint not null,
  is_held boolean not null,
  gap_since bigint, -- null: no gap before it
  gap_reported_at bigint,
  is_gap_skipped boolean not null,
  primary key (indexer, tick_start)
);

create index batch_arrived_gap on run.batch_arrived (indexer, gap_since);

create table run.batch_processed (
  indexer text not null references run.batch_ledger (indexer) on delete cascade,
  tick_start bigint not null,
  tick_end bigint not null,
  primary key (indexer, tick_start)
);

create table run.processed_key (
  scope text not null,
  item_key text not null,
  marked_at bigint not null,
  primary key (scope, item_key)
);

create index processed_key_age on run.processed_key (marked_at);

create table run.retry_count (
  scope text not null,
  item_key text not null,
  attempts bigint not null,
  first_at bigint not null,
  last_at bigint not null,
  is_dead_lettered boolean not null default false,
  primary key (scope, item_key)
);

create index retry_count_age on run.retry_count (last_at);
