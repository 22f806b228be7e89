-- The index of one run. Times are unix milliseconds of the database's machine.

create table run_metadata (
  id integer primary key check (id = 1),
  document text not null, -- SimulationMetadata as JSON
  written_at integer not null
);

-- One ledger for each indexer: every one of them processes every batch.
-- Its row is what competing claims queue up behind, and keeps the counts that a page polls.
create table batch_ledger (
  indexer text primary key,
  sampling_interval integer not null check (sampling_interval > 0),
  first_tick integer, -- null: whatever arrives first
  claimed integer not null default 0,
  completed integer not null default 0,
  failed integer not null default 0,
  gap_pending integer not null default 0,
  ready integer not null default 0,
  recorded integer not null default 0
);

create table batch_processing (
  indexer text not null references batch_ledger (indexer) on delete cascade,
  batch_key text not null,
  tick_start integer not null,
  tick_end integer not null check (tick_end >= tick_start),
  status text not null check (status in ('claimed', 'completed', 'failed', 'gap_pending', 'ready')),
  version integer not null, -- counts the claims: the fencing token
  claimer text,
  claimed_at integer,
  settled_at integer,
  error text,
  primary key (indexer, batch_key)
);

create index batch_processing_status on batch_processing (indexer, status, tick_start);

-- Disjoint ranges, merged as they grow: as many rows as there are holes, however many batches there were.
create table batch_arrived (
  indexer text not null references batch_ledger (indexer) on delete cascade,
  tick_start integer not null,
  tick_end integer not null,
  is_held integer not null,
  gap_since integer, -- null: no gap before it
  gap_reported_at integer,
  is_gap_skipped integer not null,
  primary key (indexer, tick_start)
) without rowid;

create index batch_arrived_gap on batch_arrived (indexer, gap_since);

create table batch_processed (
  indexer text not null references batch_ledger (indexer) on delete cascade,
  tick_start integer not null,
  tick_end integer not null,
  primary key (indexer, tick_start)
) without rowid;

create table processed_key (
  scope text not null,
  item_key text not null,
  marked_at integer not null,
  primary key (scope, item_key)
) without rowid;

create index processed_key_age on processed_key (marked_at);

create table retry_count (
  scope text not null,
  item_key text not null,
  attempts integer not null,
  first_at integer not null,
  last_at integer not null,
  is_dead_lettered integer not null default 0,
  primary key (scope, item_key)
) without rowid;

create index retry_count_age on retry_count (last_at);
