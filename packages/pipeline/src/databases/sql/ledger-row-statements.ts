export const BATCH_COLUMNS = `
  batch_key as key, tick_start as "tickStart", tick_end as "tickEnd", status, version, claimer,
  claimed_at as "claimedAt", settled_at as "settledAt", error`

const RANGE_COLUMNS = 'tick_start as "tickStart", tick_end as "tickEnd"'

const ARRIVED_COLUMNS = `
  ${RANGE_COLUMNS}, is_held as "isHeld", gap_since as "gapSince", gap_reported_at as "gapReportedAt",
  is_gap_skipped as "isGapSkipped"`

/** Ranges are disjoint, so the last one that starts before this one is the last that ends before it. */
export const GAP_COLUMNS = `
  ${ARRIVED_COLUMNS},
  (
    select p.tick_end
    from run.batch_arrived as p
    where p.indexer = a.indexer and p.tick_start < a.tick_start
    order by p.tick_start desc
    limit 1
  ) as "previousEnd"`

const BATCH = `
  select ${BATCH_COLUMNS}
  from run.batch_processing
  where indexer = $1 and batch_key = $2`

const SAVE_BATCH = `
  insert into run.batch_processing
    (indexer, batch_key, tick_start, tick_end, status, version, claimer, claimed_at, settled_at, error)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
  on conflict (indexer, batch_key) do update set
    status = excluded.status,
    version = excluded.version,
    claimer = excluded.claimer,
    claimed_at = excluded.claimed_at,
    settled_at = excluded.settled_at,
    error = excluded.error`

const STUCK = `
  select ${BATCH_COLUMNS}
  from run.batch_processing
  where indexer = $1 and status = 'claimed' and claimed_at <= $2
  order by tick_start, batch_key
  limit 1`

const READY = `
  select ${BATCH_COLUMNS}
  from run.batch_processing
  where indexer = $1 and status = 'ready'
  order by tick_start, batch_key
  limit 1`

const RELEASE = `
  update run.batch_processing
  set status = 'ready'
  where indexer = $1 and status = 'gap_pending' and tick_start between $2 and $3`

/** Ranges are disjoint: only the last one that starts before the first tick can reach it. */
const rangesIn = (table: string, columns: string): string => `
  select ${columns}
  from ${table}
  where indexer = $1
    and tick_start <= $3
    and tick_end >= $2
    and tick_start >= coalesce((select max(tick_start) from ${table} where indexer = $1 and tick_start <= $2), $2)
  order by tick_start`

const ARRIVED_IN = rangesIn('run.batch_arrived', ARRIVED_COLUMNS)
const PROCESSED_IN = rangesIn('run.batch_processed', RANGE_COLUMNS)

const ARRIVED_AFTER = `
  select ${ARRIVED_COLUMNS}
  from run.batch_arrived
  where indexer = $1 and tick_start > $2
  order by tick_start
  limit 1`

const ARRIVED_BEFORE = `
  select ${ARRIVED_COLUMNS}
  from run.batch_arrived
  where indexer = $1 and tick_start < $2
  order by tick_start desc
  limit 1`

const REMOVE_ARRIVED = 'delete from run.batch_arrived where indexer = $1 and tick_start between $2 and $3'
const REMOVE_PROCESSED = 'delete from run.batch_processed where indexer = $1 and tick_start between $2 and $3'

/** A range that grows only at its end is one statement: the common case, in which batches arrive in order. */
const SAVE_ARRIVED = `
  insert into run.batch_arrived (indexer, tick_start, tick_end, is_held, gap_since, gap_reported_at, is_gap_skipped)
  values ($1, $2, $3, $4, $5, $6, $7)
  on conflict (indexer, tick_start) do update set
    tick_end = excluded.tick_end,
    is_held = excluded.is_held,
    gap_since = excluded.gap_since,
    gap_reported_at = excluded.gap_reported_at,
    is_gap_skipped = excluded.is_gap_skipped`

const SAVE_PROCESSED = `
  insert into run.batch_processed (indexer, tick_start, tick_end)
  values ($1, $2, $3)
  on conflict (indexer, tick_start) do update set tick_end = excluded.tick_end`

const OVERDUE = `
  select ${GAP_COLUMNS}
  from run.batch_arrived as a
  where indexer = $1 and gap_since <= $2 and (gap_reported_at is null or is_held and $3)
  order by tick_start`

const ADD_COUNTS = `
  update run.batch_ledger
  set claimed = claimed + $2, completed = completed + $3, failed = failed + $4,
    gap_pending = gap_pending + $5, ready = ready + $6, recorded = recorded + $7
  where indexer = $1`

const REMOVE_COMPLETED = `
  delete from run.batch_processing
  where indexer = $1 and status = 'completed' and tick_start between $2 and $3 and tick_end <= $3`

const REMOVE_BATCH = 'delete from run.batch_processing where indexer = $1 and batch_key = $2'

/** The indexer is always the first value. No statement depends on the engine. */
export const LEDGER_ROWS = {
  batch: BATCH,
  saveBatch: SAVE_BATCH,
  stuck: STUCK,
  ready: READY,
  release: RELEASE,
  arrivedIn: ARRIVED_IN,
  processedIn: PROCESSED_IN,
  arrivedAfter: ARRIVED_AFTER,
  arrivedBefore: ARRIVED_BEFORE,
  removeArrived: REMOVE_ARRIVED,
  removeProcessed: REMOVE_PROCESSED,
  saveArrived: SAVE_ARRIVED,
  saveProcessed: SAVE_PROCESSED,
  overdue: OVERDUE,
  addCounts: ADD_COUNTS,
  removeCompleted: REMOVE_COMPLETED,
  removeBatch: REMOVE_BATCH,
}
