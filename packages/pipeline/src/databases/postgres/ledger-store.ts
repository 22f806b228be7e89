import type { LedgerStatements } from '../stored-ledger.ts'
import { BATCH_COLUMNS, GAP_COLUMNS, LEDGER_ROWS } from './ledger-rows.ts'

const CREATE = `
  insert into run.batch_ledger (indexer, sampling_interval, first_tick)
  values ($1, $2, $3)
  on conflict do nothing`

const START = `
  select sampling_interval as "samplingInterval", first_tick as "firstTick"
  from run.batch_ledger
  where indexer = $1`

const LIST = `
  select indexer, sampling_interval as "samplingInterval", first_tick as "firstTick"
  from run.batch_ledger
  order by indexer collate "C"`

/** Whoever changes the ledger holds its row. */
const LOCK = `
  select (extract(epoch from clock_timestamp()) * 1000)::bigint as now
  from run.batch_ledger
  where indexer = $1
  for update`

const COUNTS = `
  select claimed, completed, failed, gap_pending, ready, recorded
  from run.batch_ledger
  where indexer = $1`

const BATCH = `
  select ${BATCH_COLUMNS}
  from run.batch_processing
  where indexer = $1 and batch_key = $2`

const FAILED = `
  select ${BATCH_COLUMNS}
  from run.batch_processing
  where indexer = $1 and status = 'failed' and batch_key collate "C" > $2
  order by batch_key collate "C"
  limit $3`

const PROCESSED = `
  select tick_start as "tickStart", tick_end as "tickEnd"
  from run.batch_processed
  where indexer = $1 and tick_start > $2
  order by tick_start
  limit $3`

const GAPS = `
  select ${GAP_COLUMNS}
  from run.batch_arrived as a
  where indexer = $1 and tick_start > $2 and gap_since is not null
  order by tick_start
  limit $3`

const ARRIVED_BEFORE = `
  select ${GAP_COLUMNS}
  from run.batch_arrived as a
  where indexer = $1 and tick_start < $2
  order by tick_start desc
  limit 1`

export const LEDGER: LedgerStatements = {
  rows: LEDGER_ROWS,
  create: CREATE,
  start: START,
  list: LIST,
  lock: LOCK,
  counts: COUNTS,
  batch: BATCH,
  failed: FAILED,
  processed: PROCESSED,
  gaps: GAPS,
  arrivedBefore: ARRIVED_BEFORE,
}
